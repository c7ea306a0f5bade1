"""What change a study would see: by a calibration of the same host, server, load and metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.collect import environment_id, host_facts
from dbdyno.conduct.foreseen import can_be_foreseen, foreseen, workplace
from dbdyno.design import plan
from dbdyno.design.batches import turns_of
from dbdyno.errors import StoreError
from dbdyno.formats.study import read_study
from dbdyno.model import KeptNoise, Study
from dbdyno.stats.power import smallest_effect
from dbdyno.store import Store, keep_noise, kept_noise

HERE = environment_id(host_facts())


@pytest.fixture
def study(study_file: Path) -> Study:
    study_file.write_text(study_file.read_text().replace('"1 s"', '"20 s"'))
    return read_study(study_file).study


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def noise(study: Study, clients: int = 4, within_sd: float = 0.1) -> KeptNoise:
    return KeptNoise(workplace(study, HERE, clients), within_sd, 0.01, study.name, 1.7e9)


def test_the_effect_follows_from_the_study_s_own_turns_and_blocks(
    study: Study, store: Store
) -> None:
    keep_noise(store, noise(study))
    effects = []
    for blocks in (2, 6):
        found = foreseen(study, plan(study, blocks=blocks), store)
        assert found is not None
        turns = turns_of(study)
        assert found.effect == smallest_effect(0.1, 0.01, pairs=turns, blocks=blocks)
        effects.append(found.effect)

    assert effects[0] > effects[1] > 0


def test_the_largest_load_that_was_calibrated_counts_and_the_newest_of_it(
    study: Study, store: Store
) -> None:
    for one in (noise(study, 4, 0.5), noise(study, 4, 0.2), noise(study, 1, 0.3)):
        keep_noise(store, one)

    assert [one.within_sd for one in kept_noise(store)] == [0.2, 0.3]
    found = foreseen(study, plan(study, blocks=3), store)
    assert found is not None
    assert (found.noise.place.clients, found.noise.within_sd) == (4, 0.2)


@pytest.mark.parametrize(
    "other",
    [
        {"environment_id": "of another host"},
        {"server": "postgresql"},
        {"script": "kv_update"},
        {"clients": 64},
        {"metric": "p99"},
        {"options": {"table_size": 11}},
    ],
)
def test_a_calibration_of_something_else_says_nothing(
    study: Study, store: Store, other: Mapping[str, object]
) -> None:
    found = noise(study)
    keep_noise(store, replace(found, place=replace(found.place, **other)))  # type: ignore[arg-type]

    assert foreseen(study, plan(study, blocks=3), store) is None


def test_runs_and_single_blocks_are_not_foreseen(study: Study, store: Store) -> None:
    keep_noise(store, noise(study))
    runs = replace(study, design=replace(study.design, order="runs"))

    assert can_be_foreseen(study, plan(study, blocks=2))
    assert not can_be_foreseen(study, plan(study, blocks=1))
    assert not can_be_foreseen(runs, plan(runs, blocks=2))
    assert foreseen(runs, plan(runs, blocks=2), store) is None


def test_a_file_that_is_no_such_file_is_named(store: Store) -> None:
    store.root.mkdir()
    for content in (b"[", b"[]", b'{"schema": 1, "noise": [{}]}'):
        (store.root / "noise.json").write_bytes(content)
        with pytest.raises(StoreError, match=r"noise\.json") as caught:
            kept_noise(store)
        assert caught.value.hint == "remove it, and calibrate again"
