"""Opening a model the way its plan says, and the next smaller way when memory runs out all the same.

What the user fixed is a wish: honoured or refused, with the numbers. (Who fixes everything overrules the plan:
`unplanned`.) Imports much; imported only when a model is opened for which there is something to plan.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TypeVar

from laguna_engine.errors import ContextError, EngineError, ModelFileError
from laguna_engine.fit.devices import read_machine
from laguna_engine.fit.ladder import Notes, difference, ladder
from laguna_engine.fit.plan import Plan, choose_plan
from laguna_engine.fit.shape import ModelShape
from laguna_engine.fit.wishes import Wishes
from laguna_engine.gguf import drafter as drafter_files
from laguna_engine.gguf import header
from laguna_engine.llama.options import KvType
from laguna_engine.native.library import device_descriptions
from laguna_engine.options import EngineOptions, Speculation
from laguna_tui.settings import NO_DRAFTER, Settings
from laguna_tui.unplanned import Told, summary

T = TypeVar("T")

_HOME_EXPERTS = (
    "experts: This version cannot keep experts alone in RAM, so whole layers stay there, which is slower than what "
    "was planned."
)
_FROM_DISK = "disk: This version rearranges weights for the CPU, which needs memory of its own; it may be very slow."
_SPLIT = "cards: llama.cpp spreads the layers over them by their free memory."


def open_planned(
    options: EngineOptions,
    settings: Settings,
    title: str,
    context: int | None,
    notes: Path | None,
    opened: Callable[[EngineOptions], T],
) -> tuple[T, EngineOptions, Told]:
    """Open a model: what `opened` gave, with which options, and what to tell.

    Args:
        options: what would be opened without a plan. context: what it shall have if the user says nothing, None for
            whatever is best. notes: where is kept what failed; None for nowhere. opened: opens with such options.

    Raises:
        EngineError: it cannot be opened, or not as the user wishes; says why and what to do.
    """
    plan = planned(options, settings, title, context)
    kept = Notes(notes, f"{options.model.name} {options.model.stat().st_size}", plan.machine, _build())
    failure: EngineError | None = None
    for rung in _rungs(plan, kept):
        chosen, besides = _expressible(rung)
        asked = _with_plan(options, settings, chosen)
        try:
            result = opened(asked)
        except (ContextError, ModelFileError) as error:
            if not _memory_ran_out(error):
                raise
            failure = error
            _note(kept, rung)
            continue
        return result, asked, _told(plan, rung, chosen, asked, settings, besides, failure)
    assert failure is not None, "there is always a first rung"
    raise failure


def planned(options: EngineOptions, settings: Settings, title: str, context: int | None) -> Plan:
    """The plan for this machine as it is now."""
    target = header.check(options.model)
    shape = replace(ModelShape.of(target), name=title)
    drafter = None
    if options.drafter is not None and options.speculation is not Speculation.OFF:
        drafter = drafter_files.read(options.drafter)
        drafter_files.check_pair(drafter, target)
    return choose_plan(shape, drafter, read_machine(), _wishes(settings, shape, context, paired=drafter is not None))


def _wishes(settings: Settings, shape: ModelShape, context: int | None, *, paired: bool) -> Wishes:
    asked = settings.context or context
    # More than the model can use is the engine's to cut, with a warning.
    limited = asked if asked is not None and asked < shape.n_ctx else None
    if settings.context is not None and settings.context >= shape.n_ctx:
        limited = shape.n_ctx
    own = paired and (settings.drafter not in (None, NO_DRAFTER) or settings.adapter is not None)
    kv = KvType(settings.kv) if settings.kv else None
    return Wishes(limited, kv, drafter=True if own else None, gpu_layers=settings.gpu_layers)


def _rungs(plan: Plan, notes: Notes) -> Iterator[Plan]:
    """What to try: not what is known to fail, unless nothing else is left. Rungs are worked out only when needed."""
    tried = False
    for rung in chain((plan,), ladder(plan)):
        if notes.allows(rung):
            tried = True
            yield rung
    if not tried:
        yield plan


def _expressible(plan: Plan) -> tuple[Plan, tuple[str, ...]]:
    """The plan as this engine can open it, with sentences about what it cannot do."""
    besides = (_FROM_DISK,) * plan.paged + (_SPLIT,) * bool(plan.load.split)
    if not plan.load.home_experts:
        return plan, besides
    room = {gpu.name: gpu.total for gpu in plan.memory.gpus}
    for layers in range(len(plan.question.shape.layers), -1, -1):
        load = replace(plan.load, home_experts=(), split=(), gpu_layers=layers)
        memory = plan.question.memory(load, plan.drafter)
        if all(gpu.total <= room[gpu.name] for gpu in memory.gpus):
            break
    return replace(plan, load=load, memory=memory), (_HOME_EXPERTS, *besides)


def _with_plan(options: EngineOptions, settings: Settings, plan: Plan) -> EngineOptions:
    return replace(
        options,
        n_ctx=settings.context or plan.load.n_ctx,
        n_ubatch=plan.load.n_ubatch,
        kv_type=plan.load.kv,
        gpu_layers=plan.load.gpu_layers,
        threads=plan.threads if settings.threads is None else settings.threads,
        drafter=options.drafter if plan.drafter else None,
        adapters=options.adapters if plan.drafter else (),
    )


def _memory_ran_out(error: EngineError) -> bool:
    """Whether less would do; any other reason stays the same with less."""
    text = str(error).lower()
    return "could not be made" in text or "alloc" in text or "out of memory" in text


def _note(notes: Notes, plan: Plan) -> None:
    try:
        notes.failed(plan)
    except OSError:
        # Only for the next time; a disk that refuses is no reason not to go on now.
        return


def _told(
    first: Plan,
    rung: Plan,
    chosen: Plan,
    options: EngineOptions,
    settings: Settings,
    besides: tuple[str, ...],
    failure: EngineError | None,
) -> Told:
    moved = chosen is not rung
    lines = [summary(options, gpus=bool(chosen.memory.gpus)), *_reasons(chosen, settings, moved=moved), *besides]
    lines += [f"without: {text}." for text in rung.given_up]
    lines += [f"next step: {rung.next_step}."] if rung.next_step else []
    if rung is first:
        return Told(tuple(lines))
    less = difference(first, rung) or "less memory"
    if failure is None:
        return Told((*lines, f"smaller: What was planned first did not fit here before, so: {less}."))
    warning = f"Memory ran out when {first.model} was opened as planned; it was opened with {less}. /plan says more."
    return Told((*lines, f"smaller: Memory ran out at first, so: {less}."), (warning,))


def _reasons(plan: Plan, settings: Settings, *, moved: bool) -> Iterator[str]:
    """Why it is so. moved: other layers are on the GPU than the reasons say."""
    for reason in plan.reasons:
        if reason.subject == "threads" and settings.threads is not None:
            yield f"threads: {settings.threads or 'one per core'}. As you asked."
        elif reason.subject == "layers" and moved:
            yield f"layers: {plan.load.gpu_layers} on the GPU, the others in RAM."
        else:
            yield f"{reason.subject}: {reason.choice}. {reason.text}"


def _build() -> str:
    """What sets this llama.cpp apart from another."""
    return f"llama-cpp-python {metadata.version('llama-cpp-python')} on {', '.join(device_descriptions())}"
