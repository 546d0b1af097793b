"""Changes of whole files: created, overwritten, moved and deleted; proposed here like edits, and applied like them.

Paths and texts come from a model and are hostile. A link is neither moved nor deleted; writing through one changes the
file that it leads to, inside the workspace only. git's own files are never changed.
"""

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import escaped
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.text_diff import Hunk, Sign, accept_hunks, diff_texts, line_runs
from laguna_tui.repo.edits.edit_files import (
    EditError,
    check_text,
    edited_file,
    encode,
    proposal,
    read_editable,
)
from laguna_tui.repo.files.editor_config import with_charset
from laguna_tui.repo.files.protected_paths import approval_reason, belongs_to_git
from laguna_tui.repo.files.root_folder import MAX_DEPTH, RootFolder
from laguna_tui.repo.files.source_writer import (
    TemporaryFiles,
    create_file,
    digest,
    move_file,
    remove_file,
    replace_file,
)
from laguna_tui.repo.files.text_files import TextFile, decode, is_binary
from laguna_tui.repo.files.workspace import UnreadableError, Workspace
from laguna_tui.repo.syntax.syntax_errors import syntax_warning

# The longest name of a file on the usual disks, in bytes.
_NAME_BYTES = 255
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_LINE_BREAK = re.compile("\r\n|\n|\r")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DECLINED_HUNKS = (
    "The user declined {declined} of {count} hunks of this edit, so these lines are as they were before it; ask what to"
    " do instead:"
)
# What the model reads of declined hunks: it wrote them itself.
_DECLINED_LINES, _DECLINED_CHARS = 20, 200
_NEW_FILE = TextFile("", "utf-8")
_LINK = "{path} is a link to {target}; call again with {target}, or use shell for the link itself"


def propose_write(workspace: Workspace, path: str, content: str) -> ChangeProposal:
    """Propose to write a whole file: CREATE, or EDIT of an existing one; nothing is written.

    A file that exists keeps its encoding, byte order mark and mode; unchanged lines keep their line breaks, and others
    get the file's.

    Args:
        path: where; folders in it need not exist.
        content: all of its text.

    Raises:
        WorkspaceError: nothing can be written there, or it already has this text.
    """
    check_text("content", content)
    inside = workspace.locate(path)
    status = _status(workspace, inside)
    if status is None:
        return _created(workspace, path, inside, content)
    if stat.S_ISDIR(status.st_mode):
        raise EditError(f"{escaped(inside) or 'this'} is a folder; call again with the path of a file")
    data, file = read_editable(workspace, inside)
    after = _like(file, content.removeprefix("\ufeff") if file.bom else content)
    if after == file.text:
        raise EditError(f"{escaped(inside)} has this text already, so nothing would change")
    return edited_file(workspace, inside, data, file, after)


def propose_delete(workspace: Workspace, path: str) -> ChangeProposal:
    """Propose to delete a file, or an empty folder; nothing is deleted.

    Raises:
        WorkspaceError: it cannot be deleted, or is a folder that is not empty.
    """
    inside, status = _existing(workspace, path)
    data = b""
    if stat.S_ISDIR(status.st_mode):
        if not inside or _entries(workspace, inside):
            raise EditError(f"{escaped(inside) or 'this'} is a folder that is not empty; delete its files first")
    else:
        data = workspace.read(inside)
    text = "" if is_binary(data) else decode(data).text
    reason = approval_reason(workspace.root, inside)
    return proposal(workspace, inside, ChangeKind.DELETE, (text, ""), (data, b""), reason)


