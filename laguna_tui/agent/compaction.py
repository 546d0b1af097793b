"""Compaction: makes room in a conversation before its context is full, so that long chats can continue.

First, old tool results and files are shortened, which the user can undo block by block. If that frees too
little, a summary by the model replaces the oldest messages. Both change an early part of the prompt, so
that all behind it is computed again: one compaction frees much, so that the next one is far away. A model that cannot
write a summary costs nothing but the summary: what the app itself knows takes its place.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from laguna_engine.chat.messages import Role, ToolCall
from laguna_tui.agent.aside import written_aside
from laguna_tui.agent.conversation import Conversation, is_instruction
from laguna_tui.agent.conversation_blocks import ConversationBlock
from laguna_tui.agent.options import AgentOptions, answer_reserve
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.base.events import AgentEvent, Compacted, Compacting
from laguna_tui.base.messages import SUMMARY, Attachment, ChatMessage, Place
from laguna_tui.base.units import clipped

# Share of the conversation left afterwards (at least 30 % is freed), and of the context after a summary.
_KEPT_SHARE, _GOAL_SHARE = 0.7, 1 / 2
# Share of the context that the newest messages keep unchanged; of the conversation, if the user asked.
_TAIL_SHARE = 1 / 4
# Share of the context in which files being edited stay whole.
_FILES_SHARE = 1 / 4
# A summary's share of the context, and its tokens: never less than a paragraph.
_SUMMARY_SHARE, _SUMMARY_LEAST, _SUMMARY_MOST = 1 / 16, 128, 2048
# Share of the context that repeats the user's own words, and characters of each message.
_WORDS_SHARE, _WORDS_CHARS = 1 / 32, 240
# Tools that change the file that their `path` names.
_CHANGING = frozenset({"edit", "write", "replace_symbol"})

_HEAD = "[The earlier messages were replaced by this summary to save room.]"
_WORDS = "The user's earlier messages, oldest first:"
_FILES = "Files changed so far: {paths}"
_GUIDANCE = "\nAbove all keep what the user asks for here: {guidance}"


class Compaction:
    """Makes room in one conversation."""

    def __init__(
        self,
        conversation: Conversation,
        options: AgentOptions,
        read: Callable[[str], Attachment | None] = lambda path: None,
        todo: str = "",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Change nothing yet.

        Args:
            conversation: The conversation.
            options: How its answers are generated.
            read: Returns the current text of a file as an attachment; None if it cannot be read.
            todo: The model's todo list, a line each; empty for none.
            cancelled: Returns whether to stop writing a summary; may change on any thread.
        """
        self._conversation, self._options = conversation, options
        self._read, self._todo, self._cancelled = read, todo, cancelled
        self._tail = self._share(_TAIL_SHARE)

    @property
    def _n_ctx(self) -> int:
        return self._conversation.backend.n_ctx

    @property
    def reserve(self) -> int:
        """Tokens that must be free before the model generates."""
        return answer_reserve(self._n_ctx)

    def is_due(self, more: int = 0) -> bool:
        """Return whether too few tokens are free once `more` are added."""
        return self._conversation.size + more + self.reserve > self._n_ctx

    def run(self, guidance: str = "", more: int = 0, *, asked: bool = False) -> Generator[AgentEvent, None, bool]:
        """Make room; return whether there is enough now. Yields nothing if nothing can be left out.

        Args:
            guidance: What the user wants the summary to keep; usually empty.
            more: Tokens about to be added.
            asked: Whether the user asked for it, who wants room although the context is far from full, and is informed
                also that nothing can be left out.

        Raises:
            EngineError: While iterating, if the engine fails; the conversation stays valid.
        """
        conversation = self._conversation
        before = conversation.size
        if asked:
            said = before - conversation.pieces()[0].tokens
            self._tail = min(self._tail, int(said * _TAIL_SHARE))
        kept = int(before * _KEPT_SHARE)
        goal = max(0, min(self._share(_GOAL_SHARE), kept) - more)
        shortened = 0 if guidance else self._shorten(before - min(kept, self._n_ctx - self.reserve - more))
        replaced, summary = 0, ""
        # A model that forgets old turns does not know what a summary is.
        summarises = not shortened and conversation.profile.turns is None
        if summarises and self._replaceable(self._oldest(self._tail)) >= self._summary_tokens:
            yield Compacting(before, self._n_ctx)
            replaced, summary = yield from self._replace(guidance, goal)
        if self._cancelled() or not (asked or shortened or replaced):
            return False
        cost = conversation.cost()
        yield Compacted(before, cost.size, shortened, replaced, cost.new, summary)
        return not self.is_due(more)

    def _share(self, share: float) -> int:
        return int(self._n_ctx * share)

    # -- shortening

    def _shorten(self, wanted: int) -> int:
        """Shorten the oldest results and files until `wanted` tokens are free.

        Returns:
            How many blocks were shortened; 0, with nothing changed, if all of them together free too little.
        """
        conversation, places, freed = self._conversation, dict[int, Place](), 0
        pieces = list(self._shortenable())
        # Dropped only if shortening all of them frees too little, the oldest first.
        for place in (Place.SHORTENED, Place.DROPPED):
            for piece in pieces:
                if place not in piece.choices:
                    continue
                freed -= self._freed(piece, places.get(piece.number, Place.KEPT))
                freed += self._freed(piece, place)
                places[piece.number] = place
                if freed >= wanted:
                    conversation.change(places)
                    return len(places)
        return 0

    def _freed(self, piece: ConversationBlock, place: Place) -> int:
        """Return the tokens freed by moving a whole block to another place."""
        conversation = self._conversation
        return conversation.size - conversation.size_of(conversation.changed({piece.number: place}))

    def _shortenable(self) -> Iterator[ConversationBlock]:
        """Yield whole blocks to shorten, oldest first, except the newest results and files being edited."""
        pieces = self._conversation.pieces()
        newest = self._newest_results(pieces)
        asked = max((piece.item for piece in pieces if piece.message and piece.message.is_question), default=0)
        changed = self._changed_files()
        for piece in pieces:
            if not piece.choices or piece.place is not Place.KEPT or piece.number in newest:
                continue
            if piece.attachment is not None and (piece.item >= asked or is_instruction(piece.attachment)):
                continue
            if not any(f" {piece.about}".endswith(f" {path}") for path in changed):
                yield piece

    def _newest_results(self, pieces: Sequence[ConversationBlock]) -> list[int]:
        """Return the numbers of the newest results that fit into the part to keep; at least one."""
        results = [piece for piece in reversed(pieces) if piece.role is Role.TOOL]
        sizes = accumulate(piece.tokens for piece in results)
        fitting = sum(size <= self._tail for size in sizes)
        return [piece.number for piece in results[: max(1, fitting)]]

    def _changed_files(self) -> list[str]:
        """Return the paths of files changed by the model, the latest first."""
        said = reversed(self._conversation.items())
        calls = (call for each in said for call in reversed(each.written_calls) if isinstance(call, ToolCall))
        paths = (call.arguments.get("path") for call in calls if call.name in _CHANGING)
        return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))

    # -- a summary

    def _replace(self, guidance: str, goal: int) -> Generator[AgentEvent, None, tuple[int, str]]:
        """Replace the oldest messages by a summary; return how many, and the summary. Nothing if that frees nothing."""
        conversation, tail = self._conversation, self._tail
        before = conversation.size
        words = yield from self._written(guidance)
        if self._cancelled():
            return 0, ""
        while True:
            items = self._oldest(tail)
            mark = conversation.mark()
            summary = self._summary(words, conversation.items()[:items], tail)
            conversation.replace_oldest(items, summary)
            after = conversation.size
            done = after <= goal or tail <= self._share(_SUMMARY_SHARE)
            if done and after < before:
                return items, summary.text
            conversation.restore(mark)
            if done:
                return 0, ""
            tail //= 2

    def _oldest(self, tail: int) -> int:
        """Return how many messages to replace so that the rest take at most `tail` tokens.

        The model's turn and the answers to its calls stay together. At least the newest step stays, whatever its size.
        """
        conversation = self._conversation
        said, end = conversation.items(), conversation.size
        starts: dict[int, int] = {}
        for piece in conversation.pieces()[1:]:
            starts.setdefault(piece.item, piece.start)
        begins = [
            item for item, each in enumerate(said) if item and each.role is not Role.TOOL and not _is_reminder(each)
        ]
        fitting = [item for item in begins if end - starts.get(item, end) <= tail]
        return min(fitting, default=begins[-1] if begins else 0)

    def _replaceable(self, items: int) -> int:
        """Return the tokens of the first `items` messages, without the question and the instructions, which stay."""
        kept = next((at for at in reversed(range(items)) if self._conversation.items()[at].is_question), None)
        replaced = (
            piece
            for piece in self._conversation.pieces()[1:]
            if piece.item < items and piece.item != kept and not (piece.attachment and is_instruction(piece.attachment))
        )
        return sum(piece.tokens for piece in replaced)

    @property
    def _summary_tokens(self) -> int:
        return max(_SUMMARY_LEAST, min(_SUMMARY_MOST, self._share(_SUMMARY_SHARE)))

    def _written(self, guidance: str) -> Generator[AgentEvent, None, str]:
        """Return the model's summary of everything so far; empty if it does not fit or the model writes none."""
        instruction = system_prompt("summary") + (_GUIDANCE.format(guidance=guidance) if guidance else "")
        return (
            yield from written_aside(
                self._conversation, self._options, instruction, self._summary_tokens, self._cancelled
            )
        )

    def _summary(self, words: str, replaced: Sequence[ChatMessage], room: int) -> ChatMessage:
        """Return the message that stands for those that are replaced."""
        changed = self._changed_files()
        parts = [_HEAD, words or _earlier(replaced), self._users_words(replaced)]
        if changed:
            parts.append(_FILES.format(paths=", ".join(reversed(changed))))
        parts.append(self._todo)
        text = "\n\n".join(part for part in parts if part)
        attached = self._attached(changed, min(room, self._share(_FILES_SHARE)))
        return ChatMessage(Role.USER, SUMMARY, text, attachments=attached)

    def _users_words(self, replaced: Sequence[ChatMessage]) -> str:
        """Return the newest of the user's messages that fit."""
        count, room = self._conversation.count, self._share(_WORDS_SHARE)
        lines: list[str] = []
        for each in reversed(replaced):
            if each.is_question:
                line = f"- {clipped(' '.join(each.text.split()), _WORDS_CHARS)}"
                room -= count(line)
                if room < 0:
                    break
                lines.insert(0, line)
        return "\n".join([_WORDS, *lines]) if lines else ""

    def _attached(self, paths: Sequence[str], room: int) -> tuple[Attachment, ...]:
        """Return the current text of the files changed last, as far as they fit whole."""
        attached: list[Attachment] = []
        for path in paths:
            found = self._read(path)
            if found is not None and (size := self._conversation.count(found.text)) <= room:
                room -= size
                attached.insert(0, replace(found, why="it is being edited"))
        return tuple(attached)


def _is_reminder(each: ChatMessage) -> bool:
    """Return whether a message is the app's, such as a nudge, which belongs to the message before it."""
    return each.role is Role.USER and not each.is_question


def _earlier(replaced: Sequence[ChatMessage]) -> str:
    """Return the earlier summary without its heading; used if the model writes no new one."""
    texts = [each.text for each in replaced if each.label == SUMMARY]
    return texts[-1].removeprefix(_HEAD).strip() if texts else ""
