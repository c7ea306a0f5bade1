"""Texts in the shapes that public pages and repositories have them: with prompts and headings
around, indented as code, without first lines, of tests other than SQL. All figures are made up."""

from __future__ import annotations

PGBENCH_NO_HEAD = """\
scaling factor: 3
query mode: simple
number of clients: 6
number of threads: 2
number of transactions per client: 50
number of transactions actually processed: 300/300
latency average = 12.000 ms
tps = 480.000000 (including connections establishing)
tps = 500.000000 (excluding connections establishing)
statement latencies in milliseconds:
         0.051  \\set aid random(1, 100000 * :scale)
"""
"""As a page has it that shows what -r prints, copied from the second line."""

PGBENCH_FIGURES_ALONE = """\
number of transactions actually processed: 9000
latency average = 30.000 ms
tps = 295.000000 (including connections establishing)
tps = 300.000000 (excluding connections establishing)
"""
"""As the outcome in the documentation of a tool that alters tables."""

PGBENCH_HEADED = """\
me@db:~$ pgbench -c 5 -C -T 20 -M extended bench
pgbench (14.9 (Debian 14.9-1))
starting vacuum...end.
progress: 10.0 s, 98.0 tps, lat 51.002 ms stddev 4.200
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: extended
number of clients: 5
number of threads: 1
duration: 20 s
number of transactions actually processed: 2000
latency average = 50.000 ms
average connection time = 2.000 ms
tps = 100.000000 (including reconnection times)
"""

PGBENCH_CONNECTING = """\
transaction type: Custom query
scaling factor: 1
query mode: extended
number of clients: 8
number of threads: 4
duration: 20 s
number of transactions actually processed: 8000
latency average: 20.000 ms
tps = 400.000000 (including connections establishing)
tps = 160000.000000 (excluding connections establishing)
"""
"""As in notes on `pgbench -C` of release 9.4."""

PGBENCH_FEWER = """\
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 10
number of threads: 1
number of transactions per client: 100
number of transactions actually processed: {done}/1000
latency average = 10.000 ms
tps = 990.000000 (including connections establishing)
tps = 1000.000000 (excluding connections establishing)
"""
"""As in reports of bugs, where a client lost its connection."""

FILES_1_1 = """\
sysbench 1.1.0-0000000 (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: {threads}
Initializing random number generator from current time


Extra file open flags: {flags}
4 files, 1GiB each
4GiB total file size
Block size 8KiB
Number of IO requests: 0
Periodic FSYNC enabled, calling fsync() each 50 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing {mode} test
Initializing worker threads...

Threads started!


Throughput:
         read:  IOPS=600.00 4.69 MiB/s (4.92 MB/s)
         write: IOPS=300.00 2.00 MiB/s (2.10 MB/s)
         fsync: IOPS=100.00

Latency (ms):
         min:                                  0.01
         avg:                                  4.00
         max:                                 37.50
         95th percentile:                      9.25
         sum:                              40000.00

"""
"""As in public results of file systems' and kernels' developers."""


def files(*, threads: int = 4, mode: str = "random r/w", flags: str = "(none)") -> str:
    """A test of files of sysbench 1.1."""
    return FILES_1_1.format(threads=threads, mode=mode, flags=flags)


FILES_0_4 = """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 2

Extra file open flags: 16384
16 files, 64Mb each
1Gb total file size
Block size 16Kb
Number of random requests for random IO: 0
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 100 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random r/w test
Threads started!
Time limit exceeded, exiting...
(last message repeated 1 times)
Done.

Operations performed:  1200 Read, 800 Write, 2560 Other = 4560 Total
Read 18.75Mb  Written 12.5Mb  Total transferred 31.25Mb  (3.125Mb/sec)
  200.00 Requests/sec executed

Test execution summary:
    total time:                          10.0000s
    total number of events:              2000
    total time taken by event execution: 8.0000
    per-request statistics:
         min:                                  0.01ms
         avg:                                  4.00ms
         max:                                 86.50ms
         approx.  95 percentile:              11.50ms

Threads fairness:
    events (avg/stddev):           1000.0000/0.00
    execution time (avg/stddev):   4.0000/0.00

"""
"""As in notes on new disks."""

