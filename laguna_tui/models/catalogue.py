"""`models.toml` as values: which models the app knows and how each one likes to be run.

Deals in names, paths and settings; never opens a model file (the engine's pre-check does that).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from laguna_tui.errors import UserError
from laguna_tui.resources import data_root

_T = TypeVar("_T")

TEMPLATES = ("XS_2", "XS_2_1", "S_2_1")
SAMPLING_KEYS = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty")
# What a GGUF that no entry matches is run like, at a context that any machine can hold.
FALLBACK = "xs-2.1"
FALLBACK_CONTEXT = 8192


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model.

    `path` is None when the app knows it by name only and the user must bring the file; `template` is None when only
    the file can tell which chat format it was trained on; `drafter` is None without one whose file is there.
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


def load_catalogue(path: Path | None = None) -> dict[str, ModelEntry]:
    """Every entry of `models.toml` by name.

    Raises:
        UserError: the file is missing or an entry is wrong; names the entry and the key.
    """
    source = path or data_root() / "models.toml"
    try:
        tables = tomllib.loads(source.read_text(encoding="utf-8")).get("models", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{source}: cannot be read as a model catalogue ({error}); reinstall laguna-tui") from error
    return {name: _entry(name, table, source) for name, table in tables.items()}


def resolve(wanted: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry:
    """The entry for a name in the catalogue or for a path to a GGUF file.

    Raises:
        UserError: neither a known name nor a file, or a known model whose file the user must still bring.
    """
    entry = catalogue.get(wanted)
    if entry is None:
        return _from_path(wanted, catalogue)
    if entry.path is None:
        raise UserError(
            f"{entry.title} is known, but its file is not on this machine; pass the path of its GGUF: --model FILE.gguf"
        )
    return entry


def match_entry(file_name: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry | None:
    """The entry whose `match` says that a file of this name belongs to it, the longest match first."""
    lowered = file_name.lower()
    found = [(len(part), entry) for entry in catalogue.values() for part in entry.match if part in lowered]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _from_path(wanted: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry:
    path = Path(wanted).expanduser()
    if not path.exists():
        names = ", ".join(name for name, entry in catalogue.items() if entry.path is not None)
        raise UserError(f"--model {wanted}: no such file, and no bundled model of that name (there is: {names})")
    known = match_entry(path.name, catalogue)
    base = known or catalogue[FALLBACK]
    return ModelEntry(
        name=path.stem,
        title=base.title if known else path.stem,
        summary=base.summary if known else "a local model file",
        template=base.template if known else None,
        thinking=base.thinking,
        context=base.context if known else FALLBACK_CONTEXT,
        sampling=base.sampling,
        match=(),
        path=path,
    )


def _entry(name: str, table: Mapping[str, object], source: Path) -> ModelEntry:
    def fail(problem: str) -> UserError:
        return UserError(f"{source}: [models.{name}] {problem}")

    def value(key: str, kind: type[_T]) -> _T:
        found = table.get(key)
        if not isinstance(found, kind):
            raise fail(f"needs {key} = a {kind.__name__}, not {found!r}")
        return found

    template = value("template", str)
    if template not in TEMPLATES:
        raise fail(f"template = {template!r}; choose one of {', '.join(TEMPLATES)}")
    sampling = value("sampling", dict)
    unknown = set(sampling) - set(SAMPLING_KEYS)
    if unknown:
        raise fail(f"sampling has unknown keys: {', '.join(sorted(unknown))}")
    file = table.get("file")
    drafter = source.parent / value("drafter", str) if "drafter" in table else None
    return ModelEntry(
        name=name,
        title=value("title", str),
        summary=value("summary", str),
        template=template,
        thinking=value("thinking", bool),
        context=value("context", int),
        sampling={key: float(number) for key, number in sampling.items()},
        match=tuple(str(part) for part in value("match", list)),
        path=source.parent / str(file) if file is not None else None,
        drafter=drafter if drafter is not None and drafter.is_file() else None,
    )
