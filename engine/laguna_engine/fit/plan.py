"""The plan: how to open a model on a machine, with reasons, what was given up, and what the next step up would take.

A plan is made before anything is opened, from headers and free memory alone. The fit table shows for every context and
KV cache type whether a model fits, how, and how much memory is left.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from laguna_engine.config import KvType
from laguna_engine.errors import EngineError
from laguna_engine.fit import explanation
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.explanation import Reason, threads_for
from laguna_engine.fit.memory import ALL, HOST, DrafterShape
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan_search import (
    KV_TYPES,
    PlanCandidate,
    PlanConstraints,
    SearchSpace,
    budgets,
    candidates,
    shortfall,
)
from laguna_engine.fit.scorer_device import scorer_device
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.header import Header


class DoesNotFit(EngineError):
    """The model, or a constraint, needs more memory than there is; the message has the numbers and what would fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(PlanCandidate):
    """How to open a model on a machine: the chosen candidate, explained. `memory` includes the scorer.

    Attributes:
        threads: CPU threads.
        reasons: one for each choice.
        given_up: what a larger machine would allow, as sentences.
        next_step: memory that the nearest improvement needs; empty if more memory would change nothing.
        space: the search space the plan was chosen from.
    """

    threads: int
    reasons: tuple[Reason, ...]
    given_up: tuple[str, ...]
    next_step: str
    space: SearchSpace = field(repr=False)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.space.shape.name

    @property
    def machine(self) -> Machine:
        """The machine the plan was made for."""
        return self.space.machine

    @property
    def whole(self) -> bool:
        """Whether everything is on GPUs."""
        return bool(self.memory.gpus) and self.load.gpu_layers == ALL and not self.load.experts_in_ram

    @property
    def tensors_in_ram(self) -> str:
        """Regular expression of the tensors that stay in RAM, for llama.cpp's `tensor_buft_overrides`; may be empty."""
        layers = "|".join(map(str, self.load.experts_in_ram))
        return rf"blk\.({layers})\.ffn_(up|down|gate|gate_up)_exps" if layers else ""

    @property
    def key(self) -> str:
        """One line that identifies the plan among those for the same model and machine; stored by `FailedPlans`."""
        load = self.load
        placed = f"{load.gpu_layers} layers, {len(load.experts_in_ram)} home"
        return f"{load.n_ctx} {load.kv.value} {load.n_ubatch}, {placed}, {'drafter' if self.drafter else 'plain'}"


def choose_plan(
    target: ModelShape | Header,
    drafter: DrafterShape | DrafterHeader | None,
    machine: Machine,
    constraints: PlanConstraints | None = None,
    scorer: int = 0,
) -> Plan:
    """Return the best plan for a machine; DoesNotFit if there is none, or none that meets the constraints.

    Args:
        scorer: bytes of the prompt scorer on a GPU, as from `scorer_bytes`; 0 without one. It takes what is left.
    """
    return solve(search_space(target, drafter, machine, constraints, scorer))


def solve(space: SearchSpace) -> Plan:
    """Return the best plan in a search space; DoesNotFit if there is none."""
    found = best(space, candidates(space))
    if found is None:
        free = replace(space, constraints=PlanConstraints(priority=space.constraints.priority))
        raise DoesNotFit(explanation.refusal(space, best(free, candidates(free))))
    return to_plan(space, found)


def search_space(
    target: ModelShape | Header,
    drafter: DrafterShape | DrafterHeader | None,
    machine: Machine,
    constraints: PlanConstraints | None = None,
    scorer: int = 0,
) -> SearchSpace:
    """Return the search space of `choose_plan`.

    DoesNotFit for a context that the model does not support on any machine.
    """
    shape = ModelShape.of(target) if isinstance(target, Header) else target
    constraints = constraints or PlanConstraints()
    if constraints.context is not None and constraints.context > shape.n_ctx:
        wanted, most = (explanation.tokens(count) for count in (constraints.context, shape.n_ctx))
        raise DoesNotFit(f"{shape.name} can use {most} tokens of context, not {wanted}; request {most} or less")
    last = isinstance(drafter, DrafterHeader) and len(shape.layers) - 1 in drafter.taps
    parts = DrafterShape.of(drafter, shape.n_vocab) if isinstance(drafter, DrafterHeader) else drafter
    return SearchSpace(shape, parts, machine, constraints, scorer, last)


def best(space: SearchSpace, found: Iterable[PlanCandidate]) -> PlanCandidate | None:
    return max(found, key=lambda candidate: candidate.rank(space.constraints.priority), default=None)


def to_plan(space: SearchSpace, found: PlanCandidate) -> Plan:
    """Turn a candidate into a plan, with its explanation."""
    given_up, next_step = explanation.improvements(space, found)
    room = budgets(space.machine)
    used = zip(space.machine.gpus, found.memory.gpus, strict=False)
    left = [(gpu, room[gpu.name] - memory.total) for gpu, memory in used]
    drafter = found.memory.gpus[-1].drafter if left else 0
    place = scorer_device(space.scorer, left, drafter)
    memory, reasons = found.memory, explanation.reasons_for(space, found)
    if space.scorer and left:
        more = space.scorer - (drafter if place.turns else 0)
        memory = memory.with_scorer(place.name or HOST, max(0, more))
        reasons = (*reasons, explanation.scorer_reason(place, space.scorer))
    return Plan(
        load=found.load,
        drafter=found.drafter,
        memory=memory,
        merits=found.merits,
        paged=found.paged,
        threads=threads_for(space, found),
        reasons=reasons,
        given_up=given_up,
        next_step=next_step,
        space=space,
    )


TABLE_CONTEXTS = (8192, 16_384, 32_768, 65_536, 131_072, 262_144)


@dataclass(frozen=True, slots=True)
class FitCell:
    """One context length with one KV cache type.

    Attributes:
        context: tokens of context.
        kv: type of the KV cache.
        found: the best candidate, None if none fits.
        left: bytes left free on the fullest device; negative is the largest shortfall.
    """

    context: int
    kv: KvType
    found: PlanCandidate | None
    left: int


def fit_table(space: SearchSpace, contexts: tuple[int, ...] = TABLE_CONTEXTS) -> list[list[FitCell]]:
    """Return one row per context length that the model supports, one cell per KV cache type."""
    limit = space.shape.n_ctx
    rows = sorted({min(context, limit) for context in contexts})
    return [[_cell(space, context, kv) for kv in KV_TYPES] for context in rows]


def _cell(space: SearchSpace, context: int, kv: KvType) -> FitCell:
    narrowed = replace(space, constraints=replace(space.constraints, context=context, kv=kv))
    found = best(narrowed, candidates(narrowed))
    if found is None:
        load = replace(narrowed.load(context, drafter=False), kv=kv)
        return FitCell(
            context, kv, None, -max(shortfall(narrowed.memory(load, False), narrowed.machine).values(), default=0)
        )
    room = budgets(space.machine)
    gpus = {device.name: device.total for device in found.memory.gpus}
    used = gpus or {HOST: found.memory.host.total}
    return FitCell(context, kv, found, min(room[name] - size for name, size in used.items()))
