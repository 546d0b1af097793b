"""The keys of an entry in `models.toml`, their valid values, and the check of an entry.

Works on plain TOML values and never raises: `problems` yields one sentence per mistake, each naming its key.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from laguna_engine.gguf.split import part_of
from laguna_tui.base.schema import declarations
from laguna_tui.base.settings import Settings
from laguna_tui.models.entry import ModelKind, ToolSet
from laguna_tui.models.remote_entry import url_problem

DESIGNS = ("dense", "mixture of experts", "hybrid")
TEMPLATES = ("XS_2", "XS_2_1", "S_2_1")

# Keys that identify a file: its location, its version, its content. A user who overrides one of them means another
# file, so no key that follows it in this order is inherited.
IDENTITY = (("repository", "file", "files", "convert"), ("revision",), ("sha256", "size"))

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[\w][\w./-]*")
_WEIGHTS = re.compile(rf"{_REPOSITORY.pattern}(@[0-9a-f]{{40}})?")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTEXT_MOST = 1 << 24
"""Tokens; sixteen times the longest training context of any model here."""


@dataclass(frozen=True, slots=True)
class KeyRule:
    """Rule for one key.

    Attributes:
        kind: Python type of the TOML value.
        expected: Valid values, in words.
        is_valid: Check of a value of that type.
    """

    kind: type
    expected: str = ""
    is_valid: Callable[[Any], bool] = lambda value: True


def safe_path(name: str) -> bool:
    """Return whether a path from the catalogue or the hub stays inside its download folder."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and name.isprintable() and "\\" not in name


def _texts(value: list[object]) -> bool:
    return all(isinstance(part, str) and part for part in value)


RULES: Mapping[str, KeyRule] = {
    "title": KeyRule(str, "a name to show", bool),
    "summary": KeyRule(str),
    "kind": KeyRule(str, f"one of {', '.join(ModelKind)}", lambda value: value in tuple(ModelKind)),
    "license": KeyRule(str),
    "repository": KeyRule(
        str, "OWNER/NAME", lambda value: _REPOSITORY.fullmatch(value) is not None and ".." not in value
    ),
    "revision": KeyRule(str, "a commit, tag or branch", lambda value: _REVISION.fullmatch(value) is not None),
    "file": KeyRule(str, "a file's path", bool),
    "files": KeyRule(
        list, "a list of paths", lambda value: bool(value) and _texts(value) and all(map(safe_path, value))
    ),
    "sha256": KeyRule(str, "64 lower-case hex digits", lambda value: _SHA256.fullmatch(value) is not None),
    "size": KeyRule(int, "bytes, above 0", lambda value: value > 0),
    "convert": KeyRule(bool),
    "design": KeyRule(str, f"one of {', '.join(DESIGNS)}", lambda value: value in DESIGNS),
    "shape": KeyRule(dict, "keys with a whole number", lambda value: all(map(_width, value.values()))),
    "weights": KeyRule(str, "OWNER/NAME, or OWNER/NAME@COMMIT", lambda value: _WEIGHTS.fullmatch(value) is not None),
    "trained_for": KeyRule(
        str, "OWNER/NAME, or OWNER/NAME@COMMIT", lambda value: _WEIGHTS.fullmatch(value) is not None
    ),
    "belongs": KeyRule(list, "a list of names of targets", _texts),
    "template": KeyRule(str, f"one of {', '.join(TEMPLATES)}", lambda value: value in TEMPLATES),
    "thinking": KeyRule(bool),
    "tools": KeyRule(str, f"one of {', '.join(ToolSet)}", lambda value: value in tuple(ToolSet)),
    "turns": KeyRule(int, "1 or more", lambda value: value >= 1),
    "context": KeyRule(int, "tokens, 1024 or more", lambda value: 1024 <= value <= _CONTEXT_MOST),
    "context_max": KeyRule(int, "tokens, 1024 or more", lambda value: 1024 <= value <= _CONTEXT_MOST),
    "sampling": KeyRule(dict),
    "match": KeyRule(list, "a list of lower-case parts of names", lambda value: _texts(value) and _lower(value)),
    "drafter": KeyRule(str, "a file's path", bool),
    "facts": KeyRule(dict, "keys with a number or a text", lambda value: all(map(_fact, value.values()))),
    "defects": KeyRule(list, "a list of sentences", _texts),
    "url": KeyRule(str, "https://HOST/v1", lambda value: not url_problem(value) and "#" not in value),
    "served": KeyRule(str, "what the endpoint calls the model", bool),
    "key_variable": KeyRule(str, "the name of a variable", lambda value: _VARIABLE.fullmatch(value) is not None),
}

SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty")
"""Keys of `sampling`: they are settings too, which say their ranges."""

_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
_REQUIRED_KEYS = ("title", "summary")
_TARGET_KEYS = ("thinking", "context", "sampling", "match")
_REMOTE_KEYS = ("url",)


