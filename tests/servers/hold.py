"""Holds a server until something ends this process; run by tests that kill it.

Arguments: provision, folder. Prints the target as JSON when the server is ready.
"""

import json
import signal
import sys
from pathlib import Path

from dbdyno.servers import open_server

provision, folder = sys.argv[1:]
with open_server(provision, {}, Path(folder)) as server:
    server.start()
    sys.stdout.write(json.dumps(server.entry.target()) + "\n")
    sys.stdout.flush()
    while True:
        signal.pause()
