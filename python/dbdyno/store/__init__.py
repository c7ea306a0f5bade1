"""The results: a tree of immutable run folders, written aside and then renamed.

Contents of a folder: docs/contracts/store.md. Nothing here deletes or changes a finished run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.store.figures import event_record, response_figures_ns, step_summary, with_search
    from dbdyno.store.noise import keep_noise, kept_noise
    from dbdyno.store.reader import Store, StoredRun, StoredStudy, folders_of
    from dbdyno.store.run_journal import share_host_journal
    from dbdyno.store.study_folder import StudyFolder, open_study_folder, recover_study
    from dbdyno.store.study_journal import LiveLog, add_note, notes_of, running
    from dbdyno.store.writer import RunWriter

__all__ = [
    "LiveLog",
    "RunWriter",
    "Store",
    "StoredRun",
    "StoredStudy",
    "StudyFolder",
    "add_note",
    "event_record",
    "folders_of",
    "keep_noise",
    "kept_noise",
    "notes_of",
    "open_study_folder",
    "recover_study",
    "response_figures_ns",
    "running",
    "share_host_journal",
    "step_summary",
    "with_search",
]

_PLACES = {
    "event_record": "figures",
    "response_figures_ns": "figures",
    "step_summary": "figures",
    "with_search": "figures",
    "keep_noise": "noise",
    "kept_noise": "noise",
    "Store": "reader",
    "StoredRun": "reader",
    "StoredStudy": "reader",
    "folders_of": "reader",
    "share_host_journal": "run_journal",
    "StudyFolder": "study_folder",
    "open_study_folder": "study_folder",
    "recover_study": "study_folder",
    "LiveLog": "study_journal",
    "add_note": "study_journal",
    "notes_of": "study_journal",
    "running": "study_journal",
    "RunWriter": "writer",
}

__getattr__ = on_demand(__name__, _PLACES)
