"""Text goes into a suffix automaton a few tokens at a time, so that no round waits for 65,536 of them.

Deals in token ids. A text may grow, be cut, or be replaced by another one. What is held serves until its successor has
been read: an automaton cannot forget its beginning, so forgetting means reading the rest into a new one, which takes
4 to 7 microseconds a token. For so many rounds there are two, of at most 36 MB each at 65,536 tokens.
"""

from laguna_engine.draft.suffix_automaton import SuffixAutomaton

_SHED = 8
"""States freed in the time in which one token is read."""

_ALL = 1 << 62


class SuffixReader:
    """Reads a list of tokens that its owner lets grow; `cut` says where it was shortened, `read_from` what replaces it.

    automaton: what has been read, or had been of the text before. Between two calls of `advance` it does not change.
    """

    def __init__(self, text: list[int]) -> None:
        self._held = _Part(text, 0)
        self._next: _Part | None = None
        self._retired: list[SuffixAutomaton] = []

    @property
    def automaton(self) -> SuffixAutomaton:
        """What to copy from."""
        return self._held.automaton

    @property
    def at_end(self) -> bool:
        """Whether the automaton ends where the text ends now."""
        return not self._held.pending

    @property
    def idle(self) -> bool:
        """Whether all is read, and nothing is left to be freed."""
        return self.at_end and self._next is None and not self._retired

    def cut(self, length: int) -> None:
        """Only the first `length` tokens of the text are still what they were."""
        for part in (self._held, self._next):
            if part is not None:
                part.agreed = min(part.agreed, max(0, length - part.start))

    def read_from(self, start: int, text: list[int]) -> None:
        """From now on `text` is to be read, from `start` on; nothing if it is already."""
        if self._next is not None and self._next.begins(start, text):
            return
        self._succeed(None if self._held.begins(start, text) else _Part(text, start))

    def advance(self, most: int | None = None) -> bool:
        """Read `most` tokens, or all of them; returns whether none is left."""
        left = _ALL if most is None else most
        # A token costs as much to take back as to read.
        if self._next is None and self._held.surplus > self._held.agreed:
            self._succeed(_Part(self._held.text, self._held.start))
        if self._next is None:
            left -= self._held.advance(left)
        else:
            left -= self._read_both(self._next, left)
        self._free(_SHED * left)
        return self.at_end and self._next is None

    def _read_both(self, coming: "_Part", most: int) -> int:
        """Read on in the successor, and before that what little is new of the text that both are of."""
        held, done = self._held, 0
        if most < _ALL and held.text is coming.text and held.pending <= most // 2:
            done = held.advance(most)
        done += coming.advance(most - done)
        if not coming.pending:
            self._retired.append(held.automaton)
            self._held, self._next = coming, None
        return done

    def _succeed(self, part: "_Part | None") -> None:
        if self._next is not None:
            self._retired.append(self._next.automaton)
        self._next = part

    def _free(self, states: int) -> None:
        while self._retired and states > 0:
            states -= self._retired[-1].shed(states)
            if not self._retired[-1].states:
                self._retired.pop()


class _Part:
    """A text from `start` on, and the automaton of what was read of it: `agreed` tokens of both are the same."""

    __slots__ = ("agreed", "automaton", "start", "text")

    def __init__(self, text: list[int], start: int) -> None:
        self.text, self.start = text, start
        self.agreed = 0
        self.automaton = SuffixAutomaton()

    def begins(self, start: int, text: list[int]) -> bool:
        """Whether it is this part of this text."""
        return self.start == start and self.text is text

    @property
    def surplus(self) -> int:
        """Tokens that are to be taken back."""
        return len(self.automaton) - self.agreed

    @property
    def pending(self) -> int:
        """Tokens that are to be taken back or in."""
        return self.surplus + len(self.text) - self.start - self.agreed

    def advance(self, most: int) -> int:
        """Take `most` tokens back or in; returns how many it were."""
        back = min(most, self.surplus)
        self.automaton.truncate(len(self.automaton) - back)
        if self.surplus:
            return back
        first = self.start + self.agreed
        new = self.text[first : first + most - back]
        self.automaton.extend(new)
        self.agreed += len(new)
        return back + len(new)
