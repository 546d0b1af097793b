"""Events of the agent while it answers: frozen values that every front end matches on.

One user message gives: perhaps `Attached`, then `TurnStarted`, any mix of the other events, and exactly one
`TurnFinished`.
All text in them is raw (model, files, tools): a front end passes it through `laguna_tui.base.text` before showing it.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from laguna_engine.events import Cause, DrafterFailed, Prefill, Round, Source, Stats
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import PermissionAnswer, PermissionRequest
from laguna_tui.base.stored_json import Tagged
from laguna_tui.base.units import duration, plural


class TurnEnd(Enum):
    """Why the agent stopped working on a message."""

    ANSWERED = "answered"
    CANCELLED = "cancelled"
    CONTEXT_FULL = "context_full"
    MESSAGE_TOO_LONG = "message_too_long"
    MAX_TOKENS = "max_tokens"
    TOO_MANY_STEPS = "too_many_steps"
    TIMED_OUT = "timed_out"
    MALFORMED_CALL = "malformed_call"
    EMPTY_ANSWER = "empty_answer"
    REPEATING = "repeating"
    SAME_CALL = "same_call"

    @property
    def sentence(self) -> str:
        """What the user is told; empty where there is nothing to say. A front end adds what to do there."""
        return _SENTENCES.get(self, "")


_SENTENCES = {
    TurnEnd.CONTEXT_FULL: "The context is full.",
    TurnEnd.MESSAGE_TOO_LONG: "This message alone is too long.",
    TurnEnd.MAX_TOKENS: "The answer reached the limit of tokens.",
    TurnEnd.TOO_MANY_STEPS: "No answer after many tool calls. Ask something narrower, or ask it to continue.",
    TurnEnd.TIMED_OUT: "The time limit was reached, so the turn was stopped.",
    TurnEnd.MALFORMED_CALL: "The model kept writing tool calls that cannot be run. Rephrase your message.",
    TurnEnd.EMPTY_ANSWER: "The model wrote no answer. Rephrase your message.",
    TurnEnd.SAME_CALL: "The model kept making the same tool call with the same result. Rephrase your message.",
    TurnEnd.REPEATING: "The answer began to repeat itself and was stopped. Start a new chat, or rephrase your message.",
}


class Asked(Tagged, frozen=True):
    """The user's message, where a saved session is shown again: before all events of its turn.

    Attributes:
        message: what the user sent.
        time: seconds since the epoch.
    """

    message: str
    time: float


class Choosing(Tagged, frozen=True):
    """Before `Attached`: what to keep of files that do not fit is being chosen.

    Attributes:
        files: how many files do not fit.
        phase: what is done to them: parsing, scoring (if there is a scorer), ranking.
        share: how much of the phase is done, 0 to 1; None if unknown.
        limit_s: limit of the seconds that all of it takes with a scorer; None without one.
    """

    files: int
    phase: str
    share: float | None = None
    limit_s: float | None = None

    @property
    def doing(self) -> str:
        """What is done, in words."""
        return f"choosing what to keep of {plural(self.files, 'a file', f'{self.files:,} files')}: {self.phase}"

    @property
    def how_far(self) -> str:
        """The share and the limit in words, each after a comma or a blank; empty without both."""
        share = "" if self.share is None else f" {self.share:.0%}"
        return share if self.limit_s is None else f"{share}, at most {max(self.limit_s, 1.0):.0f} s"


class TurnStarted(Tagged, frozen=True):
    """The message was appended, and the prompt is about to be processed.

    Attributes:
        prompt_tokens: of the whole prompt.
        cached: how many of them are cached; None for a remote model, whose cache is unknown here.
        number: the turn's in the session's history; 0 where the message does not fit and nothing was appended.
    """

    prompt_tokens: int
    cached: int | None
    number: int = 0


class Attached(Tagged, frozen=True):
    """Before `TurnStarted`: files and other pieces are in the prompt with the message; `notes` are sentences."""

    titles: tuple[str, ...]
    notes: tuple[str, ...]


class ReasoningDelta(Tagged, frozen=True):
    """More of the model's thinking; `source` proposed it."""

    text: str
    source: Source = Source.TARGET


