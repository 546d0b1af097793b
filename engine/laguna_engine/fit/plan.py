"""The plan: how a model is opened on a machine, why so, what was given up for it, and what the next step up would take.

A plan is chosen before anything is opened, from headers and free memory alone; it is frozen and can be printed. The fit
table shows for every context and cache whether a model fits, how, and what is left.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from laguna_engine.config import KvType
from laguna_engine.errors import EngineError
from laguna_engine.fit import explanation
from laguna_engine.fit.constraints import KV_TYPES, Constraints
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.explanation import Reason, threads_for
from laguna_engine.fit.memory import ALL, HOST, DrafterShape, Load, MemoryUse
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.search import PlanCandidate, SearchSpace, budgets, candidates, lacking
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.header import Header


class DoesNotFit(EngineError):
    """The model, or a wish, needs more memory than there is; the message has the numbers and what would do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to open a model on a machine.

    load: sizes, cache and placement, as `EngineOptions` wants them. drafter: whether to open it. threads: for the CPU.
    paged: the weights do not fit in RAM and are read from disk as they are needed, so they must not be repacked.
    given_up: what a larger machine would have, as sentences. next_step: what the nearest of it would take, empty if
    more memory would change nothing. question: what the plan answers.
    """

    load: Load
    drafter: bool
    threads: int
    paged: bool
    memory: MemoryUse
    reasons: tuple[Reason, ...]
    given_up: tuple[str, ...]
    next_step: str
    question: SearchSpace = field(repr=False)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.question.shape.name

    @property
    def machine(self) -> Machine:
        """What it was made for."""
        return self.question.machine

    @property
    def whole(self) -> bool:
        """Whether everything is on GPUs."""
        return bool(self.memory.gpus) and self.load.gpu_layers == ALL and not self.load.home_experts

    @property
    def kept_experts(self) -> str:
        """What llama.cpp's `tensor_buft_overrides` is to keep on the CPU: a regular expression for tensors' names,
        empty for none."""
        layers = "|".join(map(str, self.load.home_experts))
        return rf"blk\.({layers})\.ffn_(up|down|gate|gate_up)_exps" if layers else ""

    @property
    def key(self) -> str:
        """What sets it apart from other plans for the same model and machine, in one line."""
        load = self.load
        placed = f"{load.gpu_layers} layers, {len(load.home_experts)} home"
        return f"{load.n_ctx} {load.kv.value} {load.n_ubatch}, {placed}, {'drafter' if self.drafter else 'plain'}"


def choose_plan(
    target: ModelShape | Header,
    drafter: DrafterShape | DrafterHeader | None,
    machine: Machine,
    wishes: Constraints | None = None,
    scorer: ModelShape | None = None,
) -> Plan:
    """The best plan for a machine; DoesNotFit if there is none, or none that honours the wishes."""
    return answer(ask(target, drafter, machine, wishes, scorer))


def answer(question: SearchSpace) -> Plan:
    """The best plan for what is asked; DoesNotFit if there is none, or none that honours the wishes."""
    found = best(question, candidates(question))
    if found is None:
        raise DoesNotFit(_refusal(question))
    return planned(question, found)


def ask(
    target: ModelShape | Header,
    drafter: DrafterShape | DrafterHeader | None,
    machine: Machine,
    wishes: Constraints | None = None,
    scorer: ModelShape | None = None,
) -> SearchSpace:
    """What `choose_plan` answers; DoesNotFit for a wish that no machine could grant."""
    shape = ModelShape.of(target) if isinstance(target, Header) else target
    wishes = wishes or Constraints()
    if wishes.context is not None and wishes.context > shape.n_ctx:
        asked, most = (explanation.tokens(count) for count in (wishes.context, shape.n_ctx))
        raise DoesNotFit(f"{shape.name} can use {most} tokens of context, not {asked}; ask for {most} or less")
    last = isinstance(drafter, DrafterHeader) and len(shape.layers) - 1 in drafter.taps
    parts = DrafterShape.of(drafter, shape.n_vocab) if isinstance(drafter, DrafterHeader) else drafter
    return SearchSpace(shape, parts, machine, wishes, scorer, last)


def best(question: SearchSpace, found: Iterable[PlanCandidate]) -> PlanCandidate | None:
    """The one to take; None if there is none."""
    return max(found, key=lambda candidate: candidate.rank(question.wishes.first), default=None)


def planned(question: SearchSpace, found: PlanCandidate) -> Plan:
    """The plan that opens it like this."""
    given_up, next_step = explanation.beyond(question, found)
    return Plan(
        load=found.load,
        drafter=found.drafter,
        threads=threads_for(question, found),
        paged=found.paged,
        memory=found.memory,
        reasons=explanation.of(question, found),
        given_up=given_up,
        next_step=next_step,
        question=question,
    )


def _refusal(question: SearchSpace) -> str:
    """Why nothing fits, with the numbers, and what would."""
    shape, wishes = question.shape, question.wishes
    free = replace(question, wishes=Constraints(first=wishes.first))
    other = best(free, candidates(free))
    asked = explanation.wished(wishes)
    if other is None:
        least = question.memory(question.load(min(question.contexts()), drafter=False), drafter=False)
        need = explanation.amount(least.total)
        return f"{shape.name} needs at least {need}, and there is {question.machine.described}; choose a smaller model"
    load = replace(other.load, n_ctx=wishes.context or other.load.n_ctx, kv=wishes.kv or other.load.kv)
    if wishes.gpu_layers is not None:
        load = replace(load, gpu_layers=wishes.gpu_layers, home_experts=(), split=())
    drafter = bool(wishes.drafter) and question.drafter is not None
    if wishes.drafter and question.drafter is None:
        return f"{shape.name} has no drafter here; download it, or do without"
    short = lacking(question.memory(load, drafter), question.machine)
    where = " and ".join(f"{explanation.amount(size)} more on {name}" for name, size in short.items())
    fits = f"{explanation.tokens(other.load.n_ctx)} tokens with a {other.load.kv.value} cache"
    return f"{shape.name} {asked} needs {where or 'more memory'} than can be had; what fits is {fits}"


TABLE_CONTEXTS = (8192, 16_384, 32_768, 65_536, 131_072, 262_144)


@dataclass(frozen=True, slots=True)
class FitCell:
    """One context with one cache. found: the best way, None if it does not fit. left: bytes that stay free on the
    device that is fullest; negative is what it lacks most."""

    context: int
    kv: KvType
    found: PlanCandidate | None
    left: int


def fit_table(question: SearchSpace, contexts: tuple[int, ...] = TABLE_CONTEXTS) -> list[list[FitCell]]:
    """A row for every context that the model can use, a cell for every cache."""
    limit = question.shape.n_ctx
    rows = sorted({min(context, limit) for context in contexts})
    return [[_cell(question, context, kv) for kv in KV_TYPES] for context in rows]


def _cell(question: SearchSpace, context: int, kv: KvType) -> FitCell:
    asked = replace(question, wishes=replace(question.wishes, context=context, kv=kv))
    found = best(asked, candidates(asked))
    if found is None:
        load = replace(asked.load(context, drafter=False), kv=kv)
        return FitCell(context, kv, None, -max(lacking(asked.memory(load, False), asked.machine).values(), default=0))
    room = budgets(question.machine)
    gpus = {device.name: device.total for device in found.memory.gpus}
    used = gpus or {HOST: found.memory.host.total}
    return FitCell(context, kv, found, min(room[name] - size for name, size in used.items()))
