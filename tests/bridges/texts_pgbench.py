"""What pgbench prints, release by release.

13 and 15 to 18: made by running it on a server of release 15, with other figures; the loaded one of
16 is that of 15 with a plain banner. 9.4 and 9.5 (`latency average:`): in the shape of the runs in
the README of pgrouter. 9.6 and 12: of public notes that name `pgsql-12` and, without a banner, what
stood before. 14: of public runs of 14.3 to 14.12, among them one with `-R` by 14.5.
"""

from __future__ import annotations

V9_4 = """\
starting vacuum...end.
transaction type: TPC-B (sort of)
scaling factor: 20
query mode: simple
number of clients: 8
number of threads: 2
duration: 60 s
number of transactions actually processed: 48000
latency average: 10.000 ms
latency stddev: 3.000 ms
tps = 799.500000 (including connections establishing)
tps = 800.000000 (excluding connections establishing)
"""
"""Releases 9.4 and 9.5."""

V9_5_RATE = """\
transaction type: SELECT only
scaling factor: 1
query mode: prepared
number of clients: 4
number of threads: 2
duration: 10 s
number of transactions actually processed: 900
number of transactions skipped: 100 (10.000 %)
number of transactions above the 20.0 ms latency limit: 45 (4.500 %)
latency average: 9.000 ms
latency stddev: 4.000 ms
rate limit schedule lag: avg 5.000 (max 19.000) ms
tps = 89.500000 (including connections establishing)
tps = 90.000000 (excluding connections establishing)
"""

V9_6 = """\
starting vacuum...end.
progress: 1.0 s, 795.0 tps, lat 10.000 ms stddev 3.000
progress: 2.0 s, 805.0 tps, lat 9.900 ms stddev 3.000
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 20
query mode: simple
number of clients: 8
number of threads: 2
duration: 60 s
number of transactions actually processed: 48000
latency average = 10.000 ms
latency stddev = 3.000 ms
tps = 799.500000 (including connections establishing)
tps = 800.000000 (excluding connections establishing)
"""
"""Releases 9.6 to 13."""

V12_STATEMENTS = (
    V9_6
    + """\
statement latencies in milliseconds:
         0.002  \\set aid random(1, 100000 * :scale)
         9.998  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
)

V13_CONNECTING = """\
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
partition method: range
partitions: 4
duration: 1 s
number of transactions actually processed: 86
latency average = 23.666 ms
tps = 84.511015 (including connections establishing)
tps = 164.728921 (excluding connections establishing)
"""
"""A connection for each transaction."""

V13_ABORTED = """\
pgbench: error: client 2 script 0 aborted in command 8 query 0: ERROR:  could not serialize access
DETAIL:  Reason code: Canceled on identification as a pivot, during write.
pgbench: error: client 1 script 0 aborted in command 8 query 0: ERROR:  could not serialize access
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 1
duration: 1 s
number of transactions actually processed: 77
latency average = 52.984 ms
tps = 75.494517 (including connections establishing)
tps = 76.217688 (excluding connections establishing)
pgbench: fatal: Run was aborted; the above results are incomplete.
"""

V14 = """\
pgbench (14.20)
starting vacuum...end.
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 20
query mode: simple
number of clients: 8
number of threads: 2
duration: 60 s
number of transactions actually processed: 48000
latency average = 10.000 ms
initial connection time = 8.000 ms
tps = 800.000000 (without initial connection time)
"""

V15_CONNECTING = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 20
query mode: simple
number of clients: 8
number of threads: 2
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 48000
number of failed transactions: 0 (0.000%)
latency average = 10.000 ms
average connection time = 6.100 ms
tps = 800.000000 (including reconnection times)
"""
"""A connection for each transaction."""

V15_RETRIES = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 1
maximum number of tries: 2
duration: 1 s
number of transactions actually processed: 126
number of failed transactions: 163 (56.401%)
number of transactions retried: 227 (78.547%)
total number of retries: 252
latency average = 13.441 ms (including failures)
initial connection time = 54.232 ms
tps = 126.000000 (without initial connection time)
statement latencies in milliseconds, failures and retries:
         0.056           0           0  \\set aid random(1, 100000 * :scale)
"""

V16_RATE = """\
pgbench (16.3)
starting vacuum...end.
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 20
query mode: simple
number of clients: 8
number of threads: 2
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 30000
number of failed transactions: 0 (0.000%)
number of transactions skipped: 18000 (37.500%)
number of transactions above the 50.0 ms latency limit: 9000/30000 (30.000%)
latency average = 40.000 ms
latency stddev = 11.000 ms
rate limit schedule lag: avg 31.000 (max 250.000) ms
initial connection time = 8.000 ms
tps = 500.000000 (without initial connection time)
"""

V17_SCRIPTS = """\
pgbench (17.12 (Debian 17.12-0+deb13u1), server 15.18 (Debian 15.18-0+deb12u1))
starting vacuum...end.
transaction type: multiple scripts
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
number of transactions per client: 100
number of transactions actually processed: 200/200
number of failed transactions: 0 (0.000%)
latency average = 0.942 ms
initial connection time = 22.414 ms
tps = 2123.525477 (without initial connection time)
SQL script 1: s.sql
 - weight: 3 (targets 75.0% of total)
 - 153 transactions (76.5% of total, tps = 1624.496990)
 - number of failed transactions: 0 (0.000%)
 - latency average = 0.952 ms
 - latency stddev = 2.301 ms
SQL script 2: <builtin: select only>
 - weight: 1 (targets 25.0% of total)
 - 47 transactions (23.5% of total, tps = 499.028487)
 - number of failed transactions: 0 (0.000%)
 - latency average = 0.704 ms
 - latency stddev = 1.867 ms
"""

V18 = """\
pgbench (18.6 (Debian 18.6-3))
progress: 1.0 s, 4001.1 tps, lat 0.481 ms stddev 1.236, 0 failed
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 4003
number of failed transactions: 0 (0.000%)
latency average = 0.483 ms
latency stddev = 1.244 ms
initial connection time = 27.033 ms
tps = 4003.000000 (without initial connection time)
statement latencies in milliseconds and failures:
         0.001           0 \\set aid random(1, 100000 * :scale)
         0.483           0 SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""

AGGREGATED_13 = """\
1795814914 100 1375925 21795839779 1630 38098
1795814915 459 918000 26597656287 1218 27108
1795814916 541 1082000 37740874086 1015 87548
1795814917 494 2063518 37740874086 1015 99999
"""
AGGREGATED_15_RATE = """\
1795814925 156 1714115 25112817575 1363 33347 223552 491118598 3 3827 235 0 0 0 0
1795814926 300 2400000 19203827832 875 28707 303693 627356193 0 3721 185 0 0 0 0
1795814927 403 1765963 12059266009 769 29733 336431 783937787 0 12338 133 0 0 0 0
"""
