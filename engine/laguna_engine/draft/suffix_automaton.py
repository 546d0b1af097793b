"""A suffix automaton that votes: what followed most often after the longest thing that is like what came last.

Deals in token ids alone. A suffix automaton (Blumer et al., 1985) holds every substring of a text in at most two states
a token and is extended by one token in constant time on average, so the longest match is always known and never
searched for. Three numbers a state add the votes: how often anything followed it, which token followed most often (the
latest of several such), and how often that was.

Matches are capped at `MAX_MATCH` tokens: votes are then counted along at most `MAX_MATCH + 1` suffix links a token,
even where a text repeats itself a thousand times and the links form a chain as long as that. Hash chains of n-grams
were the alternative: they forget more easily, but either miss the longest match or hold one entry per token for every
length. Text goes in at the end, and out at the end by undoing; nothing can leave at the front, so who forgets rebuilds.
Measured on 65,536 tokens of Python: 4 to 7 microseconds per token in or out, 9 for a draft of 16, 560 bytes per token.
"""

from collections.abc import Iterable, Sequence

MAX_MATCH = 32
"""Tokens of context that count: on code, drafts get no better beyond 20, and this bounds the work for one token."""

SEPARATOR = -2
"""Stands between texts: never proposed, and neither a real token nor NONE is equal to it."""

NONE = -1
"""No state, or no token."""

ROOT = 0
"""The state of the empty match."""

_COUNTED = MAX_MATCH + 1
"""Votes for what follows the longest matches are the occurrences of one token more."""

_DOUBT = 1 / 3
"""Votes for none of the tokens seen so far. On 40,000 tokens of Python a token with one vote of one was
right in 75 of 100 cases, with two of two in 88, with eight or more in 99; this third comes closest to all of them."""


