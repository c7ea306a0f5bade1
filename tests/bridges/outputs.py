"""What tools print, in a few lines of figures: of the versions that each name says."""

SYSBENCH_1_0 = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: {threads}

[ 1s ] thds: 2 tps: 15.96 qps: 177.54 (r/w/o: 100.00/50.00/27.54) lat (ms,95%): 158.63 err/s: 0.00
SQL statistics:
    transactions:                        100    (49.5 per sec.)
    queries:                             1600   (792. per sec.)
    ignored errors:                      {errors}      (0.00 per sec.)

General statistics:
    total time:                          2.0183s
    total number of events:              100

Latency (ms):
         min:                                    1.40
         avg:                                    6.25
         max:                                   91.50
         95th percentile:                        2.00
         sum:                                  625.00

Threads fairness:
    events (avg/stddev):           50.0000/0.00
    execution time (avg/stddev):   2.0100/0.00
"""

HISTOGRAM = """\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.500 |****************************************  90
      90.000 |****                                      10

"""

PGBENCH_15 = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
progress: 1.0 s, {rate} tps, lat 0.394 ms stddev 0.587, 0 failed
transaction type: <builtin: {script}>
scaling factor: {scale}
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 3000
number of failed transactions: {failed} (0.000%)
latency average = 0.390 ms
initial connection time = 16.128 ms
tps = {rate} (without initial connection time)
"""


def sysbench(*, threads: int = 2, errors: int = 0) -> str:
    """A run of a script."""
    return SYSBENCH_1_0.format(threads=threads, errors=errors)


def pgbench(
    *, rate: float = 1000.0, script: str = "select only", scale: int = 1, failed: int = 0
) -> str:
    """Standard output and standard error of a run of three seconds."""
    return PGBENCH_15.format(rate=rate, script=script, scale=scale, failed=failed)


YCSB_0_17 = """\
Command line: -t -db site.ycsb.BasicDB -P workloads/workloada -threads 2 -s -target 8000
YCSB Client 0.17.0

2026-11-23 09:30:15:088 1 sec: 7948 operations; 7371 current ops/sec; est completion in 2 second
[OVERALL], RunTime(ms), 2500
[OVERALL], Throughput(ops/sec), 4000.0
[TOTAL_GCS_G1_Young_Generation], Count, 0
[TOTAL_GC_TIME_%], Time(%), 0.0
[READ], Operations, 7500
[READ], AverageLatency(us), 100.5
[READ], MinLatency(us), 2
[READ], MaxLatency(us), 900
[READ], 95thPercentileLatency(us), 200
[READ], 99thPercentileLatency(us), 300
[READ], Return=OK, 7500
[READ], Return=ERROR, 3
[READ-FAILED], Operations, 3
[READ-FAILED], AverageLatency(us), 9000000.0
[CLEANUP], Operations, 2
[CLEANUP], AverageLatency(us), 2.0
[UPDATE], Operations, 2500
[UPDATE], AverageLatency(us), 200.5
[UPDATE], MaxLatency(us), 2947
[UPDATE], 95thPercentileLatency(us), 400
[UPDATE], 99thPercentileLatency(us), 500
[UPDATE], Return=OK, 2500
"""
"""The text exporter of release 0.17.0 (compared with one run of it), with `-s`."""

HAMMERDB_4 = """\
HammerDB CLI v4.7
 pg_count_ware       = 400
Vuser 1:Beginning rampup time of 2 minutes
Vuser 1:Timing test period of 5 in minutes
Vuser 1:5 ...,
Vuser 1:Test complete, Taking end Transaction Count.
Vuser 1:100 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 2891 NOPM from 6888 PostgreSQL TPM
Vuser 1:FINISHED SUCCESS
"""
"""What a timed TPROC-C run of release 4.7 logs, shortened; by its documentation and public logs."""

HAMMERDB_3 = HAMMERDB_4.replace(
    "2891 NOPM from 6888 PostgreSQL TPM", "6888 PostgreSQL TPM at 2891 NOPM"
)
"""The order of releases up to 3.x."""

HAMMERDB_PROFILE = """\
>>>>> PROC: NEWORD
CALLS: 9\tMIN: 1.000ms\tAVG: 99.000ms\tMAX: 99.000ms\tTOTAL: 18.000ms
P99: 99.000ms\tP95: 99.000ms\tP50: 99.000ms\tSD: 0.500\tRATIO: 50.000%
>>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 127146ms
>>>>> PROC: NEWORD
CALLS: 3427\tMIN: 1.730ms\tAVG: 36.332ms\tMAX: 120.500ms\tTOTAL: 124509.000ms
P99: 80.250ms\tP95: 60.500ms\tP50: 30.125ms\tSD: 15.500\tRATIO: 70.000%
"""
"""Of release 4: one user's part and the summary."""

DB_BENCH_9 = """\
RocksDB:    version 9.10.0
Keys:       16 bytes each (+ 0 bytes user-defined timestamp)
Values:     100 bytes each (50 bytes after compression)
Entries:    20000
WARNING: Assertions are enabled; benchmarks unnecessarily slow
fillrandom   :       5.271 micros/op 189641 ops/sec 0.105 seconds 20000 operations;   21.0 MB/s
Microseconds per write:
Count: 20000 Average: 5.3072  StdDev: 47.95
Min: 2  Median: 3.4744  Max: 4852
Percentiles: P50: 3.47 P75: 3.99 P99: 17.71 P99.9: 110.00 P99.99: 1300.00
"""
