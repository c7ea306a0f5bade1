"""What fio, BenchBase, memtier_benchmark and redis-benchmark write, in a few figures.

fio 3.25 to 3.41 and redis-benchmark 6.0 to 8.0: compared with runs of them. fio 3.1: of the sample
in the tests of gVisor's benchmarks, which has no response times; fio 2: in the shape of
public results of 2.1.11, 2.2.10 (tests of storperf), 2.6 and 2.10 (times in microseconds, sizes
in KiB, no options before 2.10). BenchBase: of the
summaries in a guide for Aurora DSQL (2024) and in the tests of autorocks (2022).
memtier_benchmark: of `1.json` and the tests in its own repository (2); a text without counts and
percentiles stands for files that were cut down, and for no release.
"""

from __future__ import annotations

import json
from typing import Any

_TIMES = {"min": 80_000, "max": 5_000_000, "mean": 160_000.0, "stddev": 2.0, "N": 60_000}
_RANKS = {
    "percentile": {
        "50.000000": 150_000,
        "95.000000": 250_000,
        "99.000000": 400_000,
        "99.900000": 900_000,
    }
}
_NONE = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}


def way(ios: int, **changed: Any) -> dict[str, Any]:
    """A direction of a job, release 3."""
    done = ios > 0
    return {
        "io_bytes": 4096 * ios,
        "bw_bytes": 409.6 * ios,
        "bw": 0.4 * ios,
        "iops": ios / 10,
        "runtime": 10_000 if done else 0,
        "total_ios": ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _NONE,
        "clat_ns": {**_TIMES, **_RANKS} if done else _NONE,
        "lat_ns": {**_TIMES, "max": 5_050_000, "mean": 163_000.0} if done else _NONE,
        **changed,
    }


def job(name: str = "mix", **changed: Any) -> dict[str, Any]:
    """A job that read 60,000 times in 10 s."""
    return {
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": 11,
        "job options": {"name": name, "rw": "randread"},
        "read": way(60_000),
        "write": way(0),
        "trim": way(0),
        "sync": {"total_ios": 0},
        "job_runtime": 10_000,
        **changed,
    }


def fio(*jobs: dict[str, Any], version: str = "3.36", **options: str) -> str:
    """A document of release 3."""
    report = {
        "fio version": f"fio-{version}",
        "timestamp": 1_700_000_000,
        "timestamp_ms": 1_700_000_000_123,
        "global options": {"bs": "4k", "runtime": "10", "time_based": "1", **options},
        "jobs": list(jobs),
    }
    return json.dumps(report, indent=2)


WITHOUT_TIMES = {"clat_ns": _NONE, "lat_ns": _NONE}
TOTAL_TIMES = {"clat_ns": _TIMES, "lat_ns": {**_TIMES, "max": 5_050_000, **_RANKS}}


def fio_2(version: str, *names: str) -> str:
    """A document of release 2: before 2.2 without the number of operations and a date."""
    times = {
        "min": 80,
        "max": 5000,
        "mean": 160.0,
        "stddev": 2.0,
        "percentile": {"50.000000": 150, "99.000000": 400, "0.00": 0},
    }
    read = {"io_bytes": 240_000, "bw": 24_000, "iops": 6000, "runtime": 10_000, "clat": times}
    nothing = {"io_bytes": 0, "bw": 0, "iops": 0, "runtime": 0, "clat": {"max": 0, "mean": 0.0}}
    newer = not version.startswith("2.1.")
    jobs = [
        {
            "jobname": name,
            "groupid": group,
            "error": 0,
            "elapsed": 11 * len(names),
            "read": {**read, **({"total_ios": 60_000} if newer else {})},
            "write": {**nothing, **({"total_ios": 0} if newer else {})},
        }
        for group, name in enumerate(names)
    ]
    dated = {"timestamp": 1_430_000_000} if newer else {}
    return json.dumps({"fio version": f"fio-{version}", **dated, "jobs": jobs}, indent=2)


BENCHBASE = {
    "Start timestamp (milliseconds)": 1_731_548_786_702,
    "Current Timestamp (milliseconds)": 1_731_548_847_872,
    "Elapsed Time (nanoseconds)": 60_000_083_167,
    "DBMS Type": "POSTGRES",
    "DBMS Version": "16.4",
    "Benchmark Type": "tpcc",
    "Final State": "EXIT",
    "Measured Requests": 20_100,
    "isolation": "TRANSACTION_SERIALIZABLE",
    "scalefactor": "1",
    "terminals": "4",
    "Latency Distribution": {
        "95th Percentile Latency (microseconds)": 2176,
        "Maximum Latency (microseconds)": 8337,
        "Median Latency (microseconds)": 1066,
        "Minimum Latency (microseconds)": 218,
        "25th Percentile Latency (microseconds)": 456,
        "90th Percentile Latency (microseconds)": 2085,
        "99th Percentile Latency (microseconds)": 3827,
        "75th Percentile Latency (microseconds)": 1747,
        "Average Latency (microseconds)": 1185,
    },
    "Throughput (requests/second)": 334.9995356515603,
    "Goodput (requests/second)": 334.9995356515603,
}
OLTPBENCH = {
    name: value
    for name, value in BENCHBASE.items()
    if name not in ("Elapsed Time (nanoseconds)", "Measured Requests", "Final State")
}

