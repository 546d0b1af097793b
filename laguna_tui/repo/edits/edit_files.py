"""Edits of one file: proposals to replace a text. `file_changes` applies them.

Works on paths and texts from a model, which are hostile: what the workspace refuses to read is not changed either. Only
existing files are changed; nothing is created, renamed or removed. Which files are never changed, and which only with
the user's approval, is in `protected_paths`.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import escaped
from laguna_tui.base.spelling import nearest
from laguna_tui.base.text_diff import LINE_CHARS, diff_texts
from laguna_tui.base.units import either, plural
from laguna_tui.repo.edits.nearest_text import nearest_text, unseen_difference
from laguna_tui.repo.edits.text_replacement import (
    Replacement,
    find_additions,
    find_replacements,
    line_number,
    reindent,
    replace_text,
    with_line_feeds,
)
from laguna_tui.repo.files.editor_config import with_charset
from laguna_tui.repo.files.protected_paths import approval_reason, belongs_to_git
from laguna_tui.repo.files.root_folder import RootFolder, nfc
from laguna_tui.repo.files.text_files import TextFile, decode, is_binary, split_lines
from laguna_tui.repo.files.workspace import READ_LIMIT_BYTES, UnreadableError, Workspace, WorkspaceError
from laguna_tui.repo.syntax.python_syntax import can_be_checked, syntax_error
from laguna_tui.repo.syntax.syntax_errors import syntax_warning

# A diff of more is not readable.
MAX_PLACES = 1_000
# Candidates and lines that a message lists.
_NAMED = 3

_FAULTY = "After this edit the file is no longer valid Python: {fault}."
_MADE_FAULTY = "The file is no longer valid Python: {fault}. Edit it again."
_INDENTED = "The new lines were indented to match the line that they begin on, so that the file stays valid Python."
_PART = "old is only a part of longer names in {path}, and all finds whole names; call again with a whole name"
_ASKED = "This always needs your approval: {reason}."
_GUESSED = (
    "{path} does not say in which encoding it is; {encoding} is guessed, so U+{character:04X} cannot be written safely:"
    " call again with ASCII and characters that the file already has"
)
_LONG = f"Some of its lines are longer than the {LINE_CHARS:,} characters that are shown."


@dataclass(frozen=True, slots=True)
class EditDialect:
    """How a model's texts are adjusted where they do not quite match the file.

    Attributes:
        additions: a text that is only added to may have other line breaks than in the file.
        reindents: following lines get a forgotten indentation, where a Python file stays valid only with it.
        shows_nearest: a text that is not there is answered with the most similar lines.
    """

    additions: bool = False
    reindents: bool = True
    shows_nearest: bool = False


class EditError(WorkspaceError):
    """An edit cannot be made; the message is a sentence for the model that ends in what to do."""


def propose_edit(
    workspace: Workspace,
    path: str,
    old: str,
    new: str,
    all: bool = False,  # noqa: A002 - the tool's own word
    should_stop: Callable[[], bool] = lambda: False,
    unreadable: Callable[[str], str] = lambda path: "",
    *,
    dialect: EditDialect = EditDialect(),
) -> ChangeProposal:
    """Propose to replace `old` by `new` in a file; nothing is written.

    Args:
        path: a file's path, or the end of exactly one file's path.
        old: text that occurs exactly once, its line breaks written as line feeds.
        all: it may occur more often; an identifier is only found as a whole word.
        should_stop: polled while a path is searched for among all files.
        unreadable: returns why a file's text may not be shown, and so not be changed; empty where it may.
        dialect: how texts are adjusted that do not quite match the file.

    Raises:
        WorkspaceError: the file cannot be used, or the text is not there, or is there too often.
    """
    _check(old, new)
    inside = find_file(workspace, path, should_stop)
    if why := unreadable(inside):
        raise EditError(why)
    data, file = read_editable(workspace, inside)
    made = find_replacements(file.text, old, new, every=all, limit=MAX_PLACES + 1)
    if not made and not all and dialect.additions:
        made = find_additions(file.text, old, new, limit=MAX_PLACES + 1)
    if not made and dialect.shows_nearest:
        part = all and old.isidentifier() and old in file.text
        raise EditError(_PART.format(path=escaped(inside)) if part else nearest_text(inside, file.text, old))
    _check_places(inside, file.text, old, made, every=all)
    made, warnings, notes = _sound(inside, file.text, made, reindents=dialect.reindents)
    after = replace_text(file.text, made)
    warning = " ".join(warnings)
    return edited_file(workspace, inside, data, file, after, places=len(made), warning=warning, notes=notes)


def edited_file(
    workspace: Workspace,
    inside: str,
    data: bytes,
    file: TextFile,
    after: str,
    *,
    places: int = 1,
    warning: str | None = None,
    notes: Sequence[str] = (),
) -> ChangeProposal:
    """Return the proposal of a file's new text.

    Args:
        workspace: its folder.
        inside: its located path.
        data: its bytes, of which `file` is the text.
        file: its text now.
        after: its new text.
        places: how many parts of it change.
        warning: sentences for the user; None for its new syntax errors.
        notes: sentences for the model.

    Raises:
        EditError: the file's encoding lacks a character, or it would be too large.
    """
    return proposal(
        workspace,
        inside,
        ChangeKind.EDIT,
        (file.text, after),
        (data, encode(inside, file, after)),
        edit_approval_reason(workspace, inside),
        warning=syntax_warning(inside, file.text, after) if warning is None else warning,
        notes=notes,
        places=places,
    )


def proposal(
    workspace: Workspace,
    inside: str,
    kind: ChangeKind,
    texts: tuple[str, str],
    data: tuple[bytes, bytes],
    reason: str,
    *,
    target: str = "",
    warning: str = "",
    notes: Sequence[str] = (),
    places: int = 1,
) -> ChangeProposal:
    """Return the proposal of a change.

    Args:
        workspace: its folder.
        inside: the file's located path.
        kind: what the change does.
        texts: before and after.
        data: the file's bytes before and after.
        reason: why the user has to agree to it in any case, as a clause; may be empty.
        target: where the file moves to.
        warning: sentences for the user.
        notes: sentences for the model.
        places: how many parts of the text change.
    """
    hunks = diff_texts(*texts)
    is_long = any(len(line.text) >= LINE_CHARS for hunk in hunks for line in hunk.lines)
    warnings = (_ASKED.format(reason=reason) if reason else "", warning, _LONG if is_long else "")
    return ChangeProposal(
        path=inside,
        before=texts[0],
        after=texts[1],
        places=places,
        hunks=hunks,
        warning=" ".join(filter(None, warnings)),
        root=workspace.root,
        old=data[0],
        new=data[1],
        identity=workspace.identity,
        approval_reason=reason,
        notes=tuple(notes),
        kind=kind,
        target=target,
    )


def check_text(name: str, text: str) -> None:
    """Refuse a text that no text file has.

    Raises:
        EditError: it has a NUL character.
    """
    if "\0" in text:
        raise EditError(f"{name} has a NUL character, which no text file has; call again without it")


def _check(old: str, new: str) -> None:
    if not old:
        raise EditError("old is empty; call again with text of a file that exists, because edit creates no files")
    if with_line_feeds(old) == with_line_feeds(new):
        raise EditError("old and new are the same, so nothing would change; call again with another new text")
    check_text("new", new)


def find_file(workspace: Workspace, path: str, should_stop: Callable[[], bool]) -> str:
    """Return the located path of the file that is meant: as given, or the only one with this ending.

    Raises:
        EditError: there is none, or several end so.
        OutsideError: it leads out of the folder.
    """
    inside = workspace.locate(path)
    try:
        workspace.is_folder(inside)
        return inside
    except UnreadableError:
        paths = [entry.path for entry in workspace.files(should_stop).entries]
    ends = [known for known in paths if nfc(known).endswith(f"/{nfc(inside)}")]
    if len(ends) == 1:
        return workspace.locate(ends[0])
    if ends:
        raise EditError(
            f"{escaped(inside)} could be {either(list(map(escaped, ends)), _NAMED)}; call again with one of these paths"
        )
    near = _near(inside, paths)
    advice = (
        f"the nearest is {either(list(map(escaped, near)), _NAMED)}"
        if near
        else "use find to see which files there are"
    )
    raise EditError(f"there is no file {escaped(inside)} to edit; {advice}")


def _near(inside: str, paths: Sequence[str]) -> list[str]:
    """Return the paths whose last part is the same or nearly so."""
    by_name: dict[str, list[str]] = {}
    for known in paths:
        by_name.setdefault(known.rpartition("/")[2], []).append(known)
    names = nearest(inside.rpartition("/")[2], by_name, _NAMED)
    return [known for name in names for known in by_name[name]]


def _check_places(inside: str, text: str, old: str, made: Sequence[Replacement], *, every: bool) -> None:
    if not made:
        raise EditError(
            f"the old text is not in {escaped(inside)}{_alike(text, old)}; call again with text as it stands"
        )
    if len(made) > MAX_PLACES:
        raise EditError(
            f"the old text is more than {MAX_PLACES:,} times in {escaped(inside)}; call again with more of the lines"
            " around it"
        )
    if len(made) > 1 and not every:
        lines = [str(line_number(text, change.begin)) for change in made[:_NAMED]]
        where = ", ".join(lines) + (", …" if len(made) > _NAMED else "")
        raise EditError(
            f"the old text is {len(made)} times in {escaped(inside)} (lines {where});"
            " call again with more of the lines around it, or with all"
        )


def _alike(text: str, old: str) -> str:
    """Return a clause about a line that looks like the old text's first one, and what differs there."""
    lines, first = split_lines(text), next(filter(str.strip, split_lines(old)), "")
    return unseen_difference(lines, [first] * len(lines), range(len(lines))) if first else ""


