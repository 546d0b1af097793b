"""Several conversations over the engine's one sequence: those that are not being continued wait as copies in memory.

Before a prompt is read the pool decides: where another conversation's copy begins with more of the prompt than the
cache does, the two change places; where the prompt cuts off much of what is cached, that is copied first. So a prompt
always meets the longest prefix that is anywhere in memory. The copies have a budget, and the one used longest ago goes
first. Llama.cpp's own bytes never leave the process, so unlike those on disk they are not checked.

Engine thread only, but for the figures and the budget.
"""

from contextlib import suppress
from dataclasses import dataclass

from laguna_engine.checkpoints import Checkpoint, DrafterSnapshot
from laguna_engine.errors import EngineError
from laguna_engine.llama.sequence_state import Rows, WindowState
from laguna_engine.sequence import TokenSequence, plan_reuse
from laguna_engine.speculate.speculator import NullSpeculator

WORTH_TOKENS = 64
"""Fewer tokens are computed again about as fast as a state is copied, and every conversation shares a few."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldState:
    """A conversation that waits.

    Attributes:
        tokens: those whose keys and values these are.
        rows: of the full-attention layers.
        caches: caches of llama.cpp's.
        window: of the sliding-window or recurrent layers; None where there are none.
        pos_min: the oldest position of the window.
        checkpoints: of earlier windows.
        drafter: what the drafter knows of it.
    """

    tokens: list[int]
    rows: Rows
    caches: int
    window: WindowState | None
    pos_min: int
    checkpoints: tuple[Checkpoint, ...]
    drafter: DrafterSnapshot | None

    @property
    def nbytes(self) -> int:
        """Bytes in host memory."""
        window = 0 if self.window is None else self.window.nbytes
        drafter = 0 if self.drafter is None else self.drafter.nbytes
        return self.rows.nbytes + window + drafter + sum(each.nbytes for each in self.checkpoints)


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """What a pool did and holds.

    Attributes:
        held: conversations that wait in memory.
        nbytes: bytes that they take.
        budget: most bytes that they may take; 0 holds none.
        swapped: how often a waiting conversation was brought back.
        dropped: how many were given up for lack of room.
    """

    held: int = 0
    nbytes: int = 0
    budget: int = 0
    swapped: int = 0
    dropped: int = 0


class StatePool:
    """The conversations of one engine that wait.

    Attributes:
        budget: most bytes that they take; 0, as at first, holds none and costs nothing.
    """

    def __init__(self, sequence: TokenSequence, speculator: NullSpeculator) -> None:
        self.budget = 0
        self._sequence, self._speculator = sequence, speculator
        # The one used longest ago comes first.
        self._held: list[HeldState] = []
        self._swapped = self._dropped = 0
        self._token_bytes = 0.0

    @property
    def figures(self) -> PoolFigures:
        """What there is now. Any thread."""
        held = tuple(self._held)
        return PoolFigures(len(held), sum(each.nbytes for each in held), self.budget, self._swapped, self._dropped)

    def meet(self, prompt: list[int]) -> None:
        """Have the cache begin with as much of `prompt` as any conversation does. Never raises an EngineError.

        A state that llama.cpp does not give or take is computed again with its next prompt.
        """
        if self.budget <= 0 and not self._held:
            return
        sequence = self._sequence
        sequence.settle()
        kept = sequence.plan(prompt).keep
        best = max(self._held, key=lambda state: self._keep_of(state, prompt), default=None)
        pays = best is not None and self._keep_of(best, prompt) > kept + WORTH_TOKENS
        cut = 0 if pays else kept
        if best is not None and pays:
            # Its place is free for what takes it.
            self._held.remove(best)
        # A conversation that is longer than all the room there is would be copied for nothing.
        if sequence.position - cut > WORTH_TOKENS and sequence.position * self._token_bytes <= self.budget:
            with suppress(EngineError, MemoryError):
                self._hold(self._copy())
        if best is not None and pays:
            self._swapped += 1
            self._load(best)
        self._trim()

    def clear(self) -> None:
        """Forget all conversations that wait."""
        self._held = []

    def _keep_of(self, state: HeldState, prompt: list[int]) -> int:
        lengths = tuple(each.length for each in state.checkpoints)
        return plan_reuse(
            state.tokens,
            prompt,
            pos_min=state.pos_min,
            window=self._sequence.window,
            checkpoints=lengths,
            recurrent=self._sequence.context.recurrent,
        ).keep

    def _copy(self) -> HeldState:
        sequence = self._sequence
        context, length = sequence.context, sequence.position
        context.synchronize()
        rows, caches = context.read_rows(0, length)
        window = context.save_window() if caches > 1 else None
        checkpoints = sequence.checkpoints.share()
        tokens = list(sequence.tokens[:length])
        # Of a recurrent state the copy has the newest alone.
        oldest = length - 1 if context.recurrent else context.positions()[0]
        return HeldState(tokens, _packed(rows), caches, window, oldest, checkpoints, self._speculator.snapshot())

    def _hold(self, state: HeldState) -> None:
        # What another one only continues from is not held twice.
        self._held = [each for each in self._held if each.tokens != state.tokens[: len(each.tokens)]]
        self._held.append(state)
        self._token_bytes = state.nbytes / len(state.tokens)

    def _trim(self) -> None:
        total = sum(each.nbytes for each in self._held)
        while self._held and total > self.budget:
            total -= self._held.pop(0).nbytes
            self._dropped += 1

    def _load(self, state: HeldState) -> None:
        """Load a state into the cache; where that fails the cache is empty."""
        try:
            if not self._loaded(state):
                self._sequence.clear()
        except EngineError:
            self._sequence.clear()

    def _loaded(self, state: HeldState) -> bool:
        sequence = self._sequence
        sequence.clear(wipe=False)
        if not sequence.context.write_rows(state.rows, state.caches):
            return False
        if state.window is not None and not sequence.context.load_window(state.window):
            return False
        if not sequence.restored(state.tokens):
            return False
        self._speculator.restored(len(state.tokens), state.drafter)
        for checkpoint in state.checkpoints:
            sequence.checkpoints.make_room(checkpoint.length, checkpoint.nbytes)
            sequence.checkpoints.add(checkpoint, shared=True)
        return True


def _packed(rows: Rows) -> Rows:
    """Copy the rows, without the rest of the state that they were read with, the sliding window's cells."""
    return Rows(rows.start, rows.layout, tuple(tensor.copy() for tensor in rows.tensors))
