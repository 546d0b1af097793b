"""The search space of plans: every way to open a model that fits a machine's memory. Values only; opens nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product

from laguna_engine.config import DRAFT_CONTEXT, KvType
from laguna_engine.draft.dflash_graph import LAST_LAYER_OUTPUTS
from laguna_engine.fit.devices import GIB, DeviceFacts, Machine
from laguna_engine.fit.memory import ALL, HOST, VERIFY_OUTPUTS, DrafterShape, Load, MemoryUse, memory_of
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.native.cpu_determinism import fixed_rows

LEAST, ENOUGH, GOOD, LONG = 16_384, 32_768, 65_536, 131_072
"""Tokens of context. LEAST: a space about a few files. ENOUGH: a change in several. GOOD: a session of an hour.
LONG: beyond it answers get slower and worse, so longer contexts are chosen only on request."""

STEPS = (2048, 4096, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144)
"""Context lengths tried."""

UBATCHES = (512, 256, 128)
"""Micro-batch sizes tried: larger ones prefill faster and need more memory."""

KV_TYPES = (KvType.F16, KvType.Q8_0, KvType.Q4_0)
"""Best first."""


class Priority(Enum):
    """What is given up last when memory is short.

    Attributes:
        BALANCED: speed up to a good context, then the context.
        QUALITY: context and cache precision before speed.
        SPEED: the GPU and the drafter before the context.
    """

    BALANCED = "balanced"
    QUALITY = "quality"
    SPEED = "speed"


@dataclass(frozen=True, slots=True)
class PlanConstraints:
    """The user's choices; a plan meets all of them or is refused. None leaves the choice to the planner.

    Attributes:
        context: tokens of context.
        kv: type of the KV cache.
        priority: what is given up last.
        drafter: whether to use one.
        gpu_layers: as in `EngineOptions`.
        strict: strict speculation, which needs full-length caches for sliding-window layers and, on the CPU,
            micro-batches of at most `fixed_rows`.
        plain: no speculation at all.
    """

    context: int | None = None
    kv: KvType | None = None
    priority: Priority = Priority.BALANCED
    drafter: bool | None = None
    gpu_layers: int | None = None
    strict: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Merits:
    """The criteria a candidate plan is ranked by.

    Attributes:
        context: tokens of context.
        kv: type of the KV cache.
        drafter: whether a drafter is used.
        ubatch: tokens of a micro-batch.
        layers_in_ram: layers that are at least partly in RAM although there is a GPU.
    """

    context: int
    kv: KvType
    drafter: bool
    ubatch: int
    layers_in_ram: int

    def rank(self, priority: Priority) -> tuple[int, ...]:
        """Return criteria of which larger is better, most important first."""
        exact = -KV_TYPES.index(self.kv)
        sound, whole = self.kv is not KvType.Q4_0, self.layers_in_ram == 0
        least = min(self.context, LEAST)
        if priority is Priority.QUALITY:
            lasting = min(self.context, GOOD)
            return least, sound, lasting, exact, whole, self.drafter, -self.layers_in_ram, self.context, self.ubatch
        if priority is Priority.SPEED:
            return least, whole, self.drafter, sound, self.ubatch, -self.layers_in_ram, self.context, exact
        # A smaller micro-batch costs little with everything on the GPU, but a lot with experts in RAM.
        quick = min(self.ubatch, 256) if whole else self.ubatch
        worth = (least, sound, whole, min(self.context, ENOUGH), self.drafter, quick, -self.layers_in_ram)
        return (*worth, min(self.context, GOOD), self.ubatch, self.context, exact)


_RESERVE_SHARE = 64
"""1/64 of a GPU's memory is left free: a desktop grows, and free memory is fragmented."""

_RAM_RESERVE, _RAM_RESERVE_SHARE = GIB, 4
"""Bytes of RAM for this program beside the model, and for other programs while it runs; at most 1/4 of all RAM."""

_PAGED_SHARE = 4
"""With less than 1/4 of the weights in RAM an answer takes hours."""

