"""The whole picture: for every context and cache, whether a model fits, how, and what is left."""

from dataclasses import dataclass, replace

from laguna_engine.fit.candidates import Candidate, Question, budgets, candidates, lacking
from laguna_engine.fit.memory import HOST
from laguna_engine.fit.plan import best
from laguna_engine.fit.wishes import KV_TYPES
from laguna_engine.llama.options import KvType

CONTEXTS = (8192, 16_384, 32_768, 65_536, 131_072, 262_144)


@dataclass(frozen=True, slots=True)
class Cell:
    """One context with one cache. found: the best way, None if it does not fit. left: bytes that stay free on the
    device that is fullest; negative is what it lacks most."""

    context: int
    kv: KvType
    found: Candidate | None
    left: int


def survey(question: Question, contexts: tuple[int, ...] = CONTEXTS) -> list[list[Cell]]:
    """A row for every context that the model can use, a cell for every cache."""
    limit = question.shape.n_ctx
    rows = sorted({min(context, limit) for context in contexts})
    return [[_cell(question, context, kv) for kv in KV_TYPES] for context in rows]


def _cell(question: Question, context: int, kv: KvType) -> Cell:
    asked = replace(question, wishes=replace(question.wishes, context=context, kv=kv))
    found = best(asked, candidates(asked))
    if found is None:
        load = replace(asked.load(context, drafter=False), kv=kv)
        return Cell(context, kv, None, -max(lacking(asked.memory(load, False), asked.machine).values(), default=0))
    room = budgets(question.machine)
    gpus = {device.name: device.total for device in found.memory.gpus}
    used = gpus or {HOST: found.memory.host.total}
    return Cell(context, kv, found, min(room[name] - size for name, size in used.items()))