def _sound(
    inside: str, text: str, made: list[Replacement], *, reindents: bool
) -> tuple[list[Replacement], list[str], list[str]]:
    """Return the changes, corrected where a Python file would not stay valid.

    Returns:
        The changes, and what there is to say about them: to the user before they are made, to the model afterwards.
    """
    if not can_be_checked(inside, text):
        return made, [], []
    wrong = syntax_error(replace_text(text, made))
    if not wrong:
        return made, [], []
    better = reindent(text, made) if reindents else made
    if better != made and not syntax_error(replace_text(text, better)):
        return better, [_INDENTED], [_INDENTED]
    return made, [_FAULTY.format(fault=wrong)], [_MADE_FAULTY.format(fault=wrong)]


def edit_approval_reason(workspace: Workspace, inside: str) -> str:
    """Return why the text of a located file is changed only with approval, as a clause; empty for most files.

    A file with other names, hard links, becomes a file of its own when it is written. The others may lie anywhere.
    """
    if reason := approval_reason(workspace.root, inside):
        return reason
    with suppress(OSError), RootFolder(workspace.root, workspace.identity) as tree:
        others = tree.lstat(inside).st_nlink - 1
        if others > 0:
            names = f"{others} other {plural(others, 'name')} ({plural(others, 'a hard link', 'hard links')})"
            return f"the file has {names}, perhaps outside the folder, and is changed under this one only"
    return ""


