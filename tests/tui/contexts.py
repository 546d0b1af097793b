"""A scripted context with every kind of block, for the tests, the snapshots and the demo."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from laguna_tui.base.messages import BlockKind, Place
from laguna_tui.context.blocks import BlockText, Completion, ContextBlock, Cost
from laguna_tui.session.session import PromptView, Session

KEPT, SHORTENED, DROPPED = Place.KEPT, Place.SHORTENED, Place.DROPPED
ANY = (KEPT, SHORTENED, DROPPED)

BLOCKS = (
    ContextBlock(0, BlockKind.SYSTEM, "what the model is, and its tools", 512, 512, 512, KEPT, "always there", (KEPT,)),
    ContextBlock(1, BlockKind.INSTRUCTIONS, "AGENTS.md", 230, 230, 230, KEPT, "the folder is trusted", (KEPT, DROPPED)),
    ContextBlock(
        2, BlockKind.MAP, "24 of 310 files", 1020, 1020, 1020, KEPT, "the most important names", (KEPT, DROPPED)
    ),
    ContextBlock(
        3,
        BlockKind.FILE,
        "engine/laguna_engine/cache/prefix.py",
        412,
        1830,
        412,
        SHORTENED,
        "too much to fit whole; what the question needs stays",
        ANY,
    ),
    ContextBlock(4, BlockKind.FILE, "README.md", 24, 5210, 24, DROPPED, "you left it out", ANY),
    ContextBlock(5, BlockKind.MESSAGE, "How does the cache decide what to keep?", 31, 31, 31, KEPT, "said", (KEPT,)),
    ContextBlock(
        6, BlockKind.TOOL, 'read("cache/prefix.py", start=41)', 690, 690, 400, KEPT, "the last result", (KEPT, DROPPED)
    ),
    ContextBlock(7, BlockKind.ANSWER, "The prefix cache compares the new tokens", 390, 390, 0, KEPT, "said", (KEPT,)),
)

BEFORE = """\
\"\"\"The prefix cache.\"\"\"

import logging


class PrefixCache:
    \"\"\"Keeps what two prompts have in common.\"\"\"

    def __init__(self, tokens):
        self.tokens = tokens
        self.log = logging.getLogger(__name__)

    def keep(self, tokens):
        \"\"\"How many of them need not be computed.\"\"\"
        kept = common_prefix(self.tokens, tokens)
        self.tokens = tokens
        return kept

    def clear(self):
        self.log.debug("cleared")
        self.tokens = []


def common_prefix(old, new):
    for index, (a, b) in enumerate(zip(old, new)):
        if a != b:
            return index
    return min(len(old), len(new))
"""
AFTER = """\
\"\"\"The prefix cache.\"\"\"

class PrefixCache:
    \"\"\"Keeps what two prompts have in common.\"\"\"

    def keep(self, tokens):
        \"\"\"How many of them need not be computed.\"\"\"
        kept = common_prefix(self.tokens, tokens)
        self.tokens = tokens
        return kept

    [left out: clear; read it again: read cache/prefix.py:19-21]

def common_prefix(old, new):
    for index, (a, b) in enumerate(zip(old, new)):
        if a != b:
            return index
    return min(len(old), len(new))
"""
TEXTS = {
    **{block.number: BlockText(f"{block.title}\n", f"{block.title}\n") for block in BLOCKS},
    3: BlockText(BEFORE, AFTER),
    4: BlockText("# A project\n\nIt has a readme.\n" * 40, ""),
}

FILES = (
    ("laguna_tui/cli.py", "file, 1,830 tokens"),
    ("laguna_tui/compose.py", "file, 910 tokens"),
    ("laguna_tui/tui/", "folder, 71 files"),
    ("laguna_tui/tui/context/mention_list.py", "file, 1,120 tokens"),
    ("engine/laguna_engine/cache/prefix.py", "file, 1,830 tokens"),
    ("common_prefix", "function, engine/laguna_engine/cache/prefix.py:41"),
    ("PrefixCache.keep", "method, engine/laguna_engine/cache/prefix.py:77"),
    ("README.md", "file, 5,210 tokens"),
)


class GivenPrompt(PromptView):
    """A prompt that consists of given blocks and costs what a test says."""

    def __init__(
        self,
        session: Session,
        *,
        costs: Callable[[str], Cost | None] = lambda message: None,
        names: Callable[[str, int], Sequence[Completion]] = lambda text, cursor: (),
        blocks: Sequence[ContextBlock] = (),
        texts: Mapping[int, BlockText] | None = None,
        change_costs: Callable[[Mapping[int, Place]], Cost | None] = lambda places: None,
        error: Exception | None = None,
    ) -> None:
        """costs, names, change_costs: in place of `cost`, `complete`, `change_cost`. error: raised by `change`."""
        super().__init__(session)
        self.cost, self.complete, self.change_cost = costs, names, change_costs
        self.given, self._texts, self._error = tuple(blocks), texts or {}, error

    def blocks(self) -> Sequence[ContextBlock]:
        return self.given

    def block_text(self, number: int) -> BlockText:
        return self._texts[number]

    def change(self, places: Mapping[int, Place]) -> None:
        if self._error is not None:
            raise self._error
        self.given = tuple(
            replace(block, place=places[block.number], why="you wanted it so", cached=0)
            if block.number in places
            else block
            for block in self.given
        )


S = TypeVar("S", bound=Session)


def prompting(session: S, **given: Any) -> S:
    """The session with a `GivenPrompt`."""
    session.prompt = GivenPrompt(session, **given)
    return session


def names(text: str, cursor: int) -> Sequence[Completion]:
    """Names that hold the letters typed after the last @."""
    at = text.rfind("@", 0, cursor)
    typed = text[at + 1 : cursor].lower()
    if at < 0 or any(map(str.isspace, typed)):
        return ()
    return [Completion(at, f"@{name}", name, detail) for name, detail in FILES if typed in name.lower()]


def costs(message: str) -> Cost:
    """Four characters a token; "edit" breaks the cache, "whole" does not fit, @foo is nobody's name."""
    new = 3 + len(message) // 4
    notes = ("no file matches @foo; did you mean laguna_tui/tui/context/foresight.py?",) if "@foo" in message else ()
    if "whole" in message:
        return Cost(new + 52_000, 2295, 0, 61.0, fits=False, notes=notes)
    if "edit" in message:
        return Cost(new + 12_400, 2295, 12_400, 4.1, fits=True, notes=notes)
    return Cost(new, 38_100, 0, 0.3, fits=True, notes=notes)


def change_costs(places: Mapping[int, Place]) -> Cost:
    """What is behind the first change is read again."""
    behind = [block for block in BLOCKS if block.number > min(places)]
    more = sum(block.whole for block in BLOCKS if places.get(block.number) is KEPT)
    again = sum(block.cached for block in behind)
    return Cost(more + again, 2295 - again, again, (more + again) / 400, fits=more < 5000)