class TextDelta(Tagged, frozen=True):
    """More of the answer, in Markdown; `source` proposed it."""

    text: str
    source: Source = Source.TARGET


class ToolStarted(Tagged, frozen=True):
    """The model called a tool and it is about to run."""

    call_id: int
    name: str
    arguments: dict[str, object]


class ToolFinished(Tagged, frozen=True):
    """A tool ran. Calls that run side by side finish in the order in which they were written.

    Attributes:
        call_id: the call.
        name: the tool's.
        output: exactly what the model is given.
        ok: it did not fail.
        seconds: without those in which the user was asked for permission.
        full_output: the file with all of the output, or with the traceback of a tool that failed unexpectedly.
        shown: what the user is shown instead, where the output is written for the model; empty for the output.
    """

    call_id: int
    name: str
    output: str
    ok: bool
    seconds: float
    full_output: str | None = None
    shown: str = ""

    @property
    def for_user(self) -> str:
        """What the user is shown of it."""
        return self.shown or self.output


class ToolProgress(Tagged, frozen=True):
    """Between a call's `ToolStarted` and `ToolFinished`: more of what it puts out, raw."""

    call_id: int
    text: str


class PermissionAsked(Tagged, frozen=True):
    """A call needs the user's permission: the next step of the iteration blocks until the user has answered."""

    call_id: int
    request: PermissionRequest


class PermissionAnswered(Tagged, frozen=True):
    """The answer to a `PermissionAsked`. by: "user", or the text of the rule that decided."""

    call_id: int
    answer: PermissionAnswer
    by: str


class PermissionDecided(Tagged, frozen=True):
    """A call's request was decided without the user.

    Attributes:
        call_id: the call.
        tool: the tool's name.
        allowed: whether it may be done.
        why: the reason, a clause.
        rule: text of the rule that decided; empty where the mode or a default did.
        flag: where the model asked for it and it was denied because nobody can be asked, the flag that allows it,
            empty for none; else None.
    """

    call_id: int
    tool: str
    allowed: bool
    why: str
    rule: str = ""
    flag: str | None = None


class ChangeMade(Tagged, frozen=True):
    """A call changed a file, asked about or not. change: as it was made, which the user may have edited."""

    call_id: int
    change: ChangeProposal


class TodoState(StrEnum):
    """How far a step is, as the model marks it."""

    OPEN = " "
    ACTIVE = "~"
    DONE = "x"


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One step of the model's list, raw."""

    text: str
    state: TodoState = TodoState.OPEN


class TodoChanged(Tagged, frozen=True):
    """The model rewrote its list of steps."""

    items: tuple[TodoItem, ...]


class Steered(Tagged, frozen=True):
    """A message that the user sent while the model worked is in the conversation now."""

    message: str


class Notice(Tagged, frozen=True):
    """A sentence for the user."""

    text: str


class CheckUnknown(Tagged, frozen=True):
    """The model changed files in this turn, and no command is known that checks the project."""


class CallRejected(Tagged, frozen=True):
    """The model wrote a tool call that cannot be run; it is given the reason and may try again."""

    raw: str
    problem: str


class AnswerCorrected(Tagged, frozen=True):
    """After its last `TextDelta`: the answer was corrected, because it differed from what the tools found.

    The deltas joined are the corrected answer.

    Attributes:
        said: what the model wrote, up to where it was stopped.
    """

    said: str

    @property
    def sentence(self) -> str:
        """What the user is told."""
        return "the model miscopied this, so you see the result of its tool"


class AnsweredFromIndex(Tagged, frozen=True):
    """After its last `TextDelta`: the answer is what the folder's index says; no model wrote any of it.

    Attributes:
        seconds: how long looking it up took.
    """

    seconds: float

    @property
    def sentence(self) -> str:
        """What the user is told."""
        return f"from the index in {duration(self.seconds)}; no model wrote this"


