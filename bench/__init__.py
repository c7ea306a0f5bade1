"""What our engine costs, measured beside `sysbench`, `pgbench` and a bare socket loop.

`make bench` measures every row of `rows.py`, interleaved, and writes `README.md` and
`results.json`, which keeps what that page prints. Nothing here is part of the product; it uses the
product's own servers, statistics, words and facts of the host.
"""
