"""Chooses the plan to carry out: a study's identity is fixed, but its extent may grow.

A study without a seed gets a random one when first measured, and the store remembers it.
"""

from __future__ import annotations

import secrets

from dbdyno.design import plan as make_plan
from dbdyno.model import Plan, Study
from dbdyno.store import Store, folders_of

_SEED_BITS = 48


def plan_study(
    study: Study,
    store: Store,
    *,
    seed: int | None = None,
    blocks: int | None = None,
    again: bool = False,
) -> Plan:
    """The plan to carry out, never shorter than what `store` holds of this study.

    Seed: `seed`, the study's own, that of the newest folder of this same study, or a random one.
    With `again`, stored folders are ignored.
    """
    seed = study.design.seed if seed is None else seed
    blocks = study.design.blocks if blocks is None else blocks
    for stored in () if again else reversed(folders_of(store, study.name)):
        recorded = stored.plan
        if seed is not None and recorded.seed != seed:
            continue
        if make_plan(study, seed=recorded.seed).fingerprint == recorded.fingerprint:
            longer = max(blocks, recorded.blocks)
            return make_plan(study, seed=recorded.seed, blocks=longer)
    return make_plan(
        study, seed=secrets.randbits(_SEED_BITS) if seed is None else seed, blocks=blocks
    )
