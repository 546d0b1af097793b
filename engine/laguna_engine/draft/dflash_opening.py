"""How a DFlash drafter is opened: its file is checked first, its weights are loaded when the target is open.

A file that does not belong to the target is an error, because the user named it. A device that cannot run it, or
weights that give no numbers, cost the drafter only.
"""

from pathlib import Path

from laguna_engine.config import EngineOptions
from laguna_engine.draft.base import DrafterEntry, DrafterPlan, DraftTarget
from laguna_engine.draft.dflash import DFlash, DFlashDrafter
from laguna_engine.draft.dflash_graph import LAST_LAYER_OUTPUTS, SPARE_ROWS
from laguna_engine.draft.dflash_kv import FeatureBuffer
from laguna_engine.errors import GraphError
from laguna_engine.ggml.weights import HostEmbedding, Weights
from laguna_engine.gguf import drafter_header
from laguna_engine.gguf.drafter_header import DrafterHeader, TargetFacts
from laguna_engine.gguf.header import Header

_NO_NUMBERS = "its weights give no numbers; download it again"

_HEADS = ("output.weight", "token_embd.weight")
"""The target's output matrix; models that have none use their embeddings."""


def plan(options: EngineOptions, target: Header) -> DrafterPlan | None:
    """Read the drafter's file and check that it belongs to the target; ModelFileError if not, None without a file."""
    path = options.drafter
    if path is None:
        return None
    drafter = drafter_header.read(path)
    drafter_header.check_pair(drafter, TargetFacts.of(target))
    return DrafterPlan(
        lambda opened: _open(drafter, path, options, opened), drafter.taps, SPARE_ROWS, LAST_LAYER_OUTPUTS
    )


ENTRY = DrafterEntry(DFlash.source, plan)


def _open(drafter: DrafterHeader, path: Path, options: EngineOptions, target: DraftTarget) -> DFlashDrafter | None:
    assert target.features is not None, "it asked for the outputs of layers"
    head, copy = target.head, None
    try:
        if drafter.own_head is None and head is None:
            name = _head_of(target.header)
            copy = Weights(target.header, [name], target.backend)
            head = copy[name]
        model = DFlash.open(
            drafter,
            TargetFacts.of(target.header),
            target.features,
            head if drafter.own_head is None else None,
            HostEmbedding(target.header, "token_embd.weight"),
            target.backend,
            options.adapters,
            context=min(options.draft_context, target.sequence.capacity),
            repack=options.repack,
        )
    except BaseException as error:
        if copy is not None:
            copy.close()
        if not isinstance(error, GraphError):
            raise
        target.warn(f"the drafter {path.name} is not used: {error}")
        return None
    buffer = FeatureBuffer(model, target.sequence, target.features.shape[1], target.outputs)
    made = DFlashDrafter(model, buffer, copy)
    if not model.gives_numbers():
        target.warn(f"the drafter {path.name} is not used: {_NO_NUMBERS}")
        made.close()
        return None
    for name, file in options.adapters:
        if not model.gives_numbers(name):
            target.warn(f"the adapter {file.name} is not used: {_NO_NUMBERS}")
            model.leave_out(name)
    return made


def _head_of(target: Header) -> str:
    """The name of its output matrix."""
    names = {info.name for info in target.tensors}
    return next(name for name in _HEADS if name in names)
