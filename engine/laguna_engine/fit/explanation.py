"""Explains plans to the user: the reason of each choice, what was given up, what more memory would allow, refusals."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from laguna_engine.config import KvType
from laguna_engine.fit.devices import GIB
from laguna_engine.fit.memory import ALL, HOST, Load, kv_per_token
from laguna_engine.fit.plan_search import KV_TYPES, SMALL, PlanCandidate, PlanConstraints, SearchSpace, shortfall
from laguna_engine.fit.scorer_device import ScorerDevice

_GPU_THREADS = 4
"""With every layer on a GPU the CPU only looks up embeddings."""

_FEW_CORES = 4
"""On a CPU with at most this many cores a large model uses all of them."""

_KIB = 1024
_SMALLEST_AMOUNT = GIB // 20
"""Amounts below this are given in MiB."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The explanation of one choice.

    Attributes:
        subject: the setting, in a word or two.
        choice: its value.
        text: why, in a sentence.
    """

    subject: str
    choice: str
    text: str


def tokens(count: int) -> str:
    """Format a number of tokens."""
    return f"{count // _KIB} K" if count % _KIB == 0 else f"{count:,}"


def amount(size: int) -> str:
    """Format a number of bytes."""
    return f"{size / GIB:.1f} GiB" if size >= _SMALLEST_AMOUNT else f"{max(1, round(size / (1 << 20)))} MiB"


def cache_name(kv: KvType) -> str:
    """Return the cache type as a noun phrase with its article."""
    return f"{'an' if kv is KvType.F16 else 'a'} {kv.value} cache"


def describe_constraints(constraints: PlanConstraints) -> str:
    """Return the constraints as a phrase that follows a model's name."""
    parts = [
        f"a context of {tokens(constraints.context)} tokens" if constraints.context is not None else "",
        cache_name(constraints.kv) if constraints.kv is not None else "",
        "its drafter" if constraints.drafter else "",
        f"{constraints.gpu_layers} layers on the GPU" if (constraints.gpu_layers or 0) > 0 else "",
        "every layer on the GPU" if constraints.gpu_layers == ALL else "",
    ]
    return "with " + " and ".join(filter(None, parts)) if any(parts) else "as it is"


def refusal(space: SearchSpace, other: PlanCandidate | None) -> str:
    """Return a sentence on why nothing fits, with the numbers, and what would.

    Args:
        space: what must fit.
        other: the best candidate without the user's constraints, None if there is none either.
    """
    shape, constraints = space.shape, space.constraints
    if other is None:
        need = amount(space.memory(space.load(min(space.contexts()), drafter=False), drafter=False).total)
        return f"{shape.name} needs at least {need}, and there is {space.machine.description}; choose a smaller model"
    if constraints.drafter and space.drafter is None:
        return f"{shape.name} has no drafter here; download it, or do without"
    load = replace(other.load, n_ctx=constraints.context or other.load.n_ctx, kv=constraints.kv or other.load.kv)
    if constraints.gpu_layers is not None:
        load = replace(load, gpu_layers=constraints.gpu_layers, experts_in_ram=(), split=())
    short = _more(_shortfall(space, load, bool(constraints.drafter)))
    fits = f"{tokens(other.load.n_ctx)} tokens with a {other.load.kv.value} cache"
    asked = describe_constraints(constraints)
    return f"{shape.name} {asked} needs {short or 'more memory'} than is free; what fits is {fits}"


def difference(before: PlanCandidate, after: PlanCandidate) -> str:
    """Return the reductions in `after` as text: "48 K tokens of context instead of 64 K, no drafter"."""
    old, new = before.load, after.load
    in_ram = len(new.experts_in_ram)
    placed = ""
    if before.memory.gpus and not after.memory.gpus:
        placed = "everything on the CPU"
    elif new.gpu_layers != old.gpu_layers:
        placed = f"{new.gpu_layers} layers on the GPU"
    elif in_ram != len(old.experts_in_ram):
        placed = f"the experts of {in_ram} layers in RAM"
    parts = [
        f"{tokens(new.n_ctx)} tokens of context instead of {tokens(old.n_ctx)}" if new.n_ctx != old.n_ctx else "",
        f"{cache_name(new.kv)} instead of {old.kv.value}" if new.kv is not old.kv else "",
        "no drafter" if before.drafter and not after.drafter else "",
        f"micro-batches of {new.n_ubatch}" if new.n_ubatch != old.n_ubatch else "",
        placed,
    ]
    return ", ".join(filter(None, parts))


