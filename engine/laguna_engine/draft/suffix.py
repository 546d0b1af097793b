"""Copy drafting: what came last has been here before, so what followed it then may follow now.

Deals in token ids; one drafter copies from the transcript itself, the one for files is in `suffix_files`. Both only
note what is committed, and read it a little at a time: with every offer, and more of it in `catch_up`. A text of 65,536
tokens takes 0.3 s, which is spread over a prefill or over rounds; meanwhile there are drafts from what has been read.
"""

from collections.abc import Sequence

from laguna_engine.draft.drafter import MAX_DRAFT, Draft, Offer
from laguna_engine.draft.suffix_automaton import MAX_MATCH, SuffixAutomaton
from laguna_engine.draft.suffix_reader import SuffixReader
from laguna_engine.events import Source

SHORTEST = 2
"""Shortest match that is worth an offer. One token alone recurs nearly always and says little: on code the first token
drafted after it was right in 33 of 100 cases and half a token stood, after two it was 53 and a whole one."""

LIMIT = 65_536
"""Tokens copied from, the newest ones: 36 MB, and twice that while the oldest are being forgotten."""

READ_WITH_OFFER = 256
"""Tokens read before an offer at most: 2 ms, which count as the cost of a draft."""

_BUCKETS = ("1-2", "1-2", "1-2", "3-4", "3-4", "5-7", "5-7", "5-7", "8+")
"""Names of the lengths of a match, by length; how well drafts do depends on little else."""


def kind(source: Source, match: int) -> str:
    """The record of experience for drafts from `source` after a match of `match` tokens, such as "suffix/8+"."""
    return f"{source.value}/{_BUCKETS[min(match, len(_BUCKETS) - 1)]}"


class CopyDraft:
    """One look at an automaton: an offer and the tokens behind it, made together because both take microseconds."""

    def __init__(self, source: Source, automaton: SuffixAutomaton, state: int, match: int, longest: int) -> None:
        self._tokens, self._chances = automaton.follow(state, match, longest, SHORTEST)
        self.offer = Offer(source, kind(source, match), len(self._tokens)) if self._tokens else None

    def first(self, length: int) -> Draft:
        """The first `length` tokens, or all there are."""
        return Draft(self._tokens[:length], self._chances[:length])


class SuffixDrafter:
    """Copies from the transcript: the prompt and everything committed since.

    Of a long transcript only the newest `limit` tokens are copied from; the oldest are forgotten by the quarter, since
    forgetting means reading the rest afresh.
    """

    def __init__(self, limit: int = LIMIT, longest: int = MAX_DRAFT) -> None:
        self._limit = limit
        self._longest = longest
        self._tokens: list[int] = []
        self._reader = SuffixReader(self._tokens)
        self._found: CopyDraft | None = None

    def __len__(self) -> int:
        """Tokens of transcript it was told of."""
        return len(self._tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed behind what was there."""
        self._tokens.extend(tokens)
        self._found = None

    def truncate(self, length: int) -> None:
        """The transcript was cut to its first `length` tokens."""
        del self._tokens[length:]
        self._reader.cut(length)
        self._found = None

    def catch_up(self, most: int | None = None) -> bool:
        """Read `most` of the tokens not yet read, or all of them; returns whether none is left.

        Worth calling between the micro-batches of a prefill, while a device computes, and after a round.
        """
        self._reader.read_from(self._first_kept(), self._tokens)
        self._found = None
        return self._reader.advance(most)

    def offer(self) -> Offer | None:
        """What the votes after the longest match amount to; None if there is no match."""
        return self._look().offer

    def draft(self, length: int) -> Draft:
        """At most `length` tokens along the votes."""
        return self._look().first(length)

    def _look(self) -> CopyDraft:
        if self._found is None:
            self.catch_up(READ_WITH_OFFER)
            automaton = self._reader.automaton
            state, match = automaton.longest() if self._reader.at_end else automaton.find(self._tokens[-MAX_MATCH:])
            self._found = CopyDraft(Source.SUFFIX, automaton, state, match, self._longest)
        return self._found

    def _first_kept(self) -> int:
        """Where the part begins that is copied from; of the transcript's length alone, so that cuts can be undone."""
        excess = max(0, len(self._tokens) - self._limit)
        chunk = max(1, self._limit // 4)
        return -(-excess // chunk) * chunk
