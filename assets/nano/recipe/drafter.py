"""The drafter: a small copy of Laguna XS-2.1's (`DFlashLagunaForCausalLM`), which drafts a block of tokens in one pass.

Hidden states tapped from the target become keys and values at every committed position; the block is the newest
token followed by masks, each of which becomes a proposal. Embeddings and head are the target's own.
"""

from __future__ import annotations

import torch
from architecture import CONTEXT
from torch import Tensor, nn
from torch.nn import functional

WIDTH, VOCABULARY = 256, 4096
TAPS = (0, 1, 3, 4)  # layer OUTPUTS of the target; the last layer has none to add, and engines save work there
LAYERS, HEADS, KV_HEADS, HEAD, FFN = 3, 8, 4, 32, 320
BLOCK, WINDOW = 8, 512
RANK = 32  # of the Markov head (DSpark): how a proposal leans on the one before it
MASK_ID = 12
ROPE_BASE = 500000.0
EPSILON = 1e-6


def rms(x: Tensor, weight: Tensor) -> Tensor:
    """Root-mean-square norm over the last axis, in float32."""
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


def rotary() -> tuple[Tensor, Tensor]:
    """Cosines and sines [CONTEXT, HEAD / 2] of plain full rotary embedding."""
    angles = torch.outer(torch.arange(CONTEXT).float(), ROPE_BASE ** (-torch.arange(0, HEAD, 2).float() / HEAD))
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate [..., T, heads, HEAD] by position tables [..., T, HEAD / 2], halves apart (NeoX)."""
    first, second = x.float().chunk(2, -1)
    cosines, sines = cosines[..., None, :], sines[..., None, :]
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], -1)


def attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Grouped attention [B, N, HEADS, HEAD] in bfloat16; mask [B, N, K] is added.

    Args: queries [B, N, HEADS, HEAD]; keys, values [B, K, KV_HEADS, HEAD]. In this shape twice as fast as torch's own.
    """
    group = HEADS // KV_HEADS
    q, k, v = (t.transpose(1, 2).bfloat16() for t in (queries * HEAD**-0.5, keys, values))
    scores = q.unflatten(1, (KV_HEADS, group)).flatten(2, 3) @ k.mT
    shares = (scores.unflatten(2, (group, -1)) + mask[:, None, None]).softmax(-1)
    return (shares.flatten(2, 3) @ v).unflatten(2, (group, -1)).flatten(1, 2).transpose(1, 2)


class Layer(nn.Module):
    """One layer: sliding attention over context and block, a softplus gate per head, and a SwiGLU."""

    def __init__(self, ffn: int) -> None:
        super().__init__()
        self.attn_norm, self.ffn_norm = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))
        self.q_norm, self.k_norm = nn.Parameter(torch.ones(HEAD)), nn.Parameter(torch.ones(HEAD))
        self.q = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.k = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.v = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.o = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.g_proj = nn.Linear(WIDTH, HEADS, bias=False)
        self.ffn_gate, self.ffn_up = (nn.Linear(WIDTH, ffn, bias=False) for _ in range(2))
        self.ffn_down = nn.Linear(ffn, WIDTH, bias=False)

    def keys_values(self, x: Tensor, cosines: Tensor, sines: Tensor) -> tuple[Tensor, Tensor]:
        """Rotated keys, and values, [B, T, KV_HEADS, HEAD] of normed rows."""
        keys = rms(self.k(x).unflatten(-1, (KV_HEADS, HEAD)), self.k_norm)
        return rotate(keys, cosines, sines), self.v(x).unflatten(-1, (KV_HEADS, HEAD))

    def forward(self, x: Tensor, context: Tensor, place: Tensor, tables: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """Block rows [B, N, WIDTH] at `place` [B, N] after context rows [B, C, WIDTH]; mask [B, N, C + N] is added."""
        cosines, sines = tables
        normed, normed_context = rms(x, self.attn_norm), rms(context, self.attn_norm)
        queries = rms(self.q(normed).unflatten(-1, (HEADS, HEAD)), self.q_norm)
        queries = rotate(queries, cosines[place], sines[place])
        own_keys, own_values = self.keys_values(normed, cosines[place], sines[place])
        length = context.shape[1]
        keys, values = self.keys_values(normed_context, cosines[:length], sines[:length])
        keys, values = torch.cat([keys, own_keys], 1), torch.cat([values, own_values], 1)
        out = attend(queries, keys, values, mask)
        gate = functional.softplus(self.g_proj(normed).float())
        x = x + self.o((out * gate[..., None]).flatten(2)).float()
        normed = rms(x, self.ffn_norm)
        return x + self.ffn_down(functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed)).float()


