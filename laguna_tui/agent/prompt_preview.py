"""What a message would attach and cost, before it is sent, and which of its tokens can be prefilled already.

Reads the conversation and never changes it, so that it may be asked from any thread while the user types.

The conversation as blocks that the user can look at and change: what each costs, and why it is as it is.
"""

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from queue import SimpleQueue

from laguna_engine.chat.messages import AssistantMessage, Malformed, Role, ToolCall
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.conversation_blocks import ConversationBlock, call_title, short_title
from laguna_tui.agent.tools.base.results import ANSWER_ROOM, places_of
from laguna_tui.backends.base import Prompt, PromptCost
from laguna_tui.base.events import Choosing
from laguna_tui.base.messages import MESSAGE, Attachment, BlockKind, ChatMessage, Place
from laguna_tui.context.attach import Attacher
from laguna_tui.context.blocks import BlockText, ContextBlock, Cost, Gathered
from laguna_tui.context.mentions import mentions

# Share of the remaining room that attachments may take: the rest is for tools and the answer.
ATTACHED_SHARE = 0.6

# How often progress is reported; each phase reports once at its start.
_REPORT_S = 0.1

_LEFT_OUT = "{title} does not fit into the remaining context, so the model does not see its output."


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """A conversation, and what the next message attaches.

    Attributes:
        attacher: Attaches what a message mentions; None attaches nothing.
        attached: What the next message attaches besides, independent of its text.
    """

    conversation: Conversation
    attacher: Attacher | None
    attached: tuple[Attachment, ...] = ()

    def gathered(self, message: str, should_stop: Callable[[], bool]) -> Generator[Choosing, None, Gathered]:
        """Return what the message attaches when it is sent; yield progress if files have to be shortened."""
        attached, room = self._attached(message)
        if self.attacher is None:
            return attached.followed_by(self._unattached(message))
        first, present = not self.conversation.started, self.conversation.present
        gather = partial(self.attacher.gather, message, room, present, first=first)
        return attached.followed_by((yield from _watched(gather, should_stop)))

    def cost(self, message: str) -> Cost:
        """Return what sending it would cost now."""
        gathered = self._previewed(message)
        said = self.conversation.message(message, gathered.attachments)
        cost = self._cost(self.conversation.cost(said), gathered.notes, gathered.seconds)
        return replace(cost, measuring=gathered.measuring)

    def prefetchable(self, message: str) -> Prompt:
        """Return a prompt that is certain, however the message continues, except for its last part."""
        attachments = tuple(takewhile(lambda each: each.certain, self._previewed(message).attachments))
        return self.conversation.prompt(self.conversation.message("…", attachments))

    def blocks(self) -> list[ContextBlock]:
        cost = self.conversation.cost()
        return blocks(self.conversation, cost.cached, self._cost(cost, ()).why)

    def block_text(self, number: int) -> BlockText:
        return block_text(self.conversation, number)

    def change_cost(self, places: Mapping[int, Place]) -> Cost:
        """Return what the conversation alone would cost with these blocks in these places."""
        return self._cost(self.conversation.backend.cost(self.conversation.changed(places)), ())

    def _cost(self, cost: PromptCost, notes: tuple[str, ...], scoring_s: float = 0.0) -> Cost:
        conversation, lost = self.conversation, 0
        if cost.cached is not None:
            lost = max(0, min(conversation.computed, conversation.size, cost.total - 1) - cost.cached)
        seconds = None if cost.seconds is None else cost.seconds + scoring_s
        why = f"the chat template {cost.rewrites}" if lost and cost.rewrites else ""
        return Cost(cost.new, cost.cached, lost, seconds, cost.fits, notes, why=why)

    def _previewed(self, message: str) -> Gathered:
        attached, room = self._attached(message)
        if self.attacher is None:
            return attached.followed_by(self._unattached(message))
        first, present = not self.conversation.started, self.conversation.present
        return attached.followed_by(self.attacher.preview(message, room, present, first=first))

    def _attached(self, message: str) -> tuple[Gathered, int]:
        """Return what was attached by hand, and the tokens left for other attachments. The newest goes first."""
        if self.attacher is None and not self.attached:
            return Gathered(), 0
        room, fitting, notes = self._room(message), [], []
        for each in reversed(self.attached):
            *given, dropped = (each.at(place) for place in each.choices)
            fits = next((piece for piece in given if self.conversation.count(piece.text) <= room), dropped)
            if fits is dropped:
                notes.append(_LEFT_OUT.format(title=each.title))
            fitting.append(fits)
            room = max(0, room - self.conversation.count(fits.text))
        return Gathered(tuple(reversed(fitting)), tuple(dict.fromkeys(reversed(notes)))), room

    def _unattached(self, message: str) -> Gathered:
        note = self.conversation.profile.unattached_note
        return Gathered(notes=(note,) if note and mentions(message) else ())

    def _room(self, message: str) -> int:
        """Return the tokens that attachments may take."""
        conversation = self.conversation
        free = conversation.backend.n_ctx - conversation.size - conversation.count(message) - ANSWER_ROOM
        return int(max(0, free) * ATTACHED_SHARE)


