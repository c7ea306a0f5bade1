-- run --events=1 --oltp-table-size=77 --mode=simple
pathtest = string.match(test, "(.*/)") or ""
function event()
  for i = 1, oltp_table_size do last = i end
  print("> options", oltp_table_size, mode, last, oltp_missing)
end
