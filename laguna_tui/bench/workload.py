"""What a benchmark runs: the model and drafter, and requests that the app would make, so that a user meets the same.

The questions that ship with the app are asked about a small folder that ships with it too: the agent runs once, with
its real tools, and every request it makes is kept. A user's own messages are asked as they are. Options are checked
before anything is opened.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from laguna_engine.config import PLAIN, EngineOptions, Sampling, Speculation
from laguna_engine.draft import registry
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Event, Source
from laguna_engine.sequence import Preview
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.messages import ChatMessage
from laguna_tui.agent.profile import profile_of
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.agent.turn import AgentOptions
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import NO_DRAFTER, Settings, load_settings
from laguna_tui.context.codebase import Codebase
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.model_selection import drafter_of
from laguna_tui.repo.workspace import Workspace
from laguna_tui.session.model_options import agent_options, engine_options

CONTEXT = 4096
"""Holds the app's prompt with its tools, a few results and an answer; a larger one would only take memory. Of a model
that can use less, all it can."""

COPY, DFLASH, BOTH = "copy", "dflash", "both"
"""Who may draft: everything that copies, the drafter with a file, whoever is there. Others go by their names."""

_COPIES = frozenset({Source("suffix"), Source("file")})


def single_drafters() -> dict[str, Source]:
    """Those that are measured by themselves, by name."""
    return {entry.source.value: entry.source for entry in registry.DRAFTERS if entry.source not in _COPIES}


def uses(drafter: Path | None) -> list[str]:
    """Who can be compared: each by itself, copying, and all of them together. drafter: the file that DFlash needs."""
    single = [name for name in single_drafters() if name != DFLASH or drafter is not None]
    return [*single, COPY, *([BOTH] if single else [])]


def sources_of(use: str) -> frozenset[Source] | None:
    """The drafters it stands for; None for whoever is there."""
    return None if use == BOTH else _COPIES if use == COPY else frozenset({single_drafters()[use]})


def label_of(use: str) -> str:
    """Its name in a report."""
    return single_drafters()[use].label if use in single_drafters() else use


_SETTINGS = ("model", "drafter", "threads", "kv", "context", "gpu_layers", "temperature", "seed", "speculation")


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """A benchmark as asked for.

    settings: of the engine, the user's own where no flag says otherwise. drafter: None to draft by copying only.
    prompts: the user's file, None for what ships with the app. tokens: of each answer at most. repeats: of every
    prompt. use: who drafts where only one can.
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
        """The model's file."""
        assert self.entry.path is not None, "resolve only returns entries with a file"
        return self.entry.path

    def engine(self, kv: str | None = None) -> EngineOptions:
        """What to open without a plan, with this type of KV cache if one is given.

        Nothing learned earlier is used, so that every benchmark begins alike.
        """
        asked = engine_options(self.fixed(kv), self.entry, self.drafter, Speculation(self.settings.speculation))
        return asked if self.settings.context else replace(asked, n_ctx=CONTEXT)

    @property
    def who(self) -> str:
        """A sentence on `use`."""
        return f"Who drafts: {label_of(self.use)}."

    def fixed(self, kv: str | None = None) -> Settings:
        """The settings that a plan has to keep: the drafter too, because it is what is measured."""
        drafter = NO_DRAFTER if self.drafter is None else str(self.drafter)
        return replace(self.settings, kv=kv or self.settings.kv, drafter=drafter)

    @property
    def sampling(self) -> Sampling:
        """How tokens are picked; the model card's filters, at the temperature asked for."""
        return agent_options(self.settings, self.entry).sampling


def from_arguments(arguments: argparse.Namespace) -> BenchOptions:
    """The options; UserError for what cannot be: a model or drafter that is not there, a number out of range."""
    given = {name: getattr(arguments, name, None) for name in _SETTINGS}
    # The user's own temperature and context are for chatting. A seed is only for draws, and always the same one.
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
"""By the name they have in reports: looking things up, which takes tools, and changing code."""

_CONTINUED = "inventory.py"
"""The file whose first half is continued, as text and not as a chat."""

_SUFFIX = ".txt"

_STEPS = 3
"""Requests kept of a question: what comes after a few tool calls is like what came before."""


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """What the engine is given. files: tokens that may be copied from."""

    name: str
    tokens: tuple[int, ...]
    stop_tokens: frozenset[int]
    files: tuple[Sequence[int], ...] = ()


def prepare_prompts(engine: Engine, options: BenchOptions, progress: Callable[[str], None]) -> list[BenchPrompt]:
    """The prompts for this model; UserError when a file of messages cannot be read."""
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
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--prompts {path}: {getattr(error, 'strerror', error)}; give a text file") from error
    blocks = [block.strip() for block in text.replace("\r\n", "\n").split("\n\n")]
    messages = [block for block in blocks if block]
    if not messages:
        raise UserError(f"--prompts {path}: it is empty; write messages with blank lines between them")
    return messages


def _asked(engine: Engine, options: BenchOptions, messages: list[str]) -> list[BenchPrompt]:
    chat = Conversation(engine.vocab, profile_of(options.entry, engine.info), thinking=_thinking(options))
    prompts = [
        BenchPrompt(str(number), tuple(chat.with_message(ChatMessage.asked(message))), chat.stop_tokens)
        for number, message in enumerate(messages, 1)
    ]
    for prompt in prompts:
        if len(prompt.tokens) + options.tokens >= engine.n_ctx:
            raise UserError(
                f"message {prompt.name} does not fit with its answer in {engine.n_ctx} tokens; add --context N"
            )
    return prompts


def _requests(engine: Engine, options: BenchOptions, folder: Path, name: str, question: str) -> list[BenchPrompt]:
    """What the agent asks of the engine until it has answered."""
    recorder = _Recorder(engine)
    codebase = Codebase(folder, folder.parent / "index")
    toolbox = Toolbox(profile_of(options.entry, engine.info), Workspace(folder), codebase=codebase)
    try:
        agent = Agent(
            recorder,
            engine.vocab,
            toolbox,
            AgentOptions(thinking=_thinking(options), max_tokens=options.tokens, drafting=PLAIN),
            # The folder's date and git's state would make every day's prompts different.
            opening=str,
        )
        for _ in agent.run(question):
            if len(recorder.requests) == _STEPS:
                break
    finally:
        toolbox.close()
        codebase.close()
    return [
        BenchPrompt(f"{name} {step}", tuple(request.tokens), request.stop_tokens, request.drafting.files)
        for step, request in enumerate(recorder.requests, 1)
    ]


class _Recorder:
    """The engine, and what it was asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.requests: list[Request] = []

    @property
    def n_ctx(self) -> int:
        return self._engine.n_ctx

    def generate(self, request: Request) -> Iterator[Event]:
        self.requests.append(request)
        return self._engine.generate(request)

    def cancel(self) -> None:
        self._engine.cancel()

    def preview(self, tokens: Sequence[int]) -> Preview:
        return self._engine.preview(tokens)


def _thinking(options: BenchOptions) -> bool:
    chosen = options.settings.thinking
    return options.entry.thinking if chosen is None else chosen


@contextmanager
def _folder() -> Iterator[Path]:
    """The folder that the questions are about, outside any repository whose ignored files it could be one of."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "shop"
        folder.mkdir()
        for file in (resources.files(__package__) / "folder").iterdir():
            if file.name.endswith(f".py{_SUFFIX}"):
                with resources.as_file(file) as source:
                    shutil.copyfile(source, folder / file.name.removesuffix(_SUFFIX))
        yield folder
