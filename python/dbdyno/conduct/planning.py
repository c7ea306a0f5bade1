"""Chooses the plan to carry out: a study's identity is fixed, but its extent may grow.

What a study's file leaves open is decided when the study is first measured, and the store remembers
it: the seed, and whether the baseline's cell stands twice.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from dbdyno.conduct.estimate import estimate
from dbdyno.design import plan as make_plan
from dbdyno.design.batches import order_of
from dbdyno.design.identity import whole_fingerprint
from dbdyno.model import Plan, Study
from dbdyno.store import Store, folders_of

_SEED_BITS = 48

LONG_S = 3600.0
"""Estimated time of a study above which a cell more is cheap beside knowing the machine's noise."""


def plan_study(
    study: Study,
    store: Store,
    *,
    seed: int | None = None,
    blocks: int | None = None,
    again: bool = False,
) -> tuple[Study, Plan]:
    """The study with nothing left open, and the plan to carry out, never shorter than what `store`
    holds of it.

    Seed: `seed`, the study's own, that of the newest folder of this same study, or a random one.
    With `again`, stored folders are ignored.
    """
    seed = study.design.seed if seed is None else seed
    blocks = study.design.blocks if blocks is None else blocks
    for stored in () if again else reversed(folders_of(store, study.name)):
        recorded = stored.plan
        if seed is not None and recorded.seed != seed:
            continue
        begun = as_begun(study, recorded, blocks=max(blocks, recorded.blocks))
        if begun is not None:
            return begun
    seed = secrets.randbits(_SEED_BITS) if seed is None else seed
    decided = _decided(study, seed, blocks)
    return decided, make_plan(decided, seed=seed, blocks=blocks)


def as_begun(study: Study, recorded: Plan, *, blocks: int) -> tuple[Study, Plan] | None:
    """The study as it was decided when `recorded` was begun, and its plan of `blocks`; `None` if
    that is another study.

    However long it has become since, or is expected to take now.
    """
    for decided in (_once(study), _twice(study)):
        planned = make_plan(decided, seed=recorded.seed, blocks=blocks)
        known = (planned.fingerprint, whole_fingerprint(decided, recorded.seed))
        if recorded.fingerprint in known:
            return decided, longer(planned, recorded)
    return None


def longer(planned: Plan, begun: Plan) -> Plan:
    """A plan that goes on where `begun` ended, by the name that it has in its store.

    Blocks that `begun` has keep its order, which an earlier version may have drawn otherwise.
    """
    places = {run.id: place for place, run in enumerate(begun.runs)}
    runs = sorted(planned.runs, key=lambda run: (run.block, places.get(run.id, run.position)))
    numbered = tuple(replace(run, position=number) for number, run in enumerate(runs, 1))
    return replace(planned, runs=numbered, fingerprint=begun.fingerprint)


def _decided(study: Study, seed: int, blocks: int) -> Study:
    """Its baseline's cell stands twice if the study is driven in turns and is a long one."""
    once = _once(study)
    if not study.design.twice_if_long or order_of(once) != "turns":
        return once
    needs = estimate(once, make_plan(once, seed=seed, blocks=blocks))
    return _twice(study) if needs.time_s > LONG_S else once


def _once(study: Study) -> Study:
    return replace(study, design=replace(study.design, twice_if_long={}))


def _twice(study: Study) -> Study:
    """With the cell that may stand twice; the same as `_once` where it was never open."""
    design = study.design
    twice = design.twice_if_long or design.twice
    return replace(study, design=replace(design, twice=twice, twice_if_long={}))