class Compacting(Tagged, frozen=True):
    """The context is being compacted, because it is nearly full or the user asked for it. May take a generation.

    Attributes:
        used, size: tokens of the context.
    """

    used: int
    size: int


class Compacted(Tagged, frozen=True):
    """The context was compacted.

    Attributes:
        before, after: tokens of the prompt.
        shortened: blocks that were shortened; the user can restore each of them.
        replaced: messages that a summary replaced.
        recomputed: tokens that have to be computed again.
        summary: its text, empty where nothing was replaced.
    """

    before: int
    after: int
    shortened: int
    replaced: int
    recomputed: int
    summary: str = ""

    @property
    def sentence(self) -> str:
        """What the user is told."""
        if not self.shortened and not self.replaced:
            return "Nothing in the context can be left out."
        what = (
            f"{self.shortened} old {plural(self.shortened, 'block')} shortened"
            if self.shortened
            else f"the oldest {self.replaced} messages replaced by a summary"
        )
        return f"The context was compacted: {what}, {self.before:,} tokens became {self.after:,}."


class StepFinished(Tagged, frozen=True):
    """One generation of the model ended (a turn has one per tool round, plus the answer).

    Attributes:
        stats: of the generation.
        context_used, context_size: in tokens.
        cache_known: whether `stats.cached_tokens` was counted; endpoints may not report it.
        estimated: whether the tokens are estimated, because an endpoint does not report them.
        waited_s: time before an endpoint's first token, in which it read the prompt; 0 where `stats` has that.
    """

    stats: Stats
    context_used: int
    context_size: int
    cache_known: bool = True
    estimated: bool = False
    waited_s: float = 0.0


class DraftRound(Tagged, frozen=True):
    """One round of speculative decoding, reported after the text of its tokens.

    Attributes:
        accepted_text: of the drafted tokens that were accepted; what was drafted after them is `round.rejected`.
        instead: the text of the target's own token there.
    """

    round: Round
    accepted_text: str
    instead: str


class Rate(Tagged, frozen=True):
    """Live decoding speed, about ten times a second while tokens arrive; `in_call`: they are those of a tool call."""

    tokens: int
    tokens_per_second: float
    context_used: int
    in_call: bool = False


class TurnFinished(Tagged, frozen=True):
    """The last event of every turn. `detail` is a sentence for the user that replaces the end's own."""

    end: TurnEnd
    detail: str = ""

    @property
    def sentence(self) -> str:
        """What the user is told, empty when there is nothing to say."""
        return self.detail or self.end.sentence


ToolEvent = ToolProgress | PermissionAsked | PermissionAnswered | PermissionDecided | ChangeMade | TodoChanged | Notice
"""What a call of a tool emits while it runs."""

AgentEvent = (
    Choosing
    | Attached
    | TurnStarted
    | Prefill
    | ReasoningDelta
    | TextDelta
    | ToolStarted
    | ToolFinished
    | ToolEvent
    | Steered
    | CallRejected
    | DraftRound
    | DrafterFailed
    | Rate
    | AnswerCorrected
    | AnsweredFromIndex
    | Compacting
    | Compacted
    | StepFinished
    | CheckUnknown
    | TurnFinished
)


@dataclass(frozen=True, slots=True)
class AsideDelta:
    """More of the answer to a side question, in Markdown, raw."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """An answer is being generated again without speculation: `done` of `total` tokens are compared."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """The first token where plain decoding differed.

    Attributes:
        index: how many tokens were equal before it.
        before: the text before it.
        answered, plain: the texts of the two tokens.
        margin: by how much plain decoding preferred its own, in logits and with the noise of a draw; near 0 they were a
            tie, and rounding decided.
        drawn: both were sampled, with the same seed.
        cause: what was computed in batches of another width.
    """

    index: int
    before: str
    answered: str
    plain: str
    margin: float
    drawn: bool = False
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class ReplayCheck:
    """The result of a replay: `compared` tokens of `total` were equal, up to the difference if there is one.

    Fewer than all without a difference: it was cancelled.
    """

    compared: int
    total: int
    difference: ReplayDifference | None
    seconds: float
