"""The starting weights: plain random matrices with a copy circuit already in place ("mimetic" initialisation).

Answers of this model repeat lists that a tool has printed, whose lines look alike: same folders, same digits. So the
circuit does not only look for the place where the newest tokens stood before (which would jump from line to line), but
for the place where they stood *in the line with the same number*:

1. heads of layer 1 bring to every token the one to four tokens before it,
2. a head of layer 2 looks for the start of the line and brings the line's first token, its number,
3. a head of layer 3 brings the same for the token before,
4. heads of layer 4 look for the place where this token stood in such a line, where the newest four, two, one tokens
   stood, all the nearer the better, and say what followed there.

Each writes into a part of the residual stream that is its own. Without a placed circuit, copying an identifier never
appears at the budgets of a CPU (0 % exact against 72 % after 0.7 M tokens).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from architecture import FULL_HEADS, HEAD, KEY_HEADS, LAYER_TYPES, SLIDING_HEADS, build
from torch import Tensor, nn
from transformers import LagunaForCausalLM

EMBEDDING_STD = 0.5
CONSTANT = 3.0  # the size, in EMBEDDING_STD, of the one coordinate that all embeddings share
MUTED = 0.25  # what embeddings have, of their usual size, in the parts that heads write into
RESIDUAL_SCALE = 0.25  # how small the random part's writes start, so that the placed circuit is heard
QK_GAIN, OFFSET_GAIN, LINE_GAIN, COPY_QK_GAIN = (
    1.5,
    2.6,
    6.0,
    2.6,
)  # QK-norm weights: random heads, and the sharper placed ones
WRITE_GAIN = 2.0  # strength of what heads write about earlier tokens, about WRITTEN times a token's own embedding
WRITTEN = 3.6
TAGGED = 3.0  # of the copying head by line: how much the line counts
COPY_GAINS = (20.0, 20.0, 10.0, 3.0)  # of the copying heads' writes: by line, by four tokens, by two, by one
RECENCY = 0.3  # of the copying heads: how much the nearer of two equal places counts
BEFORE_LAYER, LINE_LAYER, SHIFT_LAYER, COPY_LAYER = 1, 2, 3, 4
SLIDING_BASE = 10000.0
FAST_PAIRS = ((0, 1.0), (1, 1.0), (2, 0.7))  # fast rotary pairs and their weight: enough to single out one offset
LINE_PAIRS = (5, 6, 7, 8)  # that fall steadily over the length of a line, in sliding layers
START_SLOT, CONSTANT_SLOT = 15, 14  # of a head in a sliding layer: pairs that hardly turn
NEAR_PAIR = 3  # of full layers: falls over the length of a turn
STILL = [*range(4, 8), *range(12, HEAD)]  # of a head in a full layer: what turns slowly or not at all
assert [LAYER_TYPES[i][0] for i in (BEFORE_LAYER, LINE_LAYER, SHIFT_LAYER, COPY_LAYER)] == ["s", "s", "s", "f"]
assert SLIDING_HEADS == 2 * KEY_HEADS
assert FULL_HEADS == KEY_HEADS == len(COPY_GAINS)


@dataclass(frozen=True, slots=True)
class Parts:
    """Orthonormal rows [n, D] of the residual stream: who a token is, and what heads write about those around it."""

    values: tuple[Tensor, ...]
    before: tuple[Tensor, ...]
    tag: Tensor
    tag_before: Tensor

    @property
    def content(self) -> Tensor:
        """What tells tokens apart, [HEAD, D]."""
        return self.values[0]


def parts(hidden: int) -> Parts:
    """A random division of all coordinates but the shared one."""
    basis = torch.linalg.qr(torch.randn(hidden - 1, hidden - 1))[0]
    rows = iter(torch.cat([torch.zeros(hidden - 1, 1), basis], 1).split(HEAD // 2))

    def take(halves: int) -> Tensor:
        return torch.cat([next(rows) for _ in range(halves)])

    values = tuple(take(2) for _ in range(KEY_HEADS))
    return Parts(values, (take(2), take(2), take(1), take(1)), take(1), take(1))


def scatter_random(model: LagunaForCausalLM, where: Parts) -> None:
    """Fan-in scaled matrices, small residual writes, and norms that make the tied head's first logits small."""
    hidden = model.config.hidden_size
    residual = RESIDUAL_SCALE * EMBEDDING_STD * (2 * len(LAYER_TYPES)) ** -0.5
    for name, weight in model.named_parameters():
        if weight.ndim < 2 or "embed_tokens" in name:
            continue
        scale = residual if name.endswith(("o_proj.weight", "down_proj.weight", "down_proj")) else 1.0
        weight.normal_(0, scale * weight.shape[-1] ** -0.5)
        if "g_proj" in name:
            weight.normal_(0, 0.02)
    for layer in model.model.layers:
        layer.self_attn.q_norm.weight.fill_(QK_GAIN)
        layer.self_attn.k_norm.weight.fill_(QK_GAIN)
    table = model.model.embed_tokens.weight.normal_(0, EMBEDDING_STD)
    written = torch.cat([*where.before, where.tag, where.tag_before])
    table -= (1 - MUTED) * (table @ written.T) @ written
    table[:, 0] = CONSTANT * EMBEDDING_STD
    model.model.norm.weight.fill_(hidden**-0.5 / EMBEDDING_STD)


