"""Workload of a benchmark: model, drafter, and the requests that the app would make.

The shipped questions are about a small shipped folder: the agent runs once with its real tools, and every request it
makes is recorded. A user's own messages are sent as they are. Options are checked before anything is opened.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from laguna_engine import loader
from laguna_engine.chat.template import Family
from laguna_engine.config import PLAIN, EngineOptions, Sampling, Speculation
from laguna_engine.engine import Engine, Request
from laguna_engine.events import CONSTRAINED, Source
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.options import AgentOptions
from laguna_tui.agent.profile import profile_of
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.backends.base import Options, Prompt
from laguna_tui.backends.local.backend import LocalBackend, family_of
from laguna_tui.base.errors import UserError
from laguna_tui.base.messages import ChatMessage
from laguna_tui.base.named_file import read_named_text
from laguna_tui.base.settings import NO_DRAFTER, Settings, load_settings
from laguna_tui.context.codebase import Codebase
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.model_selection import drafter_of
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.session.model_options import agent_options, engine_options

CONTEXT = 8192
"""Tokens; fits the app's prompt with its tools, a few results and an answer; more would only take memory. A model with
less uses all it has."""

COPY, DFLASH, BOTH = "copy", "dflash", "both"
"""All copying drafters, the drafter with a file, and all drafters. Others are chosen by their names."""

_COPIES = frozenset({Source("suffix"), Source("file")})


# What a constraint drafts is no choice, and what is measured has none.
_NOT_ALONE = _COPIES | {CONSTRAINED}


def single_drafters() -> dict[str, Source]:
    """Return the drafters that are measured by themselves, by name."""
    return {entry.source.value: entry.source for entry in loader.DRAFTERS if entry.source not in _NOT_ALONE}


def uses(drafter: Path | None) -> list[str]:
    """Return what can be compared: each drafter, copying, and all together. drafter: the file that DFlash needs."""
    single = [name for name in single_drafters() if name != DFLASH or drafter is not None]
    return [*single, COPY, *([BOTH] if single else [])]


def sources_of(use: str) -> frozenset[Source] | None:
    """Return the sources of a use; None for all drafters."""
    return None if use == BOTH else _COPIES if use == COPY else frozenset({single_drafters()[use]})


def label_of(use: str) -> str:
    """Return the name of a use in a report."""
    return single_drafters()[use].label if use in single_drafters() else use


_SETTINGS = ("model", "drafter", "threads", "kv", "context", "gpu_layers", "temperature", "seed", "speculation")


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """Options of a benchmark.

    Attributes:
        settings: The user's, with those of the command line over them.
        entry: The model.
        drafter: File of its drafter; None to draft by copying only.
        prompts: File with the user's messages; None for the shipped questions.
        tokens: Most tokens of each answer.
        repeats: Answers per prompt and variant.
        use: The drafter, in benchmarks of a single one.
    """

    settings: Settings
    entry: ModelEntry
    drafter: Path | None
    prompts: Path | None
    tokens: int
    repeats: int
    use: str

    @property
    def model(self) -> Path:
        """Return the path of the model."""
        return self.entry.file

    def engine(self, kv: str | None = None) -> EngineOptions:
        """Return the options to open without a plan, with another KV cache type if one is given.

        Saved draft statistics are not used, so that every benchmark starts alike.
        """
        options = engine_options(self.fixed(kv), self.entry, self.drafter, Speculation(self.settings.speculation))
        return options if self.settings.context else replace(options, n_ctx=CONTEXT)

    @property
    def who(self) -> str:
        """Return a sentence that names the drafter."""
        return f"Who drafts: {label_of(self.use)}."

    def fixed(self, kv: str | None = None) -> Settings:
        """Return the settings a plan must keep; the drafter too, because it is being measured."""
        drafter = NO_DRAFTER if self.drafter is None else str(self.drafter)
        return replace(self.settings, kv=kv or self.settings.kv, drafter=drafter)

    @property
    def sampling(self) -> Sampling:
        """Return the model card's sampling at the requested temperature."""
        return agent_options(self.settings, self.entry).sampling


def from_arguments(arguments: argparse.Namespace) -> BenchOptions:
    """Return the options. Raises UserError for a missing model or drafter, or a number out of range."""
    given = {name: getattr(arguments, name, None) for name in _SETTINGS}
    # The user's temperature and context are for chatting. The seed only matters when sampling, and is always the same.
    settings = replace(load_settings(), context=None).merged(_known(given))
    settings = settings.merged({"temperature": given["temperature"] or 0.0, "seed": given["seed"] or 1})
    entry = resolve(settings.model, load_catalogue())
    options = BenchOptions(
        settings=settings,
        entry=entry,
        drafter=drafter_of(settings, entry),
        prompts=arguments.prompts,
        tokens=arguments.tokens,
        repeats=arguments.repeats,
        use="",
    )
    return _checked(options, getattr(arguments, "use", None))


def _known(given: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}


def _checked(options: BenchOptions, use: str | None) -> BenchOptions:
    if options.settings.speculation == "off":
        raise UserError("speculation is off, so there is nothing to compare; add --speculation fast, or strict")
    for name, value, least in (("tokens", options.tokens, 2), ("repeats", options.repeats, 1)):
        if value < least:
            raise UserError(f"--{name} {value}: it must be {least} or more")
    known = [*single_drafters(), COPY, BOTH]
    if use is not None and use not in known:
        raise UserError(f"--use {use}: it must be one of {', '.join(known)}")
    if use is not None and use not in uses(options.drafter):
        raise UserError(
            f"--use {use}: {options.entry.title} has no drafter here; give one with --drafter FILE.gguf, or --use copy"
        )
    return replace(options, use=use or (COPY if options.drafter is None else DFLASH))


