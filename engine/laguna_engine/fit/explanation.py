"""Sentences for people: why a plan is as it is, what it does without, and what a little more memory would give."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from laguna_engine.config import KvType
from laguna_engine.fit.constraints import KV_TYPES, Constraints
from laguna_engine.fit.devices import GIB
from laguna_engine.fit.memory import ALL, HOST, Load, kv_per_token
from laguna_engine.fit.search import SMALL, PlanCandidate, SearchSpace, lacking

_GPU_THREADS = 4
"""With every layer on a GPU the CPU only looks up embeddings."""

_FEW_CORES = 4
"""With no more than these a large model is worth all of them."""

_KIB = 1024
_SMALLEST_AMOUNT = GIB // 20
"""Below this an amount is told in MiB."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One choice. subject: what was chosen, in a word or two. choice: as it is set. text: why, in a sentence."""

    subject: str
    choice: str
    text: str


def tokens(count: int) -> str:
    """A number of tokens."""
    return f"{count // _KIB} K" if count % _KIB == 0 else f"{count:,}"


def amount(size: int) -> str:
    """A number of bytes."""
    return f"{size / GIB:.1f} GiB" if size >= _SMALLEST_AMOUNT else f"{max(1, round(size / (1 << 20)))} MiB"


def cache_name(kv: KvType) -> str:
    """A cache of this type, with its article."""
    return f"{'an' if kv is KvType.F16 else 'a'} {kv.value} cache"


def wished(wishes: Constraints) -> str:
    """What was asked for, to stand behind a model's name."""
    parts = [
        f"a context of {tokens(wishes.context)} tokens" if wishes.context is not None else "",
        cache_name(wishes.kv) if wishes.kv is not None else "",
        "its drafter" if wishes.drafter else "",
        f"{wishes.gpu_layers} layers on the GPU" if (wishes.gpu_layers or 0) > 0 else "",
        "every layer on the GPU" if wishes.gpu_layers == ALL else "",
    ]
    return "with " + " and ".join(filter(None, parts)) if any(parts) else "as it is"


def of(question: SearchSpace, found: PlanCandidate) -> tuple[Reason, ...]:
    """Why the plan is as it is, the weightiest first."""
    return (
        _layers(question, found),
        _cache(question, found),
        _context(question, found),
        _drafter(question, found),
        _ubatch(question, found),
        _threads(question, found),
    )


def beyond(question: SearchSpace, found: PlanCandidate) -> tuple[tuple[str, ...], str]:
    """What was given up, and the step up that takes the least memory."""
    missing = [(what, _short(question, load, drafter)) for what, load, drafter in _better(question, found)]
    given_up = tuple(f"{what}: {_told(short)}" for what, short in missing)
    reachable = [(sum(short.values()), what, short) for what, short in missing if short]
    if not reachable:
        return given_up, ""
    _, what, short = min(reachable, key=lambda entry: entry[0])
    return given_up, f"{what} would take {_more(short)}"


def threads_for(question: SearchSpace, found: PlanCandidate) -> int:
    """Threads for the CPU's part.

    A core stays free for everything else: llama.cpp's threads wait for each other after every step, and a small model
    has ten thousand steps a second, each of which stops when one of its cores does something else for a moment.
    """
    cores = question.machine.cores
    if _whole(question, found):
        return max(1, min(_GPU_THREADS, cores - 1))
    return cores if cores <= _FEW_CORES and question.shape.size >= SMALL else max(1, cores - 1)


def _whole(question: SearchSpace, found: PlanCandidate) -> bool:
    return bool(question.machine.gpus) and found.merits.home == 0


def _layers(question: SearchSpace, found: PlanCandidate) -> Reason:
    choice, text = _placed(question, found)
    if found.paged:
        out = lacking(found.memory, question.machine)[HOST]
        choice += ", from disk"
        text += f" RAM lacks {amount(out)}: weights are read from disk over and over, which is very slow."
    return Reason("layers", choice, text)


def _placed(question: SearchSpace, found: PlanCandidate) -> tuple[str, str]:
    """Where the layers are, and why."""
    shape, load, gpus = question.shape, found.load, question.machine.gpus
    where = gpus[0].name if len(gpus) == 1 else f"{len(gpus)} GPUs"
    if not gpus:
        return "CPU", f"There is no GPU that llama.cpp can use here. The weights are {amount(shape.size)}."
    if load.gpu_layers == 0:
        why = "As you asked." if question.wishes.gpu_layers == 0 else f"Nothing of it fits on {where}."
        return "CPU", f"{why} The weights are {amount(shape.size)}."
    if _whole(question, found):
        weights = sum(device.weights for device in found.memory.gpus)
        return f"all on {where}", f"All {len(shape.layers)} layers fit there: {amount(weights)}."
    if load.gpu_layers == ALL:
        home = sum(shape.layers[layer].experts_size for layer in load.home_experts)
        text = f"Experts of {len(load.home_experts)} layers, {amount(home)}, stay in RAM: a token needs few of them."
        return f"on {where}, experts of {len(load.home_experts)} in RAM", text
    text = f"Of {len(shape.layers) + 1} layers {load.gpu_layers} go there; the CPU computes the others."
    return f"{load.gpu_layers} on {where}", text


