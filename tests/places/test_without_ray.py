"""Without the extra `ray` nothing of Ray is imported, and what needs it says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python"

EVERY_MODULE = """\
import pkgutil, importlib, sys, dbdyno
for module in pkgutil.walk_packages(dbdyno.__path__, "dbdyno."):
    if not module.name.endswith("__main__") and ".programs" not in module.name:
        importlib.import_module(module.name)
assert "dbdyno.places.ray_driver" in sys.modules
print([name for name in sys.modules if name.partition(".")[0] == "ray"])
"""

ABSENT = """\
import sys
sys.path.insert(0, sys.argv[1])
from dbdyno.errors import MachineError
from dbdyno.places import require_ray
try:
    require_ray()
except MachineError as error:
    print(error.message, "|", error.hint)
"""


def run(*words: str) -> str:
    return subprocess.run(
        [sys.executable, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_no_module_imports_ray() -> None:
    assert run("-c", EVERY_MODULE) == "[]"


def test_the_error_says_what_to_install() -> None:
    printed = run("-I", "-S", "-c", ABSENT, str(PACKAGE))

    assert printed == ("load hosts need Ray, which is not installed | pip install 'dbdyno[ray]'")
