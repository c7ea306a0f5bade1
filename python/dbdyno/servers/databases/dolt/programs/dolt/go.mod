module example.org/dolt

go 1.24.6

require github.com/dolthub/dolt/go v0.40.5-0.20250916084833-f121f4db6fdd
