"""How a walk reads one folder, and what it remembers of it."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate

from laguna_tui.base.path_globs import PathGlob
from laguna_tui.repo.files.protected_paths import is_git_name
from laguna_tui.sandbox.walked_names import (
    OF_A_REPOSITORY,
    SHAPE,
    fold,
    is_secret,
    is_table_name,
    is_unusual,
    table_starts,
)

_MAX_DEPTH = 150
"""Depth of folders that are read: each open one holds a descriptor. Deeper ones are hidden as a whole."""
_MAX_PATH_BYTES = 1_000
"""Longest path below the top, because of memory, and of systems that limit paths. Longer ones are hidden too."""
_DEPENDENCIES = frozenset("node_modules .venv venv __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache".split())
"""Folders of other people's code, which nobody opens in an editor, and of caches: nothing in them is protected, and
keys in them are certificates or belong to a test. Other secrets and the user's rules count in them too."""
_MOST_BYTES_OF_A_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class PathRules:
    """Globs of the user's rules, relative to the top.

    Attributes:
        unreadable: Of files and folders that are not to be read; `**` stands for any number of folders, and one without
            "/" is a name at any depth.
        unwritable: The same for those that are not to be changed.
    """

    unreadable: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()


States = tuple[frozenset[int], ...]
"""For each rule, the positions in its glob that a folder has reached."""


_NOWHERE = frozenset[int]()


class Scope:
    """What a folder is searched for, which its path decides. Folders share scopes."""

    __slots__ = ("_default", "_rules", "_unusual", "dependency", "protects", "secrets", "starts", "states")

    def __init__(
        self,
        rules: "CompiledRules",
        starts: frozenset[str],
        states: States,
        *,
        protects: bool,
        secrets: bool,
        dependency: bool,
    ) -> None:
        self.starts, self.states = starts, states
        self.protects, self.secrets, self.dependency = protects, secrets, dependency
        self._rules = rules
        compared = {part for glob, state in zip(rules.globs, states, strict=True) for part in glob.compared(state)}
        self._unusual = re.compile("|".join(map(translate, sorted(compared)))).match if compared else None
        self._default = tuple(glob.after_other(state) for glob, state in zip(rules.globs, states, strict=True))

    def after(self, name: str) -> States:
        """Return the states of the rules in an entry."""
        if self._unusual is None or self._unusual(name) is None:
            return self._default
        return tuple(
            glob.after(state, name) if state else state
            for glob, state in zip(self._rules.globs, self.states, strict=True)
        )


class CompiledRules:
    """The user's rules, prepared to be matched one part of a path after another."""

    def __init__(self, rules: PathRules) -> None:
        self.given = rules
        self.globs = tuple(map(_glob, (*rules.unreadable, *rules.unwritable)))
        self._unreadable = len(rules.unreadable)
        self._scopes: dict[tuple[object, ...], Scope] = {}

    @property
    def top(self) -> Scope:
        return self.scope(
            frozenset(), tuple(glob.start for glob in self.globs), protects=True, secrets=True, dependency=False
        )

    def scope(
        self, starts: frozenset[str], states: States, *, protects: bool, secrets: bool, dependency: bool
    ) -> Scope:
        key = starts, states, protects, secrets, dependency
        if key not in self._scopes:
            self._scopes[key] = Scope(self, starts, states, protects=protects, secrets=secrets, dependency=dependency)
        return self._scopes[key]

    def match(self, states: States) -> tuple[bool, bool]:
        """Return whether what has these states must not be read, and whether it must not be changed."""
        matches = [glob.is_match(state) for glob, state in zip(self.globs, states, strict=True)]
        return any(matches[: self._unreadable]), any(matches[self._unreadable :])

    def without_unwritable(self, states: States) -> States:
        """Return the states in a folder that is read-only as a whole."""
        return (*states[: self._unreadable], *(_NOWHERE for _ in states[self._unreadable :]))


@dataclass(slots=True)
class Marks:
    """What was found directly in a folder, as names."""

    protected: list[tuple[str, tuple[int, int]]] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unwritable: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.protected or self.secrets or self.unreadable or self.unwritable)


NO_FOLDERS: "dict[str, ListedFolder]" = {}
"""The folders in a folder that contains none; never changed."""


