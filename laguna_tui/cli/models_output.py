"""Output of `laguna-tui models`: tables, records and verdicts as text or JSON, and the progress of a download."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import rate, size
from laguna_tui.cli.console import print_json, table
from laguna_tui.models.download_progress import DownloadProgress, progress_text
from laguna_tui.models.entry import ModelEntry, ModelKind
from laguna_tui.models.fit import ModelVerdict
from laguna_tui.models.store import ModelState, StoredModel, download_command

_JSON_EVERY_S = 0.5
_HUB_ALONE = "the hub's hash alone: nothing else vouches for it"
_SENTENCES = ("defects", "doubts")


class DownloadView:
    """Shows the progress of a download: a line on stderr that is overwritten, lines in a log, or JSON on stdout."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._as_json, self._quiet = as_json, quiet or as_json
        self._line = ProgressLine(quiet=self._quiet)
        self._reported = ""
        self._next = 0.0

    def begin(self, entries: Sequence[ModelEntry]) -> None:
        """Show what will be downloaded, and under which license."""
        if not self._quiet:
            sys.stderr.write("".join(sanitize_line(announced(entry)) + "\n" for entry in entries))

    def show(self, progress: DownloadProgress) -> None:
        """Show how far it is."""
        if self._as_json:
            self._print_json(progress)
        elif self._line.visible:
            self._line.show(progress_text(progress), at_once=True)
        elif not self._quiet:
            self._log(progress)

    def clear(self) -> None:
        """Clear the line."""
        self._line.clear()

    def _log(self, progress: DownloadProgress) -> None:
        """Write a line for each new phase, file and note: nobody wants ten lines a second in a file."""
        if self._is_new(progress):
            sys.stderr.write(sanitize_line(progress_text(progress)) + "\n")

    def _print_json(self, progress: DownloadProgress) -> None:
        now = time.monotonic()
        if self._is_new(progress) or now >= self._next:
            self._next = now + _JSON_EVERY_S
            print_json({"event": "progress", **asdict(progress)})

    def _is_new(self, progress: DownloadProgress) -> bool:
        before, self._reported = self._reported, f"{progress.phase} {progress.file} {progress.note}"
        return self._reported != before


def announced(entry: ModelEntry) -> str:
    """Return what will be downloaded: from where, how much, under which license."""
    where = f" from {entry.source.repository}" if entry.source else ""
    parts = [
        f"{entry.title}{where}",
        size(entry.size) if entry.size else "",
        entry.license and f"license: {entry.license}",
    ]
    unpinned = f"; checked by {_HUB_ALONE}" if entry.source and not entry.source.pinned else ""
    return ", ".join(filter(None, parts)) + unpinned


def record(entry: ModelEntry, status: StoredModel) -> dict[str, Any]:
    """Return a model as JSON has it; None where something is unknown."""
    source = entry.source
    return {
        "name": entry.name,
        "title": entry.title,
        "kind": entry.kind,
        "design": entry.design,
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
        "checked_by": ("the hash in the catalogue" if source.pinned else _HUB_ALONE) if source else None,
        "weights": entry.weights,
        "trained_for": entry.trained_for,
    }


def full_record(
    entry: ModelEntry,
    status: StoredModel,
    companions: Sequence[tuple[ModelEntry, StoredModel]],
    doubts: Sequence[str],
) -> dict[str, Any]:
    """Return everything known about a model.

    Args:
        entry: The model.
        status: What of it is on this machine.
        companions: What goes with it, the recommended one of each kind first.
        doubts: Where its file contradicts the catalogue.
    """
    drafters = [(each, found) for each, found in companions if each.kind is ModelKind.DRAFTER]
    return {
        **record(entry, status),
        "summary": entry.summary,
        "sampling": dict(entry.sampling),
        "thinking": entry.thinking if entry.kind is ModelKind.TARGET else None,
        "facts": dict(entry.facts),
        "defects": list(entry.defects),
        "companions": [each.name for each, _ in companions],
        "drafters": [
            {"name": each.name, "summary": each.summary, "state": found.state, "recommended": number == 0}
            for number, (each, found) in enumerate(drafters)
        ],
        "doubts": list(doubts),
        "parts": [{"name": file.name, "bytes_have": file.have, "bytes_total": file.total} for file in status.files],
    }


def model_table(found: Sequence[tuple[ModelEntry, StoredModel]], speeds: Mapping[str, str]) -> Iterator[str]:
    """Yield models as lines, in columns. speeds: on this machine, by name."""
    rows = [_cells(entry, status, speeds.get(entry.name, "")) for entry, status in found]
    return table([("NAME", "KIND", "HERE", "SIZE", "SPEED", "WHAT"), *rows])


def _cells(entry: ModelEntry, status: StoredModel, speed: str) -> tuple[str, ...]:
    total, here = status.bytes_total, str(status.state)
    if status.state is ModelState.PARTIAL and total:
        here = f"{status.bytes_have / total:.0%}"
    elif status.state is ModelState.MISSING:
        here = "no" if entry.source else "not published"
    what = ", ".join(filter(None, (entry.title, entry.design)))
    return entry.name, str(entry.kind), here, size(total) if total else "?", speed, what


def speed_cell(found: ModelVerdict) -> str:
    """Return the speed of a model on this machine in a few letters; an estimate begins with ~."""
    if found.plan is None or found.plan.paged:
        return "?" if found.unknown else "too large"
    return "?" if found.rate is None else f"{'' if found.measured else '~'}{rate(found.rate)}"


def record_lines(row: dict[str, Any]) -> Iterator[str]:
    """Yield a record as lines, without what is empty."""
    for key, value in row.items():
        if key in _SENTENCES:
            yield from (f"  {key}: {sentence}" for sentence in value)
        elif key == "drafters":
            yield from map(_drafter_line, value)
            if len(value) > 1:
                yield "  to use another drafter than the recommended one: --drafter NAME"
        elif key not in ("title", "summary", "parts") and value not in (None, "", [], {}):
            yield f"  {key.replace('_', ' ')}: {_shown(key, value)}"


def _drafter_line(row: dict[str, Any]) -> str:
    here = "here" if row["state"] in (ModelState.COMPLETE, ModelState.BUNDLED) else "not here"
    recommended = "recommended, " if row["recommended"] else ""
    return f"  drafter: {row['name']} ({recommended}{here}): {row['summary']}"


def _shown(key: str, value: Any) -> str:
    if key == "thinking":
        return "on, and the reasoning stays in the conversation" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {one}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return size(value) if key.startswith("bytes") else str(value)


def verdict(row: dict[str, Any]) -> Iterator[str]:
    """Yield the result of checking a model, as lines."""
    yield f"{row['name']}: {'ok' if row['ok'] else 'DAMAGED'}"
    for file in row["files"]:
        yield f"  {file['path']}{': ' if file['path'] and file['problem'] else ''}{file['problem']}"


def how_to_get(entry: ModelEntry) -> str:
    """Return what to do about a model that is not on this machine."""
    return f"download it: {download_command(entry)}" if entry.source else "give the path of its GGUF: --model FILE.gguf"
