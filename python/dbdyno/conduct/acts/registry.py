"""Words of `do` and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dbdyno.conduct.acts.act import Act, Scene
from dbdyno.conduct.acts.command import Command
from dbdyno.conduct.acts.disk import FillDisk
from dbdyno.conduct.acts.link import Partition, SlowNetwork
from dbdyno.conduct.acts.power import PowerFailure
from dbdyno.conduct.acts.process import Kill, KillServer, Pause, Stop
from dbdyno.conduct.acts.promotion import Promote
from dbdyno.conduct.acts.proxy import KillProxy
from dbdyno.model.fault import FaultAction

ACTS: Mapping[FaultAction, Callable[[Scene], Act]] = {
    "kill": Kill,
    "stop": Stop,
    "pause": Pause,
    "promote": Promote,
    "switch-over": partial(Promote, planned=True),
    "kill-proxy": KillProxy,
    "kill-server": KillServer,
    "command": Command,
    "fill-disk": FillDisk,
    "power-failure": PowerFailure,
    "partition": Partition,
    "slow-network": SlowNetwork,
}
