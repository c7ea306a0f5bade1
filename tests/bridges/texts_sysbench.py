"""What sysbench prints, release by release.

1.0 and our own drop-in: made by running them, with other figures. 0.4.12 and 0.5: in the shape of
public files of read-only and of writing runs at 1 to 256 threads. 1.1: as our drop-in prints it and
as the run of 1.1.0-faaff4f in sysbench #311 has it; the first builds that called themselves 1.1.0,
as in #131, have the layout of 1.0.
"""

from __future__ import annotations

_FAIRNESS = """
Threads fairness:
    events (avg/stddev):           500.0000/3.00
    execution time (avg/stddev):   3.9950/0.00

"""

V0_4 = (
    """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

No DB drivers specified, using mysql
Running the test with following options:
Number of threads: 4

Doing OLTP test.
Running mixed OLTP test
Using auto_inc on the id column
Threads started!
Time limit exceeded, exiting...
(last message repeated 3 times)
Done.

OLTP test statistics:
    queries performed:
        read:                            28000
        write:                           10000
        other:                           4000
        total:                           42000
    transactions:                        2000   (500.00 per sec.)
    deadlocks:                           7      (1.75 per sec.)
    read/write requests:                 38000  (9500.00 per sec.)
    other operations:                    4000   (1000.00 per sec.)

Test execution summary:
    total time:                          4.0000s
    total number of events:              2000
    total time taken by event execution: 15.9800
    per-request statistics:
         min:                                  2.10ms
         avg:                                  7.99ms
         max:                                 61.30ms
         approx.  95 percentile:              13.22ms
"""
    + _FAIRNESS
)

V0_5 = (
    """\
sysbench 0.5:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 4
Report intermediate results every 2 second(s)
Random number generator seed is 0 and will be ignored


Threads started!

[   2s] threads: 4, tps: 500.00, reads: 7000.00, writes: 2000.00, response time: 13.22ms (95%)"""
    """, errors: 0.00, reconnects:  0.00
[   4s] threads: 4, tps: 510.00, reads: 7000.00, writes: 2000.00, response time: 13.30ms (95%)"""
    """, errors: 0.00, reconnects:  0.00
OLTP test statistics:
    queries performed:
        read:                            28000
        write:                           8000
        other:                           4000
        total:                           40000
    transactions:                        2000   (500.00 per sec.)
    read/write requests:                 36000  (9000.00 per sec.)
    other operations:                    4000   (1000.00 per sec.)
    ignored errors:                      3      (0.75 per sec.)
    reconnects:                          1      (0.25 per sec.)

General statistics:
    total time:                          4.0000s
    total number of events:              2000
    total time taken by event execution: 15.9800s
    response time:
         min:                                  2.10ms
         avg:                                  7.99ms
         max:                                 61.30ms
         approx.  95 percentile:              13.22ms
""" + _FAIRNESS
)

_HEAD = """\
sysbench {version} (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4
Report intermediate results every 2 second(s)
Initializing random number generator from current time


Initializing worker threads...

Threads started!

"""
_SQL = """\
SQL statistics:
    queries performed:
        read:                            28000
        write:                           8000
        other:                           4000
        total:                           40000
    transactions:                        2000   (500.00 per sec.)
    queries:                             40000  (10000.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)
"""
_LATENCY = """
Latency (ms):
         min:                                    2.10
         avg:                                    7.99
         max:                                   61.30
         95th percentile:                       13.22
         sum:                                15980.00
"""
_GENERAL = """
General statistics:
    total time:                          4.0000s
    total number of events:              2000
"""

V1_0 = (
    _HEAD.format(version="1.0.20") + """\
[ 2s ] thds: 4 tps: 500.00 qps: 10000.00 (r/w/o: 7000.00/2000.00/1000.00) lat (ms,95%): 13.22"""
    """ err/s: 0.00 reconn/s: 0.00
[ 4s ] thds: 4 tps: 510.00 qps: 10000.00 (r/w/o: 7000.00/2000.00/1000.00) lat (ms,95%): 13.30"""
    """ err/s: 0.00 reconn/s: 0.00
""" + _SQL + _GENERAL + _LATENCY + _FAIRNESS
)
V1_0_P99 = V1_0.replace("ms,95%", "ms,99%").replace("95th", "99th")
OURS_LIST = (
    V1_0.replace("(ms,95%): 13.22", "(ms,50%/95%/99.9%): 7.50/13.22/40.00")
    .replace("(ms,95%): 13.30", "(ms,50%/95%/99.9%): 7.60/13.30/41.00")
    .replace(
        "         95th percentile:                       13.22\n",
        "         50th percentile:                        7.56\n"
        "         95th percentile:                       13.22\n"
        "       99.9th percentile:                       40.37\n",
    )
)
"""Our drop-in with `--percentile=50,95,99.9`."""
V1_0_NO_RANKS = V1_0.replace(
    "         95th percentile:                       13.22",
    "         percentile stats:               disabled",
)
V1_1 = (
    _HEAD.format(version="1.1.0-0000000")
    + _SQL
    + """
Throughput:
    events/s (eps):                      500.0000
    time elapsed:                        4.0000s
    total number of events:              2000
"""
    + _LATENCY
    + _FAIRNESS
)
V1_1_RATE = V1_1.replace("threads: 4\n", "threads: 4\nTarget transaction rate: 500/sec\n")
V1_0_BEHIND = V1_0.replace(
    "threads: 4\n", "threads: 4\nTarget transaction rate: 5000/sec\n"
).replace("SQL statistics", "[ 4s ] queue length: 9715, concurrency: 4\nSQL statistics")

V1_0_CPU = (
    """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Prime numbers limit: 10000

Initializing worker threads...

Threads started!

CPU speed:
    events per second:   500.00
"""
    + _GENERAL
    + _LATENCY
    + _FAIRNESS
)

_CHECKPOINT = """\
SQL statistics:
    queries performed:
        read:                            {read}
        write:                           0
        other:                           0
        total:                           {read}
    transactions:                        {events}    ({rate} per sec.)
    queries:                             {read}   ({reads} per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          {total}s
    total number of events:              {events}
"""

CHECKPOINTS = (
    _HEAD.format(version="1.0.20").replace(
        "Initializing random", "Report checkpoint(s) at 1, 2 seconds\nInitializing random"
    )
    + "[ 1s ] Checkpoint report:\n"
    + _CHECKPOINT.format(read=3373, events=167, rate="166.58", reads="3364.44", total="1.0017")
    + _LATENCY
    + _FAIRNESS
    + "[ 2s ] Checkpoint report:\n"
    + _CHECKPOINT.format(read=5138, events=252, rate="252.26", reads="5143.26", total="2.0009")
    + _LATENCY
    + _FAIRNESS
    + _CHECKPOINT.format(read=1950, events=96, rate="63.94", reads="1298.77", total="3.5025")
    + _LATENCY
    + _FAIRNESS
)
"""Three reports of one run: counts are reset at each, its total time goes on."""

PREPARE = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Creating table 'sbtest1'...
Inserting 100 records into 'sbtest1'
"""
CLEANUP = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Dropping table 'sbtest1'...
"""
