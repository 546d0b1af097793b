"""Batches that other processes make, so that a GPU does not wait for Python to write chats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

T = TypeVar("T")
AHEAD = 4  # batches that each process has ready
MOST = 12  # processes: one writes some ten thousand tokens a second


def enough(device: torch.device) -> int:
    """Processes that make batches beside a GPU; none beside a CPU, which they would take from training."""
    return 0 if device.type == "cpu" else max(1, min(MOST, (os.cpu_count() or 1) - 1))


class Endless(IterableDataset[T]):
    """Each process's own stream."""

    def __init__(self, make: Callable[[int], Iterator[T]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[T]:
        info = get_worker_info()
        return self.make(info.id if info else 0)


def batches(make: Callable[[int], Iterator[T]], number: int) -> Iterator[T]:
    """What `make` yields for each number from 0 on, in turn; made here if there are to be no other processes."""
    if not number:
        return make(0)
    return iter(
        DataLoader(
            Endless(make), batch_size=None, num_workers=number, prefetch_factor=AHEAD, multiprocessing_context="fork"
        )
    )
