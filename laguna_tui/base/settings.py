"""The user's settings: `config.toml` in the XDG config folder, then command-line flags over it.

Nothing is ever read from the repository that is being asked about.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import config_path
from laguna_tui.base.schema import declarations, declared, unknown_names
from laguna_tui.base.spelling import did_you_mean

KV_TYPES = ("f16", "q8_0", "q4_0")
CONSTRAIN = ("auto", "on", "off")
SPECULATION = ("fast", "strict", "off")
MODES = ("ask", "accept-edits", "plan", "auto")
# The value of `drafter` that drafts by copying only.
NO_DRAFTER = "none"
# The app's own themes; `theme` may also name one of Textual's.
THEMES = ("auto", "laguna-dark", "laguna-light")
# A draft is verified in one computation of at most one more (`laguna_engine.draft.base.MAX_DRAFT`).
MAX_DRAFT = 16
# The largest usable seed (`laguna_engine.config.MAX_SEED`).
MAX_SEED = 0xFFFFFFFE
# Below this not even the system prompt and one tool result fit.
MIN_CONTEXT = 1024
# A file with every setting has a kilobyte.
_LIMIT_BYTES = 1 << 20


def processors() -> int:
    """Return how many logical processors this process may use; more threads only wait for each other."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _textual_themes() -> Iterable[str]:
    # Textual is needed before a screen only for a theme that is not the app's own.
    from textual.theme import BUILTIN_THEMES

    return BUILTIN_THEMES


