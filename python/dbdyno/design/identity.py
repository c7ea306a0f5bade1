"""A study's identity: which of its keys are hashed, one by one.

Stored studies are found again by it, so it must never change for what there was before. `FIRST` are
the keys that are hashed whatever their value. A key that comes later is added to `LATER` with its
default, and is hashed only where its value is another one: so a new key changes no identity, nor
does moving a key into a type of its own, as long as its shape stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from dbdyno.design.batches import order_of
from dbdyno.design.cells import cells
from dbdyno.model import (
    ENGINE,
    Cell,
    Closed,
    Constant,
    Design,
    ErrorPolicy,
    ErrorRule,
    FindMax,
    Group,
    Load,
    Poisson,
    Ramp,
    Replay,
    Sine,
    Steps,
    Study,
    Tables,
)
from dbdyno.model.fault import Fault

Shape = dict[str, object]

FIRST: Mapping[type, tuple[str, ...]] = {
    Load: (
        *("warm_up_s", "measure_s", "events", "interval_s", "think_time_s", "arrival"),
        *("reconnect_every", "groups", "errors", "prepared_statements", "reactor"),
        *("scheduling", "bind", "shards", "loaders", "verify", "processes"),
    ),
    Group: (
        *("name", "clients", "script", "options", "prepare", "arrival", "idle"),
        *("think_time_s", "reconnect_every"),
    ),
    Closed: (),
    Constant: ("rate_per_s",),
    Poisson: ("rate_per_s",),
    Ramp: ("from_per_s", "to_per_s", "over_s"),
    Steps: ("steps",),
    Sine: ("mean_per_s", "amplitude_per_s", "period_s"),
    Replay: ("file",),
    ErrorPolicy: ("rules", "reconnect_s", "back_off_s"),
    ErrorRule: ("codes", "action", "limit"),
    FindMax: ("percentile", "limit_s", "from_per_s", "to_per_s", "precision"),
    Tables: ("script", "options"),
    Fault: ("do", "at_s", "for_s", "member", "every_s", "times"),
    Cell: ("levels", "provision", "settings", "script", "options"),
    Design: (),
}
"""Type → its keys that are hashed whatever their value."""

LATER: Mapping[type, Mapping[str, object]] = {
    Load: {"find_max": None, "faults": (), "ledger": 0, "hosts": 0},
    Fault: {"apply": (), "undo": (), "during": "", "direction": "both", "rate_bit_s": None},
    Group: {"entry": ""},
    Cell: {
        "host": {},
        "generator": ENGINE,
        "connection": {},
        "proxy": {},
        "topology": {},
        "most_clients": None,
        "tables": None,
        "c_functions": (),
        "load": {},
    },
    Design: {"stop_half_width": None, "together": "alike"},
}
"""Type → keys that came later, each with the value at which it is left out."""

IN_TURNS: Mapping[str, object] = {"reconnect": 0, "freeze": False}
"""The same of the design's keys that count only in turns, beside `turn_s` and `lead_in_s`."""

NO_PART: Mapping[type, Mapping[str, str]] = {
    Load: {"clients": "hashed beside the load"},
    ErrorPolicy: {"expected": "how errors are judged, not what is measured"},
    Design: {
        "blocks": "its extent: a longer plan goes on where a shorter one ended",
        "baseline": "what is compared, not what is measured",
        "seed": "the plan's seed is hashed",
        "order": "the keys of turns are hashed where there are turns",
        "turn_s": "hashed in turns",
        "lead_in_s": "hashed in turns",
        "reconnect": "hashed in turns",
        "freeze": "hashed in turns",
        "twice": "the cell itself is hashed",
        "twice_if_long": "decided before there is a plan",
    },
}
"""Type → its fields that are left out of its shape, and why."""


def fingerprint(study: Study, seed: int) -> str:
    """Of a study's plan: cells, load, order and seed, but not its extent.

    How many blocks are run is its extent, so a longer plan goes on where a shorter one ended; so
    is, in turns, how many turns a block has, since the block stays the unit whatever its length.
    """
    left_out = ("measure_s",) if order_of(study) == "turns" else ()
    return _digest(study, seed, left_out)


def whole_fingerprint(study: Study, seed: int) -> str:
    """The fingerprint with the length of windows in it, as plans in turns had it at first."""
    return _digest(study, seed, ())


def design_digest(study: Study) -> str:
    """A digest of its cells and load, length of windows included, whatever its seed and the number
    of its blocks."""
    return whole_fingerprint(study, 0)


def _digest(study: Study, seed: int, left_out: tuple[str, ...]) -> str:
    arrivals = (study.load.arrival, *(group.arrival for group in study.load.groups))
    load = shape_of(study.load) | {"arrivals": [arrival.kind for arrival in arrivals]}
    shape = {
        "study": study.name,
        "scale": study.scale,
        "seed": seed,
        "load": {key: value for key, value in load.items() if key not in left_out},
        **_turns_shape(study),
        **shape_of(study.design),
        "clients": study.load.clients,
        "cells": [shape_of(cell) for cell in cells(study)],
    }
    return hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:16]


def shape_of(thing: object) -> Shape:
    """What is hashed of a part of a study, by key."""
    keys = dict.fromkeys(FIRST[type(thing)])
    later = LATER.get(type(thing), {})
    keys |= dict.fromkeys(key for key in later if getattr(thing, key) != later[key])
    return {key: _value_shape(getattr(thing, key)) for key in keys}


def _value_shape(value: object) -> object:
    if type(value) in FIRST:
        return shape_of(value)
    if isinstance(value, Mapping):
        return {name: _value_shape(inner) for name, inner in value.items()}
    return [_value_shape(inner) for inner in value] if isinstance(value, tuple | list) else value


def _turns_shape(study: Study) -> Shape:
    """What turns add to a study's identity; nothing where cells run one by one."""
    if order_of(study) == "runs":
        return {}
    design = study.design
    asked = {key: getattr(design, key) for key in IN_TURNS if getattr(design, key) != IN_TURNS[key]}
    return {"turn_s": design.turn_s, "lead_in_s": design.lead_in_s, **asked}
