"""Every way to open a model that a machine's memory allows. Deals in values; nothing is opened."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from laguna_engine.config import DRAFT_CONTEXT, KvType
from laguna_engine.draft.dflash_graph import LAST_LAYER_OUTPUTS
from laguna_engine.fit.constraints import ENOUGH, KV_TYPES, LEAST, LONG, STEPS, UBATCHES, Constraints, First, Merits
from laguna_engine.fit.devices import GIB, DeviceFacts, Machine
from laguna_engine.fit.memory import ALL, HOST, VERIFY_OUTPUTS, DrafterShape, Load, MemoryUse, memory_of
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.native.cpu_determinism import fixed_rows

_SPARE_SHARE = 64
"""One part in so many of a GPU is left free: a desktop grows, and free memory is never in one piece."""

RAM_SPARE = GIB
"""What this program itself takes beside the model, and what others may ask for while it runs."""

_PAGED_SHARE = 4
"""With less than one part in so many of the weights in RAM an answer takes hours."""

SMALL = 2 * GIB
"""Weights of a model that is quick anywhere: it drafts on the CPU as well."""


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """One way to open it. paged: weights do not fit in RAM and are read from disk again and again."""

    load: Load
    drafter: bool
    memory: MemoryUse
    merits: Merits
    paged: bool = False

    def rank(self, first: First) -> tuple[int, ...]:
        """Larger is better. When weights are read from disk again and again, memory for them is what counts."""
        if self.paged:
            return 0, min(self.load.n_ctx, LEAST), self.load.kv is not KvType.Q4_0, -self.memory.total
        return 1, *self.merits.rank(first)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What is to fit where. drafter, scorer: None without one."""

    shape: ModelShape
    drafter: DrafterShape | None
    machine: Machine
    wishes: Constraints
    scorer: ModelShape | None = None
    last_tapped: bool = False

    def contexts(self) -> tuple[int, ...]:
        """Those to try."""
        limit = self.shape.n_ctx
        if self.wishes.context is not None:
            return (min(self.wishes.context, limit),)
        # Without a GPU a prompt of so many tokens takes a quarter of an hour to read as it is.
        sensible = LONG if self.machine.gpus and self.wishes.gpu_layers != 0 else ENOUGH
        most = limit if self.wishes.first is First.QUALITY else min(limit, sensible)
        return tuple(sorted({step for step in STEPS if step <= most} | {most}))

    @property
    def drafters(self) -> tuple[bool, ...]:
        """Whether to try with one, without one, or both."""
        if self.drafter is None or self.wishes.plain:
            return (False,) if not self.wishes.drafter else ()
        return (True, False) if self.wishes.drafter is None else (self.wishes.drafter,)

    def drafts(self, whole: bool) -> bool:
        """Whether a drafter makes sense: verifying several tokens reads more experts, which RAM is too slow for."""
        if self.drafter is None or self.wishes.drafter is False or self.wishes.plain:
            return False
        return bool(self.wishes.drafter) or whole or self.shape.size < SMALL

    def load(self, context: int, drafter: bool) -> Load:
        """How it would be opened, as far as these say."""
        wishes, ubatch = self.wishes, min(UBATCHES[0], context)
        outputs = LAST_LAYER_OUTPUTS if drafter and self.last_tapped else VERIFY_OUTPUTS
        return Load(
            context,
            wishes.kv or KV_TYPES[0],
            ubatch,
            # Without the hook llama.cpp has room for the logits of a whole batch.
            outputs=ubatch if wishes.plain else min(outputs, ubatch),
            hooked=not wishes.plain,
            swa_full=wishes.strict,
            draft_context=min(context, DRAFT_CONTEXT),
        )

    def strict_rows(self, load: Load) -> int:
        """Tokens that strict speculation lets one computation have with this load; 0 if it does not care."""
        if not self.wishes.strict or (load.gpu_layers and self.machine.gpus):
            return 0
        return fixed_rows(device.kind for device in self.machine.devices)

    def memory(self, load: Load, drafter: bool) -> MemoryUse:
        """What it takes then."""
        gpus = self.machine.gpus if load.gpu_layers else ()
        return memory_of(self.shape, load, gpus, self.drafter if drafter else None, self.scorer)


def budgets(machine: Machine) -> dict[str, int]:
    """Bytes that may be used, by device."""
    found = {gpu.name: max(0, gpu.free - spare(gpu)) for gpu in machine.gpus}
    return {**found, HOST: max(0, machine.ram_free - RAM_SPARE)}


def spare(gpu: DeviceFacts) -> int:
    """Bytes of a GPU's free memory that are left alone."""
    return gpu.total // _SPARE_SHARE


