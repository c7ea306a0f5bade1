"""A run's machine: changed by setters, with a server on it, held until something ends this process.

Run by tests that kill it. Arguments: the run's folder. Prints `ready` when the server is.
"""

import sys
import threading
from pathlib import Path

from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.sweep import sweep
from dbdyno.servers import open_server
from dbdyno.servers.nodes.place import data_parent
from dbdyno.setters.outfit import apply_all, missing_of_host
from dbdyno.setters.setter import Scene

HOST = {
    "filesystem": {"kind": "ext4", "size": "256 MB", "mount_options": ["noatime"]},
    "transparent_hugepages": "never",
    "switch": {"/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan": 4321},
    "limits": {"cpus": 2, "memory": "1 GB"},
    "network": {"rate": "1 Gbit/s"},
}
WATCH_S = 0.02


def main(folder: Path) -> None:
    """All that this machine can be made to be; a server on it, watched."""
    sweep()
    lacking = missing_of_host(HOST)
    account = server_account()
    with Guarded() as guarded:
        host = {name: value for name, value in HOST.items() if name not in lacking}
        outfit = apply_all(host, guarded, Scene(data_parent(folder, account), account))
        with open_server("postgresql:18.4@wheel", {}, folder, outfit.server) as server:
            server.start()
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            while server.alive():
                threading.Event().wait(WATCH_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
