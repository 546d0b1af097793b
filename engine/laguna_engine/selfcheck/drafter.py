"""How far a drafter's graphs on a device are from the same forward pass in float64."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.draft.dflash import CANDIDATES, DFlash
from laguna_engine.draft.dflash_weights import read_token_map
from laguna_engine.ggml.device import ComputeBackend, Device
from laguna_engine.ggml.tensor import DeviceTensors, Type
from laguna_engine.ggml.weights import HostEmbedding, Weights
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf import header
from laguna_engine.gguf.drafter_header import DrafterHeader, TargetFacts
from laguna_engine.gguf.header import Header
from laguna_engine.selfcheck.reference import ExpectedDraft, Float64Weights, expected_draft

_HEAD, _EMBEDDING = "output.weight", "token_embd.weight"

LENGTHS = (40, 41, 120)
"""Positions after which drafts are compared: a prompt, a round of one token, a longer step."""

_LARGEST_FEATURE, _LARGEST_NORMED = 9.0, 900.0
"""How much larger the last tap's hidden states are than the first one's; real models' grow by layer."""


@dataclass(frozen=True, slots=True)
class DrafterAgreement:
    """Drafts of one device beside those in float64.

    Attributes:
        error: squared error of the most likely tokens' logits over their squared size, the largest of all rows.
        same: drafted tokens that are equal.
        drafted: drafted tokens compared.
        held: bytes of the drafter on the device.
    """

    error: float
    same: int
    drafted: int
    held: int


def compare_drafter(drafter_path: Path, target_path: Path, device: Device, threads: int = 1) -> DrafterAgreement:
    """Run a drafter on hidden states made up here, on `device` and in float64.

    Raises:
        EngineError: the files cannot be used, or the device cannot run the drafter.
    """
    drafter, target = drafter_files.read(drafter_path), header.check(target_path)
    facts = TargetFacts.of(target)
    weights = Float64Weights(drafter.file, _shared(drafter, target))
    targets = read_token_map(drafter, facts.n_vocab)
    features = made_up_features(drafter, LENGTHS[-1])
    error, same, drafted, before = 0.0, 0, 0, 0
    with _opened(drafter, target, device, threads) as (dflash, store):
        for length in LENGTHS:
            store["features"].write(features[before:length], before * features[0].nbytes)
            dflash.inject(before, length)
            before, last = length, length % facts.n_vocab
            right = expected_draft(drafter, weights, targets, features[:length].astype(float), last, drafter.block)
            dflash.follow(last, length)
            tokens = dflash.draft(drafter.longest).tokens
            # With a Markov head, what follows the first different token continues another text.
            pairs = enumerate(zip(tokens, right.tokens, strict=True))
            rows = next((row for row, (one, other) in pairs if one != other), len(tokens))
            error = max(error, _error(*dflash.ranked(drafter.longest, CANDIDATES), right, rows))
            same, drafted = same + min(rows, len(tokens)), drafted + len(tokens)
        return DrafterAgreement(error, same, drafted, dflash.nbytes + dflash.graphs_nbytes)


def made_up_features(drafter: DrafterHeader, count: int, seed: int = 3) -> NDArray[np.float32]:
    """Return hidden states whose sizes differ by layer like a real model's, [count, taps * n_embd]."""
    random = np.random.default_rng(seed)
    largest = _LARGEST_NORMED if drafter.has("enc.aux_norm.0.weight") else _LARGEST_FEATURE
    sizes = np.repeat(np.geomspace(1, largest, len(drafter.taps)), drafter.n_embd)
    return (random.standard_normal((count, len(sizes))) * sizes).astype(np.float32)


@contextmanager
def _opened(
    drafter: DrafterHeader, target: Header, device: Device, threads: int
) -> Iterator[tuple[DFlash, DeviceTensors]]:
    """Open the drafter with what it shares with its target, and room for hidden states of all `LENGTHS`."""
    with ExitStack() as opened:
        backend = opened.enter_context(closing(ComputeBackend(device, threads)))
        rows = {"features": (Type.F32, (drafter.n_embd * len(drafter.taps), LENGTHS[-1]))}
        store = opened.enter_context(closing(DeviceTensors(backend, rows)))
        head = None
        if drafter.own_head is None:
            name = _head_of(target)
            head = opened.enter_context(closing(Weights(target, [name], backend)))[name]
        embedding = HostEmbedding(target, _EMBEDDING)
        dflash = DFlash.open(drafter, TargetFacts.of(target), store["features"], head, embedding, backend)
        yield opened.enter_context(closing(dflash)), store


def _shared(drafter: DrafterHeader, target: Header) -> Header:
    """Return the target's header with what the drafter takes from it."""
    wanted = {_EMBEDDING} | ({_head_of(target)} if drafter.own_head is None else set())
    return replace(target, tensors=tuple(info for info in target.tensors if info.name in wanted))


def _head_of(target: Header) -> str:
    return _HEAD if any(info.name == _HEAD for info in target.tensors) else _EMBEDDING


def _error(ids: NDArray[np.int32], logits: NDArray[np.float32], right: ExpectedDraft, rows: int) -> float:
    """Return the largest error of the rows up to the first one that differs, itself included."""
    wanted = np.take_along_axis(right.logits, ids.astype(np.int64), axis=1)[: rows + 1]
    found = logits[: rows + 1].astype(np.float64)
    return float((((found - wanted) ** 2).sum(axis=1) / (wanted**2).sum(axis=1)).max())
