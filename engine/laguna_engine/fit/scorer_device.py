"""Where a scorer runs: on a GPU beside the model, on it in turns with the drafter, or on the CPU.

The model never gives anything up for a scorer: it takes what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.compress import scorer_file
from laguna_engine.compress.scorer import WINDOW
from laguna_engine.compress.scorer_memory import scorer_room
from laguna_engine.fit.devices import DeviceFacts, read_machine
from laguna_engine.fit.plan_search import reserve
from laguna_engine.ggml.device import Device
from laguna_engine.gguf import header

RUNTIME = 64 << 20
"""Bytes that a driver takes for one more backend on a GPU that is in use."""


@dataclass(frozen=True, slots=True)
class ScorerDevice:
    """Where a scorer runs.

    Attributes:
        name: ggml's name of the GPU; empty for the CPU.
        turns: whether the drafter has to leave the device meanwhile.
    """

    name: str = ""
    turns: bool = False


def scorer_bytes(path: Path) -> int:
    """Return the bytes that a scorer file takes on a GPU, at most; ModelFileError if it is not a scorer."""
    file = scorer_file.describe(header.check(path))
    return scorer_room(file, min(WINDOW, file.n_ctx)) + RUNTIME


def scorer_device(need: int, left: Sequence[tuple[DeviceFacts, int]], drafter: int = 0) -> ScorerDevice:
    """Choose the device of a scorer.

    Args:
        need: its bytes.
        left: the GPUs that the model is on, each with the bytes that it leaves unused, reserves not included.
        drafter: bytes of the drafter, which is on the last of them.
    """
    room = max(left, key=lambda entry: entry[1], default=None)
    if room is not None and need <= room[1]:
        return ScorerDevice(room[0].name)
    if drafter and left and need <= left[-1][1] + drafter:
        return ScorerDevice(left[-1][0].name, turns=True)
    return ScorerDevice()


def scorer_device_now(need: int, drafter: int) -> ScorerDevice:
    """Choose the device of a scorer by the memory that is free now; arguments as for `scorer_device`."""
    return scorer_device(need, [(gpu, gpu.free - reserve(gpu)) for gpu in read_machine().gpus], drafter)


def open_device(name: str) -> Device | None:
    """Return the device of this name; None for the CPU, and if it is gone."""
    return next((device for device in Device.gpus() if device.name == name), None)