_KIND = {
    "Count": 30_000,
    "Ops/sec": 1000.0,
    "Hits/sec": 0.0,
    "Misses/sec": 0.0,
    "Latency": 1.3,
    "Average Latency": 1.3,
    "Min Latency": 0.3,
    "Max Latency": 13.2,
    "KB/sec": 40.0,
    "Percentile Latencies": {"p50.00": 1.4, "p90.00": 2.0, "p99.00": 2.9, "p99.90": 4.5},
}
_IDLE = {**_KIND, "Count": 0, "Ops/sec": 0.0, "Percentile Latencies": {"p50.00": 0.007}}
MEMTIER_STATS = {
    "Runtime": {
        "Start time": 1_758_715_990_644,
        "Finish time": 1_758_716_020_644,
        "Total duration": 30_000,
        "Time unit": "MILLISECONDS",
    },
    "Sets": _KIND,
    "Gets": {**_KIND, "Hits/sec": 750.0, "Misses/sec": 250.0},
    "Waits": _IDLE,
    "Totals": {
        **_KIND,
        "Count": 60_000,
        "Ops/sec": 2000.0,
        "Hits/sec": 750.0,
        "Misses/sec": 250.0,
        "Connection Errors": 0,
        "Time-Serie": {"0": {"Count": 1900}, "1": {"Count": 2100}},
    },
}
MEMTIER_HEAD: dict[str, dict[str, Any]] = {
    "configuration": {
        "server": "localhost",
        "protocol": "redis",
        "requests": 0,
        "rate_limit": 0,
        "clients": 50,
        "threads": 4,
        "test_time": 30,
        "ratio": "1:1",
        "pipeline": 1,
        "data_size": 32,
        "key_pattern": "R:R",
        "key_maximum": 10_000_000,
        "reconnect_interval": 0,
    },
    "run information": {"Threads": 4, "Connections per thread": 50, "Format version": 2},
}
MEMTIER = {**MEMTIER_HEAD, "ALL STATS": MEMTIER_STATS}
MEMTIER_RATES_ALONE = {
    "configuration": {
        "protocol": "redis",
        "requests": 10_000,
        "clients": 50,
        "threads": 4,
        "test_time": 0,
        "ratio": "1:10",
        "pipeline": 1,
    },
    "run information": {"Threads": 4, "Connections per thread": 50, "Requests per thread": 10_000},
    "ALL STATS": {
        "Sets": {"Ops/sec": 10_000.0, "Latency": 1.9, "KB/sec": 1.0},
        "Gets": {"Ops/sec": 90_000.0, "Hits/sec": 0.0, "Misses/sec": 90_000.0, "Latency": 2.1},
        "Totals": {"Ops/sec": 100_000.0, "Hits/sec": 0.0, "Misses/sec": 90_000.0, "Latency": 2.0},
    },
}

REDIS_CSV_6_0 = '"SET","2406.16"\n"GET","2700.15"\n"MSET (10 keys)","2413.71"\n'
REDIS_CSV_7_0 = """\
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms",\
"p99_latency_ms","max_latency_ms"
"SET","2127.89","8.852","0.064","5.919","27.391","39.519","59.967"
"GET","2467.92","7.637","0.072","4.687","24.047","35.071","47.039"
"""
REDIS_QUIET = "SET: 50000.00 requests per second, p50=0.447 msec\nGET: 877.24 requests per second\n"
_REDIS_HEAD = """\
SET: 0.00\rSET: 3299.83\r====== {name} ======
  20000 requests completed in 2.00 seconds
  20 parallel clients
  3 bytes payload
  keep alive: {kept}
"""
REDIS_6_0 = (
    _REDIS_HEAD
    + """\
  host configuration "save": 3600 1 300 100 60 10000
  host configuration "appendonly": no
  multi-thread: no

0.03% <= 0.1 milliseconds
100.00% <= 24 milliseconds
10000.00 requests per second

"""
)
REDIS_7_0 = (
    _REDIS_HEAD
    + """\
  host configuration "save": 3600 1 300 100 60 10000
  host configuration "appendonly": no
  multi-thread: yes
  threads: 4

Latency by percentile distribution:
0.000% <= 0.071 milliseconds (cumulative count 1)
100.000% <= 11.431 milliseconds (cumulative count 20000)

Cumulative distribution of latencies:
0.050% <= 0.103 milliseconds (cumulative count 10)
100.000% <= 12.103 milliseconds (cumulative count 20000)

Summary:
  throughput summary: 10000.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        1.358     0.064     0.535     5.279     8.271    11.431
"""
)