def reasons_for(space: SearchSpace, found: PlanCandidate) -> tuple[Reason, ...]:
    """Return the reason of each choice, most important first."""
    return (
        _layers(space, found),
        _cache(space, found),
        _context(space, found),
        _drafter(space, found),
        _ubatch(space, found),
        _threads(space, found),
    )


def scorer_reason(place: ScorerDevice, size: int) -> Reason:
    """Explain where the scorer that shortens files runs, on a machine with a GPU."""
    if not place.name:
        return Reason("scorer", "CPU", f"No GPU has {amount(size)} left to shorten files with.")
    if place.turns:
        return Reason(
            "scorer", f"{place.name}, in turns", f"Its {amount(size)} fit there while the drafter is unloaded."
        )
    return Reason("scorer", place.name, f"Shortening files takes at most {amount(size)} there.")


def improvements(space: SearchSpace, found: PlanCandidate) -> tuple[tuple[str, ...], str]:
    """Return what was given up, and the improvement that needs the least additional memory; empty if there is none."""
    missing = [(what, _shortfall(space, load, drafter)) for what, load, drafter in _better(space, found)]
    given_up = tuple(
        f"{what}: {f'{_more(short)} needed' if short else 'it would fit, but other things count more'}"
        for what, short in missing
    )
    reachable = [(sum(short.values()), what, short) for what, short in missing if short]
    if not reachable:
        return given_up, ""
    _, what, short = min(reachable, key=lambda entry: entry[0])
    return given_up, f"{what} would take {_more(short)}"


def threads_for(space: SearchSpace, found: PlanCandidate) -> int:
    """Return the number of CPU threads.

    One core stays free for other programs: llama.cpp's threads synchronise after every operation, and a small model has
    ten thousand operations per second, each of which stalls while one of its cores does something else.
    """
    cores = space.machine.cores
    if _whole(space, found):
        return max(1, min(_GPU_THREADS, cores - 1))
    return cores if cores <= _FEW_CORES and space.shape.size >= SMALL else max(1, cores - 1)


def _whole(space: SearchSpace, found: PlanCandidate) -> bool:
    return bool(space.machine.gpus) and found.merits.layers_in_ram == 0


def _layers(space: SearchSpace, found: PlanCandidate) -> Reason:
    choice, text = _placement(space, found)
    if found.paged:
        out = shortfall(found.memory, space.machine)[HOST]
        choice += ", from disk"
        text += f" RAM is {amount(out)} short: weights are read from disk again and again, which is very slow."
    return Reason("layers", choice, text)


def _placement(space: SearchSpace, found: PlanCandidate) -> tuple[str, str]:
    """Return the placement of the layers, and its reason."""
    shape, load, gpus = space.shape, found.load, space.machine.gpus
    where = gpus[0].name if len(gpus) == 1 else f"{len(gpus)} GPUs"
    if not gpus:
        return "CPU", f"There is no GPU that llama.cpp can use here. The weights are {amount(shape.size)}."
    if load.gpu_layers == 0:
        why = "As you asked." if space.constraints.gpu_layers == 0 else f"None of it fits on {where}."
        return "CPU", f"{why} The weights are {amount(shape.size)}."
    if _whole(space, found):
        weights = sum(device.weights for device in found.memory.gpus)
        return f"all on {where}", f"All {len(shape.layers)} layers fit there: {amount(weights)}."
    if load.gpu_layers == ALL:
        in_ram = sum(shape.layers[layer].experts_size for layer in load.experts_in_ram)
        text = (
            f"Experts of {len(load.experts_in_ram)} layers, {amount(in_ram)}, stay in RAM: a token needs few of them."
        )
        return f"on {where}, experts of {len(load.experts_in_ram)} in RAM", text
    text = f"{load.gpu_layers} of {len(shape.layers) + 1} layers go there; the CPU computes the others."
    return f"{load.gpu_layers} on {where}", text


def _cache(space: SearchSpace, found: PlanCandidate) -> Reason:
    kv = found.load.kv
    each = kv_per_token(space.shape, kv) / _KIB
    cost = f"{each:.4g} KiB per token" if each else "nothing per token"
    text = {
        KvType.F16: f"There is room for the exact cache: {cost}.",
        KvType.Q8_0: f"Half the size of f16 with almost no loss: {cost}.",
        KvType.Q4_0: f"Only the smallest cache fits: {cost}. Long answers may get worse.",
    }[kv]
    if space.constraints.kv is kv:
        text = f"As you asked: {cost}."
    return Reason("KV cache", kv.value, text)


