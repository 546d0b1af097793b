"""A change of one file, proposed or made, as a value."""

from enum import Enum
from pathlib import Path

from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.stored_json import Tagged
from laguna_tui.base.text_diff import Hunk, Sign, count_lines, unified
from laguna_tui.base.units import plural


class ChangeKind(Enum):
    """What a change does to a file."""

    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"
    MOVE = "move"


class FileChange:
    """A change of one file, proposed or made, with its diff.

    Attributes:
        path: the file, inside the folder, with forward slashes.
        kind: what the change does.
        hunks: what changes, with some lines around it.
        target: of MOVE, the path that the file moves to; else empty.
    """

    __slots__ = ()
    path: str
    kind: ChangeKind
    hunks: tuple[Hunk, ...]
    target: str

    @property
    def subject(self) -> str:
        """The file, and where it moves to."""
        return f"{self.path} → {self.target}" if self.target else self.path

    @property
    def added(self) -> int:
        """How many lines are added."""
        return count_lines(self.hunks, Sign.ADDED)

    @property
    def removed(self) -> int:
        """How many lines are removed."""
        return count_lines(self.hunks, Sign.REMOVED)

    @property
    def diff(self) -> tuple[str, ...]:
        """The lines of a unified diff, without file names and newlines."""
        return unified(self.hunks)

    @property
    def patch(self) -> str:
        """The diff with the names of the files, as git writes it."""
        if self.kind is ChangeKind.MOVE:
            return f"rename from {self.path}\nrename to {self.target}"
        before = "/dev/null" if self.kind is ChangeKind.CREATE else self.path
        after = "/dev/null" if self.kind is ChangeKind.DELETE else self.path
        return "\n".join((f"--- {before}", f"+++ {after}", *self.diff))


class ChangeProposal(FileChange, Tagged, frozen=True):
    """A proposed change of a file. All texts are raw: a front end passes them through `laguna_tui.base.text`.

    Attributes:
        path: the file, inside the folder, without links, with forward slashes.
        before: its text now, newlines as in the file, without a byte order mark.
        after: its text after the edit.
        places: how many times the old text is replaced.
        hunks: what changes, with some lines around it.
        warning: sentences for the user, such as that the file would no longer parse; usually empty.
        notes: sentences for the model, once the edit is made, about what it did not ask for; usually empty.
        root, identity: the folder, and what distinguishes it from one that replaces it.
        old, new: the file's bytes, before and after; empty before CREATE and after DELETE.
        approval_reason: why the user is always asked, as a clause; usually empty (`protected_paths`).
        kind: what the change does.
        target: of MOVE, the path that the file moves to; else empty.
    """

    path: str
    before: str
    after: str
    places: int
    hunks: tuple[Hunk, ...]
    warning: str
    root: Path
    old: bytes
    new: bytes
    identity: FolderIdentity
    approval_reason: str = ""
    notes: tuple[str, ...] = ()
    kind: ChangeKind = ChangeKind.EDIT
    target: str = ""

    def __repr__(self) -> str:
        return f"ChangeProposal({self.path!r}, kind={self.kind}, places={self.places})"

    @property
    def counted(self) -> str:
        """How many places, in words: `1 place`, `3 places`."""
        return f"{self.places} {plural(self.places, 'place')}"
