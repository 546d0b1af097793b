"""Whether a model fits a machine, with everything there is to say about it: the plan or the refusal, every context.

The engine's planner loads llama.cpp, so it is imported in the functions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError

if TYPE_CHECKING:
    from laguna_engine.fit.devices import Machine
    from laguna_engine.fit.plan import FitCell, Plan
    from laguna_engine.fit.plan_search import PlanConstraints
    from laguna_tui.base.settings import Settings
    from laguna_tui.models.entry import ModelEntry
    from laguna_tui.models.fit import ModelToFit


NARROWEST, WIDEST = 40, 100
_LEAST = 32
"""Cells that the table itself needs."""


def described_machine(specification: str | None) -> "Machine":
    """The machine of a specification such as "24GB desktop"; None is this one. UserError when it is none."""
    from laguna_engine.fit.devices import read_machine, simulated_machine

    if specification is None:
        return read_machine()
    try:
        return simulated_machine(specification)
    except ValueError as error:
        raise UserError(f"--machine: {error}") from error


@dataclass(frozen=True, slots=True)
class FitReport:
    """What there is to say about one model on one machine; without a plan `refusal` says why."""

    model: "ModelToFit"
    machine: "Machine"
    plan: "Plan | None"
    refusal: str
    rows: "list[list[FitCell]]"


def fit_report(
    wanted: str,
    catalogue: "Mapping[str, ModelEntry]",
    settings: "Settings",
    machine: "Machine",
    constraints: "PlanConstraints",
) -> FitReport:
    """Plan a model on a machine, and look at every context and cache. UserError, EngineError: it is not known."""
    from laguna_engine.fit.plan import TABLE_CONTEXTS, fit_table, search_space
    from laguna_tui.models.fit import model_to_fit

    model = model_to_fit(wanted, catalogue, settings)
    plan, refusal = plan_or_refusal(model, machine, constraints)
    wider = search_space(model.shape, model.drafter, machine, _unbound(constraints))
    own = {plan.load.n_ctx} if plan is not None else set()
    return FitReport(model, machine, plan, refusal, fit_table(wider, tuple(sorted({*TABLE_CONTEXTS, *own}))))


def plan_or_refusal(
    model: "ModelToFit", machine: "Machine", constraints: "PlanConstraints"
) -> "tuple[Plan | None, str]":
    """The plan, or why there is none."""
    from laguna_engine.fit.plan import DoesNotFit, choose_plan

    try:
        return choose_plan(model.shape, model.drafter, machine, constraints), ""
    except DoesNotFit as error:
        return None, str(error)


def _unbound(constraints: "PlanConstraints") -> "PlanConstraints":
    """Without what the table itself goes through."""
    from dataclasses import replace

    return replace(constraints, context=None, kv=None)


def fit_lines(wanted: str, settings: "Settings", width: int) -> list[str]:
    """Everything about one model on this machine, as lines for a panel of `width` cells.

    Raises:
        UserError: there is no such model. EngineError: its file cannot be read.
    """
    from laguna_engine.fit.plan_search import PlanConstraints
    from laguna_tui.models.catalogue import load_catalogue

    found = fit_report(wanted, load_catalogue(), settings, described_machine(None), PlanConstraints())
    return list(report_lines(found, min(max(width, _LEAST), WIDEST)))


def report_lines(found: "FitReport", width: int) -> Iterator[str]:
    """The report as lines of at most `width` cells."""
    from laguna_tui.models.fit import explanation, summary, table, wrapped

    model, plan = found.model, found.plan
    yield from wrapped(f"{model.title} on {machine_title(found.machine)}: {found.machine.description}.", width)
    if model.file is None:
        yield from wrapped("Its file is not here yet: sizes follow from what is published about it.", width)
    yield ""
    yield from wrapped(f"It runs: {summary(plan)}." if plan is not None else f"{found.refusal}.", width)
    yield ""
    yield from table(found.rows, plan, width)
    if plan is not None:
        yield ""
        yield from explanation(plan, width)


def machine_title(machine: "Machine") -> str:
    """The machine in a sentence: this one, or the one that was asked for."""
    return f"a machine like {machine.name!r}" if machine.name else "this machine"
