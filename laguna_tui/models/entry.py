"""One model of the catalogue, as values: what it is called, where its files come from, how it likes to be run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

MAIN = "main"
"""The revision that is meant when none is pinned; what it was at the download is recorded beside the file."""

_WILD = "*?["


def _matches(name: str, pattern: str) -> bool:
    """As in a shell: `*` stays inside one folder."""
    return name.count("/") == pattern.count("/") and fnmatchcase(name, pattern)


class ModelKind(StrEnum):
    """What a model does: it answers, it drafts for one that does, or it scores what a long prompt may leave out."""

    TARGET = "target"
    DRAFTER = "drafter"
    SCORER = "scorer"


class ToolSet(StrEnum):
    """Which profile a model has (`agent/profile.py`): `basic` is that of the small model that ships with the app."""

    BASIC = "basic"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class HubSource:
    """Where a model's files lie on the hub.

    files: paths inside the repository, the one to open first; `*` stands for what differs and must match something.
    sha256, size (bytes): of the first file, where they were known when the catalogue was written.
    convert: the files are a drafter as safetensors; what is opened is the GGUF made of them here.
    """

    repository: str
    files: tuple[str, ...]
    revision: str = MAIN
    sha256: str | None = None
    size: int | None = None
    convert: bool = False

    def chosen(self, names: Mapping[str, object] | list[str]) -> tuple[str, ...] | None:
        """Those of `names` that are wanted, in the catalogue's order; None if one pattern matches nothing.

        A single pattern names a single file: when it matches several, nobody can say which to open, so that is None
        as well.
        """
        found: list[str] = []
        for pattern in self.files:
            matching = [pattern] if pattern in names else sorted(name for name in names if _matches(name, pattern))
            if not matching or (len(self.files) == 1 and len(matching) > 1):
                return None
            found += [name for name in matching if name not in found]
        return tuple(found)

    @property
    def names_are_known(self) -> bool:
        """Whether the catalogue itself says every file's full name."""
        return not any(letter in pattern for pattern in self.files for letter in _WILD)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model.

    path: its file, if it ships with the app, was downloaded or is the user's own; None when it still must come.
    template: None when only the file can tell which chat format it was trained on.
    context: tokens to run it with unless the user says otherwise; context_max: what it was trained for, 0 if not said.
    drafter: the file that drafts for it, None without one that is there.
    source: where it can be downloaded. facts: what its header must say, by GGUF key without the architecture's name.
    defects: known faults of the published file, as sentences. belongs: names of the targets it drafts or scores for.
    tools: what a target is told that it may call. turns: how many of a chat's newest turns a target reads, the one that
    is asked included; None for all.
    """

    name: str
    title: str
    summary: str
    template: str | None
    thinking: bool
    context: int
    sampling: Mapping[str, float]
    match: tuple[str, ...]
    path: Path | None
    drafter: Path | None = None
    kind: ModelKind = ModelKind.TARGET
    source: HubSource | None = None
    license: str = ""
    context_max: int = 0
    facts: Mapping[str, int | str] = field(default_factory=dict)
    defects: tuple[str, ...] = ()
    belongs: tuple[str, ...] = ()
    tools: ToolSet = ToolSet.FULL
    turns: int | None = None


def companions(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], kind: ModelKind) -> tuple[ModelEntry, ...]:
    """The drafters, or scorers, that go with a target, the recommended one first."""
    return tuple(other for other in catalogue.values() if other.kind is kind and entry.name in other.belongs)
