"""What YCSB, HammerDB and db_bench print, release by release, each in a few lines of figures.

YCSB 0.17 and db_bench 6.11 to 9.11: made by running them, with other figures. YCSB 0.1: in the
shape of `ycsb-test-run.dat` of PerfKitBenchmarker; HammerDB 3 to 5: of the CLI guide in
its documentation and of logs in HammerDB's issues: 3.3 in #99, 4.4 in #356, 4.6 in #511, and 5 of
2025 in #782; db_bench 5: of 5.14 and 5.17 in public notes, which say what 6 says but for the
sampling of compression.
"""

from __future__ import annotations

YCSB_0_1 = """\
YCSB Client 0.1
Command line: -db com.yahoo.ycsb.BasicDB -P workloads/workloada -threads 2 -t
Loading workload...
Starting test.
 0 sec: 0 operations;
 10 sec: 1000 operations; 100.5 current ops/sec; [UPDATE AverageLatency(ms)=0.07]
[OVERALL], RunTime(ms), 80.0
[OVERALL], Throughput(ops/sec), 12500.0
[UPDATE], Operations, 531
[UPDATE], AverageLatency(ms), 0.066
[UPDATE], MinLatency(ms), 0.042
[UPDATE], MaxLatency(ms), 19.345
[UPDATE], 95thPercentileLatency(ms), 0
[UPDATE], 99thPercentileLatency(ms), 1
[UPDATE], Return=0, 531
[UPDATE], 0, 530
[UPDATE], 19, 1
[UPDATE], >1000, 0
[READ], Operations, 469
[READ], AverageLatency(ms), 0.038
[READ], MinLatency(ms), 0.034
[READ], MaxLatency(ms), 0.102
[READ], 95thPercentileLatency(ms), 0
[READ], 99thPercentileLatency(ms), 0
[READ], Return=0, 465
[READ], Return=-1, 4
[READ], 0, 469
"""

YCSB_F = """\
YCSB Client 0.17.0
Command line: -db site.ycsb.BasicDB -threads 8 -P workloads/workloadf -t
[OVERALL], RunTime(ms), 10000
[OVERALL], Throughput(ops/sec), 1000.0
[READ], Operations, 10000
[READ], AverageLatency(us), 1000.0
[READ], MaxLatency(us), 9000
[READ], 95thPercentileLatency(us), 2000
[READ], 99thPercentileLatency(us), 3000
[READ], Return=OK, 10000
[READ-MODIFY-WRITE], Operations, 5000
[READ-MODIFY-WRITE], AverageLatency(us), 3000.0
[READ-MODIFY-WRITE], MaxLatency(us), 19000
[READ-MODIFY-WRITE], 95thPercentileLatency(us), 6000
[READ-MODIFY-WRITE], 99thPercentileLatency(us), 9000
[CLEANUP], Operations, 8
[CLEANUP], AverageLatency(us), 10.0
[UPDATE], Operations, 5000
[UPDATE], AverageLatency(us), 2000.0
[UPDATE], MaxLatency(us), 12000
[UPDATE], 95thPercentileLatency(us), 4000
[UPDATE], 99thPercentileLatency(us), 6000
[UPDATE], Return=OK, 5000
[Intended-READ], Operations, 10000
[Intended-READ], AverageLatency(us), 1500.0
[Intended-READ], 99thPercentileLatency(us), 7000
"""


def ycsb_json(text: str, *, array: bool) -> str:
    """The same by the JSON exporters: a document each, or an array."""
    objects, others = [], []
    for line in text.splitlines():
        kind, _, rest = line.partition("], ")
        if kind.startswith("["):
            what, _, value = rest.partition(", ")
            objects.append(
                f'{{\n  "metric" : "{kind[1:]}",\n  "measurement" : "{what}",\n'
                f'  "value" : {value}\n}}'
            )
        else:
            others.append(line)
    measured = f"[ {', '.join(objects)} ]" if array else " ".join(objects)
    return "\n".join([*others, measured])