class ListedFolder:
    """A folder as it was when it was read. Nothing is stored about most of its entries."""

    __slots__ = ("ctime", "device", "entries", "folders", "inode", "marks", "scope")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.device = self.inode = self.ctime = -1
        self.entries = 0
        self.folders = NO_FOLDERS
        self.marks: Marks | None = None


class Listing:
    """The entries of a folder while it is read."""

    def __init__(self, rules: CompiledRules, inside: str, scope: Scope, known: Mapping[str, ListedFolder]) -> None:
        self.folders: dict[str, ListedFolder] = {}
        self.marks = Marks()
        self._rules, self._scope, self._known = rules, scope, known
        self._above = inside.rpartition("/")[2]
        self._room = _MAX_PATH_BYTES - len(os.fsencode(inside)) if inside.count("/") < _MAX_DEPTH else 0
        self._of_a_repository: list[os.DirEntry[str]] = []

    def add(self, entry: os.DirEntry[str]) -> int:
        """Add an entry; return 1."""
        name, is_folder = fold(entry.name), _is_folder(entry)
        states = self._scope.after(name)
        if not is_unusual(name):
            hidden, states = self._follows_rules(entry, states)
            if is_folder:
                self._descend(entry, name, states, hidden=hidden)
        elif is_git_name(name):
            self._protect(entry)
        else:
            protected = self._scope.protects and is_table_name(self._scope.starts, name)
            if protected:
                self._protect(entry)
            if entry.name in OF_A_REPOSITORY:
                self._of_a_repository.append(entry)
            secret = self._scope.secrets and is_secret(self._above, entry.name, is_folder, self._scope.dependency)
            hidden, states = self._follows_rules(entry, states)
            if secret and not hidden:
                self.marks.secrets.append(entry.name)
            if is_folder:
                self._descend(entry, name, states, hidden=hidden, secret=secret, protected=protected)
        return 1

    def close(self) -> None:
        """Protect what git executes if the entries are those of a repository, whatever the folder's name."""
        if SHAPE.issubset(entry.name for entry in self._of_a_repository):
            for entry in self._of_a_repository:
                if entry.name not in ("objects", "refs"):
                    self._protect(entry)

    def _follows_rules(self, entry: os.DirEntry[str], states: States) -> tuple[bool, States]:
        """Mark an entry that matches rules; return whether it is hidden, and the states for what is in it."""
        unreadable, unwritable = self._rules.match(states) if states else (False, False)
        if unwritable:
            self.marks.unwritable.append(entry.name)
            states = self._rules.without_unwritable(states)
        if unreadable:
            self.marks.unreadable.append(entry.name)
            states = (_NOWHERE,) * len(states)
        return unreadable, states

    def _protect(self, entry: os.DirEntry[str]) -> None:
        if self._scope.protects:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                self.marks.protected.append((entry.name, (status.st_dev, status.st_ino)))

    def _descend(
        self,
        entry: os.DirEntry[str],
        name: str,
        states: States,
        *,
        hidden: bool,
        secret: bool = False,
        protected: bool = False,
    ) -> None:
        """Schedule a folder to be read, for what its own name does not decide."""
        dependency = name in _DEPENDENCIES
        scope = self._rules.scope(
            table_starts(self._scope.starts, name),
            states,
            # Whatever is hidden: what a command creates is what is protected now and was not before.
            protects=self._scope.protects and not (protected or secret or dependency),
            secrets=self._scope.secrets and not (hidden or secret),
            dependency=self._scope.dependency or dependency,
        )
        if not (scope.protects or scope.secrets or any(states)):
            return
        if self._room <= len(entry.name) * _MOST_BYTES_OF_A_CHARACTER and self._room <= len(os.fsencode(entry.name)):
            self.marks.secrets.append(entry.name)
            return
        known = self._known.get(entry.name)
        self.folders[entry.name] = known if known is not None and known.scope is scope else ListedFolder(scope)


def folders_below(inside: str, folder: ListedFolder) -> Iterator[tuple[str, ListedFolder]]:
    prefix = f"{inside}/" if inside else ""
    return ((prefix + name, below) for name, below in folder.folders.items())


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # a file system that does not say it in the listing
        return False


def _glob(text: str) -> PathGlob:
    parts = (text if "/" in text else f"**/{text}").split("/")
    return PathGlob("/".join(map(fold, parts)))
