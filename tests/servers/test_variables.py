"""Environment variables: each one the lab reads for servers is on the page about servers."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_variable_is_documented() -> None:
    package = ROOT / "python" / "dbdyno"
    files = (package / "cache.py", *package.glob("guard/**/*.py"), *package.glob("servers/**/*.py"))
    code = "".join(path.read_text() for path in files)
    page = (ROOT / "docs" / "servers.md").read_text()

    used = set(re.findall(r'"(DBDYNO_[A-Z_]+)"', code))

    assert used
    assert used == set(re.findall(r"^\| `(DBDYNO_[A-Z_]+)` \|", page, re.MULTILINE))
