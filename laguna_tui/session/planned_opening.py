"""Opens a model as planned, and smaller if memory runs out all the same.

What the user fixed is honoured or refused, with the numbers. It imports much, so it is imported only when there is
something to plan.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from laguna_engine.config import EngineOptions, KvType, Speculation
from laguna_engine.errors import EngineError
from laguna_engine.fit.devices import installed_build, read_machine
from laguna_engine.fit.explanation import difference
from laguna_engine.fit.fallback import FailedPlans, open_with_fallback
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan import Plan, choose_plan
from laguna_engine.fit.plan_search import PlanConstraints
from laguna_engine.fit.scorer_device import scorer_bytes
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf import header
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import NO_DRAFTER, Settings
from laguna_tui.models.model_selection import scorer_path
from laguna_tui.session.opening_report import OpeningReport, strict_lines, summary

T = TypeVar("T")


def open_planned(
    options: EngineOptions,
    settings: Settings,
    title: str,
    context: int | None,
    notes: Path | None,
    opened: Callable[[EngineOptions], T],
) -> tuple[T, EngineOptions, OpeningReport]:
    """Open a model.

    Args:
        options: what would be opened without a plan.
        settings: the user's.
        title: the model's name for the user.
        context: its context if the user says nothing; None for what is best.
        notes: the file that says which plans failed; None for none.
        opened: opens with the options it is given.

    Returns:
        What `opened` returned, the options it was given, and what to tell the user.

    Raises:
        EngineError: it cannot be opened, or not as the user fixed it; says why and what to do.
    """
    plan = planned(options, settings, title, context)
    kept = FailedPlans(notes, f"{options.model.name} {options.model.stat().st_size}", plan.machine, installed_build())
    failed: list[str] = []

    def attempt(chosen: Plan) -> tuple[EngineOptions, T]:
        tried = _with_plan(options, settings, chosen)
        return tried, opened(tried)

    chosen, (used, result) = open_with_fallback(plan, kept, attempt, failed.append)
    holds = {device.name: device.total for device in chosen.memory.devices}
    report = _report(plan, chosen, used, settings, now=any("now" in sentence for sentence in failed))
    return result, used, replace(report, holds=holds)


def planned(options: EngineOptions, settings: Settings, title: str, context: int | None) -> Plan:
    """Return the plan for this machine as it is now."""
    target = header.check(options.model)
    shape = replace(ModelShape.of(target), name=title)
    drafter = None
    if options.drafter is not None and options.speculation is not Speculation.OFF:
        drafter = drafter_files.read(options.drafter)
        drafter_files.check_pair(drafter, target)
    return choose_plan(
        shape,
        drafter,
        read_machine(),
        _constraints(settings, shape, context, options.speculation, paired=drafter is not None),
        _scorer_bytes(settings),
    )


def _scorer_bytes(settings: Settings) -> int:
    """Return the bytes of the scorer on a GPU; 0 without one. What is wrong with it is raised when it is needed."""
    if settings.gpu_layers == 0:
        return 0
    try:
        path = scorer_path(settings)
        return 0 if path is None else scorer_bytes(path)
    except (UserError, EngineError):
        return 0


def _constraints(
    settings: Settings, shape: ModelShape, context: int | None, mode: Speculation, *, paired: bool
) -> PlanConstraints:
    # The catalogue may name more than this file can use; for the user's own number that was refused before.
    limited = settings.context or (context if context is not None and context < shape.n_ctx else None)
    own = paired and (settings.drafter not in (None, NO_DRAFTER) or settings.adapter is not None)
    return PlanConstraints(
        limited,
        KvType(settings.kv) if settings.kv else None,
        drafter=True if own else False if settings.drafter == NO_DRAFTER else None,
        gpu_layers=settings.gpu_layers,
        strict=mode is Speculation.STRICT,
        plain=mode is Speculation.OFF,
    )


def _with_plan(options: EngineOptions, settings: Settings, plan: Plan) -> EngineOptions:
    return replace(
        options,
        n_ctx=settings.context or plan.load.n_ctx,
        n_ubatch=plan.load.n_ubatch,
        kv_type=plan.load.kv,
        gpu_layers=plan.load.gpu_layers,
        threads=plan.threads if settings.threads is None else settings.threads,
        tensors_in_ram=plan.tensors_in_ram,
        split=plan.load.split,
        repack=not plan.paged,
        draft_context=plan.load.draft_context,
        drafter=options.drafter if plan.drafter else None,
        adapters=options.adapters if plan.drafter else (),
    )


def _report(first: Plan, chosen: Plan, options: EngineOptions, settings: Settings, *, now: bool) -> OpeningReport:
    """Return what to tell the user. now: whether memory ran out this time, not at an earlier start."""
    gpus = bool(chosen.memory.gpus)
    lines = [summary(options, gpus=gpus), *_reasons(chosen, settings), *strict_lines(options, gpus=gpus)]
    lines += [f"not chosen: {text}." for text in chosen.given_up]
    lines += [f"next step: {chosen.next_step}."] if chosen.next_step else []
    if chosen is first:
        return OpeningReport(tuple(lines))
    less = difference(first, chosen) or "less memory"
    if not now:
        return OpeningReport((*lines, f"smaller: The first plan did not fit here before, so: {less}."))
    warning = f"Memory ran out when {first.model} was opened as planned; it was opened with {less}. /plan says more."
    return OpeningReport((*lines, f"smaller: Memory ran out at first, so: {less}."), (warning,))


def _reasons(plan: Plan, settings: Settings) -> Iterator[str]:
    """Yield why it was planned so."""
    for reason in plan.reasons:
        if reason.subject == "threads" and settings.threads is not None:
            yield f"threads: {settings.threads or 'one per core'}. As you asked."
        else:
            yield f"{reason.subject}: {reason.choice}. {reason.text}"
