"""The user's settings: `config.toml` in the XDG config folder, then command-line flags over it.

Deals in values only: reading, checking, merging. Nothing is ever read from the repository that is being asked about.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import config_path

KV_TYPES = ("f16", "q8_0", "q4_0")
SPECULATION = ("fast", "strict", "off")
EDITS = ("ask", "allow", "never")
# What `drafter` says to draft by copying only.
NO_DRAFTER = "none"
# The app's own themes; `theme` may also name one of Textual's.
THEMES = ("auto", "laguna-dark", "laguna-light")
# A draft is verified in one computation of at most one more (`laguna_engine.draft.base.MAX_DRAFT`).
MAX_DRAFT = 16
# Below this not even the system prompt and one tool result fit.
MIN_CONTEXT = 1024
# A file with every setting has a kilobyte; what is larger is none of ours.
_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session is run with. None means: what the model's catalogue entry says, or what its plan finds best.

    edits: whether the user is asked about each edit of a file, or all or none are made.
    offline: nothing is asked of the network, and nothing that would need it is offered.
    origin: for each key that a file fixed, that file; everything else comes from flags.
    """

    model: str = "nano"
    context: int | None = None
    kv: str | None = None
    gpu_layers: int | None = None
    threads: int | None = None
    thinking: bool | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    speculation: str = "fast"
    drafter: str | None = None
    draft_length: int | None = None
    sample_drafts: bool = False
    adapter: str | None = None
    scorer: str | None = None
    pack: int | None = None
    edits: str = "ask"
    offline: bool = False
    theme: str = "auto"
    origin: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def merged(self, changes: Mapping[str, object]) -> "Settings":
        """These settings with the flags given (those that are not None) over them, checked."""
        known = {key: value for key, value in changes.items() if value is not None}
        origin = {key: file for key, file in self.origin.items() if key not in known}
        return checked(replace(self, **known, origin=origin))  # type: ignore[arg-type]

    def given(self, key: str) -> str:
        """A setting as the user fixed it, to begin a sentence about it: a flag, or a line of a file."""
        value = getattr(self, key)
        if key in self.origin:
            return f"{self.origin[key]}: {key} = {value!r}"
        return f"--{key.replace('_', '-')} {value}"

    def flags(self) -> list[str]:
        """The command line that says what is not the default, and does not stand in the settings file."""
        found: list[str] = []
        for key in KEYS:
            value = getattr(self, key)
            if value == getattr(Settings(), key) or key in self.origin:
                continue
            flag = key.replace("_", "-")
            found += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
        return found


KEYS = tuple(each.name for each in fields(Settings) if each.name != "origin")
"""What `config.toml` may say."""


def load_settings(path: Path | None = None) -> Settings:
    """The user's settings, or the defaults when there is no file.

    Raises:
        UserError: the file cannot be read, or a key in it is unknown, of the wrong kind or out of its range.
    """
    source = path or config_path()
    try:
        text = read_small_file(source, _LIMIT_BYTES).decode()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({error.strerror}); correct the file or move it away") from error
    except ValueError as error:
        raise UserError(f"{source}: {error}; correct the file or move it away") from error
    return parse_settings(text, source)


def parse_settings(text: str, source: Path) -> Settings:
    """The settings that the text of `source` says.

    Raises:
        UserError: it is not TOML, or a key in it is unknown, of the wrong kind or out of its range.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{source}: {error}; correct the file or move it away") from error
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise UserError(f"{source}: unknown setting {', '.join(unknown)}; known are {', '.join(sorted(KEYS))}")
    return checked(replace(Settings(), **table, origin=dict.fromkeys(table, str(source))))


def checked(settings: Settings) -> Settings:
    """The same settings, when every value is of its kind and in its range.

    Raises:
        UserError: names the flag or the file, the key, the value and what it may be.
    """
    kinds: dict[str, tuple[type, ...]] = {
        "model": (str,),
        "theme": (str,),
        "speculation": (str,),
        "edits": (str,),
        **dict.fromkeys(("kv", "drafter", "adapter", "scorer"), (str, type(None))),
        **dict.fromkeys(("sample_drafts", "offline"), (bool,)),
        "thinking": (bool, type(None)),
        **dict.fromkeys(
            ("context", "gpu_layers", "threads", "top_k", "seed", "max_tokens", "draft_length", "pack"),
            (int, type(None)),
        ),
        **dict.fromkeys(("temperature", "top_p", "min_p", "repeat_penalty"), (int, float, type(None))),
    }
    for key, allowed in kinds.items():
        value = getattr(settings, key)
        wrong_bool = isinstance(value, bool) and bool not in allowed
        if wrong_bool or not isinstance(value, allowed):
            raise UserError(f"{settings.given(key)} is not {_KINDS[allowed[0]]}")
    _in_range(settings)
    return settings


_KINDS: dict[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _in_range(settings: Settings) -> None:
    rules: tuple[tuple[str, bool, str], ...] = (
        ("kv", settings.kv is None or settings.kv in KV_TYPES, f"one of {', '.join(KV_TYPES)}"),
        ("context", settings.context is None or settings.context >= MIN_CONTEXT, f"at least {MIN_CONTEXT}"),
        ("gpu_layers", (settings.gpu_layers or 0) >= -1, "-1 (all) or a number of layers"),
        (
            "threads",
            0 <= (settings.threads or 0) <= processors(),
            f"between 0 (one per core) and {processors()}, the processors of this machine",
        ),
        ("temperature", 0.0 <= (settings.temperature or 0.0) <= 5.0, "between 0 and 5"),
        ("top_k", (settings.top_k or 0) >= 0, "0 (off) or more"),
        ("top_p", 0.0 < (1.0 if settings.top_p is None else settings.top_p) <= 1.0, "above 0, at most 1"),
        ("min_p", 0.0 <= (settings.min_p or 0.0) <= 1.0, "between 0 and 1"),
        ("repeat_penalty", settings.repeat_penalty is None or settings.repeat_penalty >= 1.0, "1 (off) or more"),
        ("speculation", settings.speculation in SPECULATION, f"one of {', '.join(SPECULATION)}"),
        ("edits", settings.edits in EDITS, f"one of {', '.join(EDITS)}"),
        ("draft_length", 0 <= (settings.draft_length or 0) <= MAX_DRAFT, f"between 0 and {MAX_DRAFT} tokens"),
        ("pack", (settings.pack or 0) >= 0, "0 (none) or a number of tokens"),
        ("max_tokens", settings.max_tokens is None or settings.max_tokens > 0, "1 or more"),
    )
    for key, ok, rule in rules:
        if not ok:
            raise UserError(f"{settings.given(key)}; it must be {rule}")
    if settings.theme not in THEMES:
        _textual_theme(settings)


def processors() -> int:
    """Logical processors that this process may use: more threads than that only wait for each other."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _textual_theme(settings: Settings) -> None:
    """Raise UserError unless `theme` is one of Textual's."""
    # Only for these names is Textual needed before a screen is.
    from textual.theme import BUILTIN_THEMES

    if settings.theme not in BUILTIN_THEMES:
        raise UserError(f"{settings.given('theme')}; it must be one of {', '.join((*THEMES, *BUILTIN_THEMES))}")
