"""What a message's mentions ask for: exact lines, and groups of files. Resolves; counts nothing and cuts nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from laguna_tui.context.codebase import Codebase
from laguna_tui.context.mentions import mentions
from laguna_tui.context.resolve import MentionKind, Resolved, Unresolved, resolve
from laguna_tui.repo.workspace import Workspace

# More places than this no folder's ranking needs: what comes later has next to nothing in common with the question.
_SEARCHED = 200


@dataclass(frozen=True, slots=True)
class Exact:
    """Some lines of one file, never shortened. symbol: the definition that they are, "" for lines that were named."""

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
class Wanted:
    """Everything that a message asks for, in its order, each file in one group only."""

    exact: tuple[Exact, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]


def needs_index(message: str, codebase: Codebase, workspace: Workspace) -> bool:
    """Whether a message mentions what can only be looked up in an index that is not ready yet."""
    found = (resolve(mention, codebase, workspace) for mention in mentions(message))
    return not codebase.ready and any(isinstance(each, Unresolved) for each in found)


def wanted(message: str, codebase: Codebase, workspace: Workspace) -> Wanted:
    """What the mentions of a message ask for."""
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
    return Wanted(tuple(exact), tuple(_groups(files, folders)), tuple(notes))


def ranked(paths: Sequence[str], question: str, codebase: Codebase) -> list[str]:
    """A folder's files, those that the index finds for the question first, the others by their paths."""
    inside = set(paths)
    found = (result.unit.path for result in codebase.search(question, _SEARCHED))
    best = dict.fromkeys(path for path in found if path in inside)
    return [*best, *(path for path in paths if path not in best)]


def _groups(files: dict[str, None], folders: dict[str, tuple[str, ...]]) -> list[Group]:
    """Single files first; a file of two folders belongs to the one that was named first."""
    taken = set(files)
    groups = [Group((path,)) for path in files]
    for folder, paths in folders.items():
        left = tuple(path for path in paths if path not in taken)
        taken.update(left)
        if left:
            groups.append(Group(left, folder))
    return groups