def offset_vector(offset: int) -> Tensor:
    """A head vector [HEAD] whose rope phase leads by `offset` positions, so that q(t) matches k(t + offset)."""
    vector = torch.zeros(HEAD)
    for pair, weight in FAST_PAIRS:
        angle = SLIDING_BASE ** (-2 * pair / HEAD) * offset
        vector[pair], vector[pair + HEAD // 2] = weight * math.cos(angle), weight * math.sin(angle)
    return vector


def rows(projection: nn.Linear, head: int) -> Tensor:
    """The [HEAD, D] rows of one head in a q, k or v projection."""
    return projection.weight[head * HEAD : (head + 1) * HEAD]


def columns(projection: nn.Linear, head: int) -> Tensor:
    """The [D, HEAD] columns of one head in the output projection."""
    return projection.weight[:, head * HEAD : (head + 1) * HEAD]


def place_offset(attention: nn.Module, head: int, offset: int, seen: Tensor, written: Tensor) -> None:
    """A head of a sliding layer that brings `seen` [n, D] of the token `offset` before into `written` [n, D]."""
    kv = head // (SLIDING_HEADS // KEY_HEADS)
    rows(attention.q_proj, head).mul_(0.02)[:, 0] = offset_vector(-offset)
    rows(attention.k_proj, kv).mul_(0.02)[:, 0] = offset_vector(0)
    turning = [pair + half for pair, _ in FAST_PAIRS for half in (0, HEAD // 2)]
    attention.q_norm.weight[turning] = attention.k_norm.weight[turning] = OFFSET_GAIN
    rows(attention.v_proj, kv)[: len(seen)] = seen
    columns(attention.o_proj, head).zero_()[:, : len(written)] = WRITE_GAIN * written.T


def set_apart(table: Tensor, token: int, where: Parts) -> Tensor:
    """The direction [HEAD] of a token's content, which no other row of the table has from now on."""
    direction = where.content @ table[token]
    direction /= direction.norm()
    own, line = table[token].clone(), direction @ where.content
    table -= (table @ line)[:, None] * line
    table[token] = own
    return direction


def place_line_start(attention: nn.Module, newline: Tensor, where: Parts) -> None:
    """Head 0 attends to the nearest token that follows a line break, and writes that token as the line's tag.

    Args:
        newline: the direction [HEAD] of a line break's content.
    """
    query, key = rows(attention.q_proj, 0).mul_(0.02), rows(attention.k_proj, 0).mul_(0.02)
    near = [*LINE_PAIRS]
    query[near, 0], key[near, 0] = 0.8, 0.7
    query[START_SLOT, 0], query[CONSTANT_SLOT, 0], key[CONSTANT_SLOT, 0] = 1.8, -0.6, 0.5
    key[START_SLOT] = 2.0 / HEAD**0.5 * newline @ where.before[0]
    turning = [*near, *(pair + HEAD // 2 for pair in near), START_SLOT, CONSTANT_SLOT]
    attention.q_norm.weight[turning] = LINE_GAIN
    attention.k_norm.weight[turning] = LINE_GAIN
    half = len(where.tag)
    rows(attention.v_proj, 0)[:half] = where.content[:half]
    columns(attention.o_proj, 0).zero_()[:, :half] = WRITE_GAIN * where.tag.T


def place_copy(attention: nn.Module, where: Parts) -> None:
    """Heads that find an earlier place by what stood before it, and say what stood there."""
    own, (one, two, three, four) = WRITTEN * where.content, where.before
    by_line = ((own, one, 12), (TAGGED * where.tag, TAGGED * where.tag_before, 12))
    by_four = ((own, one, 7), (one, two, 7), (two, three, 5), (three, four, 5))
    by_two = ((own, one, 12), (one, two, 12))
    by_one = ((own, one, 24),)
    for head, (matched, gain) in enumerate(zip((by_line, by_four, by_two, by_one), COPY_GAINS, strict=True)):
        query, key = rows(attention.q_proj, head).zero_(), rows(attention.k_proj, head).zero_()
        slots = iter(STILL)
        for asked, found, number in matched:
            for row in range(number):
                slot = next(slots)
                query[slot], key[slot] = asked[row], found[row]
        query[NEAR_PAIR, 0] = key[NEAR_PAIR, 0] = RECENCY * len(STILL) ** 0.5
        rows(attention.v_proj, head).copy_(where.values[head])
        columns(attention.o_proj, head).copy_(gain * EMBEDDING_STD * where.values[head].T)
    attention.q_norm.weight.fill_(COPY_QK_GAIN)
    attention.k_norm.weight.fill_(COPY_QK_GAIN)


@torch.no_grad()
def initialise(seed: int, newline: int) -> LagunaForCausalLM:
    """A float32 model that already repeats lists, before any training; `newline` is the token of a line break."""
    model = build(seed)
    where = parts(model.config.hidden_size)
    scatter_random(model, where)
    attention = [layer.self_attn for layer in model.model.layers]
    for head, written in enumerate(where.before):
        seen = where.content[: len(written)] if head < 2 else where.content
        place_offset(attention[BEFORE_LAYER], head, head + 1, seen, written)
    place_line_start(attention[LINE_LAYER], set_apart(model.model.embed_tokens.weight, newline, where), where)
    place_offset(attention[SHIFT_LAYER], 0, 1, where.tag, where.tag_before)
    place_copy(attention[COPY_LAYER], where)
    return model
