"""Copy drafting: what came last has been here before, so what followed it then may follow now.

`SuffixDrafter` copies from the transcript, `FileDrafter` from files that are open or were read; a file is known by its
content. Both deal in token ids and read the transcript where it is, from the sequence that owns it, a little at a time:
with every offer, and more of it in `catch_up`. A text of 65,536 tokens takes 0.3 s, which is spread over a prefill or
over rounds; meanwhile there are drafts from what has been read.

Text goes into a suffix automaton through a `SuffixReader`, so that no round waits for all of it. A text may grow, be
cut, or be replaced by another one. What is held serves until its successor has been read: an automaton cannot forget
its beginning, so forgetting means reading the rest into a new one, which takes 4 to 7 microseconds per token.
Meanwhile there are two, of at most 36 MB each at 65,536 tokens.
"""

from collections.abc import Sequence

from laguna_engine.draft.base import (
    CATCH_UP,
    MAX_DRAFT,
    Draft,
    Drafter,
    DrafterEntry,
    DrafterPlan,
    DraftRequest,
    Kind,
    Offer,
)
from laguna_engine.draft.suffix_automaton import MAX_MATCH, ROOT, SEPARATOR, SuffixAutomaton
from laguna_engine.events import Source

_SHED = 8
"""States freed in the time in which one token is read."""

_ALL = 1 << 62


class SuffixReader:
    """Reads a list of tokens that its owner lets grow; `cut` says where it was shortened, `read_from` what replaces it.

    automaton: what has been read, or had been of the text before. Between two calls of `advance` it does not change.
    """

    def __init__(self, text: Sequence[int]) -> None:
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
        return self._next is None and not self._retired and self.at_end

    @property
    def behind(self) -> bool:
        """Whether more is left than an offer reads."""
        return self._next is not None or self._held.pending > READ_WITH_OFFER

    def cut(self, length: int) -> None:
        """Follow a cut: only the first `length` tokens of the text are unchanged."""
        for part in (self._held, self._next):
            if part is not None:
                part.agreed = min(part.agreed, max(0, length - part.start))

    def read_from(self, start: int, text: Sequence[int]) -> None:
        """Read `text` from `start` on, from now on; no effect if it is read already."""
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

    def __init__(self, text: Sequence[int], start: int) -> None:
        self.text, self.start = text, start
        self.agreed = 0
        self.automaton = SuffixAutomaton()

    def begins(self, start: int, text: Sequence[int]) -> bool:
        """Return whether it is this part of this text."""
        return self.start == start and self.text is text

    @property
    def surplus(self) -> int:
        """Tokens that are to be taken back."""
        return len(self.automaton) - self.agreed

    @property
    def pending(self) -> int:
        """Tokens that are to be taken back or in."""
        return len(self.automaton) + len(self.text) - self.start - 2 * self.agreed

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


SHORTEST = 2
"""Shortest match that is worth an offer. One token alone recurs nearly always and says little: on code the first token
drafted after it was right in 33 of 100 cases and half a token was accepted, after two it was 53 and a whole one."""

LIMIT = 65_536
"""Tokens copied from, the newest ones: 36 MB, and twice that while the oldest are being forgotten."""

READ_WITH_OFFER = 256
"""Tokens read before an offer at most: 2 ms, which count as the cost of a draft."""

_BUCKETS = ("1-2", "1-2", "1-2", "3-4", "3-4", "5-7", "5-7", "5-7", "8+")
"""Names of the lengths of a match, by length; how well drafts do depends on little else."""

_PRIORS = {"1-2": 0.35, "3-4": 0.5, "5-7": 0.65, "8+": 0.85}
_ALONE = "8+"
"""A match of this length is accepted so often that no other drafter is considered."""

TRANSCRIPT = Source("suffix", colour="amber", title="Drafting from the conversation")
FILES = Source("file", colour="violet", title="Drafting from files")


def _kinds(source: Source, label: str, drafting: str) -> dict[str, Kind]:
    names = ((bucket, f"{source.value}/{bucket}") for bucket in _PRIORS)
    return {bucket: Kind(name, _PRIORS[bucket], bucket == _ALONE, label, drafting) for bucket, name in names}


_KINDS = {
    TRANSCRIPT: _kinds(TRANSCRIPT, "to copy", "copying {tokens}"),
    FILES: _kinds(FILES, "to copy files", "copying {count} from a file"),
}


def kind(source: Source, match: int) -> Kind:
    """Return the kind of drafts from `source` after a match of `match` tokens, such as "suffix/8+"."""
    return _KINDS[source][_BUCKETS[min(match, len(_BUCKETS) - 1)]]


class CopyDraft:
    """One query of an automaton: an offer and its tokens, computed together because both take microseconds."""

    def __init__(self, source: Source, automaton: SuffixAutomaton, state: int, match: int, longest: int) -> None:
        self._tokens, self._chances = automaton.follow(state, match, longest, SHORTEST)
        self.offer = Offer(source, kind(source, match), len(self._tokens)) if self._tokens else None

    def first(self, length: int) -> Draft:
        """Return the first `length` tokens, or all there are."""
        return Draft(self._tokens[:length], self._chances[:length])