HAMMERDB_SEQUENCE = """\
HammerDB CLI v{version}
Copyright (C) 2003-2024
Changed tpcc:pg_count_ware from 1 to 400 for PostgreSQL
Changed tpcc:pg_keyandthink from true to false for PostgreSQL
SEQUENCE STARTED
1 VU TEST
Vuser 1 created MONITOR - WAIT IDLE
Vuser 2 created - WAIT IDLE
Logging activated
2 Virtual Users Created with Monitor VU
Vuser 1:RUNNING
Vuser 1:Beginning rampup time of 1 minutes
Vuser 1:Rampup complete, Taking start Transaction Count.
Vuser 1:Timing test period of 2 in minutes
Vuser 2:RUNNING
Vuser 1:1 ...,
Vuser 1:2 ...,
Vuser 1:Test complete, Taking end Transaction Count.
Vuser 1:1 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved {first}
Vuser 1:FINISHED SUCCESS
Vuser 2:FINISHED SUCCESS
ALL VIRTUAL USERS COMPLETE
vudestroy success
2 VU TEST
Vuser 1 created MONITOR - WAIT IDLE
3 Virtual Users Created with Monitor VU
Vuser 1:RUNNING
Vuser 1:Beginning rampup time of 1 minutes
Vuser 1:Timing test period of 2 in minutes
Vuser 1:Test complete, Taking end Transaction Count.
Vuser 1:2 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved {second}
Vuser 1:FINISHED SUCCESS
ALL VIRTUAL USERS COMPLETE
"""


def hammerdb(version: str) -> str:
    """A sequence of two tests."""
    rates = (("35576", "81705"), ("60364", "138600"))
    measured = [
        f"{tpm} PostgreSQL TPM at {nopm} NOPM"
        if version.startswith("3")
        else f"{nopm} NOPM from {tpm} PostgreSQL TPM"
        for nopm, tpm in rates
    ]
    return HAMMERDB_SEQUENCE.format(version=version, first=measured[0], second=measured[1])


_ROCKS_HEAD = """\
RocksDB:    version {version}
Date:       Fri Nov 27 21:37:39 2026
CPU:        2 * AMD EPYC
CPUCache:   512 KB
Keys:       16 bytes each
Values:     100 bytes each (50 bytes after compression)
Entries:    20000
Prefix:    0 bytes
Keys per prefix:    0
RawSize:    2.2 MB (estimated)
FileSize:   1.3 MB (estimated)
Write rate: {limit} bytes/second
Read rate: 0 ops/second
Compression: Snappy
Compression sampling rate: 0
Memtablerep: skip_list
Perf Level: 1
{rule}
DB path: [/tmp/rocks]
"""
_FILL = """\
fillseq      :     100.000 micros/op 10000 ops/sec{counted};    0.9 MB/s
Microseconds per write:
Count: 40000 Average: 12.2834  StdDev: 237.01
Min: 2  Median: 3.7060  Max: 12159
Percentiles: P50: 3.71 P75: 5.04 P99: 21.05 P99.9: 2988.24 P99.99: 11657.14
{rule}
(       1,       2 ]     2893   7.232%   7.232% #
"""
_READ = """\
... finished 100 ops\r... finished 20000 ops\rreadrandom   :      20.336 micros/op 97816 ops/sec"""
_READ_REST = """{counted};   10.8 MB/s (15000 of 20000 found)

"""


def db_bench(version: str, *, limit: int = 0) -> str:
    """A list of two tests, one with a histogram; releases before 7 count only there."""
    new = int(version.partition(".")[0]) >= 7
    fill = _FILL.format(counted=" 4.000 seconds 40000 operations" if new else "", rule="-" * 54)
    read = _READ + _READ_REST.format(counted=" 1.022 seconds 99998 operations" if new else "")
    statistics = "\nSTATISTICS:\nrocksdb.block.cache.miss COUNT : 607\n"
    return (
        _ROCKS_HEAD.format(version=version, limit=limit, rule="-" * 48) + fill + read + statistics
    )