def lacking(memory: MemoryUse, machine: Machine) -> dict[str, int]:
    """Bytes too many, by device; empty if it fits."""
    room = budgets(machine)
    used = {device.name: device.total for device in memory.devices}
    shared = {gpu.name for gpu in machine.gpus if gpu.shares_ram}
    used[HOST] += sum(size for name, size in used.items() if name in shared)
    return {name: size - room[name] for name, size in used.items() if size > room[name]}


def candidates(question: SearchSpace) -> Iterator[PlanCandidate]:
    """All that fit, for each context, cache, micro-batch and drafter the one with the most on the GPU."""
    kvs = KV_TYPES if question.wishes.kv is None else (question.wishes.kv,)
    for context, kv, ubatch, drafter in product(question.contexts(), kvs, UBATCHES, (True, False)):
        if drafter not in question.drafters:
            continue
        load = replace(question.load(context, drafter), kv=kv, n_ubatch=min(ubatch, context))
        found = _placed(question, load, drafter)
        if found is not None:
            yield found


def _placed(question: SearchSpace, load: Load, drafter: bool) -> PlanCandidate | None:
    """With as much on the GPU as fits."""
    ways = placements(question.shape, question.wishes, len(question.machine.gpus))
    low, high = 0, len(ways)
    while low < high:
        middle = (low + high) // 2
        if set(lacking(_tried(question, load, ways[middle], drafter)[1], question.machine)) <= {HOST}:
            high = middle
        else:
            low = middle + 1
    if low == len(ways) or (drafter and not question.drafts(whole=ways[low] == (ALL, 0))):
        return None
    chosen, memory = _tried(question, load, ways[low], drafter)
    short = lacking(memory, question.machine)
    paged = bool(short) and _pages(memory, question.machine)
    if short and not paged:
        return None
    return PlanCandidate(chosen, drafter, memory, _merits(question, chosen, drafter), paged)


def placements(shape: ModelShape, wishes: Constraints, gpus: int) -> list[tuple[int, int]]:
    """Layers on the GPU and layers whose experts stay at home, the most on the GPU first: experts go before layers."""
    if not gpus or wishes.gpu_layers == 0:
        return [(0, 0)]
    experts = sum(layer.experts_size > 0 for layer in shape.layers)
    layers = len(shape.layers) + 1
    if wishes.gpu_layers is not None:
        return [(ALL if wishes.gpu_layers in (ALL, layers) else min(wishes.gpu_layers, layers), 0)]
    whole = [(ALL, count) for count in range(experts + 1)]
    return [*whole, *((count, experts) for count in range(layers - 1, -1, -1))]


def _tried(question: SearchSpace, load: Load, way: tuple[int, int], drafter: bool) -> tuple[Load, MemoryUse]:
    layers, home = way
    with_experts = [number for number, layer in enumerate(question.shape.layers) if layer.experts_size]
    # Evenly spread, so that each of several GPUs is relieved.
    chosen = tuple(with_experts[index * len(with_experts) // home] for index in range(home)) if layers else ()
    load = replace(load, gpu_layers=layers, home_experts=chosen)
    if question.strict_rows(load):
        load = replace(load, n_ubatch=min(load.n_ubatch, question.strict_rows(load)))
    memory = question.memory(load, drafter)
    if len(memory.gpus) < 2:
        return load, memory
    load = replace(load, split=_split(memory, budgets(question.machine), question.shape.output_size))
    return load, question.memory(load, drafter)


def _split(memory: MemoryUse, room: dict[str, int], output: int) -> tuple[float, ...]:
    """Shares of the layers by what is left beside everything else; the last GPU also has the output matrix."""
    left = [room[gpu.name] - gpu.total + gpu.weights + gpu.kv for gpu in memory.gpus]
    left[-1] -= output
    whole = sum(max(0, part) for part in left)
    return tuple(round(max(0, part) / whole, 4) for part in left) if whole else ()


def _pages(memory: MemoryUse, machine: Machine) -> bool:
    """Whether it runs all the same, with the weights read from disk as they are needed: everything else has to fit."""
    if set(lacking(memory, machine)) != {HOST}:
        return False
    room = budgets(machine)[HOST] - (memory.host.total - memory.host.weights)
    return room * _PAGED_SHARE >= memory.host.weights


def _merits(question: SearchSpace, load: Load, drafter: bool) -> Merits:
    layers = len(question.shape.layers) + 1
    outside = 0 if load.gpu_layers == ALL else layers - load.gpu_layers
    home = (outside + len(load.home_experts)) * bool(question.machine.gpus)
    return Merits(load.n_ctx, load.kv, drafter, load.n_ubatch, home)
