"""What the prompt consists of, as the user sees it: blocks with their cost, and what can be done about each.

Values only. Texts in them are raw (files, tools, the model): a front end passes them through `laguna_tui.text`.
"""

from dataclasses import dataclass
from enum import Enum


class BlockKind(Enum):
    """What a block holds."""

    SYSTEM = "system"
    MAP = "map"
    INSTRUCTIONS = "instructions"
    FILE = "file"
    MESSAGE = "message"
    ANSWER = "answer"
    TOOL = "tool"


class Place(Enum):
    """How much of a block stands in the prompt."""

    KEPT = "kept"
    SHORTENED = "shortened"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One block of the prompt.

    number: names it as long as the conversation lasts. tokens: what it takes now; whole: what it would take with
    nothing left out. cached: how many of `tokens` are in the KV cache. why: a sentence fragment that says why it is
    whole, shortened or dropped. choices: what the user may make of it, the present place included; a single one means
    that it is never touched.
    """

    number: int
    kind: BlockKind
    title: str
    tokens: int
    whole: int
    cached: int
    place: Place
    why: str
    choices: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's text with nothing left out, and as it stands in the prompt; `after` is empty when it was dropped."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What sending would cost now, in tokens and seconds.

    new: tokens to compute. cached: tokens that are kept. lost: tokens that are in the KV cache now and would have to be
    computed again, because something before them changes. seconds: until the first token, None before anything was
    measured. fits: whether prompt and answer have room. notes: sentences about what was mentioned and attached.
    """

    new: int
    cached: int
    lost: int
    seconds: float | None
    fits: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One way to go on with what the user types: `insert` replaces the characters from `start` up to the cursor."""

    start: int
    insert: str
    label: str
    detail: str = ""
