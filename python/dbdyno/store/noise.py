"""`noise.json`: the noise that calibrations of this store have found, the newest of each kind.

It is no measurement of a study, and no report reads it: it says what a study to come can detect.
"""

from __future__ import annotations

from dbdyno.errors import StoreError
from dbdyno.formats.adapters import adapter
from dbdyno.formats.documents import dump_json, parse_json, validated
from dbdyno.model import KeptNoise
from dbdyno.store.disk import make_folder, replace_file
from dbdyno.store.locked import locked
from dbdyno.store.reader import Store

NAME = "noise.json"
SCHEMA = 1

_LOST = "remove it, and calibrate again"


def kept_noise(store: Store) -> tuple[KeptNoise, ...]:
    """All there is, the oldest first. Raises `StoreError` if the file can't be read."""
    file = store.root / NAME
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(f"{file}: can't be read: {error.strerror}", hint=_LOST) from error
    document = parse_json(content, file=file, hint=_LOST)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise StoreError(f"{file}: is not of schema {SCHEMA}", hint=_LOST)
    return validated(tuple[KeptNoise, ...], document.get("noise"), file, hint=_LOST)


def keep_noise(store: Store, noise: KeptNoise) -> None:
    """Keeps it in place of what was known of the same. Raises `StoreError`."""
    make_folder(store.root)
    with locked(store.root):
        others = (
            noise_before for noise_before in kept_noise(store) if noise_before.place != noise.place
        )
        known = adapter(tuple[KeptNoise, ...]).dump_python((*others, noise), mode="json")
        replace_file(store.root / NAME, dump_json({"schema": SCHEMA, "noise": known}))
