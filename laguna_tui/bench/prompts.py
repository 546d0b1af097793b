"""What is answered: requests that the app would make, so that what is measured is what a user meets.

The questions that ship with the app are asked about a small folder that ships with it too: the agent runs once, with
its real tools, and every request it makes is kept. A user's own messages are asked as they are.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from laguna_engine.cache.preview import Preview
from laguna_engine.chat.template import Family, family_for
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Event
from laguna_engine.request import PLAIN
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.retold import Said
from laguna_tui.agent.tools import Toolbox
from laguna_tui.agent.tools.registry import tool_specs
from laguna_tui.agent.turn import AgentOptions
from laguna_tui.bench.options import Options
from laguna_tui.context.codebase import Codebase
from laguna_tui.errors import UserError
from laguna_tui.repo.workspace import Workspace

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
class Prompt:
    """What the engine is given. files: tokens that may be copied from."""

    name: str
    tokens: tuple[int, ...]
    stop_tokens: frozenset[int]
    files: tuple[Sequence[int], ...] = ()


def prepare(engine: Engine, options: Options, progress: Callable[[str], None]) -> list[Prompt]:
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
    prompts.append(Prompt("continue", tuple(engine.vocab.tokenize(half, special=False)), frozenset()))
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


def _asked(engine: Engine, options: Options, messages: list[str]) -> list[Prompt]:
    tools = options.entry.tools
    system, specs = system_prompt(tools), tool_specs(tools)
    family, thinking = _family(engine, options), _thinking(options)
    chat = Conversation(engine.vocab, family, thinking=thinking, prompt=system, tools=specs)
    prompts = [
        Prompt(str(number), tuple(chat.with_message(Said.asked(message))), chat.stop_tokens)
        for number, message in enumerate(messages, 1)
    ]
    for prompt in prompts:
        if len(prompt.tokens) + options.tokens >= engine.n_ctx:
            raise UserError(
                f"message {prompt.name} does not fit with its answer in {engine.n_ctx} tokens; add --context N"
            )
    return prompts


def _requests(engine: Engine, options: Options, folder: Path, name: str, question: str) -> list[Prompt]:
    """What the agent asks of the engine until it has answered."""
    recorder = _Recorder(engine)
    codebase = Codebase(folder, folder.parent / "index")
    toolbox = Toolbox(Workspace(folder), codebase=codebase, tools=options.entry.tools)
    try:
        agent = Agent(
            recorder,
            engine.vocab,
            _family(engine, options),
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
        Prompt(f"{name} {step}", tuple(request.tokens), request.stop_tokens, request.drafting.files)
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


def _family(engine: Engine, options: Options) -> Family:
    known = options.entry.template
    return Family[known] if known else family_for(engine.info.name, engine.info.chat_template)


def _thinking(options: Options) -> bool:
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
