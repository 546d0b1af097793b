"""Muon for the hidden matrices, AdamW for everything else (Jordan et al. 2024, "Muon")."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
STEPS = 5
NOT_MATRICES = ("embed_tokens", "gate.weight", "g_proj")  # table, router and head gates: AdamW
ADAM_BETAS = (0.9, 0.98)


def orthogonalise(update: Tensor) -> Tensor:
    """The nearest (semi-)orthogonal matrices to a stack [N, rows, columns], by Newton–Schulz in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    flipped = update.shape[1] > update.shape[2]
    x = (update.mT if flipped else update).bfloat16()
    x = x / (x.float().norm(dim=(-2, -1), keepdim=True).to(x.dtype) + 1e-7)
    for _ in range(STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return (x.mT if flipped else x).float()


class Optimizer:
    """Both optimizers under one `step(fraction)`, where fraction scales both learning rates."""

    def __init__(
        self, model: nn.Module, muon_rate: float, adam_rate: float, not_matrices: tuple[str, ...] = NOT_MATRICES
    ) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        matrix = [p.ndim >= 2 and not any(part in name for part in not_matrices) for name, p in named]
        self.matrices = [p for (_, p), yes in zip(named, matrix, strict=True) if yes]
        rest = [p for (_, p), yes in zip(named, matrix, strict=True) if not yes]
        self.momenta = [torch.zeros_like(p) for p in self.matrices]
        self.muon_rate, self.adam_rate = muon_rate, adam_rate
        self.adam = torch.optim.AdamW(rest, lr=adam_rate, betas=ADAM_BETAS, weight_decay=0.0, fused=True)

    @torch.no_grad()
    def step(self, fraction: float) -> None:
        """One update of every parameter, then its gradient is dropped."""
        self.adam.param_groups[0]["lr"] = self.adam_rate * fraction
        self.adam.step()
        self.adam.zero_grad()
        groups: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
        for p, momentum in zip(self.matrices, self.momenta, strict=True):
            if p.grad is None:
                continue
            momentum.lerp_(p.grad, 1 - MOMENTUM)
            update, p.grad = p.grad.lerp(momentum, MOMENTUM), None
            stack = (p.data, update) if p.ndim == 3 else (p.data[None], update[None])
            for target, one in zip(*stack, strict=True):
                groups.setdefault(one.shape, []).append((target, one))
        for shape, members in groups.items():
            rate = self.muon_rate * fraction * max(1.0, shape[0] / shape[1]) ** 0.5
            for (target, _), change in zip(members, orthogonalise(torch.stack([u for _, u in members])), strict=True):
                target.add_(change, alpha=-rate)
