"""The catalogue, `models.toml`, as values: the models the app knows and their default settings.

Handles names, paths and settings. Of a model file only the header is read, if no entry matches its name (`file_entry`);
the engine checks the file when it opens it. The user's `models.toml`, in the config folder, adds entries and overrides
keys of the shipped ones.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from laguna_engine.files import read_small_file
from laguna_engine.gguf.split import title_of
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import data_root, user_catalogue
from laguna_tui.models.catalogue_rules import IDENTITY, SAMPLING, problems
from laguna_tui.models.entry import ModelEntry, ModelKind, companions
from laguna_tui.models.file_entry import DEFAULT_CONTEXT, file_entry
from laguna_tui.models.remote_entry import is_url, remote_entry

if TYPE_CHECKING:
    from laguna_tui.models.store import Store


SAMPLING_KEYS = tuple(SAMPLING)
FALLBACK = "xs-2.1"
"""The entry whose sampling a Laguna has that no entry matches."""
_CORRECT = "correct the file or move it away"
# A hundred times the size of the shipped file.
_LIMIT_BYTES = 1 << 20


class NotDownloadedError(UserError):
    """A model of the catalogue is not on this machine and can be downloaded. name: of the model."""

    def __init__(self, entry: ModelEntry) -> None:
        how = f"download it (laguna-tui models download {entry.name}), or pass the path of its GGUF: --model FILE.gguf"
        super().__init__(f"{entry.title} is not on this machine; {how}")
        self.name = entry.name


def load_catalogue(path: Path | None = None, own: Path | None = None) -> dict[str, ModelEntry]:
    """Return every entry of `models.toml` by name, with the user's file merged over the shipped one.

    Args:
        path: Catalogue to read in place of the shipped one; the user's file is then ignored unless `own` is given.
        own: The user's file (default: the one in the config folder). It may be missing.

    Raises:
        UserError: A file cannot be read, or entries are invalid; one line per mistake, with the entry and the key.
    """
    shipped = path or data_root() / "models.toml"
    own = own or (user_catalogue() if path is None else None)
    changes = _read(own, _CORRECT, missing={}) if own is not None else {}
    return _catalogue_of(changes, shipped, own)


def check_catalogue(text: str, own: Path) -> None:
    """Check `text` as the user's file at path `own`. Raises UserError as `load_catalogue` does."""
    _catalogue_of(_parsed(text, own, _CORRECT), data_root() / "models.toml", own)


def _catalogue_of(changes: Mapping[str, Any], shipped: Path, own: Path | None) -> dict[str, ModelEntry]:
    """Merge the user's `changes`, read from `own`, over the shipped entries."""
    tables = _read(shipped, "reinstall laguna-tui")
    merged = {**tables, **{name: _merged_table(tables.get(name, {}), change) for name, change in changes.items()}}
    found, wrong = {}, []
    for name, table in merged.items():
        where = own if own is not None and name in changes else shipped
        mistakes = list(problems(name, table))
        wrong += [f"{where}: [models.{name}] {mistake}" for mistake in mistakes]
        if not mistakes:
            rooted = _with_paths(table, changes.get(name, {}), shipped.parent, where.parent)
            found[name] = _entry(name, rooted)
    wrong += _unknown_targets(found, merged, own or shipped)
    if wrong:
        raise UserError("\n".join(wrong))
    return found


def resolve(wanted: str, catalogue: Mapping[str, ModelEntry], store: "Store | None" = None) -> ModelEntry:
    """Return the entry for a catalogue name, the path of a GGUF file or an endpoint's URL, with its files here.

    Args:
        wanted: Catalogue name, path, or URL of an endpoint.
        store: Store of downloaded models; None for the user's.

    Raises:
        UserError: Neither a known name nor a file, or a known model that is not downloaded.
    """
    entry = catalogue.get(wanted)
    if entry is None:
        return remote_entry(wanted, catalogue) if is_url(wanted) else _from_path(wanted, catalogue)
    if entry.kind is ModelKind.REMOTE:
        return entry
    if entry.kind is not ModelKind.TARGET:
        raise UserError(f"{entry.title} is a {entry.kind}, not a chat model; see: laguna-tui models list")
    if entry.path is not None:
        return entry
    return _from_store(entry, catalogue, store)


