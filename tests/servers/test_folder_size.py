"""The size of a folder in which files and folders come and go."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from dbdyno.servers.folder_size import size_of


def test_files_of_all_folders_count_and_links_do_not(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_bytes(bytes(7))
    (tmp_path / "beside").write_bytes(bytes(5))
    (tmp_path / "link").symlink_to("beside")

    assert size_of(tmp_path) == 12


def test_folders_that_go_away_meanwhile_count_as_nothing(tmp_path: Path) -> None:
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            for number in range(20):
                (tmp_path / f"part-{number}/deep").mkdir(parents=True, exist_ok=True)
            for number in range(20):
                shutil.rmtree(tmp_path / f"part-{number}")

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        sizes = {size_of(tmp_path) for _ in range(300)}
    finally:
        over.set()
        thread.join()

    assert sizes == {0}
