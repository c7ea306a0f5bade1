"""Study files for the tests of reports."""

SMALL = """
question = "What do the journal mode and the synchronous setting cost?"
primary = { metric = "throughput", better = "higher", smallest_effect = "2 %" }

[server]
sqlite = { provision = "sqlite" }

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[factor.synchronous]
full = { settings = { synchronous = "full" } }
normal = { settings = { synchronous = "normal" } }

[workload]
script = "kv_update"

[load]
clients = [1, 4]
warm_up = "5 s"
measure = "30 s"

[design]
blocks = 3
baseline = { journal = "delete", synchronous = "full" }
"""

WIDE = """
question = "Twenty-four cells with names as long as people give them: is anything cut off?"

[server]
"the-first-server-of-them-all-11.4.5-debug" = { provision = "sqlite" }
"postgresql-18.1-with-huge-pages" = { provision = "sqlite" }
"postgresql-9.6.24" = { provision = "sqlite" }
"mariadb-12.3.1" = { provision = "sqlite" }

[factor.configuration]
defaults-as-shipped-by-the-vendor = { settings = { a = 1 } }
tuned-for-writes = { settings = { a = 2 } }
tuned-for-reads = { settings = { a = 3 } }
tiny = { settings = { a = 4 } }
huge = { settings = { a = 5 } }
odd = { settings = { a = 6 } }

[workload]
script = "kv_update"

[load]
clients = [1, 16, 256]
warm_up = "3 s"
measure = "12 s"

[design]
blocks = 2
baseline = { server = "postgresql-9.6.24" }
"""

LONG_WORD = "a-name-that-is-as-long-as-a-whole-line-of-text-and-has-no-space-in-it"

LONG_NAMES = (
    SMALL.replace("the journal mode", LONG_WORD)
    .replace("\nwal = ", f'\n"{LONG_WORD}" = ')
    .replace("\nsqlite = ", f'\n"{LONG_WORD}-1" = {{ provision = "sqlite" }}\nsqlite = ')
    .replace("journal", "journal-mode-of-the-write-ahead-log-or-of-the-rollback-file")
    .replace("journal-mode-of-the-write-ahead-log-or-of-the-rollback-file_mode", "journal_mode")
    .replace("[1, 4]", "[4]")
)
"""Words of the question, of a server, a level and a factor that no line of a phone holds."""