def _watched(
    gather: Callable[[Callable[[], bool], Callable[[Choosing], None]], Gathered], should_stop: Callable[[], bool]
) -> Generator[Choosing, None, Gathered]:
    """Run `gather` on its own thread and yield its progress. Closed early, stop it and wait for it."""
    reported: SimpleQueue[Choosing | None] = SimpleQueue()
    over = threading.Event()
    last, due = "", 0.0

    def report(progress: Choosing) -> None:
        nonlocal last, due
        now = time.monotonic()
        if progress.phase != last or now >= due:
            last, due = progress.phase, now + _REPORT_S
            reported.put(progress)

    with ThreadPoolExecutor(1, "gather") as pool:
        try:
            gathered = pool.submit(gather, lambda: over.is_set() or should_stop(), report)
            gathered.add_done_callback(lambda _: reported.put(None))
            while (progress := reported.get()) is not None:
                yield progress
        finally:
            over.set()
        return gathered.result()


_BY_USER = "by you"


def blocks(conversation: Conversation, cached: int | None, why: str = "") -> list[ContextBlock]:
    """Return a conversation's blocks.

    Args:
        conversation: The conversation.
        cached: Tokens from its start that are in the KV cache; None if unknown.
        why: Why some that were read are not; empty if all are.
    """
    found = [_block(piece, cached, conversation.count) for piece in conversation.pieces()]
    return [
        replace(each, why=f"{each.why}{'; ' if each.why else ''}read again: {why}")
        if why and each.cached is not None and each.cached < each.tokens
        else each
        for each in found
    ]


def block_text(conversation: Conversation, number: int) -> BlockText:
    """Return the text of a block, and what of it is in the prompt; IndexError if there is no such block."""
    piece = conversation.pieces()[number]
    given = conversation.text_of(piece)
    match piece.message, piece.attachment:
        case ChatMessage(role=Role.TOOL, text=text, place=place), _:
            return BlockText(text, "" if place is Place.DROPPED else piece.message.given)
        case _, None:
            return BlockText(given, given)
        case _, attachment:
            return BlockText(attachment.whole, "" if attachment.place is Place.DROPPED else attachment.text)


def _block(piece: ConversationBlock, cached: int | None, count: Callable[[str], int]) -> ContextBlock:
    tokens = piece.tokens
    ready = None if cached is None else min(max(cached - piece.start, 0), tokens)
    said, attachment = piece.message, piece.attachment
    if attachment is not None:
        whole = tokens if attachment.place is Place.KEPT else count(attachment.whole)
        return ContextBlock(
            piece.number, attachment.kind, attachment.title, tokens, whole, ready,
            attachment.place, attachment.why, attachment.choices,
        )  # fmt: skip
    if said is not None and said.role is Role.TOOL:
        whole = tokens if said.place is Place.KEPT else count(said.text)
        why = "a tool's answer" if said.place is Place.KEPT else _BY_USER
        return ContextBlock(
            piece.number, BlockKind.TOOL, said.label, tokens, whole, ready, said.place, why, places_of(said.text)
        )
    kind, title, why = _fixed(piece)
    return ContextBlock(piece.number, kind, title, tokens, tokens, ready, Place.KEPT, why, (Place.KEPT,))


def _fixed(piece: ConversationBlock) -> tuple[BlockKind, str, str]:
    """Return kind, title and reason of a block that cannot be changed."""
    said = piece.message
    if said is None:
        return BlockKind.SYSTEM, piece.label, "always there"
    if said.answer is not None:
        return BlockKind.ANSWER, _answer(said.answer, said.written_calls) or piece.label, "what the model said"
    if said.attachments and piece.part == 0:
        return BlockKind.MESSAGE, "folder, date and git" if said.opening else "your message begins", "always there"
    return BlockKind.MESSAGE, short_title(said.text), "your words" if said.label == MESSAGE else f"a {said.label}"


def _answer(answer: AssistantMessage, calls: Sequence[ToolCall | Malformed]) -> str:
    """Return an answer in a few words, or which tool it called."""
    if not calls:
        return short_title(answer.text) or short_title(answer.reasoning)
    first, *_ = calls
    return "a call that cannot be run" if isinstance(first, Malformed) else short_title(f"calls {call_title(first)}")
