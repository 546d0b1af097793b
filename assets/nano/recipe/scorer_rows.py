"""Windows of token ids as the engine lays them out: every text once, and behind it the questions that are asked of it.

Deals in token ids, masks and weights. A block is a newline, a text, a newline and copies of questions; its text sees
itself, a copy sees the text and itself. One text serves many questions; scores depend on text and question alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from scorer_data import Asker, Pile
from scorer_model import HIDDEN, TAIL
from tokenizer import PAD_ID
from tokenizers import Tokenizer
from torch import Tensor

TEXT_TOKENS, QUESTION_TOKENS, ANSWER_TOKENS = 400, 64, 24
WINDOW = 640  # tokens of a row
WRONG = 4  # texts without the answer that each question is asked of
ANSWER, CODE, QUESTION = 3.0, 0.35, 1.0
"""Loss weights of a token of an answer, of a text, of a question."""
CODE_SHARE = 0.3  # of the texts' tokens, predicted
NO_TEXT = 0.15  # of questions, asked of no text as well
GAP_SHARE, GAP = 0.25, 3400  # of texts stand far from their questions, and how far: short rows stand for long ones
BASE_TEXTS = (2, 3, 4, 6, 8)
QUESTIONS = 6  # of a pile
NO_ONE = -1


@dataclass(frozen=True, slots=True)
class Copy:
    """A question behind a text: where its tokens are, without the answer's. `question` tells questions apart.

    text: which text of the batch it sees, NO_ONE for none. right: whether its answer stands there.
    """

    row: int
    start: int
    stop: int
    question: int
    text: int
    right: bool


@dataclass(slots=True)
class Row:
    """A window as it grows. blocks, copies, texts: whose each token is; weights[i]: of predicting token i + 1."""

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def extend(self, ids: list[int], position: int, owner: tuple[int, int, int], weights: list[float]) -> None:
        """Append tokens that follow each other from a position on; owner: block, copy and text."""
        self.ids += ids
        self.positions += range(position, position + len(ids))
        for owners, one in zip((self.blocks, self.copies, self.texts), owner, strict=True):
            owners.extend([one] * len(ids))
        self.weights += weights


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in tokens, for one text: its answer is () where it does not stand there."""

    ids: tuple[int, ...]
    answer: tuple[int, ...]
    question: int
    right: bool
    learned: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows side by side: ids, positions, weights, texts [B, T], bias [B, 1, T, T]."""

    ids: Tensor
    positions: Tensor
    bias: Tensor
    weights: Tensor
    texts: Tensor
    copies: list[Copy]


class Layout:
    """Lays piles out in rows."""

    def __init__(self, tokenizer: Tokenizer, seed: int) -> None:
        self.tokenizer, self.rng = tokenizer, random.Random(seed)
        self.known: dict[str, list[int]] = {}
        self.newline = self.encode("\n")[0]

    def encode(self, text: str) -> list[int]:
        """Ids of a text; most texts come again."""
        if text not in self.known:
            self.known[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.known[text]

    def batch(self, piles: list[Pile]) -> Batch:
        """All texts of the piles with questions behind them, and questions behind nothing."""
        rows, copies, texts, questions = [Row()], [], 0, 0
        for pile in piles:
            asked = self.asked(pile, questions)
            for index, text in enumerate(pile.texts):
                self.block(rows, copies, self.encode(text)[:TEXT_TOKENS], texts, asked[index])
                texts += 1
            for one in asked[NO_ONE]:
                self.block(rows, copies, [], NO_ONE, [one])
            questions += len(pile.questions)
        return stack(rows, copies)

    def asked(self, pile: Pile, first: int) -> dict[int, list[Asked]]:
        """Which questions are asked of which text: the right one, and some others."""
        rng, everywhere = self.rng, range(len(pile.texts))
        found: dict[int, list[Asked]] = {index: [] for index in (*everywhere, NO_ONE)}
        for number, question in enumerate(pile.questions, start=first):
            ids = tuple(self.encode(question.text)[-QUESTION_TOKENS:])
            answer = tuple(self.encode(question.glue + question.answer)[:ANSWER_TOKENS]) if question.answer else ()
            others = [index for index in everywhere if index != question.gold]
            for index in rng.sample(others, min(WRONG, len(others))):
                found[index].append(Asked(ids, (), number, False, False))
            if question.gold >= 0:
                found[question.gold].append(Asked(ids, answer, number, True, True))
            if rng.random() < NO_TEXT:
                found[NO_ONE].append(Asked(ids, (), number, False, True))
        return found

    def block(self, rows: list[Row], copies: list[Copy], text: list[int], number: int, asked: list[Asked]) -> None:
        """Append a block to the last row, or to a new one if it is full."""
        size = len(text) + 2 + sum(len(one.ids) + len(one.answer) for one in asked)
        if rows[-1].ids and len(rows[-1].ids) + size > WINDOW:
            rows.append(Row())
        row, rng = rows[-1], self.rng
        block = row.blocks[-1] + 1 if row.blocks else 0
        row.extend([self.newline], 0, (block, NO_ONE, NO_ONE), [0.0])
        if text:
            row.extend(text, 1, (block, NO_ONE, number), [CODE * (rng.random() < CODE_SHARE) for _ in text[1:]] + [0.0])
        place = 1 + len(text) + (rng.randrange(GAP) if rng.random() < GAP_SHARE else 0)
        for one in asked:
            # Each copy brings its own newline, as if it were alone behind the text.
            ids = [*([self.newline] if text else []), *one.ids, *one.answer]
            start = len(row.ids) + bool(text)
            weight = QUESTION * one.learned
            weights = [weight] * (len(ids) - len(one.answer) - 1) + [ANSWER] * len(one.answer) + [0.0]
            row.extend(ids, place if text else 1, (block, len(copies), NO_ONE), weights)
            copies.append(Copy(len(rows) - 1, start, start + len(one.ids), one.question, number, one.right))


def visible(row: Row, length: int) -> np.ndarray:
    """Which keys each token sees, boolean [length, length]; padding sees itself."""
    pad = length - len(row.ids)
    blocks = np.array([*row.blocks, *range(-1, -1 - pad, -1)])
    copies = np.array([*row.copies, *[NO_ONE] * pad])
    order = np.arange(length)
    same = (blocks[:, None] == blocks[None]) & (order[None] <= order[:, None])
    return same & ((copies[None] == NO_ONE) | (copies[:, None] == copies[None]))


def stack(rows: list[Row], copies: list[Copy]) -> Batch:
    """Pad every row to the longest."""
    length = max(len(row.ids) for row in rows)
    mask = np.stack([visible(row, length) for row in rows])

    def padded(name: str, fill: float) -> Tensor:
        return torch.tensor([getattr(row, name) + [fill] * (length - len(row.ids)) for row in rows])

    return Batch(
        padded("ids", PAD_ID),
        padded("positions", 0),
        torch.from_numpy(np.where(mask, np.float32(0), np.float32(HIDDEN)))[:, None],
        padded("weights", 0.0),
        padded("texts", NO_ONE),
        copies,
    )


def tails(copies: list[Copy]) -> Tensor:
    """Places [N, TAIL] of each question's last tokens; of a short question the first one stands several times."""
    return torch.tensor([[max(c.start, c.stop - TAIL + i) for i in range(TAIL)] for c in copies])


def stream(asker: Asker, layout: Layout, piles: int) -> Iterator[Batch]:
    """Endless batches of so many piles."""
    rng = asker.rng
    while True:
        yield layout.batch([asker.pile(rng.choice(BASE_TEXTS), QUESTIONS) for _ in range(piles)])