def named_entry(name: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry:
    """Return a model of the catalogue. UserError for an unknown name."""
    if name in catalogue:
        return catalogue[name]
    if Path(name).is_file():
        raise UserError(
            f"{name} is a file, and this command takes names of the catalogue; to see what it is and whether it runs "
            f"here: laguna-tui fit {quote(name)}"
        )
    raise UserError(_unknown(name, catalogue))


def _unknown(wanted: str, catalogue: Mapping[str, ModelEntry]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(wanted, catalogue, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    return (
        f"there is no model {wanted}; {meant}the catalogue is listed by: laguna-tui models list, and what other "
        "programs have here by: laguna-tui models others"
    )


def match_entry(file_name: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry | None:
    """Return the entry with the longest `match`, or the hash, contained in this file name, or None."""
    lowered = file_name.lower()
    found = [(len(part), entry) for entry in catalogue.values() for part in _name_parts(entry) if part in lowered]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _name_parts(entry: ModelEntry) -> tuple[str, ...]:
    """Return the parts of file names that tell an entry, the hash of its file among them."""
    sha256 = None if entry.source is None else entry.source.sha256
    return entry.match if sha256 is None else (*entry.match, sha256)


def _from_store(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], store: "Store | None") -> ModelEntry:
    from laguna_tui.models.store import Store

    shelf = store or Store()
    path = shelf.path(entry)
    if path is None:
        if entry.source is not None:
            raise NotDownloadedError(entry)
        raise UserError(f"{entry.title} is not on this machine; pass the path of its GGUF: --model FILE.gguf")
    drafters = (shelf.path(drafter) for drafter in companions(entry, catalogue, ModelKind.DRAFTER))
    return replace(entry, path=path, drafter=entry.drafter or next(filter(None, drafters), None))


def _from_path(wanted: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry:
    path = Path(wanted).expanduser()
    if not path.exists():
        if path.suffix.lower() == ".gguf" or len(path.parts) > 1:
            raise UserError(f"{wanted}: there is no such file; check the path")
        raise UserError(_unknown(wanted, catalogue))
    known = match_entry(path.name, catalogue) or file_entry(path, catalogue[FALLBACK])
    return ModelEntry(
        name=title_of(path),
        title=known.title,
        summary=known.summary,
        template=known.template,
        thinking=known.thinking,
        context=known.context,
        sampling=known.sampling,
        path=path,
        license=known.license,
        context_max=known.context_max,
        facts=known.facts,
        weights=known.weights,
        tools=known.tools,
        turns=known.turns,
    )


def _read(path: Path, remedy: str, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the file's tables; `missing`, if given, when the file does not exist."""
    try:
        text = read_small_file(path, _LIMIT_BYTES).decode()
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and missing is not None:
            return missing
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise UserError(f"{path}: cannot be read as a model catalogue ({reason}); {remedy}") from error
    return _parsed(text, path, remedy)


def _parsed(text: str, path: Path, remedy: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as a model catalogue ({error}); {remedy}") from error
    models = document.pop("models", {})
    if document or not isinstance(models, dict):
        raise UserError(f"{path}: contains something other than [models.NAME] tables; {remedy}")
    return models


def _merged_table(table: Any, change: Any) -> Any:
    """Merge the user's keys over an entry. Keys that identify a file are dropped when it is replaced."""
    if not isinstance(table, dict) or not isinstance(change, dict):
        return change
    lost: set[str] = set()
    for group in IDENTITY:
        if lost or set(group) & set(change):
            lost |= set(group)
    return {**{key: value for key, value in table.items() if key not in lost}, **change}


def _with_paths(table: Mapping[str, Any], change: Mapping[str, Any], shipped: Path, own: Path) -> dict[str, Any]:
    """Make a table's local paths absolute, each relative to the catalogue file that contains it."""
    local = [key for key in ("file", "drafter") if key in table and not (key == "file" and "repository" in table)]
    return {**table, **{key: (own if key in change else shipped) / table[key] for key in local}}


def _unknown_targets(found: Mapping[str, ModelEntry], raw: Mapping[str, object], source: Path) -> list[str]:
    """Errors between entries: a companion of an entry that is not a target."""
    others = {name for name, entry in found.items() if entry.kind is not ModelKind.TARGET}
    return [
        f"{source}: [models.{entry.name}] belongs to {name!r}, which is not a target in the catalogue"
        for entry in found.values()
        for name in entry.belongs
        if name not in raw or name in others
    ]


def _entry(name: str, table: Mapping[str, Any]) -> ModelEntry:
    """Return the entry of a valid table whose local paths are absolute."""
    drafter = table.get("drafter")
    remote = table.get("kind") == ModelKind.REMOTE
    values = {"context": 0 if remote else DEFAULT_CONTEXT, **table, "name": name}
    values["url"] = table.get("url", "").rstrip("/")
    values["drafter"] = drafter if drafter is not None and drafter.is_file() else None
    if "repository" in table:
        values["source"] = {"files": [table.get("file")], **table}
    else:
        values["path"] = table.get("file")
    return msgspec.convert(values, ModelEntry)
