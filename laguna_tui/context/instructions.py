"""AGENTS.md: a folder's instructions for assistants, as the first thing in a conversation.

Every AGENTS.md from the repository's top down to the folder counts, the nearest last, because it may overrule the
others. It speaks to the model with the user's voice, so it is used only where the user trusts the folder, and only with
the text that the user trusted: of an untrusted folder nothing is opened, only the name is looked for. It cannot lead
out of the repository by a link.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_tui.base.messages import Attachment, BlockKind, Place
from laguna_tui.base.paths import escaped
from laguna_tui.base.text_diff import diff_texts, unified
from laguna_tui.base.units import plural
from laguna_tui.context import frame
from laguna_tui.context.blocks import Gathered
from laguna_tui.context.frame import framed
from laguna_tui.context.source_files import SourceFile, source_of
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.context.trust import Trust, Trusted, project_root
from laguna_tui.repo.files.text_files import decode
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

NAME = "AGENTS.md"
# Several times the size of such files.
LIMIT_BYTES = 64 * 1024
# Instructions help with the question; they must not take its place.
_SHARE = 0.25
_WHOSE = "the user's instructions for this folder"
_CUT = "… lines {first}-{last} left out"

UNTRUSTED = f"{NAME} is here, but this folder is not trusted, so it was not read; to use it: /trust or laguna-tui trust"
OUTDATED = (
    f"{NAME} is here, but this folder was trusted by an earlier version, which did not save its text, so it was not"
    " used; to see it and trust it again: /trust or laguna-tui trust"
)
CHANGED = (
    "{paths} changed since this folder was trusted, so it was not used; to see the difference and trust it again:"
    " /trust or laguna-tui trust"
)
TOO_LONG = "{path}: {why}; shorten it"
TOO_LARGE = "only the first {limit:,} of {size:,} bytes of {path} are read; shorten it"
NO_ROOM = "{path} does not fit in the context, so it is not used"
UNREADABLE = "{path} is not used: {reason}"


TRUSTED = (
    "{folder} is trusted with the present text of its AGENTS.md, which is used from the next chat on."
    " To undo this: laguna-tui trust --revoke"
)
TRUSTED_BEFORE = "{folder} was already trusted; its AGENTS.md is read when a chat begins. To begin one: /new"
NO_INSTRUCTIONS = "{folder} is trusted but has no AGENTS.md yet; if you add one, it is read when a chat begins."

# A longer difference is better read in an editor.
_SHOWN_LINES = 200
_NEW = "{path}: {lines}, trusted for the first time"
_REMOVED = "{path}: no longer there"
_DIFFERENCE = "{path}: changed since it was trusted"
_UNKNOWN = "{path}: changed; its earlier text is no longer saved, and it now has {lines}"
_MORE = "… {count} more lines; read them in the file"


@dataclass(frozen=True, slots=True)
class TrustGrant:
    """The result of trusting a folder: the trusted folder, and what is new about it for the user, raw."""

    folder: Path
    lines: tuple[str, ...]


def instructions(folder: Path, trust: Trust, count: Callable[[str], int], room: int) -> Gathered:
    """Return what the AGENTS.md files say, the nearest last, within a share of the room.

    Args:
        folder: the session's folder.
        trust: the trusted folders.
        count: returns the tokens of a text.
        room: tokens for all attachments.
    """
    root, real = project_root(folder), Path(os.path.realpath(folder))
    here = instruction_folders(folder)
    if not here:
        return Gathered()
    trusted = trust.of(folder)
    if trusted is None:
        return Gathered((), (*trust.notes, UNTRUSTED))
    if trusted.digests is None:
        return Gathered((), (*trust.notes, OUTDATED))
    return _read(root, real, here, trusted, CachedTokenCounter(count), int(room * _SHARE))


def instruction_folders(folder: Path) -> list[Path]:
    """Return the folders that have such a file, from the given one up to the top of its project."""
    root, real = project_root(folder), Path(os.path.realpath(folder))
    return [place for place in _places(root, real) if os.path.lexists(place / NAME)]


def trust_instructions(folder: Path, trust: Trust) -> TrustGrant:
    """Trust a folder with what its AGENTS.md files say now: those that a session about this folder is given.

    Raises:
        UserError: the folder cannot be trusted, or nothing is kept on this machine.
    """
    root, real = project_root(folder), Path(os.path.realpath(folder))
    workspace = Workspace(root)
    texts: dict[str, bytes | None] = {}
    for place in reversed(_places(root, real)):
        inside = (place / NAME).relative_to(root).as_posix()
        try:
            texts[inside] = workspace.read_beginning(workspace.locate(inside), LIMIT_BYTES)[0]
        except WorkspaceError:
            # Not used; a session reports why.
            texts[inside] = None
    before = trust.of(folder)
    lines = [line for inside, data in texts.items() for line in _news(root / inside, inside, data, before, trust)]
    return TrustGrant(trust.grant(folder, texts), tuple(lines))


def trust_folder(folder: Path, trust: Trust) -> str:
    """Trust a folder from within a session about it: a sentence about that, then what is new about its files, raw.

    Raises:
        UserError: the folder cannot be trusted, or nothing is kept on this machine.
    """
    before = trust.covers(folder)
    granted = trust_instructions(folder, trust)
    if not instruction_folders(folder) and not granted.lines:
        return NO_INSTRUCTIONS.format(folder=granted.folder)
    words = TRUSTED_BEFORE if before and not granted.lines else TRUSTED
    return "\n".join([words.format(folder=granted.folder), *granted.lines])


def _places(root: Path, folder: Path) -> list[Path]:
    """Return the folders whose file counts, the nearest first."""
    return [place for place in (folder, *folder.parents) if place.is_relative_to(root)]


def _news(file: Path, inside: str, data: bytes | None, before: Trusted | None, trust: Trust) -> Iterator[str]:
    digest = before.digest(file) if before is not None else None
    path = escaped(inside)
    if data is None:
        if digest is not None:
            yield _REMOVED.format(path=path)
        return
    lines = decode(data).lines()
    count = f"{len(lines):,} {plural(len(lines), 'line')}"
    if before is None or digest is None:
        yield _NEW.format(path=path, lines=count)
    elif not before.accepts(file, data):
        kept = trust.text(digest)
        if kept is None:
            yield _UNKNOWN.format(path=path, lines=count)
            return
        yield _DIFFERENCE.format(path=path)
        old, new = decode(kept).text, decode(data).text
        difference = unified(diff_texts(old, new))
        yield from difference[:_SHOWN_LINES]
        if len(difference) > _SHOWN_LINES:
            yield _MORE.format(count=f"{len(difference) - _SHOWN_LINES:,}")


def _read(
    root: Path, folder: Path, places: Sequence[Path], trusted: Trusted, count: CachedTokenCounter, room: int
) -> Gathered:
    """Return the files in these places, nearest first: the nearest has the first claim on the room."""
    workspace = Workspace(root)
    found: list[Attachment] = []
    notes: list[str] = []
    changed: list[str] = []
    for file in (place / NAME for place in places):
        path = os.path.relpath(file, folder)
        shown = escaped(path)
        try:
            inside = workspace.locate(file.relative_to(root).as_posix())
            data, size = workspace.read_beginning(inside, LIMIT_BYTES)
            if not trusted.accepts(file, data):
                changed.append(shown)
                continue
            source = source_of(inside, data, size)
        except WorkspaceError as error:
            notes.append(UNREADABLE.format(path=shown, reason=error))
            continue
        if not source.text.strip():
            continue
        if not source.complete:
            notes.append(TOO_LARGE.format(path=shown, limit=LIMIT_BYTES, size=source.size))
        attachment = _fitted(path, source, count, room)
        if attachment is None:
            notes.append(NO_ROOM.format(path=shown))
            continue
        if attachment.place is Place.SHORTENED:
            notes.append(TOO_LONG.format(path=shown, why=attachment.why))
        room -= count(attachment.text)
        found.append(attachment)
    if changed:
        notes.append(CHANGED.format(paths=" and ".join(changed)))
    return Gathered(tuple(reversed(found)), tuple(notes))


def _fitted(path: str, source: SourceFile, count: CachedTokenCounter, room: int) -> Attachment | None:
    """Return the file as an attachment: whole, or as many of its first lines as fit; None where none do."""
    lines = source.lines
    whole = framed(path, source.text, f"{frame.whole(len(lines))}; {_WHOSE}")
    if count.within(whole, room) is not None:
        return Attachment(BlockKind.INSTRUCTIONS, path, path, whole, whole, Place.KEPT, "the folder is trusted")

    def cut(kept: int) -> str:
        mark = _CUT.format(first=kept + 1, last=len(lines))
        facts = f"{frame.shortened(kept, len(lines))}; {_WHOSE}"
        return framed(path, "\n".join([*lines[:kept], mark]), facts)

    kept = bisect_right(range(1, len(lines)), room, key=lambda number: count(cut(number)))
    if not kept:
        return None
    short, why = cut(kept), f"only the first {kept} of {len(lines)} lines fit"
    return Attachment(BlockKind.INSTRUCTIONS, path, path, short, whole, Place.SHORTENED, why, lambda: short)
