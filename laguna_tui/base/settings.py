"""The user's settings: `config.toml` in the XDG config folder, then command-line flags over it.

Deals in values only: reading, checking, merging. Nothing is ever read from the repository that is being asked about.
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
# What `drafter` says to draft by copying only.
NO_DRAFTER = "none"
# The app's own themes; `theme` may also name one of Textual's.
THEMES = ("auto", "laguna-dark", "laguna-light")
# A draft is verified in one computation of at most one more (`laguna_engine.draft.base.MAX_DRAFT`).
MAX_DRAFT = 16
# The largest usable seed (`laguna_engine.config.MAX_SEED`).
MAX_SEED = 0xFFFFFFFE
# Below this not even the system prompt and one tool result fit.
MIN_CONTEXT = 1024
# A file with every setting has a kilobyte; what is larger is none of ours.
_LIMIT_BYTES = 1 << 20


def processors() -> int:
    """Logical processors that this process may use: more threads than that only wait for each other."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _textual_themes() -> Iterable[str]:
    # Only for a name that is none of the app's own is Textual needed before a screen is.
    from textual.theme import BUILTIN_THEMES

    return BUILTIN_THEMES


_RECOMMENDED = "the model's own"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session, each with its range and its help. The keys of `config.toml`, and flags.

    Attributes:
        origin: for each key that a file set, that file; every other value is a default or comes from a flag.
    """

    model: str = declared("nano", "a model of the catalogue, a GGUF file, or an endpoint", placeholder="NAME|FILE|URL")
    context: int | None = declared(
        None, "context size", minimum=MIN_CONTEXT, unit="tokens", without="what fits", placeholder="N"
    )
    kv: str | None = declared(None, "type of the KV cache", choices=KV_TYPES, without="what fits", placeholder="TYPE")
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
        without="what the plan says",
        placeholder="N",
    )
    thinking: bool | None = declared(None, "let the model think before it answers", without="as the model is made for")
    thinking_budget: int | None = declared(
        None,
        "most tokens of one thinking, then it has to answer",
        minimum=0,
        lowest="no limit",
        unit="tokens",
        without="8192, at most a quarter of the context",
        placeholder="N",
    )
    temperature: float | None = declared(
        None,
        "how freely tokens are drawn, 0 is greedy",
        minimum=0,
        maximum=5,
        without=_RECOMMENDED,
        placeholder="T",
    )
    top_k: int | None = declared(
        None, "keep the K likeliest tokens", minimum=0, lowest="off", without=_RECOMMENDED, placeholder="K"
    )
    top_p: float | None = declared(
        None,
        "keep the likeliest tokens up to this probability",
        minimum=0,
        above=True,
        maximum=1,
        without=_RECOMMENDED,
        placeholder="P",
    )
    min_p: float | None = declared(
        None,
        "drop tokens below this share of the likeliest",
        minimum=0,
        maximum=1,
        without=_RECOMMENDED,
        placeholder="P",
    )
    repeat_penalty: float | None = declared(
        None, "makes repetition less likely", minimum=1, lowest="off", without=_RECOMMENDED, placeholder="R"
    )
    seed: int | None = declared(
        None,
        "the same seed gives the same sampled answer",
        minimum=0,
        maximum=MAX_SEED,
        without="another one every time",
        placeholder="N",
    )
    max_tokens: int | None = declared(
        None, "limit of tokens in one generation", minimum=1, without="the room in the context", placeholder="N"
    )
    max_steps: int | None = declared(
        None,
        "most generations of one turn, each with its tool calls",
        minimum=1,
        without="what a long task takes",
        placeholder="N",
    )
    constrain: str = declared(
        "auto",
        "hold tool calls to tools, arguments, files and texts that are there; auto: where the model gains by it",
        choices=CONSTRAIN,
        placeholder="WHEN",
    )
    speculation: str = declared(
        "fast",
        "speculative decoding; strict: on the CPU, byte for byte the plain answer",
        choices=SPECULATION,
        placeholder="MODE",
    )
    drafter: str | None = declared(
        None,
        "a drafter of the catalogue, a GGUF that drafts, or none",
        without="the recommended drafter that is here",
        placeholder="NAME|FILE",
    )
    draft_length: int | None = declared(
        None,
        "how much is drafted every round",
        minimum=0,
        maximum=MAX_DRAFT,
        unit="tokens",
        without="as many as pay at the moment",
        placeholder="N",
    )
    sample_drafts: bool = declared(False, "draw drafts like answers, which pays at high temperatures")
    adapter: str | None = declared(
        None, "a LoRA for the drafter, such as one trained on this repository", without="none", placeholder="FILE"
    )
    scorer: str | None = declared(
        None,
        "what scores a text that is too long: a qwen3 GGUF, or none",
        without="what is here",
        placeholder="NAME|FILE",
    )
    pack: int | None = declared(
        None,
        "tokens of map and fitting code to begin with",
        minimum=0,
        lowest="none",
        unit="tokens",
        without="what the context allows",
        placeholder="N",
    )
    mode: str = declared(
        "ask",
        "what is done unasked: reading only, edits of files too, commands in the sandbox too; plan forbids both",
        choices=MODES,
        placeholder="MODE",
    )
    keep_sessions: int = declared(
        0,
        "for how long sessions are kept after their last message",
        minimum=0,
        lowest="for ever",
        unit="days",
        placeholder="DAYS",
    )
    sessions_limit: float = declared(
        10.0,
        "room for all kept sessions; over it you are told, over a limit of your own the oldest are deleted",
        minimum=0,
        lowest="no limit",
        unit="GB",
        placeholder="GB",
    )
    snapshots: bool = declared(True, "keep the KV cache of sessions on disk, so that resuming one takes a blink")
    snapshots_limit: int = declared(
        20,
        "most disk that they take; those of the session used longest ago go first",
        minimum=1,
        unit="GB",
        placeholder="N",
    )
    offline: bool = declared(False, "open no socket, and offer no download")
    theme: str = declared(
        "auto",
        "the colours: these or any Textual theme",
        choices=THEMES,
        more_choices=_textual_themes,
        placeholder="NAME",
    )
    notify: bool = declared(
        True, "ring and notify, while the terminal is not looked at: a question, or an answer after 10 seconds"
    )
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
        """The command line that says what is not the default, and is not in the settings file."""
        found: list[str] = []
        for key in KEYS:
            value = getattr(self, key)
            if value == getattr(Settings(), key) or key in self.origin:
                continue
            flag = key.replace("_", "-")
            found += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
        return found


KEYS = tuple(declarations(Settings))
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
    # Most runs have no file to read.
    import tomllib

    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{source}: {error}; correct the file or move it away") from error
    unknown = unknown_names(Settings, table)
    if unknown:
        named = ", ".join(f"{key}{did_you_mean(key, KEYS)}" for key in unknown)
        raise UserError(f"{source}: unknown setting {named}; known are {', '.join(sorted(KEYS))}")
    return checked(replace(Settings(), **table, origin=dict.fromkeys(table, str(source))))


def checked(settings: Settings) -> Settings:
    """The same settings, when every value is of its kind and in its range.

    Raises:
        UserError: names the flag or the file, the key, the value and what it may be.
    """
    for key, declaration in declarations(Settings).items():
        wrong = declaration.wrong(getattr(settings, key))
        if wrong:
            raise UserError(f"{settings.given(key)}{wrong}")
    return settings