class SuffixAutomaton:
    """Every substring of one text, and the votes for what follows it.

    A place in it is a state and the length of the match, because one state stands for matches of several lengths that
    occur in exactly the same places.
    """

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._next: list[dict[int, int]] = [{}]
        self._link = [NONE]
        self._length = [0]
        self._votes = [0]
        self._best = [NONE]
        self._wins = [0]
        # A state made by splitting another knows which, so that the split can be undone.
        self._origin = [NONE]
        self._last = ROOT
        # The state of the last `_COUNTED` tokens, and what it was before each token.
        self._deep = ROOT
        self._deeps: list[int] = []
        # Where a token overturned earlier votes, four numbers each time: the token's place, the state, its former best
        # and the wins of that. Flat, because the garbage collector visits every list and tuple: it took 38 ms.
        self._overturned: list[int] = []

    def __len__(self) -> int:
        """Return the number of tokens in the text."""
        return len(self._tokens)

    def extend(self, tokens: Iterable[int]) -> None:
        """Append `tokens` to the text."""
        for token in tokens:
            split = self._append(token)
            self._vote(token, split)

    def truncate(self, length: int) -> None:
        """Cut the text to its first `length` tokens, as if the others had never been there."""
        while len(self._tokens) > length:
            self._undo()

    @property
    def states(self) -> int:
        """How many states it has, of some 300 bytes each."""
        return len(self._link)

    def shed(self, count: int) -> int:
        """Free up to `count` states of an automaton that is not used any more; return how many."""
        freed = min(count, len(self._link))
        for column in (self._next, self._link, self._length, self._votes, self._best, self._wins, self._origin):
            del column[len(column) - freed :]
        return freed

    def longest(self) -> tuple[int, int]:
        """Return the longest end of the text that is followed by something elsewhere: its state and length."""
        state = self._deep
        if self._length[self._link[state]] >= MAX_MATCH:
            state = self._link[state]
        return self.followed(state, min(len(self._tokens), MAX_MATCH))

    def step(self, state: int, length: int, token: int) -> tuple[int, int]:
        """Return the longest match that ends in `token`, after one of `length` tokens in `state`."""
        following = self._next
        while token not in following[state]:
            if state == ROOT:
                return ROOT, 0
            state = self._link[state]
            length = self._length[state]
        return self._capped(following[state][token], length + 1)

    def find(self, tokens: Sequence[int]) -> tuple[int, int]:
        """Return the longest end of `tokens` that is in the text and is followed by something: its state and length."""
        state, length = ROOT, 0
        for token in tokens:
            state, length = self.step(state, length, token)
        return self.followed(state, length)

    def follow(self, state: int, length: int, count: int, shortest: int) -> tuple[list[int], list[float]]:
        """Return up to `count` tokens that the votes predict after a match, and for each the chance that it is right.

        Every token lengthens the match that votes on the next; where the text ends, the next shorter match votes. Ends
        when that is shorter than `shortest`. The chance is the share of the votes, with `_DOUBT` against it.
        """
        tokens: list[int] = []
        chances: list[float] = []
        for _ in range(count):
            state, length = self.followed(state, length)
            if length < shortest:
                break
            token = self._best[state]
            tokens.append(token)
            chances.append(self._wins[state] / (self._votes[state] + _DOUBT))
            state, length = self._capped(self._next[state][token], length + 1)
        return tokens, chances

    def followed(self, state: int, length: int) -> tuple[int, int]:
        """Return the longest end of a match that something follows: its state and length, the root if nothing does."""
        while state != ROOT and self._best[state] == NONE:
            state = self._link[state]
            length = self._length[state]
        return state, length

    def _capped(self, state: int, length: int) -> tuple[int, int]:
        if length <= MAX_MATCH:
            return state, length
        link = self._link[state]
        return (link if self._length[link] >= MAX_MATCH else state), MAX_MATCH

    def _append(self, token: int) -> int:
        """Add a state for the text with `token` appended; return the state that was split off, or NONE."""
        following, links = self._next, self._link
        state = self._last
        new = self._last = self._add({}, self._length[state] + 1, NONE)
        target = new
        while state != NONE:
            target = following[state].setdefault(token, new)
            if target != new:
                break
            state = links[state]
        if state == NONE:
            links[new] = ROOT
            return NONE
        if self._length[target] == self._length[state] + 1:
            links[new] = target
            return NONE
        links[new] = split = self._split(state, token, target)
        return split

    def _add(self, following: dict[int, int], length: int, link: int) -> int:
        self._next.append(following)
        self._length.append(length)
        self._link.append(link)
        self._votes.append(0)
        self._best.append(NONE)
        self._wins.append(0)
        self._origin.append(NONE)
        return len(self._link) - 1

    def _split(self, state: int, token: int, target: int) -> int:
        """Give the shorter matches of `target`, which now occur once more than the longer ones, a state."""
        short = self._add(self._next[target].copy(), self._length[state] + 1, self._link[target])
        self._votes[short] = self._votes[target]
        self._best[short] = self._best[target]
        self._wins[short] = self._wins[target]
        self._origin[short] = target
        self._link[target] = short
        self._redirect(state, token, target, short)
        return short

    def _redirect(self, state: int, token: int, target: int, instead: int) -> None:
        """Have `state` and its shorter ends lead to `instead` where they lead to `target`."""
        while state != NONE and self._next[state].get(token) == target:
            self._next[state][token] = instead
            state = self._link[state]

    def _vote(self, token: int, split: int) -> None:
        """Count `token` as what followed every end of the text before it, longest first."""
        links, votes, best, wins = self._link, self._votes, self._best, self._wins
        self._deeps.append(self._deep)
        state = deep = self._voting(self._deep, split)
        while state > ROOT:
            votes[state] += 1
            if best[state] == token:
                wins[state] += 1
            elif token != SEPARATOR:
                # What this state and the token make together was counted already, without the newest occurrence.
                count = votes[self._next[state][token]] + 1
                if count >= wins[state]:
                    self._overturn(state, token, count)
            state = links[state]
        self._tokens.append(token)
        reached = self._next[deep][token]
        link = links[reached]
        self._deep = link if self._length[link] >= _COUNTED else reached

    def _voting(self, deep: int, split: int) -> int:
        """Return the state of the text's last `_COUNTED` tokens, which a split may have moved."""
        if split != NONE and self._origin[split] == deep:
            counted = min(len(self._tokens), _COUNTED)
            return split if counted <= self._length[split] else deep
        return deep

    def _overturn(self, state: int, token: int, count: int) -> None:
        if self._votes[state] > 1:
            self._overturned += (len(self._tokens), state, self._best[state], self._wins[state])
        self._best[state] = token
        self._wins[state] = count

    def _undo(self) -> None:
        """Undo the last token: the votes first, then the states, in reverse order."""
        split = len(self._link) - 1 if self._origin[-1] != NONE else NONE
        new = self._last
        token = self._tokens.pop()
        self._take_votes_back(token, split)
        if split != NONE:
            self._link[self._origin[split]] = self._link[split]
        before = new - 1 if self._origin[new - 1] == NONE else new - 2
        state = before
        while state != NONE and self._next[state].get(token) == new:
            del self._next[state][token]
            state = self._link[state]
        if split != NONE:
            self._redirect(state, token, split, self._origin[split])
        self._last = before
        for column in (self._next, self._link, self._length, self._votes, self._best, self._wins, self._origin):
            del column[new:]

    def _take_votes_back(self, token: int, split: int) -> None:
        self._deep = self._deeps.pop()
        state = self._voting(self._deep, split)
        while state > ROOT:
            self._votes[state] -= 1
            if self._best[state] == token:
                self._wins[state] -= 1
            if not self._votes[state]:
                self._best[state] = NONE
            state = self._link[state]
        overturned = self._overturned
        while overturned and overturned[-4] == len(self._tokens):
            _, state, self._best[state], self._wins[state] = overturned[-4:]
            del overturned[-4:]
