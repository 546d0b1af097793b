"""Bytes that a scorer takes on its device, from its header alone: an upper bound that its graphs are held to."""

from laguna_engine.compress.scorer_file import EMBEDDINGS, ScorerFile
from laguna_engine.compress.scorer_windows import TAIL, slots

_F16, _F32 = 2, 4

_HEAD_ROWS = 64 + 16
"""Rows of logits of both batches of the output matrix."""

_LOGITS = 3
"""Copies of the logits at once, at most: clamped, as probabilities, and as they are."""

_HIDDEN, _QUERIES, _KEYS, _INNER, _TAILS = 5, 3, 4, 3, 3
"""Intermediate results of one layer at once, at most: of each width."""


def scorer_room(file: ScorerFile, window: int) -> int:
    """Return the most bytes of weights, hidden states and graphs on the device for windows of up to `window` tokens."""
    head = _HEAD_ROWS * _F32 * (_LOGITS * file.n_vocab + 2 * file.n_embd)
    hidden = _F32 * file.n_embd * window
    return weights_size(file) + hidden + head + graphs_room(file, window)


def weights_size(file: ScorerFile) -> int:
    """Return the bytes of weights on the device: the embeddings stay in RAM unless they are the output matrix too."""
    return sum(info.size for info in file.file.tensors if info.name != EMBEDDINGS or info.name == file.head)


def graphs_room(file: ScorerFile, window: int) -> int:
    """Return the most bytes that the graphs of all window sizes share: those of the largest one."""
    return graph_size(file, window)


def graph_size(file: ScorerFile, rows: int) -> int:
    """Return the most bytes of the graph for windows of `rows` rows."""
    queries, keys = file.heads * file.head_size, file.kv_heads * file.head_size
    tails = slots(rows) * TAIL
    inputs = rows * (_F32 * file.n_embd + _F16 * rows + _F32 * tails + 3 * _F32)
    of_row = _HIDDEN * file.n_embd + _QUERIES * queries + _KEYS * keys + _INNER * file.n_ff
    attention = _F32 * tails * (_TAILS * rows * file.heads + _QUERIES * queries)
    return inputs + _F32 * rows * of_row + attention + _F32 * file.n_layer * tails * file.heads