MEMORY_0_4 = """\
sysbench 0.4.12: multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 1

Doing memory operations speed test
Memory block size: {block}K

Memory transfer size: 1024M

Memory operations type: read
Memory scope type: global
Threads started!
Done.

Operations performed: 4000 (2000.00 ops/sec)

1024.00 MB transferred (512.00 MB/sec)


Test execution summary:
total time: 2.0000s
total number of events: 4000
total time taken by event execution: 1.6000
per-request statistics:
min: 0.00ms
avg: 0.40ms
max: 0.90ms
approx. 95 percentile: 0.50ms

Threads fairness:
events (avg/stddev): 4000.0000/0.00
execution time (avg/stddev): 1.6000/0.00

"""
"""As pages have it that lost the blanks at the beginning of lines."""

THREADS_1_0 = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

128 files, 64Kb each, 8Mb total
Creating files for the test...
Extra file open flags: (none)
Creating file test_file.0
8388608 bytes written in 0.05 seconds (160.00 MiB/sec).
THREADS BENCHMARKS
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 8
Initializing random number generator from current time


Initializing worker threads...

Threads started!


General statistics:
    total time:                          10.0000s
    total number of events:              20000

Latency (ms):
         min:                                    0.50
         avg:                                    4.00
         max:                                    9.50
         95th percentile:                        5.25
         sum:                                79500.00

Threads fairness:
    events (avg/stddev):           2500.0000/3.00
    execution time (avg/stddev):   9.9500/0.00

"""
"""As in results of a comparison of containers, which prepared files before."""

YCSB_INDENTED = """\
## target 500, 8 threads

    $ bin/ycsb run site -P workloads/workloadc -target 500 -threads 8

    [OVERALL], RunTime(ms), 10000
    [OVERALL], Throughput(ops/sec), 500.0
    [READ], Operations, 4900
    [READ], AverageLatency(us), 1200.5
    [READ], MaxLatency(us), 90000
    [READ], 95thPercentileLatency(us), 2000
    [READ], 99thPercentileLatency(us), 3000
    [READ], Return=OK, 4900
    [READ], Return=ERROR, 100
    [READ-FAILED], Operations, 100

## target 1000, 8 threads

    [OVERALL], RunTime(ms), 10000
    [OVERALL], Throughput(ops/sec), 1000.0
    [READ], Operations, 10000
    [READ], AverageLatency(us), 1300.5
    [READ], MaxLatency(us), 91000
    [READ], 95thPercentileLatency(us), 2100
    [READ], 99thPercentileLatency(us), 3100
    [READ], Return=OK, 10000
"""
"""As in a driver's pull request, written in Markdown."""

HAMMERDB_JOB = """\
[
  "1",
  "Rampup complete, Taking start AWR snapshot.",
  "1",
  "Timing test period of 2 in minutes",
  "1",
  "3 Active Virtual Users configured",
  "1",
  "TEST RESULT : System achieved 0 Oracle TPM at 6000 NOPM",
  "0",
  "Vuser 2:FINISHED SUCCESS",
  "0",
  "Vuser 3:FINISHED FAILED",
  "0",
  "Vuser 1:FINISHED SUCCESS",
  "0",
  "ALL VIRTUAL USERS COMPLETE"
]
"""
"""As its documentation shows what the web service returns of a job."""

REDIS_CALLS = """\
me@lab:~$ docker exec kv redis-benchmark --csv -t set -n 20000 -c 10
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms"
"SET","10000.00","0.900","0.100","0.800","1.400","1.900"
me@lab:~$ docker exec kv redis-benchmark --csv -t set -n 20000 -c 10 -P 8 -d 64
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms"
"SET","50000.00","1.900","0.200","1.800","2.400","2.900"
"""
"""As in a lesson on Redis."""

MEMTIER_TEXT = """\
4         Threads
5         Connections per thread
10        Seconds


ALL STATS
Type         Ops/sec     Hits/sec   Misses/sec      Latency       KB/sec
Sets         1000.00          ---          ---      1.20000       100.00
Totals       1000.00         0.00         0.00      1.20000       100.00
"""

FIO_TEXTS = {
    "text for people": """\
> // another kernel:
> Run status group 0 (all jobs):
>    READ: bw=10.0MiB/s (10.5MB/s), 10.0MiB/s-10.0MiB/s, io=100MiB (105MB), run=10000-10000msec
""",
    "text for people of one job": """\
some-write: (groupid=0, jobs=5): err= 0: pid=20
  write: io=1000KB, bw=100KB/s, iops=25 , runt= 10000msec
""",
    "terse output": """\
fio: this platform does not support process shared mutexes, forcing use of threads.
3;fio-3.27;a_write;0;0;0;0;0;0;0;0;0.000000;0.000000;0;0;0.000000;0.000000;1.000000%=0;
""",
    "terse output of an old release": "3;2.0.8;a_write;0;0;0;0;0;0;0;0;0.000000;0.000000\n",
}
