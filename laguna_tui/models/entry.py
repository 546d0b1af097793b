"""An entry of the catalogue as values: its name, the source of its files and its default settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path

from laguna_engine.gguf.split import part_names
from laguna_tui.base.errors import UserError

MAIN = "main"
"""Revision used when none is pinned; the commit it meant at the download is recorded beside the file."""

_WILD = "*?["


def _matches(name: str, pattern: str) -> bool:
    """As in a shell: `*` does not match a slash."""
    return name.count("/") == pattern.count("/") and fnmatchcase(name, pattern)


class ModelKind(StrEnum):
    """Role of a model: it answers, drafts for a target, or scores which parts of a long prompt may be left out.

    REMOTE answers too, behind an endpoint elsewhere.
    """

    TARGET = "target"
    REMOTE = "remote"
    DRAFTER = "drafter"
    SCORER = "scorer"


class ToolSet(StrEnum):
    """Profile of a model (`agent/profile.py`): `basic` is that of the bundled small model, `chat` has no tools."""

    BASIC = "basic"
    FULL = "full"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class HubSource:
    """Location of a model's files on the hub.

    Attributes:
        repository: "owner/name".
        files: Paths inside the repository, the one to open first; each pattern with `*` must match a file. A single
            one that is a part of a model stands for all of its parts.
        revision: Commit, tag or branch.
        sha256: Of the first file, if known when the catalogue was written.
        size: Bytes of the first file, if known.
        convert: The files are a drafter as safetensors; the GGUF converted from them is opened.
    """

    repository: str
    files: tuple[str, ...]
    revision: str = MAIN
    sha256: str | None = None
    size: int | None = None
    convert: bool = False

    def select(self, names: Mapping[str, object] | list[str]) -> tuple[str, ...] | None:
        """Return those of `names` that match, in the catalogue's order; None if a pattern matches nothing.

        A single pattern stands for a single model, in one file or in parts: None, too, when it matches several, as it
        is ambiguous which to open, or when a part is missing.
        """
        found: list[str] = []
        for pattern in self.files:
            matching = [pattern] if pattern in names else sorted(name for name in names if _matches(name, pattern))
            if len(self.files) == 1:
                models = {part_names(name) for name in matching}
                matching = list(models.pop()) if len(models) == 1 else []
            if not matching or not all(name in names for name in matching):
                return None
            found += [name for name in matching if name not in found]
        return tuple(found)

    @property
    def pinned(self) -> bool:
        """Whether the catalogue gives the file's hash; without it nothing but the hub vouches for the file."""
        return self.sha256 is not None

    @property
    def has_exact_names(self) -> bool:
        """Whether every file is given by its full name, without a pattern."""
        return not any(letter in pattern for pattern in self.files for letter in _WILD)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model.

    Attributes:
        name: Name in the catalogue.
        title: Name to show.
        summary: One line about it.
        template: Chat template; None when it is read from the file.
        thinking: Whether it can think before it answers.
        context: Tokens of context unless the user chooses otherwise; 0 for a remote one whose endpoint says it.
        sampling: Default sampling parameters.
        match: Lower-case parts of file names that belong to it.
        path: Its file if it is bundled, downloaded or the user's own; None before its download.
        drafter: File of its drafter; None if none is on this machine.
        kind: Its role.
        source: Where it can be downloaded.
        license: Its licence.
        context_max: Tokens of context it was trained for; 0 if unknown.
        facts: Values its header must have, by GGUF key without the architecture's name.
        design: How its layers are built, in words; empty if unknown.
        shape: What else is needed to compute its memory before a download, by GGUF key.
        weights: "owner/name" of the weights that its file was made of, with "@commit" if known; empty if unknown.
        trained_for: The same of the weights that a drafter was trained for.
        defects: Known defects of the published file, as sentences.
        belongs: Names of the targets it drafts or scores for.
        tools: Tools offered to a target.
        turns: How many of a chat's newest turns a target reads, the current one included; None for all.
        url: Of the endpoint of a remote model, up to `/v1`; empty for others.
        served: What the endpoint calls the model; empty for the only one it has.
        key_variable: The variable of the environment with the endpoint's key; empty for the usual one.
    """

    name: str
    title: str
    summary: str
    template: str | None = None
    thinking: bool = False
    context: int = 0
    sampling: Mapping[str, float] = field(default_factory=dict)
    match: tuple[str, ...] = ()
    path: Path | None = None
    drafter: Path | None = None
    kind: ModelKind = ModelKind.TARGET
    source: HubSource | None = None
    license: str = ""
    context_max: int = 0
    facts: Mapping[str, int | str] = field(default_factory=dict)
    design: str = ""
    shape: Mapping[str, int] = field(default_factory=dict)
    weights: str = ""
    trained_for: str = ""
    defects: tuple[str, ...] = ()
    belongs: tuple[str, ...] = ()
    tools: ToolSet = ToolSet.FULL
    turns: int | None = None
    url: str = ""
    served: str = ""
    key_variable: str = ""

    @property
    def size(self) -> int | None:
        """Bytes to download: exact if pinned, else as published, rounded; None if unknown."""
        pinned = self.source.size if self.source is not None else None
        return pinned if pinned is not None else self.shape.get("file_size")

    @property
    def file(self) -> Path:
        """Its file on this machine, which `resolve` has looked for.

        Raises:
            UserError: It is a remote model, which has none.
        """
        if self.path is None:
            raise UserError(f"{self.title} has no file on this machine; give one with --model FILE.gguf")
        return self.path


def companions(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], kind: ModelKind) -> tuple[ModelEntry, ...]:
    """Return the drafters, or scorers, for a target, the recommended one first."""
    return tuple(other for other in catalogue.values() if other.kind is kind and entry.name in other.belongs)