def propose_move(workspace: Workspace, path: str, target: str) -> ChangeProposal:
    """Propose to give a file another path; nothing is moved.

    Args:
        target: the new path, or an existing folder to move it into; folders in it need not exist.

    Raises:
        WorkspaceError: the file cannot be moved, or something is there already.
    """
    inside, status = _existing(workspace, path)
    if stat.S_ISDIR(status.st_mode):
        raise EditError(f"{escaped(inside) or 'this'} is a folder; move its files, or use shell")
    goal = workspace.locate(target)
    there = _status(workspace, goal)
    if target.rstrip().endswith("/") or (there is not None and stat.S_ISDIR(there.st_mode)):
        goal = f"{goal}/{inside.rpartition('/')[2]}".removeprefix("/")
        there = _status(workspace, goal)
    if goal == inside:
        raise EditError(f"{escaped(inside)} is there already, so nothing would change")
    if there is not None and (there.st_dev, there.st_ino, there.st_nlink) != (status.st_dev, status.st_ino, 1):
        raise EditError(f"there is something at {escaped(goal)} already; delete it first, or use another path")
    _check_new(workspace, target, goal)
    data = workspace.read(inside)
    text = "" if is_binary(data) else decode(data).text
    reason = approval_reason(workspace.root, inside) or approval_reason(workspace.root, goal)
    return proposal(workspace, inside, ChangeKind.MOVE, (text, text), (data, data), reason, target=goal)


def with_text(change: ChangeProposal, text: str) -> ChangeProposal:
    """Return a proposal of EDIT or CREATE with the text as the user edited it.

    Raises:
        EditError: the file's encoding lacks a character, it would be too large, or has a NUL character.
    """
    if "\0" in text:
        raise EditError("the text has a NUL character, which no text file has")
    file = _NEW_FILE if change.kind is ChangeKind.CREATE else decode(change.old)
    file = with_charset(Workspace(change.root, change.identity), change.path, file)
    text = text if change.kind is ChangeKind.CREATE else _like(file, text)
    new = encode(change.path, file, text)
    return replace(change, after=text, new=new, places=1, hunks=diff_texts(file.text, text), warning="", notes=())


def with_hunks(change: ChangeProposal, accepted: Collection[int]) -> ChangeProposal:
    """Return a proposal of EDIT with only those of its hunks that the user accepts; a note says which are declined.

    Args:
        change: the whole change.
        accepted: indices of the hunks.

    Raises:
        EditError: the file's encoding cannot be kept.
    """
    text = accept_hunks(change.before, change.after, accepted)
    file = with_charset(Workspace(change.root, change.identity), change.path, decode(change.old))
    declined = [hunk for index, hunk in enumerate(change.hunks) if index not in accepted]
    return replace(
        change,
        after=text,
        new=encode(change.path, file, text),
        places=len(change.hunks) - len(declined),
        hunks=diff_texts(change.before, text),
        warning="",
        notes=(*change.notes, "\n".join(_declined(declined, len(change.hunks)))),
    )


def _declined(declined: Sequence[Hunk], count: int) -> Iterator[str]:
    yield _DECLINED_HUNKS.format(declined=len(declined), count=count)
    lines = [line for hunk in declined for line in (hunk.header, *_changed_lines(hunk))]
    yield from lines[:_DECLINED_LINES]
    if len(lines) > _DECLINED_LINES:
        yield f"… {len(lines) - _DECLINED_LINES} more lines"


def _changed_lines(hunk: Hunk) -> Iterator[str]:
    return (str(line)[:_DECLINED_CHARS] for line in hunk.lines if line.sign is not Sign.KEPT)


def apply_change(change: ChangeProposal, unfinished: TemporaryFiles | None = None) -> None:
    """Make the change, if the file still is what it was proposed for.

    Args:
        unfinished: notes of what is being written; None keeps none.

    Raises:
        WorkspaceError: it is not, or the disk refuses; everything is as it was.
    """
    workspace = Workspace(change.root, change.identity)
    match change.kind:
        case ChangeKind.EDIT:
            replace_file(workspace, change.path, digest(change.old), change.new, unfinished)
        case ChangeKind.CREATE:
            create_file(workspace, change.path, change.new, unfinished)
        case ChangeKind.DELETE:
            remove_file(workspace, change.path, digest(change.old))
        case ChangeKind.MOVE:
            move_file(workspace, change.path, change.target, digest(change.old))