def _cache(question: SearchSpace, found: PlanCandidate) -> Reason:
    kv = found.load.kv
    each = kv_per_token(question.shape, kv) / _KIB
    cost = f"{each:.4g} KiB a token" if each else "nothing a token"
    text = {
        KvType.F16: f"There is room for the exact cache, {cost}.",
        KvType.Q8_0: f"Half of f16 at next to no loss: {cost}.",
        KvType.Q4_0: f"Only the smallest cache fits, {cost}; long answers may suffer.",
    }[kv]
    if question.wishes.kv is kv:
        text = f"As you asked: {cost}."
    return Reason("KV cache", kv.value, text)


def _context(question: SearchSpace, found: PlanCandidate) -> Reason:
    count, limit = found.load.n_ctx, question.shape.n_ctx
    size = amount(found.memory.sum("kv"))
    if question.wishes.context is not None:
        why = "As you asked"
    elif count == limit:
        why = "All that the model can use"
    elif count == max(question.contexts()):
        why = f"Longer ones, up to {tokens(limit)}, are slow to read: ask for one if you need it"
    elif found.paged:
        why = "Short, because memory is needed for the weights"
    else:
        why = "The longest that leaves room for the rest"
    return Reason("context", f"{tokens(count)} tokens", f"{why}; the cache takes {size}.")


def _drafter(question: SearchSpace, found: PlanCandidate) -> Reason:
    if found.drafter:
        size = found.memory.sum("drafter")
        return Reason("drafter", "on", f"It takes {amount(size)} and makes answers faster where it guesses well.")
    if question.drafter is None and not question.wishes.plain:
        return Reason("drafter", "none", "There is no drafter for this model here; text is still drafted by copying.")
    if question.wishes.drafter is False or question.wishes.plain:
        return Reason("drafter", "off", "As you asked.")
    if question.drafts(whole=_whole(question, found)):
        fits = not _short(question, found.load, drafter=True)
        why = "Its memory is better spent otherwise here" if fits else "No memory is left for it"
        return Reason("drafter", "off", f"{why}; text is still drafted by copying.")
    return Reason("drafter", "off", "Checking several tokens at once reads more experts, for which RAM is too slow.")


def _ubatch(question: SearchSpace, found: PlanCandidate) -> Reason:
    count = found.load.n_ubatch
    size = amount(sum(device.compute for device in found.memory.devices))
    why = "Prompts are read in pieces of this size" if count >= 512 else "Smaller pieces of a prompt save memory"
    if question.strict_rows(found.load):
        why = "Strict speculation: larger pieces of a prompt are rounded differently"
    return Reason("micro-batch", f"{count} tokens", f"{why}; computing one takes {size}.")


def _threads(question: SearchSpace, found: PlanCandidate) -> Reason:
    count = threads_for(question, found)
    if _whole(question, found):
        text = "The GPU computes; the CPU has little to do."
    elif count == 1 == question.machine.cores:
        text = "There is a single core."
    elif count == question.machine.cores:
        text = "A model of this size needs every core there is."
    else:
        text = "One core stays free: when llama.cpp has all of them, whatever else runs stops it again and again."
    return Reason("threads", str(count), text)


def _better(question: SearchSpace, found: PlanCandidate) -> Iterator[tuple[str, Load, bool]]:
    """What would be better in one respect, the same in all others."""
    load, wishes = found.load, question.wishes
    if found.paged:
        yield "All weights in RAM", load, found.drafter
        return
    if found.merits.home and wishes.gpu_layers is None:
        yield "Everything on the GPU", replace(load, gpu_layers=ALL, home_experts=()), found.drafter
    if not found.drafter and wishes.drafter is None and question.drafts(whole=_whole(question, found)):
        yield "The drafter", load, True
    if wishes.kv is None and load.kv is not KV_TYPES[0]:
        better = KV_TYPES[KV_TYPES.index(load.kv) - 1]
        yield cache_name(better).capitalize(), replace(load, kv=better), found.drafter
    longer = next((count for count in question.contexts() if count > load.n_ctx), None)
    if longer is not None:
        yield f"A context of {tokens(longer)}", replace(load, n_ctx=longer), found.drafter


def _short(question: SearchSpace, load: Load, drafter: bool) -> dict[str, int]:
    return lacking(question.memory(load, drafter), question.machine)


def _told(short: dict[str, int]) -> str:
    return f"{_more(short)} needed" if short else "it would fit, but other things count more"


def _more(short: dict[str, int]) -> str:
    return " and ".join(f"{amount(size)} more on {name}" for name, size in short.items())
