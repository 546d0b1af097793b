"""Keeps a model open that nobody sits in front of: it is opened again when llama.cpp aborts, but not for ever."""

import time
from collections import deque
from collections.abc import Callable

from laguna_engine.errors import EngineError
from laguna_tui.session.engine_slot import EngineSlot

LOSSES, WITHIN_S = 3, 600.0
"""So many losses in so short a time are no accident; what a lost engine had in memory stays there, too."""
_LOOK_S = 0.5
LOST = "llama.cpp stopped on a failed check, so the model is lost; opening it again."
OPEN_AGAIN = "The model is open again."
AGAIN_AND_AGAIN = (
    "llama.cpp stopped on a failed check {losses} times in {minutes:.0f} minutes; run laguna-tui selfcheck, and start "
    "this again with other settings, such as a smaller --context or --speculation off"
)


def keep_open(
    slot: EngineSlot,
    ended: Callable[[float], bool],
    say: Callable[[str], None],
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Open the model again whenever it is lost. Blocks; the slot's thread.

    Args:
        slot: what is open.
        ended: waits for so many seconds; whether it is enough.
        say: told what happens, in sentences.
        now: seconds of a clock.

    Raises:
        EngineError: it cannot be opened again, or is lost too often.
        UserError: its file is gone.
    """
    losses: deque[float] = deque(maxlen=LOSSES)
    while not ended(_LOOK_S):
        if not slot.lost:
            continue
        losses.append(now())
        if len(losses) == LOSSES and losses[-1] - losses[0] < WITHIN_S:
            raise EngineError(AGAIN_AND_AGAIN.format(losses=LOSSES, minutes=WITHIN_S / 60))
        say(LOST)
        slot.healthy()
        say(OPEN_AGAIN)