def _created(workspace: Workspace, path: str, inside: str, content: str) -> ChangeProposal:
    if path.rstrip().endswith("/"):
        raise EditError(f"{escaped(path.strip())} is the path of a folder; call again with that of a file in it")
    _check_new(workspace, path, inside)
    return proposal(
        workspace,
        inside,
        ChangeKind.CREATE,
        ("", content),
        (b"", encode(inside, with_charset(workspace, inside, _NEW_FILE), content)),
        approval_reason(workspace.root, inside),
        warning=syntax_warning(inside, "", content),
    )


def _check_new(workspace: Workspace, path: str, inside: str) -> None:
    """Refuse a path that no file can have, or should."""
    if belongs_to_git(workspace.root, inside):
        raise EditError(f"{escaped(inside)} belongs to git itself; use another path")
    parts = inside.split("/")
    # The user must see the whole name, so nothing in it may be invisible.
    if _CONTROL.search(inside) or sanitize_line(inside) != inside:
        raise EditError(f"{escaped(path)} has a character that no file name should have; use another path")
    if len(parts) > MAX_DEPTH or max(len(os.fsencode(part)) for part in parts) > _NAME_BYTES:
        raise EditError(f"{escaped(inside[:_NAME_BYTES])} is too long for a path; use a shorter one")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        status = _status(workspace, above)
        if status is None:
            return
        if not stat.S_ISDIR(status.st_mode):
            raise EditError(f"{escaped(above)} is not a folder, so nothing can lie in it; use another path")


def _existing(workspace: Workspace, path: str) -> tuple[str, os.stat_result]:
    """Return a file or folder to move or delete, never what a link leads to; its path has to be given in full."""
    inside = workspace.locate(path)
    if workspace.is_link(path):
        raise EditError(_LINK.format(path=escaped(path.strip()), target=escaped(inside)))
    if belongs_to_git(workspace.root, inside):
        raise EditError(f"{escaped(inside)} belongs to git itself; use another file")
    status = _status(workspace, inside)
    if status is None:
        raise UnreadableError(f"there is no file {escaped(inside)}; use find to see which files there are")
    return inside, status


def _status(workspace: Workspace, inside: str) -> os.stat_result | None:
    with RootFolder(workspace.root, workspace.identity) as tree:
        try:
            return tree.lstat(inside)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOTDIR:
                return None
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise UnreadableError(f"{escaped(inside)} cannot be used ({reason}); use another path") from error


def _entries(workspace: Workspace, inside: str) -> bool:
    with RootFolder(workspace.root, workspace.identity) as tree:
        try:
            with os.scandir(tree.folder(inside)) as entries:
                return next(entries, None) is not None
        except OSError as error:
            raise UnreadableError(f"{escaped(inside)} cannot be read; use another path") from error


def _like(file: TextFile, content: str) -> str:
    """Return a text with the file's line breaks: unchanged lines keep theirs, others get the most frequent one."""
    if "\r" not in file.text:
        return _LINE_BREAK.sub("\n", content) if file.text else content
    old, new = _LINE.findall(file.text), _LINE.findall(content)
    before, after = ([_LINE_BREAK.sub("", line) for line in lines] for lines in (old, new))
    newline = max(("\r\n", "\n", "\r"), key=lambda each: sum(_LINE_BREAK.findall(line) == [each] for line in old))
    made = [_LINE_BREAK.sub(newline, line) for line in new]
    for run in line_runs(before, after):
        for at, other in zip(range(run.a, run.b), range(run.c, run.d), strict=False) if run.same else ():
            if _LINE_BREAK.search(old[at]) and _LINE_BREAK.search(new[other]):
                made[other] = old[at]
    for at in range(len(made) - 2, -1, -1):
        if made[at].endswith("\r") and made[at + 1] == "\n":
            made[at] = made[at][:-1] + "\n"  # the two would become one line break
    return "".join(made)