def read_editable(workspace: Workspace, inside: str) -> tuple[bytes, TextFile]:
    """Return the bytes of a located file, and its text.

    Raises:
        WorkspaceError: it cannot be read, belongs to git, or is binary.
    """
    if belongs_to_git(workspace.root, inside):
        raise EditError(f"{escaped(inside)} belongs to git itself; edit another file")
    data = workspace.read(inside)
    if is_binary(data):
        raise EditError(f"{escaped(inside)} is a binary file; only text can be edited")
    return data, with_charset(workspace, inside, decode(data))


def encode(inside: str, file: TextFile, after: str) -> bytes:
    """Return a file's new text in its encoding, or in the one that the new text declares.

    Raises:
        EditError: the encoding lacks a character, or is a guess and it is a new character beyond ASCII; or the file
            would be too large.
    """
    file = file.redeclared(after)
    if file.guessed and (new := "".join(sorted(set(after) - set(file.text)))) and not new.isascii():
        raise EditError(_GUESSED.format(path=escaped(inside), encoding=file.encoding, character=ord(new[-1])))
    try:
        data = file.encode(after)
    except UnicodeEncodeError as error:
        raise EditError(
            f"{escaped(inside)} is written in {file.encoding}, which has no character U+{ord(after[error.start]):04X};"
            " call again without it"
        ) from error
    if len(data) > READ_LIMIT_BYTES:
        raise EditError(
            f"{escaped(inside)} would grow to {len(data):,} bytes, more than the {READ_LIMIT_BYTES:,} allowed"
        )
    return data
