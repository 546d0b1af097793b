"""AGENTS.md: what the people of a folder want its assistants to know, as the first thing a conversation is given.

Every AGENTS.md from the repository's top down to the folder counts, the nearest last, because it may overrule the
others. It speaks to the model with the user's voice, so it is read only where the user trusts the folder: of an
untrusted one nothing is opened, only its name is looked for. It cannot lead out of the repository by a link.
"""

import os
from collections.abc import Callable
from pathlib import Path

from laguna_tui.context import frame
from laguna_tui.context.attachment import Attachment, Gathered
from laguna_tui.context.blocks import BlockKind, Place
from laguna_tui.context.frame import framed
from laguna_tui.context.sources import Source, read_source
from laguna_tui.context.tokens import Counter, largest
from laguna_tui.context.trust import Trust, project_root
from laguna_tui.repo.names import shown
from laguna_tui.repo.workspace import Workspace, WorkspaceError

NAME = "AGENTS.md"
# Several times what such files have; more is no instruction but a book.
LIMIT_BYTES = 64 * 1024
# Instructions help with the question; they must not take its place.
_SHARE = 0.25
_WHOSE = "the user's instructions for this folder"
_CUT = "… lines {first}-{last} left out"

UNTRUSTED = f"{NAME} is here, but this folder is not trusted, so it was not read; to use it: /trust or laguna-tui trust"
TOO_LONG = "{path}: {why}; shorten it"
TOO_LARGE = "only the first {limit:,} of {size:,} bytes of {path} are read; shorten it"
NO_ROOM = "{path} does not fit in the context, so it is not used"
UNREADABLE = "{path} is not used: {reason}"


def instructions(folder: Path, trust: Trust, count: Callable[[str], int], room: int) -> Gathered:
    """What the AGENTS.md files say, the nearest last, within a share of the room.

    Args:
        folder: what the session is about.
        count: the tokens of a text.
        room: tokens that everything attached may take.
    """
    root, real = project_root(folder), Path(os.path.realpath(folder))
    here = found(folder)
    if not here:
        return Gathered()
    if not trust.covers(folder):
        return Gathered((), (*trust.notes, UNTRUSTED))
    return _read(root, real, here, Counter(count), int(room * _SHARE))


def found(folder: Path) -> list[Path]:
    """The folders that have such a file, from the given one up to the top of its project."""
    root, real = project_root(folder), Path(os.path.realpath(folder))
    places = [place for place in (real, *real.parents) if place.is_relative_to(root)]
    return [place for place in places if os.path.lexists(place / NAME)]


def _read(root: Path, folder: Path, places: list[Path], count: Counter, room: int) -> Gathered:
    """The files in these places, nearest first: the nearest has the first claim on the room."""
    workspace = Workspace(root)
    found: list[Attachment] = []
    notes: list[str] = []
    for place in places:
        path = os.path.relpath(place / NAME, folder)
        try:
            inside = workspace.locate((place / NAME).relative_to(root).as_posix())
            source = read_source(workspace, inside, LIMIT_BYTES)
        except WorkspaceError as error:
            notes.append(UNREADABLE.format(path=shown(path), reason=error))
            continue
        if not source.text.strip():
            continue
        if not source.complete:
            notes.append(TOO_LARGE.format(path=shown(path), limit=LIMIT_BYTES, size=source.size))
        attachment = _fitted(path, source, count, room)
        if attachment is None:
            notes.append(NO_ROOM.format(path=shown(path)))
            continue
        if attachment.place is Place.SHORTENED:
            notes.append(TOO_LONG.format(path=shown(path), why=attachment.why))
        room -= count(attachment.text)
        found.append(attachment)
    return Gathered(tuple(reversed(found)), tuple(notes))


def _fitted(path: str, source: Source, count: Counter, room: int) -> Attachment | None:
    """The file as it is put into the prompt: whole, or as many of its first lines as fit."""
    lines = source.lines
    whole = framed(path, source.text, f"{frame.whole(len(lines))}; {_WHOSE}")
    if count.within(whole, room) is not None:
        return Attachment(BlockKind.INSTRUCTIONS, path, path, whole, whole, Place.KEPT, "the folder is trusted")

    def cut(kept: int) -> str:
        mark = _CUT.format(first=kept + 1, last=len(lines))
        facts = f"{frame.shortened(kept, len(lines))}; {_WHOSE}"
        return framed(path, "\n".join([*lines[:kept], mark]), facts)

    kept = largest(len(lines) - 1, lambda number: count(cut(number)) <= room)
    if not kept:
        return None
    short, why = cut(kept), f"only the first {kept} of {len(lines)} lines fit"
    return Attachment(BlockKind.INSTRUCTIONS, path, path, short, whole, Place.SHORTENED, why, lambda: short)
