"""What `check --json` prints of a plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dbdyno.conduct.estimate import Estimate
from dbdyno.conduct.needs import Machine, lacks
from dbdyno.conduct.topology import ManyServers, many_servers
from dbdyno.design.search import most_probes, usual_probes
from dbdyno.model import (
    FindMax,
    Needs,
    Plan,
    Study,
)


@dataclass(frozen=True, slots=True)
class Takes:
    """What a study takes, and what there is of it here."""

    cost: Estimate
    machine: Machine
    free_bytes: int

    def lacking(self, needs: Needs) -> tuple[str, ...]:
        """`cores`, `memory`, `disk`: what there is too little of."""
        short = ("disk",) if self.free_bytes < self.cost.disk_bytes else ()
        return (*lacks(needs, self.machine), *short)


def servers_of(plan: Plan) -> dict[str, str]:
    return {run.cell.levels.get("server", run.label): run.cell.provision for run in plan.runs}


def members_of(plan: Plan) -> dict[str, ManyServers]:
    return {
        run.cell.levels.get("server", run.label): servers
        for run in plan.runs
        if (servers := many_servers(run.cell)) is not None
    }


def document_of(study: Study, plan: Plan, takes: Takes) -> dict[str, object]:
    cost = takes.cost
    return {
        "schema": 1,
        "study": study.name,
        "question": study.question,
        "scale": study.scale,
        "seed": plan.seed,
        "plan": plan.fingerprint,
        "factors": {
            factor.name: [level.name for level in factor.levels] for factor in study.factors
        },
        "servers": servers_of(plan),
        "members": {name: asdict(servers) for name, servers in members_of(plan).items()},
        "clients": list(study.load.clients),
        "time_s": cost.time_s,
        **_search_document(study.load.find_max),
        "disk_bytes": cost.disk_bytes,
        "disk_free_bytes": takes.free_bytes,
        "data_unknown": list(cost.unknown),
        "needs": asdict(study.needs),
        "machine": asdict(takes.machine),
        "lacks": list(takes.lacking(study.needs)),
        "order": [
            {
                "run": run.id,
                "block": run.block,
                "cell": dict(run.cell.levels),
                "script": run.cell.script,
                "seed": run.seed,
            }
            for run in plan.runs
        ],
    }


def _search_document(asked: FindMax | None) -> dict[str, object]:
    if asked is None:
        return {}
    return {"probes": {"usual": usual_probes(asked), "most": most_probes(asked)}}