QUESTIONS = {
    "where": "Where is parse_line defined?",
    "takes": "What does format_item take?",
    "callers": "Who calls load_inventory?",
    "file": "What is in inventory.py?",
    "edit": "Rename take_item to remove_item in inventory.py, and show me the whole class after that.",
}
"""By their names in reports: looking things up, which takes tools, and changing code."""

_CONTINUED = "inventory.py"
"""File whose first half is continued, as text and not as a chat."""

_SUFFIX = ".txt"

_STEPS = 3
_PROMPTS_BYTES = 64 << 20
"""Requests recorded per question: those after a few tool calls resemble the ones before."""


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """A prompt. files: tokens that may be copied from."""

    name: str
    tokens: tuple[int, ...]
    stop_tokens: frozenset[int]
    files: tuple[Sequence[int], ...] = ()


def prepare_prompts(engine: Engine, options: BenchOptions, progress: Callable[[str], None]) -> list[BenchPrompt]:
    """Return the prompts for this model. Raises UserError when the file of messages cannot be read."""
    if options.prompts is not None:
        return _asked(engine, options, _messages(options.prompts))
    with _folder() as folder:
        prompts = []
        for name, question in QUESTIONS.items():
            progress(f"preparing: {question}")
            prompts += _requests(engine, options, folder, name, question)
        half = (folder / _CONTINUED).read_text(encoding="utf-8")
    half = half[: half.index("    def total_value")]
    prompts.append(BenchPrompt("continue", tuple(engine.vocab.tokenize(half, special=False)), frozenset()))
    fitting = [prompt for prompt in prompts if len(prompt.tokens) + options.tokens < engine.n_ctx]
    if not fitting:
        raise UserError(f"no prompt fits with its answer in {engine.n_ctx} tokens; add --context N, or --tokens N")
    return fitting


def _messages(path: Path) -> list[str]:
    text = read_named_text("--prompts", path, _PROMPTS_BYTES, "give a text file")
    blocks = [block.strip() for block in text.split("\n\n")]
    messages = [block for block in blocks if block]
    if not messages:
        raise UserError(f"--prompts {path}: it is empty; write messages with blank lines between them")
    return messages


def _asked(engine: Engine, options: BenchOptions, messages: list[str]) -> list[BenchPrompt]:
    backend = _backend(engine, options)
    profile = profile_of(options.entry, writes_calls=backend.writes_calls)
    chat = Conversation(backend, profile, thinking=_thinking(options))
    prompts = []
    for number, message in enumerate(messages, 1):
        request = backend.request(chat.prompt(ChatMessage.asked(message)), Options())
        prompts.append(BenchPrompt(str(number), tuple(request.tokens), request.stop_tokens))
    for prompt in prompts:
        if len(prompt.tokens) + options.tokens >= engine.n_ctx:
            raise UserError(
                f"message {prompt.name} does not fit with its answer in {engine.n_ctx} tokens; add --context N"
            )
    return prompts


def _requests(engine: Engine, options: BenchOptions, folder: Path, name: str, question: str) -> list[BenchPrompt]:
    """Return the requests that the agent makes until it has answered."""
    backend = _Recorder(engine, family_of(options.entry, engine.info))
    codebase = Codebase(folder, folder.parent / "index")
    # A routed answer generates nothing that could be measured.
    profile = replace(profile_of(options.entry, writes_calls=backend.writes_calls), router=None)
    toolbox = Toolbox(profile, Workspace(folder), codebase=codebase)
    try:
        agent = Agent(
            backend,
            toolbox,
            AgentOptions(thinking=_thinking(options), max_tokens=options.tokens, drafting=PLAIN),
            # The folder's date and git status would change the prompts from day to day.
            opening=str,
        )
        for _ in agent.run(question):
            if len(backend.requests) == _STEPS:
                break
    finally:
        toolbox.close()
        codebase.close()
    return [
        BenchPrompt(f"{name} {step}", tuple(request.tokens), request.stop_tokens, request.drafting.files)
        for step, request in enumerate(backend.requests, 1)
    ]


class _Recorder(LocalBackend):
    """A backend that records its requests."""

    def __init__(self, engine: Engine, family: Family | None) -> None:
        super().__init__(engine, family)
        self.requests: list[Request] = []

    def request(self, prompt: Prompt, options: Options) -> Request:
        self.requests.append(super().request(prompt, options))
        return self.requests[-1]


def _backend(engine: Engine, options: BenchOptions) -> LocalBackend:
    return LocalBackend(engine, family_of(options.entry, engine.info))


def _thinking(options: BenchOptions) -> bool:
    chosen = options.settings.thinking
    return options.entry.thinking if chosen is None else chosen


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield the folder of the questions, outside any repository that might ignore its files."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "shop"
        folder.mkdir()
        for file in (resources.files(__package__) / "folder").iterdir():
            if file.name.endswith(f".py{_SUFFIX}"):
                with resources.as_file(file) as source:
                    shutil.copyfile(source, folder / file.name.removesuffix(_SUFFIX))
        yield folder