class _CopyDrafter(Drafter):
    """Copies what followed the longest match of the transcript's end."""

    def __init__(self, transcript: Sequence[int], limit: int = LIMIT, longest: int = MAX_DRAFT) -> None:
        """Start with nothing read. `transcript` is its sequence's and changes; `extend` and `truncate` say when."""
        self._transcript = transcript
        self._limit = limit
        self._longest = longest
        self._found: CopyDraft | None = None

    def extend(self, tokens: Sequence[int]) -> None:
        self._found = None

    def offer(self) -> Offer | None:
        return self._look().offer

    def draft(self, length: int) -> Draft:
        return self._look().first(length)

    def _look(self) -> CopyDraft:
        """Return what follows the longest match now."""
        raise NotImplementedError


class SuffixDrafter(_CopyDrafter):
    """Copies from the transcript: the prompt and everything committed since.

    Of a long transcript only the newest `limit` tokens are copied from; the oldest are forgotten by the quarter, since
    forgetting means reading the rest afresh.
    """

    source = TRANSCRIPT

    def __init__(self, transcript: Sequence[int], limit: int = LIMIT, longest: int = MAX_DRAFT) -> None:
        super().__init__(transcript, limit, longest)
        self._reader = SuffixReader(transcript)

    def truncate(self, length: int) -> None:
        self._reader.cut(length)
        self._found = None

    def catch_up(self, most: int | None = None) -> bool:
        """Read `most` of the tokens not yet read, or all of them; returns whether none is left."""
        self._reader.read_from(self._first_kept(), self._transcript)
        self._found = None
        return self._reader.advance(most)

    def prefill_part(self, position: int, size: int) -> tuple[int, bool]:
        if position:
            self.catch_up(CATCH_UP)
        return size, False

    def after_round(self) -> None:
        """Read some of what is new, unless the next offer reads all of it."""
        if self._reader.behind:
            self.catch_up(CATCH_UP)

    def _look(self) -> CopyDraft:
        if self._found is None:
            self.catch_up(READ_WITH_OFFER)
            automaton = self._reader.automaton
            if self._reader.at_end:
                state, match = automaton.longest()
            else:
                state, match = automaton.find(self._transcript[-MAX_MATCH:])
            self._found = CopyDraft(TRANSCRIPT, automaton, state, match, self._longest)
        return self._found

    def _first_kept(self) -> int:
        """Return where the copied part begins: by the transcript's length alone, so that cuts can be undone."""
        excess = max(0, len(self._transcript) - self._limit)
        chunk = max(1, self._limit // 4)
        return -(-excess // chunk) * chunk


class FileDrafter(_CopyDrafter):
    """Copies from files. The same votes as in the transcript, counted over all files together.

    It keeps `limit` tokens; at more, the files named longest ago are forgotten until a quarter is free, so that the
    others are seldom read afresh. What does not fit into the other three quarters is not taken: of the files named at
    once the first ones, of a single file its end.
    """

    source = FILES

    def __init__(self, transcript: Sequence[int], limit: int = LIMIT, longest: int = MAX_DRAFT) -> None:
        super().__init__(transcript, limit, longest)
        self._room = limit - limit // 4
        self._named: Sequence[Sequence[int]] = ()
        # Insertion order is order of use, least recent first; the content itself is the key, so nothing collides.
        self._files: dict[tuple[int, ...], None] = {}
        self._size = 0
        self._text: list[int] = []
        self._reader = SuffixReader(self._text)
        self._matched = 0
        self._place = (ROOT, 0)

    def begin(self, request: DraftRequest) -> int:
        """Copy from the request's files too."""
        self.add_files(request.files)
        return request.keep

    def add_files(self, files: Sequence[Sequence[int]]) -> None:
        """Copy from these files too, the latest last. Naming the same tuple again costs nothing."""
        if files is not self._named:
            self._named = files
            for file in reversed(self._fitting(files)):
                self._use(file)
            self._make_room()

    def truncate(self, length: int) -> None:
        if length < self._matched:
            self._match_again(length)

    def catch_up(self, most: int | None = None) -> bool:
        """Read `most` of the tokens not yet read, or all of them; returns whether none is left."""
        if self._reader.idle:
            return True
        done = self._reader.advance(most)
        # Adding text splits states, so places found before it mean nothing any more.
        self._match_again(len(self._transcript))
        return done

    def after_round(self) -> None:
        self.catch_up(CATCH_UP)

    def _look(self) -> CopyDraft:
        self.catch_up(READ_WITH_OFFER)
        if self._found is None:
            automaton = self._reader.automaton
            state, match = automaton.followed(*self._match())
            self._found = CopyDraft(FILES, automaton, state, match, self._longest)
        return self._found

    def _match(self) -> tuple[int, int]:
        """Return the longest end of the transcript that is in a file; only its last `MAX_MATCH` tokens can matter."""
        length = len(self._transcript)
        if length - self._matched >= MAX_MATCH:
            self._matched = length - MAX_MATCH
            self._place = (ROOT, 0)
        for token in self._transcript[self._matched :]:
            self._place = self._reader.automaton.step(*self._place, token)
        self._matched = length
        return self._place

    def _match_again(self, length: int) -> None:
        """Forget what the first `length` tokens end in."""
        self._matched = max(0, length - MAX_MATCH)
        self._place = (ROOT, 0)
        self._found = None

    def _fitting(self, files: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Return the last of `files`, last first, that fit; more would evict one another and be rebuilt every time."""
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


TRANSCRIPT_ENTRY = DrafterEntry(
    TRANSCRIPT, lambda options, target: DrafterPlan(lambda opened: SuffixDrafter(opened.sequence.tokens))
)
FILES_ENTRY = DrafterEntry(
    FILES, lambda options, target: DrafterPlan(lambda opened: FileDrafter(opened.sequence.tokens))
)