class Drafter(nn.Module):
    """All of it but the target's table, which is passed in and never trained."""

    def __init__(
        self, table: Tensor, output_norm: Tensor, layers: int = LAYERS, ffn: int = FFN, rank: int = RANK
    ) -> None:
        """A drafter without its starting weights.

        Args:
            table: the target's tied embeddings [VOCABULARY, WIDTH].
            output_norm: its final norm, to start from.
            layers, ffn: how many, and the width inside.
            rank: of the Markov head; 0 for none.
        """
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        for name, part in zip(("cosines", "sines"), rotary(), strict=True):
            self.register_buffer(name, part, persistent=False)
        self.aux_norm = nn.Parameter(torch.ones(len(TAPS), WIDTH))
        self.fc = nn.Linear(len(TAPS) * WIDTH, WIDTH, bias=False)
        self.enc_norm = nn.Parameter(torch.ones(WIDTH))
        self.layers = nn.ModuleList(Layer(ffn) for _ in range(layers))
        self.output_norm = nn.Parameter(output_norm.clone())
        self.rank = rank
        if rank:
            self.markov_in = nn.Embedding(VOCABULARY, rank)
            self.markov_out = nn.Linear(rank, VOCABULARY, bias=False)
            self.confidence = nn.Linear(WIDTH + rank, 1)

    def encode(self, taps: Tensor) -> Tensor:
        """Context rows [B, C, WIDTH] of tapped hidden states [B, C, len(TAPS), WIDTH]."""
        return rms(self.fc(rms(taps, self.aux_norm).flatten(2)), self.enc_norm)

    def hidden(self, taps: Tensor, first: Tensor, anchors: Tensor, tokens: Tensor) -> Tensor:
        """Normed last states [B, A, BLOCK - 1, WIDTH] of the masks after each anchor.

        Args:
            taps: tapped hidden states [B, C, len(TAPS), WIDTH] of a stretch of the sequence.
            first: [B], the first position of the stretch that exists; the ones before it are padding.
            anchors: [B, A], where in the stretch each anchor stands. tokens: [B, A], what it is.
        """
        rows, number = anchors.shape
        ids = torch.full((rows, number, BLOCK), MASK_ID, device=tokens.device)
        ids[..., 0] = tokens
        place = (anchors[..., None] + torch.arange(BLOCK, device=anchors.device)).flatten(1)
        mask = self.mask(taps.shape[1], first, anchors, place)
        x, context = functional.embedding(ids.flatten(1), self.table), self.encode(taps)
        for layer in self.layers:
            x = layer(x, context, place, (self.cosines, self.sines), mask)
        return rms(x.unflatten(1, (number, BLOCK))[:, :, 1:], self.output_norm)

    def logits(self, hidden: Tensor) -> Tensor:
        """What each state says by itself."""
        return functional.linear(hidden, self.table)

    def judged(self, hidden: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [..., VOCABULARY] and confidence [...], as a logit, of states that follow the tokens `before`."""
        memory = self.markov_in(before)
        confidence = self.confidence(torch.cat([hidden, memory], -1))
        return self.logits(hidden) + self.markov_out(memory), confidence[..., 0]

    def propose(self, taps: Tensor, first: Tensor, anchors: Tensor, tokens: Tensor) -> Tensor:
        """The proposals [B, A, BLOCK - 1] themselves; with a Markov head one after the other."""
        hidden = self.hidden(taps, first, anchors, tokens)
        if not self.rank:
            return self.logits(hidden).argmax(-1)
        chosen = [tokens]
        for state in hidden.unbind(2):
            chosen.append(self.judged(state, chosen[-1])[0].argmax(-1))
        return torch.stack(chosen[1:], 2)

    @staticmethod
    def mask(length: int, first: Tensor, anchors: Tensor, place: Tensor) -> Tensor:
        """What each block row may see: the window before its anchor, and its block up to itself.

        Returns [B, N, C + N] in bfloat16: 0 where it sees, a very negative number elsewhere.
        """
        column = torch.arange(length, device=anchors.device)
        anchor = anchors.repeat_interleave(BLOCK, 1)[..., None]
        context = (column < anchor) & (place[..., None] - column < WINDOW) & (column >= first[:, None, None])
        row = torch.arange(place.shape[1], device=anchors.device)
        own = (row[:, None] // BLOCK == row // BLOCK) & (row <= row[:, None])
        seen = torch.cat([context, own.expand(len(anchors), -1, -1)], 2)
        return torch.where(seen, 0.0, -1e4).bfloat16()