def _context(space: SearchSpace, found: PlanCandidate) -> Reason:
    count, limit = found.load.n_ctx, space.shape.n_ctx
    size = amount(found.memory.sum("kv"))
    if space.constraints.context is not None:
        why = "As you asked"
    elif count == limit:
        why = "All that the model can use"
    elif count == max(space.contexts()):
        why = f"Longer ones, up to {tokens(limit)}, are slow to read; set one if you need it"
    elif found.paged:
        why = "Short, because memory is needed for the weights"
    else:
        why = "The longest that leaves room for the rest"
    return Reason("context", f"{tokens(count)} tokens", f"{why}; the cache takes {size}.")


def _drafter(space: SearchSpace, found: PlanCandidate) -> Reason:
    if found.drafter:
        size = found.memory.sum("drafter")
        return Reason("drafter", "on", f"It takes {amount(size)} and speeds up answers where its drafts are accepted.")
    if space.shape.state and not space.shape.rolls_back:
        return Reason(
            "drafter", "none", "Drafts are off: the recurrent layers' memory cannot go back after a rejected one."
        )
    if space.drafter is None and not space.constraints.plain:
        return Reason("drafter", "none", "There is no drafter for this model here; text is still drafted by copying.")
    if space.constraints.drafter is False or space.constraints.plain:
        return Reason("drafter", "off", "As you asked.")
    if space.drafts(whole=_whole(space, found)):
        fits = not _shortfall(space, found.load, drafter=True)
        why = "Its memory is better spent otherwise here" if fits else "No memory is left for it"
        return Reason("drafter", "off", f"{why}; text is still drafted by copying.")
    return Reason(
        "drafter", "off", "Verifying several tokens at once reads more experts, and RAM is too slow for that."
    )


def _ubatch(space: SearchSpace, found: PlanCandidate) -> Reason:
    count = found.load.n_ubatch
    size = amount(sum(device.compute for device in found.memory.devices))
    why = "Prompts are read in pieces of this size" if count >= 512 else "Smaller pieces of a prompt save memory"
    if space.strict_rows(found.load):
        why = "Strict speculation: larger pieces of a prompt are rounded differently"
    return Reason("micro-batch", f"{count} tokens", f"{why}; computing one takes {size}.")


def _threads(space: SearchSpace, found: PlanCandidate) -> Reason:
    count = threads_for(space, found)
    if _whole(space, found):
        text = "The GPU computes; the CPU has little to do."
    elif count == 1 == space.machine.cores:
        text = "There is a single core."
    elif count == space.machine.cores:
        text = "A model of this size needs every core there is."
    else:
        text = "One core stays free: with llama.cpp on all of them, any other program stalls it again and again."
    return Reason("threads", str(count), text)


def _better(space: SearchSpace, found: PlanCandidate) -> Iterator[tuple[str, Load, bool]]:
    """Loads that are better in one respect and the same in all others: (name, load, drafter)."""
    load, constraints = found.load, space.constraints
    if found.paged:
        yield "All weights in RAM", load, found.drafter
        return
    if found.merits.layers_in_ram and constraints.gpu_layers is None:
        yield "Everything on the GPU", replace(load, gpu_layers=ALL, experts_in_ram=()), found.drafter
    if not found.drafter and constraints.drafter is None and space.drafts(whole=_whole(space, found)):
        yield "The drafter", load, True
    if constraints.kv is None and load.kv is not KV_TYPES[0]:
        better = KV_TYPES[KV_TYPES.index(load.kv) - 1]
        yield cache_name(better).capitalize(), replace(load, kv=better), found.drafter
    longer = next((count for count in space.contexts() if count > load.n_ctx), None)
    if longer is not None:
        yield f"A context of {tokens(longer)}", replace(load, n_ctx=longer), found.drafter


def _shortfall(space: SearchSpace, load: Load, drafter: bool) -> dict[str, int]:
    return shortfall(space.memory(load, drafter), space.machine)


def _more(short: dict[str, int]) -> str:
    return " and ".join(f"{amount(size)} more on {name}" for name, size in short.items())