def problems(name: str, table: object) -> Iterator[str]:
    """Yield every mistake in an entry as a sentence."""
    if _NAME.fullmatch(name) is None:
        yield f"its name {name!r} may contain only lower-case letters, digits, '.', '_' and '-'"
    if not isinstance(table, Mapping):
        yield f"must be a table, not {table!r}"
        return
    wrong = set()
    for key, value in table.items():
        for problem in _check_key(key, value):
            wrong.add(key)
            yield problem
    valid = {key: value for key, value in table.items() if key not in wrong}
    yield from _missing(table)
    yield from _contradictions(valid)


def _check_key(key: str, value: object) -> Iterator[str]:
    rule = RULES.get(key)
    if rule is None:
        yield f"has an unknown key {key}; known are {', '.join(RULES)}"
    elif not isinstance(value, rule.kind) or (isinstance(value, bool) and rule.kind is not bool):
        yield f"{key} = {value!r}: it must be {_KINDS[rule.kind]}"
    elif not rule.is_valid(value):
        yield f"{key} = {value!r}: it must be {rule.expected}"
    elif key == "sampling" and isinstance(value, dict):
        yield from _sampling(value)


def _missing(table: Mapping[str, object]) -> Iterator[str]:
    kind = table.get("kind", ModelKind.TARGET)
    more = _TARGET_KEYS if kind == ModelKind.TARGET else _REMOTE_KEYS if kind == ModelKind.REMOTE else ()
    yield from (f"{key} is missing" for key in (*_REQUIRED_KEYS, *more) if key not in table)


def _sampling(table: Mapping[str, object]) -> Iterator[str]:
    unknown = sorted(set(table) - set(SAMPLING))
    if unknown:
        yield f"sampling has unknown keys: {', '.join(unknown)}; known are {', '.join(SAMPLING)}"
    known = declarations(Settings)
    for key, value in table.items():
        if key in SAMPLING and (value is None or known[key].wrong(value)):
            yield f"sampling: {key} = {value!r}: it must be {known[key].allowed}"


def _contradictions(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield contradictions between keys that are valid by themselves."""
    remote, kind = "repository" in table, table.get("kind", ModelKind.TARGET)
    if "file" in table and "files" in table:
        yield "has both file and files; keep one of them"
    if remote and "file" not in table and "files" not in table:
        yield "has a repository but names no file in it; add file, or files for several"
    if remote and "file" in table and not safe_path(table["file"]):
        yield f"file = {table['file']!r}: it must be a path inside the repository"
    yield from (f"{key} has no effect without a repository" for key in _remote_only(table) if not remote)
    if "sha256" in table and "files" in table:
        yield "sha256 is for a single file; use file, not files"
    if part_of(table.get("file", "")):
        yield from (f"{key} is for a single file; this model is in parts" for key in ("sha256", "size") if key in table)
    if kind not in (ModelKind.TARGET, ModelKind.REMOTE):
        yield from (f"{key} is for models that answer; this is a {kind}" for key in ("tools", "turns") if key in table)
    yield from _endpoint_contradictions(table, kind)
    yield from _companion_contradictions(table, kind)
    if table.get("context", 0) > table.get("context_max", _CONTEXT_MOST):
        yield f"context = {table['context']}: the model was trained for context_max = {table['context_max']}"


def _companion_contradictions(table: Mapping[str, Any], kind: object) -> Iterator[str]:
    """Yield keys of a drafter or scorer in the entry of a target, or of another companion."""
    if table.get("convert") and kind != ModelKind.DRAFTER:
        yield f"convert = true is for drafters; this is a {kind}"
    if "trained_for" in table and kind != ModelKind.DRAFTER:
        yield f"trained_for is for drafters; this is a {kind}"
    if kind == ModelKind.TARGET and table.get("belongs"):
        yield "belongs is for drafters and scorers: it names the targets they go with"


def _endpoint_contradictions(table: Mapping[str, Any], kind: object) -> Iterator[str]:
    """Yield keys of a file in the entry of an endpoint, and the other way round."""
    endpoint, files = ("url", "served", "key_variable"), ("repository", "file", "files", "drafter", "belongs")
    if kind == ModelKind.REMOTE:
        yield from (f"{key} is for models with files; this is a remote" for key in files if key in table)
    else:
        yield from (f'{key} is for kind = "remote"; this is a {kind}' for key in endpoint if key in table)


def _remote_only(table: Mapping[str, Any]) -> Iterator[str]:
    return (key for key in ("revision", "files", "sha256", "size", "convert") if key in table)


def _lower(value: list[str]) -> bool:
    return all(part == part.lower() for part in value)


def _fact(value: object) -> bool:
    return isinstance(value, str) or _width(value)


def _width(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
