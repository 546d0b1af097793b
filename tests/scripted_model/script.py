"""What a scripted model says, and where in its script a prompt stands. Deals in text and token ids; computes nothing.

A script answers one question: which token comes next after these? The answer depends on the tokens alone, as a model's
does, so that retries, replays, drafts and prompts that are rendered again need no special case.
"""

import hashlib
import inspect
import re
import threading
import time
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from laguna_engine.chat.encoding import Content, Markup, unescape
from laguna_engine.llama.vocab import Vocab
from tests.scripted_model.speech import Speech
from tests.scripted_model.turns import Part, Turn

_USER = re.compile(r"<user>\n?(.*?)\n?</user>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>\n?(.*?)\n?</tool_response>", re.DOTALL)


@dataclass(frozen=True)
class Seen:
    """What the model has before it when its turn opens.

    Attributes:
        tokens: the whole prompt, the opening of the turn included.
        start: of the part that is new since its last turn.
        thinking: whether the turn opens with reasoning.
        pieces: bytes of the tokens.
    """

    tokens: Sequence[int]
    start: int
    thinking: bool
    pieces: Mapping[int, bytes] = field(repr=False)

    @cached_property
    def text(self) -> str:
        """The whole prompt."""
        return self._decoded(self.tokens)

    @cached_property
    def new(self) -> str:
        """What was added since the model's last turn: the user's message, or results of tools."""
        return self._decoded(self.tokens[self.start :])

    @property
    def results(self) -> list[str]:
        """The tools' answers that came since the last turn."""
        return [unescape(each) for each in _RESPONSE.findall(self.new)]

    @property
    def result(self) -> str:
        """The newest of them; empty if the user spoke last."""
        return self.results[-1] if self.results else ""

    @property
    def user(self) -> str:
        """The newest message in the user's place, reminders of the app included."""
        found = _USER.findall(self.new) or _USER.findall(self.text)
        return unescape(found[-1]) if found else ""

    def _decoded(self, tokens: Sequence[int]) -> str:
        return b"".join(self.pieces[token] for token in tokens).decode("utf-8", errors="replace")


Said = Turn | Part | Sequence[Part]
Writer = Callable[[Seen], Said]
Lines = Sequence[Said | Writer] | Writer | Callable[[Seen], Generator[Said, Seen, None]]

OVER = "The script is over."
"""What is said after the last turn of a script."""


class Script:
    """The turns of a model, in order.

    Attributes:
        asked: what the model saw at each of its turns.
    """

    def __init__(self, lines: Lines, asides: Mapping[str, Said | Writer] | None = None) -> None:
        """Begin at the first turn.

        Args:
            lines: a list of turns, or a function of what the model sees. A generator function is called once, with what
                it sees at its first turn; each `yield` says a turn and returns what it sees at the next one.
            asides: regular expressions searched in what is new; such a turn is said without moving on in `lines`.
        """
        self.asked: list[Seen] = []
        self._write = _writer(lines)
        self._asides = {re.compile(pattern, re.DOTALL): said for pattern, said in (asides or {}).items()}

    def write(self, seen: Seen) -> Turn:
        """The next turn, for a model that sees this."""
        self.asked.append(seen)
        aside = next((said for pattern, said in self._asides.items() if pattern.search(seen.new)), self._write)
        said = aside
        while callable(said):
            said = said(seen)
        if isinstance(said, Turn):
            return said
        return Turn((said,) if isinstance(said, Part) else tuple(said))


def _writer(lines: Lines) -> Callable[[Seen], Said | Writer]:
    if inspect.isgeneratorfunction(lines):
        return _generated(lines)
    return lines if callable(lines) else _listed(lines)


def _listed(lines: Sequence[Said | Writer]) -> Callable[[Seen], Said | Writer]:
    left = iter(lines)
    return lambda seen: next(left, OVER)


def _generated(lines: Callable[[Seen], Generator[Said, Seen, None]]) -> Writer:
    running: list[Generator[Said, Seen, None]] = []

    def write(seen: Seen) -> Said:
        if running:
            try:
                return running[0].send(seen)
            except StopIteration:
                return OVER
        running.append(lines(seen))
        return next(running[0], OVER)

    return write


@dataclass
class Opening:
    """An assistant's turn that was opened, and what the script says in it.

    Attributes:
        key: digest of the prompt up to where the turn opens.
        length: tokens of that prompt.
        turn: what is said.
        tokens: the same as tokens.
        holds: what is waited for before the token at this place.
        finished: whether its last token was predicted.
    """

    key: bytes
    length: int
    turn: Turn
    tokens: list[int]
    holds: Mapping[int, threading.Event]
    finished: bool = False