_RECOMMENDED = "the model's own"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session, each with its range and its help. The keys of `config.toml`, and flags.

    Attributes:
        origin: the file of each key that a file set; every other value is a default or comes from a flag.
    """

    model: str = declared(
        "nano", "a model from the catalogue, a GGUF file, or an endpoint", placeholder="NAME|FILE|URL"
    )
    context: int | None = declared(
        None, "context size", minimum=MIN_CONTEXT, unit="tokens", without="what fits", placeholder="N"
    )
    kv: str | None = declared(None, "KV cache type", choices=KV_TYPES, without="what fits", placeholder="TYPE")
    gpu_layers: int | None = declared(
        None, "layers on the GPU", minimum=-1, lowest="all", without="what fits", placeholder="N"
    )
    threads: int | None = declared(
        None,
        "CPU threads",
        minimum=0,
        lowest="one per core",
        maximum=processors,
        highest="the processors of this machine",
        without="as planned",
        placeholder="N",
    )
    thinking: bool | None = declared(None, "let the model think before it answers", without="as the model was trained")
    thinking_budget: int | None = declared(
        None,
        "limit of thinking in one generation; then the model has to answer",
        minimum=0,
        lowest="no limit",
        unit="tokens",
        without="8192, at most a quarter of the context",
        placeholder="N",
    )
    temperature: float | None = declared(
        None,
        "sampling temperature, 0 is greedy",
        minimum=0,
        maximum=5,
        without=_RECOMMENDED,
        placeholder="T",
    )
    top_k: int | None = declared(
        None, "sample from the K most likely tokens", minimum=0, lowest="off", without=_RECOMMENDED, placeholder="K"
    )
    top_p: float | None = declared(
        None,
        "sample from the most likely tokens up to this total probability",
        minimum=0,
        above=True,
        maximum=1,
        without=_RECOMMENDED,
        placeholder="P",
    )
    min_p: float | None = declared(
        None,
        "drop tokens less likely than this share of the most likely one",
        minimum=0,
        maximum=1,
        without=_RECOMMENDED,
        placeholder="P",
    )
    repeat_penalty: float | None = declared(
        None, "penalty for repeated tokens", minimum=1, lowest="off", without=_RECOMMENDED, placeholder="R"
    )
    seed: int | None = declared(
        None,
        "sampling seed; the same seed gives the same answer",
        minimum=0,
        maximum=MAX_SEED,
        without="a new one each time",
        placeholder="N",
    )
    max_tokens: int | None = declared(
        None, "limit of tokens in one generation", minimum=1, without="what is left of the context", placeholder="N"
    )
    max_steps: int | None = declared(
        None,
        "limit of generations in one turn, each with its tool calls",
        minimum=1,
        without="enough for a long task",
        placeholder="N",
    )
    constrain: str = declared(
        "auto",
        "restrict tool calls to tools, arguments, files and texts that exist; auto: where it helps the model",
        choices=CONSTRAIN,
        placeholder="WHEN",
    )
    speculation: str = declared(
        "fast",
        "speculative decoding; strict: exactly the plain answer, on the CPU",
        choices=SPECULATION,
        placeholder="MODE",
    )
    drafter: str | None = declared(
        None,
        "a drafter from the catalogue, a GGUF file, or none",
        without="the recommended one, if it is downloaded",
        placeholder="NAME|FILE",
    )
    draft_length: int | None = declared(
        None,
        "tokens drafted per round",
        minimum=0,
        maximum=MAX_DRAFT,
        unit="tokens",
        without="as many as pay off",
        placeholder="N",
    )
    sample_drafts: bool = declared(False, "sample drafts like answers, which pays off at high temperatures")
    adapter: str | None = declared(
        None, "a LoRA for the drafter, such as one trained on this repository", without="none", placeholder="FILE"
    )
    scorer: str | None = declared(
        None,
        "model that scores texts too long for the context: a qwen3 GGUF, or none",
        without="the one that is downloaded",
        placeholder="NAME|FILE",
    )
    pack: int | None = declared(
        None,
        "size of the folder's map and relevant code sent with the first message",
        minimum=0,
        lowest="none",
        unit="tokens",
        without="what the context allows",
        placeholder="N",
    )
    mode: str = declared(
        "ask",
        "what needs no approval: reading, also edits (accept-edits), also sandboxed commands (auto); plan forbids both",
        choices=MODES,
        placeholder="MODE",
    )
    keep_sessions: int = declared(
        0,
        "how long sessions are kept after their last message",
        minimum=0,
        lowest="forever",
        unit="days",
        placeholder="DAYS",
    )
    sessions_limit: float = declared(
        10.0,
        "disk space for sessions; beyond the default you are warned, beyond a limit you set the oldest are deleted",
        minimum=0,
        lowest="no limit",
        unit="GB",
        placeholder="GB",
    )
    snapshots: bool = declared(True, "save the KV cache of sessions to disk, so that they resume at once")
    snapshots_limit: int = declared(
        20,
        "disk space for saved KV caches; the least recently used are deleted first",
        minimum=1,
        unit="GB",
        placeholder="N",
    )
    offline: bool = declared(False, "open no connection, except to a model on this machine that you name")
    theme: str = declared(
        "auto",
        "colour theme: one of these or any of Textual's",
        choices=THEMES,
        more_choices=_textual_themes,
        placeholder="NAME",
    )
    plain: bool = declared(
        False, "chat in plain lines instead of the TUI, for screen readers, dumb terminals and pipes"
    )
    sidebar: bool = declared(
        True, "show plan, changed files, context and speed beside the transcript, from 140 columns on"
    )
    vim: bool = declared(False, "edit messages with vim's keys")
    notify: bool = declared(
        True,
        "ring and notify while the terminal is not focused: for a question, or an answer that took over 10 seconds",
    )
    editor: str | None = declared(
        None,
        "command that opens a file, with {path} and {line} unless its syntax is known; none: the app's viewer",
        without="$VISUAL or $EDITOR, else the viewer",
        placeholder="COMMAND",
    )
    origin: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def merged(self, changes: Mapping[str, object]) -> "Settings":
        """Return these settings with the given flags (those that are not None) applied, checked."""
        known = {key: value for key, value in changes.items() if value is not None}
        origin = {key: file for key, file in self.origin.items() if key not in known}
        return checked(replace(self, **known, origin=origin))  # type: ignore[arg-type]

    def given(self, key: str) -> str:
        """Return a setting as the user wrote it, to begin a sentence: a flag, or a line of a file."""
        value = getattr(self, key)
        if key in self.origin:
            return f"{self.origin[key]}: {key} = {value!r}"
        return f"--{key.replace('_', '-')} {value}"

    def flags(self) -> list[str]:
        """Return the flags for what differs from the defaults and is not in the settings file."""
        found: list[str] = []
        for key in KEYS:
            value = getattr(self, key)
            if value == getattr(Settings(), key) or key in self.origin:
                continue
            flag = key.replace("_", "-")
            found += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
        return found


KEYS = tuple(declarations(Settings))
"""The keys of `config.toml`."""


def load_settings(path: Path | None = None) -> Settings:
    """Return the user's settings, or the defaults if there is no file.

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
    """Return the settings of a `config.toml`.

    Raises:
        UserError: it is not TOML, or a key in it is unknown, of the wrong kind or out of its range.
    """
    # Most runs have no file to read.
    import tomllib

    try:
        table = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{source}: {error}; correct the file or move it away") from error
    unknown = unknown_names(Settings, table)
    if unknown:
        named = ", ".join(f"{key}{did_you_mean(key, KEYS)}" for key in unknown)
        raise UserError(f"{source}: unknown setting {named}; known are {', '.join(sorted(KEYS))}")
    return checked(replace(Settings(), **table, origin=dict.fromkeys(table, str(source))))


def checked(settings: Settings) -> Settings:
    """Return the same settings if every value is of its kind and in its range.

    Raises:
        UserError: names the flag or the file, the key, the value and what it may be.
    """
    for key, declaration in declarations(Settings).items():
        wrong = declaration.wrong(getattr(settings, key))
        if wrong:
            raise UserError(f"{settings.given(key)}{wrong}")
    return settings
