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
