"""From hidden states to proposals: the output matrix, the Markov chain, the confidence head, the best candidates.

With a Markov head (DSpark) a token's logits get a bias from the token drafted before it, so the rows are chained inside
the graph, each taking the most likely token (`build_dspark_markov_head` in llama.cpp's `src/models/dflash.cpp`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laguna_engine.draft.dflash_weights import MARKOV, TOKEN_MAP, LayerBuilder
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import Tensor

HEAD_NODES, HEAD_NODES_A_ROW = 128, 24


@dataclass(frozen=True, slots=True)
class Proposals:
    """One entry a drafted token, in the drafter's own token ids.

    Attributes:
        tokens: the most likely.
        confidence: the chance that each is accepted if those before it are.
        best, logits: the candidates in no order, [tokens, top_k].
    """

    tokens: NDArray[np.int32]
    confidence: NDArray[np.float32] | None
    best: NDArray[np.int32] | None
    logits: NDArray[np.float32] | None


def build_heads(builder: LayerBuilder, hidden: Tensor, newest: Tensor, top_k: int) -> Proposals:
    """Add the outputs for block rows `hidden` [n_embd, rows]; newest: the anchor's token, I32 [1].

    Returns arrays for the outputs, each under the name of its field.
    """
    graph, drafter = builder.graph, builder.drafter
    first = 0 if drafter.from_anchor else 1
    count = builder.n - first
    hidden = graph.view(hidden, (drafter.n_embd, count), offset=first * hidden.strides[1])
    logits, confidence = _logits(builder, hidden), None
    if MARKOV in builder.weights:
        logits, confidence = _chained(builder, logits, hidden, newest)
    graph.output("tokens", graph.argmax(logits))
    if confidence is not None:
        graph.output("confidence", confidence)
    top_k = min(top_k, logits.shape[0])
    if top_k:
        best = graph.top_k(logits, top_k)
        single = graph.reshape(logits, 1, logits.shape[0], count)
        graph.output("best", graph.cont(best))
        graph.output("logits", graph.get_rows(single, best))
    return Proposals(
        tokens=np.zeros(count, np.int32),
        confidence=np.zeros(count, np.float32) if confidence is not None else None,
        best=np.zeros((count, top_k), np.int32) if top_k else None,
        logits=np.zeros((count, top_k), np.float32) if top_k else None,
    )


def _logits(builder: LayerBuilder, hidden: Tensor) -> Tensor:
    name = builder.drafter.own_head
    return builder.graph.mul_mat(builder.weights.head, hidden) if name is None else builder.product(name, hidden)


def _chained(builder: LayerBuilder, logits: Tensor, hidden: Tensor, newest: Tensor) -> tuple[Tensor, Tensor | None]:
    """Add to each row's logits the bias from the token before it; also return the confidences [1, tokens]."""
    graph, weights = builder.graph, builder.weights
    before, rows, chances = newest, [], []
    for row in range(logits.shape[1]):
        embedded = graph.get_rows(weights[MARKOV], before)
        plain = graph.view(logits, (logits.shape[0], 1), offset=row * logits.strides[1])
        rows.append(graph.add(plain, builder.product("markov_w2.weight", embedded)))
        if "conf_proj.weight" in weights:
            state = graph.view(hidden, (hidden.shape[0], 1), offset=row * hidden.strides[1])
            chances.append(_confidence(builder, state, embedded))
        before = graph.argmax(rows[-1])
        if TOKEN_MAP in weights:
            before = graph.reshape(graph.get_rows(weights[TOKEN_MAP], before), 1)
    return _side_by_side(graph, rows), _side_by_side(graph, chances) if chances else None


def _confidence(builder: LayerBuilder, state: Tensor, embedded: Tensor) -> Tensor:
    graph, matrix = builder.graph, builder.weights["conf_proj.weight"]
    seen = state if matrix.shape[0] == state.shape[0] else graph.concat(graph.cont(state), embedded, 0)
    score = graph.mul_mat(matrix, seen)
    if "conf_proj.bias" in builder.weights:
        score = graph.add(score, builder.weights["conf_proj.bias"])
    return graph.sigmoid(score)


def _side_by_side(graph: Graph, columns: list[Tensor]) -> Tensor:
    """Join [width, 1] each -> [width, columns], in pairs, so that every number is copied only a few times."""
    while len(columns) > 1:
        pairs = [graph.concat(a, b, 1) for a, b in zip(columns[::2], columns[1::2], strict=False)]
        columns = pairs + columns[len(pairs) * 2 :]
    return columns[0]
