"""Resolution of mentions: the file, folder, lines or definition that a mention means. Never leaves the folder.

The order is the rule: an existing path; a definition of exactly this name; the end of a path (`@cart.py` for
`shop/cart.py`). So a file always wins over a definition of the same name. Links inside the folder are followed. A path
that leads out of the folder, into `.git`, to a pipe or to a binary file gives a sentence, as does an ambiguous name.

`mentioned_content` collects what a message's mentions ask for, as exact lines and groups of files. Counts no tokens.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from laguna_tui.base.paths import escaped
from laguna_tui.base.units import either
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.completion import completions
from laguna_tui.context.mentions import Mention, mentions, written
from laguna_tui.context.name_resolution import Meaning, meanings
from laguna_tui.repo.files.root_folder import nfc
from laguna_tui.repo.files.text_files import SNIFF_BYTES, decode, is_binary, line_starts, split_lines
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import READ_LIMIT_BYTES, OutsideError, UnreadableError, Workspace
from laguna_tui.repo.syntax.analysis import analyse

# Candidates that a message lists.
_NAMED = 3
# Definitions of one name with at most this many lines between them are shown together.
_BETWEEN_LINES = 3

OUTSIDE = "{text} is outside the folder or belongs to git; only the folder's own files can be mentioned"
BINARY = "{text} is a binary file; only text can be mentioned"
TOO_LARGE = (
    "{text} has {size:,} bytes, more than the {limit:,} of a whole file; mention some of its lines ({text}:1-200)"
)
NO_LINES = "{text}: the file has {count:,} lines; mention some of those"
FOLDER_LINES = "{text} is a folder; only a file has lines to mention"
EMPTY_FOLDER = "{text} has no text files in it; mention another folder"
SEVERAL = "{text} could mean {candidates}; mention one of them"
NEAREST = "{text} is not a file, folder or definition here; did you mean {candidates}?"
UNKNOWN = "{text} is not a file, folder or definition here; type @ and a few letters to choose one"
STILL_READING = "{text} is unknown while the folder is still being indexed; mention a file by its path, or wait"


class MentionKind(Enum):
    """Kinds of what a mention means."""

    FILE = "file"
    FOLDER = "folder"
    LINES = "lines"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a mention means.

    Attributes:
        kind: what it is.
        path: relative to the folder, without links in it; "" is the folder itself.
        first: first line from 1, of LINES and SYMBOL (with the comments and decorators before it); else None.
        last: last line, included.
        paths: the text files of a FOLDER, else the path alone.
        symbol: the qualified name of a SYMBOL, else "".
    """

    kind: MentionKind
    path: str
    first: int | None
    last: int | None
    paths: tuple[str, ...]
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A mention that means nothing here; the sentence says why, with what may have been meant."""

    sentence: str


def resolve(mention: Mention, codebase: Codebase, workspace: Workspace) -> Resolved | Unresolved:
    """Return what a mention means now, by the folder and the index as they are."""
    text = escaped(mention.text)
    try:
        return _as_path(mention, text, codebase, workspace) or _by_name(mention, text, codebase, workspace)
    except OutsideError:
        return Unresolved(OUTSIDE.format(text=text))
    except UnreadableError as error:
        return Unresolved(f"{text}: {error}")


def _as_path(mention: Mention, text: str, codebase: Codebase, workspace: Workspace) -> Resolved | Unresolved | None:
    """Resolve the mention as a path, whose name may end like lines; None if there is no such file."""
    literal = mention.text[1:]
    if mention.first is not None and (inside := _located(literal, workspace)) is not None:
        return _of_path(inside, Mention(mention.text, mention.start, mention.stop, literal), text, codebase, workspace)
    inside = _located(mention.name, workspace)
    return None if inside is None else _of_path(inside, mention, text, codebase, workspace)


def _located(name: str, workspace: Workspace) -> str | None:
    """Return the path that a name is as it stands; None when nothing is there.

    Raises:
        OutsideError: something may be there, but not in the folder.
    """
    if not name.strip():
        return None
    prefix = f"{workspace.root}/"
    try:
        inside = workspace.locate(name.removeprefix(prefix))
        folder = workspace.is_folder(inside)
    except UnreadableError:
        return None
    return inside if folder or not name.endswith("/") else None


def _of_path(
    inside: str, mention: Mention, text: str, codebase: Codebase, workspace: Workspace
) -> Resolved | Unresolved:
    if workspace.is_folder(inside):
        return _folder(inside, mention, text, codebase, workspace)
    head, size = workspace.read_beginning(inside, SNIFF_BYTES)
    if is_binary(head):
        return Unresolved(BINARY.format(text=text))
    if mention.first is None or mention.last is None:
        if size > SEARCH_LIMIT_BYTES:
            return Unresolved(TOO_LARGE.format(text=text, size=size, limit=SEARCH_LIMIT_BYTES))
        return Resolved(MentionKind.FILE, inside, None, None, (inside,))
    first, last = sorted((mention.first, mention.last))
    count = len(split_lines(decode(workspace.read(inside, READ_LIMIT_BYTES)).text))
    if not 1 <= first <= count:
        return Unresolved(NO_LINES.format(text=text, count=count))
    return Resolved(MentionKind.LINES, inside, first, min(last, count), (inside,))


def _folder(
    inside: str, mention: Mention, text: str, codebase: Codebase, workspace: Workspace
) -> Resolved | Unresolved:
    if mention.first is not None:
        return Unresolved(FOLDER_LINES.format(text=text))
    prefix = f"{inside}/" if inside else ""
    known = codebase.paths()
    # An ignored folder has no indexed files; the user names it anyway.
    paths = tuple(path for path in known if path.startswith(prefix)) or tuple(
        entry.path for entry in workspace.files_below(inside).entries
    )
    if not paths:
        return Unresolved(EMPTY_FOLDER.format(text=text))
    return Resolved(MentionKind.FOLDER, inside, None, None, paths)


def _by_name(mention: Mention, text: str, codebase: Codebase, workspace: Workspace) -> Resolved | Unresolved:
    """Resolve the mention as a definition, or as the end of a path."""
    if mention.first is None and (found := meanings(mention.name, codebase.definitions(mention.name))):
        if len(found) > 1:
            return _several(text, [_at(meaning) for meaning in found])
        if (symbol := _symbol(found[0], workspace)) is not None:
            return symbol
    ends = _ending(mention.name, codebase.paths())
    if len(ends) > 1:
        return _several(text, [written(escaped(path), mention.first, mention.last) for path in ends])
    if ends:
        return _of_path(workspace.locate(ends[0].removesuffix("/")), mention, text, codebase, workspace)
    return _unknown(mention, text, codebase)


def _symbol(meaning: Meaning, workspace: Workspace) -> Resolved | None:
    """Return the lines of a definition in its file as it is now; None when it is no longer there."""
    try:
        content = decode(workspace.read(meaning.path, SEARCH_LIMIT_BYTES)).text
    except (OutsideError, UnreadableError):
        return None
    found = [symbol for symbol in analyse(meaning.path, content).symbols if symbol.qualified == meaning.qualified]
    if not found:
        return None
    starts = line_starts(content)
    pieces = sorted((bisect_right(starts, symbol.start), symbol.end) for symbol in found)
    first, last = pieces[0]
    if all(after[0] - before[1] <= _BETWEEN_LINES for before, after in pairwise(pieces)):
        last = max(end for _, end in pieces)
    else:
        first, last = max(pieces, key=lambda piece: piece[1] - piece[0])
    return Resolved(MentionKind.SYMBOL, meaning.path, first, last, (meaning.path,), meaning.qualified)


def _ending(name: str, paths: Sequence[str]) -> list[str]:
    """Return files and folders whose last parts are exactly these; in any case when there are none."""
    wanted = f"/{nfc(name).strip('/').removeprefix('./')}"
    if wanted == "/":
        return []
    for same in (str, str.lower):
        end, inner = same(wanted), f"{same(wanted)}/"
        found: dict[str, None] = {}
        for path in paths:
            whole = same(f"/{nfc(path)}")
            if whole.endswith(end) and not name.endswith("/"):
                found[path] = None
            elif (at := whole.find(inner)) >= 0:
                folders = whole[: at + len(inner)].count("/") - 1
                found["/".join([*path.split("/")[:folders], ""])] = None
        if found:
            return list(found)
    return []


def _several(text: str, candidates: Sequence[str]) -> Unresolved:
    return Unresolved(SEVERAL.format(text=text, candidates=either(candidates, _NAMED)))


def _at(meaning: Meaning) -> str:
    definition = meaning.longest
    return written(escaped(meaning.path), definition.line, definition.end)


def _unknown(mention: Mention, text: str, codebase: Codebase) -> Unresolved:
    if not codebase.ready:
        return Unresolved(STILL_READING.format(text=text))
    typed = f"@{mention.name}"
    near = [found.insert.strip() for found in completions(codebase, typed, len(typed), _NAMED)]
    return Unresolved(NEAREST.format(text=text, candidates=either(near, _NAMED)) if near else UNKNOWN.format(text=text))


# Results beyond this have next to nothing in common with the question.
_SEARCHED = 200


@dataclass(frozen=True, slots=True)
class Exact:
    """Some lines of one file, never shortened; `symbol` is the definition that they are, "" for named lines."""

    path: str
    first: int
    last: int
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The files of one mention; `folder` is None when it is a file."""

    paths: tuple[str, ...]
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class MentionedContent:
    """Everything that a message asks for, in its order, each file in one group only."""

    exact: tuple[Exact, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]


