"""Copy drafting from files: what came last stands in a file that is open or was read, so it may go on like there.

Deals in token ids; a file is known by its content. What the transcript itself quotes is `SuffixDrafter`'s to copy.
"""

from collections.abc import Sequence

from laguna_engine.draft.drafter import MAX_DRAFT, Draft, Offer
from laguna_engine.draft.suffix import LIMIT, READ_WITH_OFFER, CopyDraft
from laguna_engine.draft.suffix_automaton import MAX_MATCH, ROOT, SEPARATOR
from laguna_engine.draft.suffix_reader import SuffixReader
from laguna_engine.events import Source


class FileDrafter:
    """Copies from files. The same votes as in the transcript, counted over all files together.

    It keeps `limit` tokens; at more, the files named longest ago are forgotten until a quarter is free, so that the
    others are seldom read afresh. What does not fit into the other three quarters is not taken: of the files named at
    once the first ones, of a single file its end.
    """

    def __init__(self, limit: int = LIMIT, longest: int = MAX_DRAFT) -> None:
        self._limit = limit
        self._room = limit - limit // 4
        self._longest = longest
        self._named: Sequence[Sequence[int]] = ()
        # Insertion order is order of use, least recent first; the content itself is the key, so nothing collides.
        self._files: dict[tuple[int, ...], None] = {}
        self._size = 0
        self._text: list[int] = []
        self._reader = SuffixReader(self._text)
        self._tokens: list[int] = []
        self._matched = 0
        self._place = (ROOT, 0)
        self._found: CopyDraft | None = None

    def add_files(self, files: Sequence[Sequence[int]]) -> None:
        """Copy from these files too, the latest last. Naming the same tuple again costs nothing."""
        if files is not self._named:
            self._named = files
            for file in reversed(self._fitting(files)):
                self._use(file)
            self._make_room()

    def extend(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed to the transcript."""
        self._tokens.extend(tokens)
        self._found = None

    def truncate(self, length: int) -> None:
        """The transcript was cut to its first `length` tokens."""
        del self._tokens[length:]
        self._match_again()

    def catch_up(self, most: int | None = None) -> bool:
        """Read `most` of the tokens not yet read, or all of them; returns whether none is left."""
        if self._reader.idle:
            return True
        done = self._reader.advance(most)
        # Adding text splits states, so places found before it mean nothing any more.
        self._match_again()
        return done

    def offer(self) -> Offer | None:
        """What the votes after the longest match amount to; None if there is no match."""
        return self._look().offer

    def draft(self, length: int) -> Draft:
        """At most `length` tokens along the votes."""
        return self._look().first(length)

    def _look(self) -> CopyDraft:
        self.catch_up(READ_WITH_OFFER)
        if self._found is None:
            automaton = self._reader.automaton
            state, match = automaton.followed(*self._match())
            self._found = CopyDraft(Source.FILE, automaton, state, match, self._longest)
        return self._found

    def _match(self) -> tuple[int, int]:
        """The longest end of the transcript that stands in a file; only its last `MAX_MATCH` tokens can matter."""
        if len(self._tokens) - self._matched >= MAX_MATCH:
            self._matched = len(self._tokens) - MAX_MATCH
            self._place = (ROOT, 0)
        for token in self._tokens[self._matched :]:
            self._place = self._reader.automaton.step(*self._place, token)
        self._matched = len(self._tokens)
        return self._place

    def _match_again(self) -> None:
        self._matched = max(0, len(self._tokens) - MAX_MATCH)
        self._place = (ROOT, 0)
        self._found = None

    def _fitting(self, files: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The last of `files`, the last first. More would drive one another out, to be built afresh every time."""
        contents: list[tuple[int, ...]] = []
        room = self._room
        for file in reversed(files):
            content = tuple(file[: self._room])
            room -= len(content)
            if room < 0:
                break
            contents.append(content)
        return contents

    def _use(self, content: tuple[int, ...]) -> None:
        if content in self._files:
            del self._files[content]
        else:
            self._text += (*content, SEPARATOR)
            self._size += len(content)
        self._files[content] = None

    def _make_room(self) -> None:
        if self._size <= self._limit:
            return
        while self._size > self._room:
            oldest = next(iter(self._files))
            del self._files[oldest]
            self._size -= len(oldest)
        self._text = [token for file in self._files for token in (*file, SEPARATOR)]
        self._reader.read_from(0, self._text)
