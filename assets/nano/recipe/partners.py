"""Several one-thread processes that train one model: on a busy machine faster than one process with several threads.

Deals in gradients and clocks: every step each partner works on its own batch, then all take the mean gradient and the
first partner's clock, so that their weights stay equal.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import distributed, nn


def join(rank: int, size: int, meeting: str) -> None:
    """Meet the other partners at a file that all of them can see."""
    if size > 1:
        distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)


def meeting_place() -> str:
    """A fresh path for `join`."""
    return str(Path(tempfile.mkdtemp(prefix="nano-partners-")) / "meeting")


@torch.no_grad()
def agree(model: nn.Module, rank: int, size: int, fraction: float) -> float:
    """Average gradients and expert biases in place; returns the first partner's fraction of the run."""
    if size == 1:
        return fraction
    parameters = [p for p in model.parameters() if p.grad is not None]
    biases = [p for name, p in model.named_parameters() if name.endswith("e_score_correction_bias")]
    tensors = [*(p.grad for p in parameters), *biases]
    clock = torch.tensor([fraction * size if rank == 0 else 0.0])
    flat = torch.cat([*(t.flatten() for t in tensors), clock])
    distributed.all_reduce(flat)
    flat /= size
    for tensor, mean in zip(tensors, flat[:-1].split([t.numel() for t in tensors]), strict=True):
        tensor.copy_(mean.view_as(tensor))
    return float(flat[-1])