class Prompter:
    """Finds the token that a script says next after any tokens of one model.

    A turn of the script belongs to the prompt at whose end it was opened: the same prompt is answered the same, as by a
    greedy model. Another prompt gets the next turn, unless the turn before was broken off and nothing of it is in the
    prompt (it was asked for again behind a shorter conversation): then it is said from its beginning.

    Attributes:
        script: what it follows.
        start: where the open turn's own tokens begin in the prompt; None if it opens none, as a prefill ahead.
    """

    def __init__(self, script: Script, vocab: Vocab, speech: Speech) -> None:
        self.script = script
        self._vocab, self._speech = vocab, speech
        self._pieces: dict[int, bytes] = {}
        self._openings: dict[bytes, Opening] = {}
        self._newest: Opening | None = None
        self._prompt: list[int] = []
        self._open: Opening | None = None
        self.start: int | None = None

    @property
    def length(self) -> int:
        """Tokens of the request's prompt: what follows is known from there on."""
        return len(self._prompt)

    def begin(self, prompt: Sequence[int]) -> None:
        """A request with this prompt begins, which may already hold a part of the open turn."""
        self._prompt = list(prompt)
        self._open = None
        self.start = self._speech.opening_of(self._prompt)

    def following(self, said: list[int]) -> int | None:
        """The token that the script says after `said`, the tokens from `start` on; None where it says nothing."""
        assert self.start is not None, "no turn is open"
        if self._open is None:
            self._open = self._opened(self._prompt[: self.start])
        planned = self._open.tokens
        while (at := _common(said, planned)) < min(len(said), len(planned)):
            planned = self._replanned(said, planned, at)
        if len(said) >= len(planned):
            return None
        self._open.finished |= len(said) + 1 == len(planned)
        return planned[len(said)]

    def pause(self, said: list[int], cancelled: Callable[[], bool]) -> None:
        """Wait as the script wants before the token after `said`, until it is cancelled."""
        holds = self._open.holds if self._open is not None else {}
        if len(said) + 1 in holds:
            time.sleep(_PUBLISHED_S)
        held = holds.get(len(said))
        while held is not None and not held.wait(_PUBLISHED_S) and not cancelled():
            pass

    def _opened(self, prompt: list[int]) -> Opening:
        key = _digest(prompt)
        if key in self._openings:
            return self._openings[key]
        newest = self._newest
        seen = self._seen(prompt)
        again = newest is not None and not newest.finished and not self._is_said(newest, prompt)
        turn = newest.turn if again and newest is not None else self.script.write(seen)
        opening = Opening(key, len(prompt), turn, *self._speech.encoded(self._speech.written(turn, prompt)))
        self._newest = self._openings[key] = opening
        return opening

    def _is_said(self, newest: Opening, prompt: list[int]) -> bool:
        """Whether a turn that was broken off is the last one of this prompt, with at least one token of it."""
        if len(prompt) > newest.length and _digest(prompt[: newest.length]) == newest.key:
            return prompt[newest.length] == newest.tokens[0]
        ended = self._speech.last_turn(prompt)
        few = newest.tokens[:_RECOGNISED]
        return ended is not None and prompt[ended[0] : ended[0] + len(few)] == few

    def _replanned(self, said: list[int], planned: list[int], at: int) -> list[int]:
        """The script's tokens after `said`, whose token `at` is not the planned one."""
        assert self._open is not None
        answers = self._speech.answers
        if said[at] == answers and answers in planned[at:]:
            # Reasoning that was ended from outside.
            return said[: at + 1] + planned[planned.index(answers, at) + 1 :]
        turn = self._open.turn
        if turn.instead is not None:
            end = self._speech.end if turn.end is None else turn.end
            rest = self._speech.tokens([Content(turn.instead), *([Markup(end)] if end else [])])
            if planned[-len(rest) :] != rest:
                return said[: at + 1] + rest
        return said[: at + 1] + planned[at + 1 :]

    def _seen(self, prompt: list[int]) -> Seen:
        ended = self._speech.last_turn(prompt)
        for token in set(prompt) - self._pieces.keys():
            self._pieces[token] = self._vocab.piece(token)
        start = 0 if ended is None else ended[1] + 1
        return Seen(array("i", prompt), start, self._speech.thinks(prompt), self._pieces)


_PUBLISHED_S = 0.01
"""After that long, a token is shown with all before it; those of a fast stream are published in batches."""

_RECOGNISED = 4
"""Tokens by which a turn that was broken off is recognised in a conversation that was rendered again."""


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the common prefix."""
    if left == right[: len(left)]:
        return len(left)
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _digest(tokens: Sequence[int]) -> bytes:
    return hashlib.blake2b(array("i", tokens).tobytes(), digest_size=16).digest()
