"""What `laguna-tui models` shows: tables, records and verdicts as text or JSON, and a download's progress."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import size
from laguna_tui.models.download_progress import DownloadProgress, progress_text
from laguna_tui.models.entry import ModelEntry, ModelKind
from laguna_tui.models.store import ModelState, StoredModel, download_command

_JSON_EVERY_S = 0.5
_SENTENCES = ("defects", "doubts")


class DownloadView:
    """How far a download is: one line on stderr that is overwritten, lines in a log, or JSON on stdout."""

    def __init__(self, *, quiet: bool, machine: bool) -> None:
        self._machine, self._quiet = machine, quiet or machine
        self._line = ProgressLine(quiet=self._quiet)
        self._said = ""
        self._next = 0.0

    def begin(self, entries: Sequence[ModelEntry]) -> None:
        """Say what is about to come, and under which licence."""
        if not self._quiet:
            sys.stderr.write("".join(sanitize_line(announced(entry)) + "\n" for entry in entries))

    def show(self, progress: DownloadProgress) -> None:
        """Say how far it is."""
        if self._machine:
            self._as_json(progress)
        elif self._line.visible:
            self._line.show(progress_text(progress), at_once=True)
        elif not self._quiet:
            self._log(progress)

    def clear(self) -> None:
        """Leave the line empty."""
        self._line.clear()

    def _log(self, progress: DownloadProgress) -> None:
        """In a file nobody wants ten lines a second: one for each new thing that happens."""
        mark = f"{progress.phase} {progress.file} {progress.note}"
        if mark != self._said:
            self._said = mark
            sys.stderr.write(sanitize_line(progress_text(progress)) + "\n")

    def _as_json(self, progress: DownloadProgress) -> None:
        mark, now = f"{progress.phase} {progress.file} {progress.note}", time.monotonic()
        if mark != self._said or now >= self._next:
            self._said, self._next = mark, now + _JSON_EVERY_S
            show_json_line({"event": "progress", **asdict(progress)})


def announced(entry: ModelEntry) -> str:
    """What is about to be fetched: from where, how much, under which licence."""
    known = entry.source.size if entry.source else None
    where = f" from {entry.source.repository}" if entry.source else ""
    parts = [f"{entry.title}{where}", size(known) if known else "", entry.license and f"licence: {entry.license}"]
    return ", ".join(filter(None, parts))


def record(entry: ModelEntry, status: StoredModel) -> dict[str, Any]:
    """What a machine reads of a model; None where something is not known."""
    source = entry.source
    return {
        "name": entry.name,
        "title": entry.title,
        "kind": entry.kind,
        "state": status.state,
        "path": str(status.path) if status.path else None,
        "bytes_have": status.bytes_have,
        "bytes_total": status.bytes_total,
        "license": entry.license,
        "context": entry.context,
        "context_max": entry.context_max or None,
        "belongs": list(entry.belongs),
        "repository": source.repository if source else None,
        "revision": source.revision if source else None,
        "files": list(source.files) if source else [],
        "sha256": source.sha256 if source else None,
    }


def full_record(
    entry: ModelEntry,
    status: StoredModel,
    friends: Sequence[tuple[ModelEntry, StoredModel]],
    against: Sequence[str],
) -> dict[str, Any]:
    """Everything known of a model. friends: what goes with it, the recommended of each kind first. against: what its
    file says that it should not.
    """
    drafters = [(each, found) for each, found in friends if each.kind is ModelKind.DRAFTER]
    return {
        **record(entry, status),
        "summary": entry.summary,
        "sampling": dict(entry.sampling),
        "thinking": entry.thinking if entry.kind is ModelKind.TARGET else None,
        "facts": dict(entry.facts),
        "defects": list(entry.defects),
        "companions": [each.name for each, _ in friends],
        "drafters": [
            {"name": each.name, "summary": each.summary, "state": found.state, "recommended": number == 0}
            for number, (each, found) in enumerate(drafters)
        ],
        "doubts": list(against),
        "parts": [{"name": file.name, "bytes_have": file.have, "bytes_total": file.total} for file in status.files],
    }


def table(found: Sequence[tuple[ModelEntry, StoredModel]]) -> Iterator[str]:
    """Models as lines, in columns."""
    rows = [("NAME", "KIND", "HERE", "SIZE", "WHAT"), *(_cells(entry, status) for entry, status in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cells(entry: ModelEntry, status: StoredModel) -> tuple[str, ...]:
    total, here = status.bytes_total, str(status.state)
    if status.state is ModelState.PARTIAL and total:
        here = f"{status.bytes_have / total:.0%}"
    elif status.state is ModelState.MISSING:
        here = "no" if entry.source else "bring it"
    return entry.name, str(entry.kind), here, size(total) if total else "?", entry.title


def record_lines(row: dict[str, Any]) -> Iterator[str]:
    """A record as lines, without what says nothing."""
    for key, value in row.items():
        if key in _SENTENCES:
            yield from (f"  {key}: {sentence}" for sentence in value)
        elif key == "drafters":
            yield from map(_drafter_line, value)
            if len(value) > 1:
                yield "  to draft with another one than the recommended: --drafter NAME"
        elif key not in ("title", "summary", "parts") and value not in (None, "", [], {}):
            yield f"  {key.replace('_', ' ')}: {_shown(key, value)}"


def _drafter_line(row: dict[str, Any]) -> str:
    here = "here" if row["state"] in (ModelState.COMPLETE, ModelState.BUNDLED) else "not here"
    recommended = "recommended, " if row["recommended"] else ""
    return f"  drafter: {row['name']} ({recommended}{here}): {row['summary']}"


def _shown(key: str, value: Any) -> str:
    if key == "thinking":
        return "on, and what was thought stays in the conversation" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {one}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return size(value) if key.startswith("bytes") else str(value)


def verdict(row: dict[str, Any]) -> Iterator[str]:
    """What checking a model came to, as lines."""
    yield f"{row['name']}: {'as it should be' if row['ok'] else 'NOT as it should be'}"
    for file in row["files"]:
        yield f"  {file['path']}{': ' if file['path'] and file['problem'] else ''}{file['problem']}"


def how_to_get(entry: ModelEntry) -> str:
    """What to do when a model is not here."""
    return f"get it: {download_command(entry)}" if entry.source else "pass the path of its GGUF: --model FILE.gguf"


def show_json(value: object) -> None:
    """A result, for machines."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
    sys.stdout.flush()


def show_json_line(value: object) -> None:
    """One event of several, for machines."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