def needs_index(message: str, codebase: Codebase, workspace: Workspace) -> bool:
    """Return whether a message mentions what can only be looked up in an index that is not ready yet."""
    found = (resolve(mention, codebase, workspace) for mention in mentions(message))
    return not codebase.ready and any(isinstance(each, Unresolved) for each in found)


def mentioned_content(message: str, codebase: Codebase, workspace: Workspace) -> MentionedContent:
    exact: dict[Exact, None] = {}
    files: dict[str, None] = {}
    folders: dict[str, tuple[str, ...]] = {}
    notes: dict[str, None] = {}
    for mention in mentions(message):
        codebase.start()
        found = resolve(mention, codebase, workspace)
        match found:
            case Unresolved(sentence=sentence):
                notes[sentence] = None
            case Resolved(first=int(first), last=int(last)):
                exact[Exact(found.path, first, last, found.symbol)] = None
            case Resolved(kind=MentionKind.FOLDER):
                folders[found.path] = found.paths
            case _:
                files[found.path] = None
    return MentionedContent(tuple(exact), tuple(_groups(files, folders)), tuple(notes))


def ranked_paths(paths: Sequence[str], question: str, codebase: Codebase) -> list[str]:
    """Return a folder's files, those that the index finds for the question first, the others by their paths."""
    inside = set(paths)
    found = (result.unit.path for result in codebase.search(question, _SEARCHED))
    best = dict.fromkeys(path for path in found if path in inside)
    return [*best, *(path for path in paths if path not in best)]


def _groups(files: dict[str, None], folders: dict[str, tuple[str, ...]]) -> list[Group]:
    """Group files: single ones first; a file of two folders belongs to the one that was named first."""
    taken = set(files)
    groups = [Group((path,)) for path in files]
    for folder, paths in folders.items():
        left = tuple(path for path in paths if path not in taken)
        taken.update(left)
        if left:
            groups.append(Group(left, folder))
    return groups
