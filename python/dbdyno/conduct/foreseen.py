"""What change this machine would see in a study to come, by an earlier calibration."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.collect import environment_id, host_facts
from dbdyno.conduct.calibrate import baseline_cell
from dbdyno.design.batches import turns_of
from dbdyno.model import KeptNoise, Plan, Study, Workplace
from dbdyno.servers import parse_provision
from dbdyno.store import Store, kept_noise

LEAST_BLOCKS = 2
"""Fewer hold no spread of set-ups."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The smallest change that a study finds with a chance of 80 %, and how that is known."""

    effect: float
    """Relative: 0.02 is 2 %."""
    noise: KeptNoise


def foreseen(study: Study, plan: Plan, store: Store) -> Foreseen | None:
    """By the newest calibration of the baseline's cell, at the largest load there is one of.

    `None` where there is none of this host, server, script, its options and metric, or where
    nothing can be foreseen: cells that run one by one, a single block.
    """
    if not can_be_foreseen(study, plan):
        return None
    known = kept_noise(store)
    alike = [
        before
        for before in known
        if before.place.clients in study.load.clients
        and before.place == workplace(study, before.place.environment_id, before.place.clients)
    ]
    # Knowing the host takes half a second, statistics a whole one: only who needs them pays.
    here = environment_id(host_facts()) if alike else ""
    alike = [before for before in alike if before.place.environment_id == here]
    if not alike:
        return None
    from dbdyno.stats.power import smallest_effect

    noise = max(alike, key=lambda before: before.place.clients)
    effect = smallest_effect(
        noise.within_sd, noise.between_sd, pairs=turns_of(study), blocks=plan.blocks
    )
    return Foreseen(effect, noise)


def can_be_foreseen(study: Study, plan: Plan) -> bool:
    """Whether a calibration would say anything: it measures turns, and what is compared."""
    return plan.order == "turns" and plan.blocks >= LEAST_BLOCKS and bool(study.design.baseline)


def workplace(study: Study, environment: str, clients: int) -> Workplace:
    """What a calibration of the study's baseline is of."""
    cell = baseline_cell(study)
    return Workplace(
        environment_id=environment,
        server=parse_provision(cell.provision).kind,
        script=cell.script,
        clients=clients,
        metric=study.primary.metric,
        options=cell.options,
    )