SMALL = 2 * GIB
"""Bytes of weights of a model that is fast everywhere: speculation pays on the CPU too."""


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """One way to open the model.

    Attributes:
        load: sizes, KV cache and placement.
        drafter: whether a drafter is used.
        memory: estimated bytes by device.
        merits: ranking criteria.
        paged: weights do not fit in RAM and are read from disk again and again.
    """

    load: Load
    drafter: bool
    memory: MemoryUse
    merits: Merits
    paged: bool = False

    def rank(self, priority: Priority) -> tuple[int, ...]:
        if self.paged:
            return 0, min(self.load.n_ctx, LEAST), self.load.kv is not KvType.Q4_0, -self.memory.total
        return 1, *self.merits.rank(priority)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What must fit, and where.

    Attributes:
        shape: the target.
        drafter: its drafter, None without one.
        machine: devices and memory.
        constraints: the user's constraints.
        scorer: bytes of the prompt scorer on a GPU, 0 without one.
        last_tapped: whether the drafter taps the target's last layer.
    """

    shape: ModelShape
    drafter: DrafterShape | None
    machine: Machine
    constraints: PlanConstraints
    scorer: int = 0
    last_tapped: bool = False

    def contexts(self) -> tuple[int, ...]:
        """Return the context lengths to try."""
        limit = self.shape.n_ctx
        if self.constraints.context is not None:
            return (min(self.constraints.context, limit),)
        # Without a GPU the prefill of ENOUGH tokens already takes a quarter of an hour.
        sensible = LONG if self.machine.gpus and self.constraints.gpu_layers != 0 else ENOUGH
        most = limit if self.constraints.priority is Priority.QUALITY else min(limit, sensible)
        return tuple(sorted({step for step in STEPS if step <= most} | {most}))

    @property
    def drafters(self) -> tuple[bool, ...]:
        """Whether to try with a drafter, without one, or both."""
        if self.drafter is None or self.constraints.plain:
            return (False,) if not self.constraints.drafter else ()
        return (True, False) if self.constraints.drafter is None else (self.constraints.drafter,)

    def drafts(self, whole: bool) -> bool:
        """Return whether a drafter pays: verifying several tokens reads more experts, for which RAM is too slow.

        Args:
            whole: whether everything is on the GPU.
        """
        if self.drafter is None or self.constraints.drafter is False or self.constraints.plain:
            return False
        return bool(self.constraints.drafter) or whole or self.shape.size < SMALL

    def load(self, context: int, drafter: bool) -> Load:
        """Return the load for a context length, with everything else at its best value."""
        constraints, ubatch = self.constraints, min(UBATCHES[0], context)
        outputs = LAST_LAYER_OUTPUTS if drafter and self.last_tapped else VERIFY_OUTPUTS
        return Load(
            context,
            constraints.kv or KV_TYPES[0],
            ubatch,
            # Without the graph hook llama.cpp reserves logits for a whole batch.
            outputs=ubatch if constraints.plain else min(outputs, ubatch),
            hooked=not constraints.plain,
            swa_full=constraints.strict,
            draft_context=min(context, DRAFT_CONTEXT),
        )

    def strict_rows(self, load: Load) -> int:
        """Return the largest micro-batch that strict speculation allows with this load; 0 for no limit."""
        if not self.constraints.strict or (load.gpu_layers and self.machine.gpus):
            return 0
        return fixed_rows(device.kind for device in self.machine.devices)

    def memory(self, load: Load, drafter: bool) -> MemoryUse:
        gpus = self.machine.gpus if load.gpu_layers else ()
        return memory_of(self.shape, load, gpus, self.drafter if drafter else None)


def budgets(machine: Machine) -> dict[str, int]:
    """Return the usable bytes by device."""
    found = {gpu.name: max(0, gpu.free - reserve(gpu)) for gpu in machine.gpus}
    return {**found, HOST: max(0, machine.ram_free - ram_reserve(machine))}


def ram_reserve(machine: Machine) -> int:
    """Return the bytes of a machine's free RAM that stay unused."""
    return min(_RAM_RESERVE, machine.ram_total // _RAM_RESERVE_SHARE)


def reserve(gpu: DeviceFacts) -> int:
    """Return the bytes of a GPU's free memory that stay unused."""
    return gpu.total // _RESERVE_SHARE


def shortfall(memory: MemoryUse, machine: Machine) -> dict[str, int]:
    """Return the missing bytes by device; empty if it fits."""
    room = budgets(machine)
    used = {device.name: device.total for device in memory.devices}
    shared = {gpu.name for gpu in machine.gpus if gpu.shares_ram}
    used[HOST] += sum(size for name, size in used.items() if name in shared)
    return {name: size - room[name] for name, size in used.items() if size > room[name]}


def candidates(space: SearchSpace) -> Iterator[PlanCandidate]:
    """Yield candidates that fit: for each context, cache, micro-batch and drafter, the one with the most on the GPU."""
    kvs = KV_TYPES if space.constraints.kv is None else (space.constraints.kv,)
    for context, kv, ubatch, drafter in product(space.contexts(), kvs, UBATCHES, (True, False)):
        if drafter not in space.drafters:
            continue
        load = replace(space.load(context, drafter), kv=kv, n_ubatch=min(ubatch, context))
        found = _place(space, load, drafter)
        if found is not None:
            yield found


def _place(space: SearchSpace, load: Load, drafter: bool) -> PlanCandidate | None:
    """Return the candidate with as much on the GPU as fits, by binary search over `placements`."""
    choices = placements(space.shape, space.constraints, len(space.machine.gpus))
    low, high = 0, len(choices)
    while low < high:
        middle = (low + high) // 2
        if set(shortfall(_with_placement(space, load, choices[middle], drafter)[1], space.machine)) <= {HOST}:
            high = middle
        else:
            low = middle + 1
    if low == len(choices) or (drafter and not space.drafts(whole=choices[low] == (ALL, 0))):
        return None
    chosen, memory = _with_placement(space, load, choices[low], drafter)
    short = shortfall(memory, space.machine)
    paged = bool(short) and _pages(memory, space.machine)
    if short and not paged:
        return None
    return PlanCandidate(chosen, drafter, memory, _merits(space, chosen, drafter), paged)


def placements(shape: ModelShape, constraints: PlanConstraints, gpus: int) -> list[tuple[int, int]]:
    """Return pairs of GPU layers and layers with experts in RAM, most on the GPU first.

    Experts leave before whole layers.
    """
    if not gpus or constraints.gpu_layers == 0:
        return [(0, 0)]
    experts = sum(layer.experts_size > 0 for layer in shape.layers)
    layers = len(shape.layers) + 1
    if constraints.gpu_layers is not None:
        return [(ALL if constraints.gpu_layers in (ALL, layers) else min(constraints.gpu_layers, layers), 0)]
    whole = [(ALL, count) for count in range(experts + 1)]
    return [*whole, *((count, experts) for count in range(layers - 1, -1, -1))]


def _with_placement(
    space: SearchSpace, load: Load, placement: tuple[int, int], drafter: bool
) -> tuple[Load, MemoryUse]:
    layers, layers_in_ram = placement
    with_experts = [number for number, layer in enumerate(space.shape.layers) if layer.experts_size]
    # Spread evenly, to free memory on each of several GPUs.
    chosen = (
        tuple(with_experts[index * len(with_experts) // layers_in_ram] for index in range(layers_in_ram))
        if layers
        else ()
    )
    load = replace(load, gpu_layers=layers, experts_in_ram=chosen)
    if space.strict_rows(load):
        load = replace(load, n_ubatch=min(load.n_ubatch, space.strict_rows(load)))
    memory = space.memory(load, drafter)
    if len(memory.gpus) < 2:
        return load, memory
    load = replace(load, split=_split(memory, budgets(space.machine), space.shape.output_size))
    return load, space.memory(load, drafter)


def _split(memory: MemoryUse, room: dict[str, int], output: int) -> tuple[float, ...]:
    """Return each GPU's share of the layers, by its memory left for them; the last one also holds the output matrix."""
    left = [room[gpu.name] - gpu.total + gpu.weights + gpu.kv for gpu in memory.gpus]
    left[-1] -= output
    whole = sum(max(0, part) for part in left)
    return tuple(round(max(0, part) / whole, 4) for part in left) if whole else ()


def _pages(memory: MemoryUse, machine: Machine) -> bool:
    """Return whether it runs with weights paged from disk: everything else has to fit."""
    if set(shortfall(memory, machine)) != {HOST}:
        return False
    room = budgets(machine)[HOST] - (memory.host.total - memory.host.weights)
    return room * _PAGED_SHARE >= memory.host.weights


def _merits(space: SearchSpace, load: Load, drafter: bool) -> Merits:
    layers = len(space.shape.layers) + 1
    outside = 0 if load.gpu_layers == ALL else layers - load.gpu_layers
    layers_in_ram = (outside + len(load.experts_in_ram)) * bool(space.machine.gpus)
    return Merits(load.n_ctx, load.kv, drafter, load.n_ubatch, layers_in_ram)
