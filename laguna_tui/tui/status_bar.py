"""The status bar: state, speed, context and model in one row, as detailed as the width allows."""

from dataclasses import dataclass, replace
from pathlib import Path

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from laguna_engine.events import LoadProgress, Prefill
from laguna_tui.base import units
from laguna_tui.base.events import (
    Choosing,
    Compacted,
    Compacting,
    Rate,
    ReasoningDelta,
    ReplayCheck,
    ReplayProgress,
    StepFinished,
    TextDelta,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.permission_request import Mode
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.text_lines import BAD, BUSY, GOOD, MUTED, StyledText, cells, crop, progress_bar, width_of

MAX_BAR = 20
MIN_BAR = 6
ASKING = "$accent"
FULL = "$warning"
NEARLY_FULL = 0.85
"""Share of the context from which on making room is worth a thought."""
LEGEND = (
    (
        "42 tok/s",
        "Tokens per second, written or read. A token is about four characters. /speed says what to do",
    ),
    ("15 %", "How much of the context is used. /context shows by what, /compact makes room, /new begins again"),
    ("ask", "What is done without asking you: /mode changes it"),
    ("fast", "How drafts are verified: /strict changes it"),
)
# Fewer cells of a title say nothing.
LEAST_TITLE = 12
_BEFORE_TITLE = "   "


_DOING: dict[type, str] = {
    TextDelta: "answering",
    ReasoningDelta: "thinking",
    ToolStarted: "using a tool",
    TurnFinished: "waiting",
    Compacting: "compacting",
}
_IN_CALL = "writing a call"
MODE_WORDS = {Mode.ASK: "ask", Mode.ACCEPT_EDITS: "accept edits", Mode.PLAN: "plan", Mode.AUTO: "auto"}


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """The values of the status bar.

    Attributes:
        used: tokens of the context in use.
        size: size of the context, in tokens.
        doing: what the session does while it is busy.
        rate: tokens per second.
        prefill: progress of a prefill, while one runs.
        choosing: progress of choosing what to keep of files, while that is done.
        load: progress of loading a model, while one is loaded.
        mode: name of the speculation mode.
        replay: progress of a replay check, while one runs.
        prefetching: whether a message being typed is prefetched.
        asking: whether something waits for the user's answer.
        permissions: what is done without asking.
        jobs: number of commands that run in the background.
        title: title of the session, sanitised; empty while none is saved.
    """

    state: SessionState = SessionState.LOADING
    model: str = ""
    folder: str = ""
    used: int = 0
    size: int = 0
    doing: str = "waiting"
    rate: float | None = None
    prefill: Prefill | None = None
    choosing: Choosing | None = None
    load: LoadProgress | None = None
    mode: str = ""
    replay: ReplayProgress | None = None
    prefetching: bool = False
    asking: bool = False
    permissions: Mode = Mode.ASK
    jobs: int = 0
    title: str = ""

    def updated(self, event: object) -> "SessionStatus":
        """Return the status after an event."""
        if isinstance(event, Choosing):
            return replace(self, doing="choosing", choosing=event, rate=None, prefill=None)
        return replace(self, choosing=None)._updated(event)

    def _updated(self, event: object) -> "SessionStatus":
        match event:
            case LoadProgress():
                return replace(self, load=event)
            case TurnStarted(total, cached):
                # Of a remote model there is no progress to show.
                prefill = None if cached is None else Prefill(cached, total, cached, 0.0)
                return replace(self, doing="reading", used=total, rate=None, prefill=prefill)
            case Prefill():
                return replace(self, doing="reading", used=max(self.used, event.done), prefill=event)
            case Rate():
                doing = _IN_CALL if event.in_call else self.doing
                return replace(self, doing=doing, used=event.context_used, rate=event.tokens_per_second, prefill=None)
            case StepFinished():
                rate = event.stats.decode_rate or self.rate
                return replace(self, used=event.context_used, size=event.context_size, rate=rate, prefill=None)
            case Compacted(after=used):
                return replace(self, used=used, prefill=None)
            case TextDelta() | ReasoningDelta() | ToolStarted() | TurnFinished() | Compacting():
                return replace(self, doing=_DOING[type(event)], prefill=None)
            case ReplayProgress():
                return replace(self, doing="replaying", replay=event, rate=None)
            case ReplayCheck():
                return replace(self, doing="waiting", replay=None)
            case _:
                return self


def status_parts(status: SessionStatus, width: int) -> list[StyledText]:
    """Return the parts for `width` cells, with the right side aligned right. Parts that do not fit are left out."""
    room = width - 2
    # While busy, the speed is more important than the long form of the context.
    speeds = (True, False) if status.state is SessionState.BUSY or status.prefetching else (False,)
    for speed in speeds:
        for right, least in _rights(status):
            used = width_of(right)
            left = _left(status, room - used - 2, must_say_speed=speed)
            if left and width_of(left) + least + used + 2 <= room:
                left = _titled(left, status.title, room - used)
                return [(" ", MUTED), *left, (" " * (room - used - width_of(left)), MUTED), *right, (" ", MUTED)]
    return [(crop(f" {_word(status)}", width), MUTED)]


def _rights(status: SessionStatus) -> list[tuple[list[StyledText], int]]:
    """Variants of the right side, the most detailed first, each with the least cells for a title beside it."""
    between: StyledText = ("  ·  ", "$foreground 35%")
    dot: StyledText = (" · ", "$foreground 35%")
    mode: list[StyledText] = [(status.mode, MUTED)] if status.mode else []
    asks = status.permissions is Mode.ASK
    word: list[StyledText] = [(MODE_WORDS[status.permissions], MUTED if asks else ASKING)]
    jobs: list[StyledText] = [(f"{status.jobs} {units.plural(status.jobs, 'job')}", BUSY)] if status.jobs else []
    # Left out last: the user must be able to see that something is done without asking, or continues.
    notable = _joined([jobs, [] if asks else word], dot)
    percent = units.share(status.used, status.size)
    full = f"{units.count(status.used)} of {units.count(status.size)} tokens ({percent})"
    tone = FULL if status.used > status.size * NEARLY_FULL else MUTED
    share: list[StyledText] = [(f"context {percent}", tone)] if status.size else []
    # A progress bar says more than how many tokens there are.
    used: list[StyledText] = [(full, tone)] if status.size and _progress(status) is None else share
    bare: list[StyledText] = [(percent, tone)] if status.size else []
    long, short = _joined([jobs, word, mode, used], dot), _joined([jobs, word, mode, share], dot)
    # Asking about everything is the default, so this word is the first to go.
    plainer = [_joined([jobs, *([] if asks else [word]), mode, each], dot) for each in (used, share, bare)]
    model: list[StyledText] = [(status.model, MUTED)]
    folder: list[StyledText] = [(status.folder, MUTED)]
    joined = [*model, *([between, *long] if long else [])]
    whole = [] if _progress(status) is not None else [[*folder, between, *joined]]
    titled: list[tuple[list[StyledText], int]] = []
    if status.title and status.state is SessionState.READY:
        # The title says more than the folder, and its beginning more than how many tokens there are.
        cells_of_it = len(_BEFORE_TITLE) + cells(status.title)
        least = min(cells_of_it, len(_BEFORE_TITLE) + LEAST_TITLE)
        titled = [(each, cells_of_it) for each in whole]
        titled += [(joined, least), ([*model, between, *short] if short else model, least)]
        whole = []
    return [*titled, *((each, 0) for each in (*whole, joined, long, plainer[0], short, *plainer[1:], notable, []))]


def _titled(left: list[StyledText], title: str, room: int) -> list[StyledText]:
    """Return the left side and, where cells are left over, the session's title."""
    spare = room - width_of(left) - len(_BEFORE_TITLE) - 2
    return [*left, (_BEFORE_TITLE + crop(title, spare), MUTED)] if title and spare >= LEAST_TITLE else left


def _joined(groups: list[list[StyledText]], between: StyledText) -> list[StyledText]:
    """Return the groups that are not empty, with something between them."""
    parts: list[StyledText] = []
    for group in filter(None, groups):
        parts += [*([between] if parts else []), *group]
    return parts


def _left(status: SessionStatus, room: int, *, must_say_speed: bool) -> list[StyledText]:
    """Return the left side: the state, with a progress bar if there is room. Empty if it does not fit."""
    busy = _progress(status)
    word: list[StyledText] = [(f"{_glyph(status)} ", _tone(status)), (_word(status), _tone(status))]
    rate: list[StyledText] = [(f"  {_rate(status)}", MUTED)] if _rate(status) else []
    if busy is not None:
        percent = f" {round(100 * busy)} %"
        spare = room - width_of([*word, *rate]) - cells(percent) - 1
        if spare >= MIN_BAR:
            word.append((f" {progress_bar(busy, min(MAX_BAR, spare))}", BUSY))
        word.append((percent, MUTED))
    for parts in ([*word, *rate],) if must_say_speed else ([*word, *rate], word):
        if width_of(parts) <= room:
            return parts
    return []


def _progress(status: SessionStatus) -> float | None:
    if status.state is SessionState.LOADING and status.load is not None:
        return status.load.fraction
    prefill, replay = status.prefill, status.replay
    if status.state is SessionState.BUSY and status.choosing is not None and status.choosing.share is not None:
        return status.choosing.share
    if status.state is SessionState.BUSY and replay is not None and replay.total:
        return replay.done / replay.total
    if status.state is SessionState.BUSY and prefill is not None and prefill.done < prefill.total:
        return prefill.done / prefill.total
    return None


def _rate(status: SessionStatus) -> str:
    if status.state is SessionState.READY and status.prefetching:
        return "reading ahead"
    prefill = status.prefill
    if prefill is not None and prefill.seconds > 0 and prefill.done > prefill.cached:
        return units.rate((prefill.done - prefill.cached) / prefill.seconds)
    return units.rate(status.rate) if status.rate is not None else ""


def _word(status: SessionStatus) -> str:
    match status.state:
        case SessionState.LOADING:
            return status.load.stage if status.load is not None else "loading"
        case SessionState.BUSY:
            return "waiting for you" if status.asking else status.doing
        case SessionState.STOPPING:
            return "stopping …"
        case SessionState.FAILED:
            return "no model"
        case SessionState.READY:
            return "ready"


def _glyph(status: SessionStatus) -> str:
    return {SessionState.READY: "●", SessionState.FAILED: "✕"}.get(status.state, "◌")


def _tone(status: SessionStatus) -> str:
    if status.state is SessionState.BUSY and status.asking:
        return ASKING
    return {SessionState.READY: GOOD, SessionState.FAILED: BAD}.get(status.state, BUSY)


class Bar(Widget):
    """A widget of one row over the whole width."""

    DEFAULT_CSS = Path(__file__).with_name("status_bar.tcss").read_text(encoding="utf-8")


class StatusBar(Bar):
    """State, speed, context and model in one row."""

    status: reactive[SessionStatus] = reactive(SessionStatus())

    def on_mount(self) -> None:
        self.tooltip = Content("\n".join(f"{value}: {meaning}." for value, meaning in LEGEND))

    def render(self) -> Content:
        return Content.assemble(*status_parts(self.status, self.size.width))
