"""Whether and how a model fits a machine: its sizes, from its file or its description, and the plan as text."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.fit import devices
from laguna_engine.fit.decode_speed import expected_rate, measured_rates
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.explanation import amount, tokens
from laguna_engine.fit.known_models import XS_DRAFTER, known_model
from laguna_engine.fit.memory import ALL, DrafterShape
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan import (
    TABLE_CONTEXTS,
    DoesNotFit,
    FitCell,
    Plan,
    choose_plan,
    fit_table,
    search_space,
)
from laguna_engine.fit.plan_search import PlanConstraints, budgets
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf import header
from laguna_engine.gguf.drafter_header import DrafterHeader
from laguna_engine.gguf.laguna import ARCHITECTURE
from laguna_tui.base import units
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import NO_DRAFTER, Settings
from laguna_tui.base.units import GIB, memory
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.entry import ModelEntry, ModelKind, companions
from laguna_tui.models.model_selection import drafter_of

NARROWEST, WIDEST = 40, 100
"""Cells per line."""
_LEAST = 32
"""Cells that the table itself needs."""


@dataclass(frozen=True, slots=True)
class ModelToFit:
    """A model that can be planned for.

    Attributes:
        file: None before its download: sizes are then from its description.
        drafter: None without one.
        chat: The chat format of a model that is not a Laguna, as a sentence; else empty.
    """

    title: str
    file: Path | None
    shape: ModelShape
    drafter: DrafterHeader | DrafterShape | None
    chat: str = ""


def model_to_fit(wanted: str, catalogue: Mapping[str, ModelEntry], settings: Settings) -> ModelToFit:
    """Return the model with this name or file.

    Raises:
        UserError: There is no such model, or too little is known about it before its download.
        EngineError: Its file, or its drafter's, is not what it should be.
    """
    entry = catalogue.get(wanted)
    if entry is None or entry.kind is not ModelKind.TARGET:
        return _from_file(resolve(wanted, catalogue), settings)
    try:
        there = resolve(wanted, catalogue)
    except UserError:
        return _from_description(entry, catalogue, settings)
    return _from_file(there, settings)


def _from_file(entry: ModelEntry, settings: Settings) -> ModelToFit:
    target = header.check_chat(entry.file)
    path = drafter_of(settings, entry)
    drafter = None
    if path is not None:
        drafter = drafter_files.read(path)
        drafter_files.check_pair(drafter, target)
    shape = replace(ModelShape.of(target), name=entry.title)
    return ModelToFit(entry.title, entry.file, shape, drafter, _chat_format(target))


def _chat_format(target: header.Header) -> str:
    """Return the chat format of a model that is not a Laguna, as a sentence; else empty."""
    if target.architecture == ARCHITECTURE:
        return ""
    if target.metadata.get("tokenizer.chat_template"):
        return "It chats with the template in its file."
    return "Its file has no chat template; ChatML is used."


def _from_description(entry: ModelEntry, catalogue: Mapping[str, ModelEntry], settings: Settings) -> ModelToFit:
    size = entry.source.size if entry.source is not None else None
    shape = known_model(entry.title, entry.facts, entry.context_max or entry.context, size)
    if shape is None:
        raise UserError(f"{entry.title}: too little is known about it before its download; give the path of its GGUF")
    return ModelToFit(entry.title, None, shape, _described_drafter(entry, catalogue, settings))


def _described_drafter(
    entry: ModelEntry, catalogue: Mapping[str, ModelEntry], settings: Settings
) -> DrafterShape | None:
    """Return the recommended drafter, as it would be after a download."""
    found = companions(entry, catalogue, ModelKind.DRAFTER)
    if not found or settings.drafter == NO_DRAFTER:
        return None
    size = found[0].source.size if found[0].source is not None else None
    return XS_DRAFTER if size is None else replace(XS_DRAFTER, weights=size)


def described_machine(specification: str | None) -> Machine:
    """Return the machine of a specification such as "24GB desktop", or this one. Raises UserError if it is not one."""
    if specification is None:
        return devices.read_machine()
    try:
        return devices.simulated_machine(specification)
    except ValueError as error:
        raise UserError(f"--machine: {error}") from error


@dataclass(frozen=True, slots=True)
class FitReport:
    """One model on one machine: its plan, or why there is none, and every context and cache.

    Attributes:
        rate: Expected tokens per second, measured; None if unknown, as on a simulated machine.
    """

    model: ModelToFit
    machine: Machine
    plan: Plan | None
    refusal: str
    rows: list[list[FitCell]]
    rate: float | None = None


def fit_report(
    wanted: str,
    catalogue: Mapping[str, ModelEntry],
    settings: Settings,
    machine: Machine,
    constraints: PlanConstraints,
) -> FitReport:
    """Plan a model on a machine, with every context and cache. Raises as `model_to_fit` does."""
    model = model_to_fit(wanted, catalogue, settings)
    plan, refusal = plan_or_refusal(model, machine, constraints)
    wider = search_space(model.shape, model.drafter, machine, replace(constraints, context=None, kv=None))
    own = {plan.load.n_ctx} if plan is not None else set()
    rate = None if plan is None else expected_rate(model.shape, plan, measured_rates(machine))
    return FitReport(model, machine, plan, refusal, fit_table(wider, tuple(sorted({*TABLE_CONTEXTS, *own}))), rate)


def plan_or_refusal(model: ModelToFit, machine: Machine, constraints: PlanConstraints) -> tuple[Plan | None, str]:
    """Return the plan, or why there is none."""
    try:
        return choose_plan(model.shape, model.drafter, machine, constraints), ""
    except DoesNotFit as error:
        return None, str(error)


def fit_lines(wanted: str, settings: Settings, width: int) -> list[str]:
    """Return the report of a model on this machine as lines for a panel of `width` cells. Raises as `model_to_fit`."""
    found = fit_report(wanted, load_catalogue(), settings, described_machine(None), PlanConstraints())
    return list(report_lines(found, min(max(width, _LEAST), WIDEST)))


def report_lines(found: FitReport, width: int) -> Iterator[str]:
    """Yield the report as lines of at most `width` cells."""
    model, plan = found.model, found.plan
    yield from wrapped(f"{model.title} on {machine_title(found.machine)}: {found.machine.description}.", width)
    if model.file is None:
        yield from wrapped("It is not downloaded yet; the sizes are those of its published description.", width)
    yield from wrapped(model.chat, width)
    yield ""
    yield from wrapped(f"It {plan_in_words(plan, found.rate)}." if plan is not None else f"{found.refusal}.", width)
    if found.rate is not None:
        yield from wrapped("The speed is computed from the measured memory speed, without drafts.", width)
    yield ""
    yield from table(found.rows, plan, width)
    if plan is not None:
        yield ""
        yield from explanation(plan, width)


def machine_title(machine: Machine) -> str:
    """Return the words for this machine, or for the one that was given."""
    return f"a machine like {machine.name!r}" if machine.name else "this machine"


_WIDE = 76
"""From this width on, cells are words."""

_MARK = "*"


def table(rows: Sequence[Sequence[FitCell]], plan: Plan | None, width: int) -> list[str]:
    """Return the contexts by KV caches; the cell of `plan` is marked."""
    wide = width >= _WIDE
    cells = [[_cell(cell, plan, wide=wide) for cell in row] for row in rows]
    column = max(len(cell) for row in cells for cell in row)
    head = f"{'context':>9}" + "".join(f"  {' ' + cell.kv.value:<{column}}" for cell in rows[0])
    lines = [
        f"{tokens(row[0].context):>9}" + "".join(f"  {text:<{column}}" for text in texts)
        for row, texts in zip(rows, cells, strict=True)
    ]
    return [line.rstrip() for line in (head, *lines)] + ["", *_legend(rows, plan, width, wide=wide)]


def explanation(plan: Plan, width: int) -> list[str]:
    """Return the plan with its reasons, its memory, what was given up and what a better one would need."""
    lines = [
        line for reason in plan.reasons for line in _item(reason.subject, f"{reason.choice}. {reason.text}", width)
    ]
    lines += ["", *_memory(plan)]
    if plan.given_up:
        lines += ["", *(line for text in plan.given_up for line in _item("not chosen", text + ".", width))]
    if plan.next_step:
        lines += _item("next step", plan.next_step + ".", width)
    return lines


def wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _cell(cell: FitCell, plan: Plan | None, *, wide: bool) -> str:
    chosen = plan is not None and (cell.context, cell.kv) == (plan.load.n_ctx, plan.load.kv)
    found = cell.found
    if found is None:
        words, signs = f"{amount(-cell.left)} short", f"-{-cell.left / GIB:.1f}"
    elif found.paged:
        words, signs = "from disk", "disk"
    elif layers := found.merits.layers_in_ram:
        part = f"experts of {len(found.load.experts_in_ram)}" if found.load.gpu_layers == ALL else f"{layers} layers"
        words, signs = f"{part} in RAM", f"{layers}r"
    elif found.drafter:
        words, signs = f"{amount(cell.left)} free", f"{cell.left / GIB:.1f}"
    else:
        words, signs = f"{amount(cell.left)} free, plain", f"{cell.left / GIB:.1f}p"
    return f"{_MARK if chosen else ' '}{words if wide else signs}"


def _legend(rows: Sequence[Sequence[FitCell]], plan: Plan | None, width: int, *, wide: bool) -> list[str]:
    """Return what the signs in the table mean."""
    found = [cell.found for row in rows for cell in row]
    whole = [one for one in found if one is not None and not one.paged and not one.merits.layers_in_ram]
    mixed = any(one is not None and one.merits.layers_in_ram for one in found)
    paged = any(one is not None and one.paged for one in found)
    plain = any(one.drafter for one in whole) and any(not one.drafter for one in whole)
    says = [
        (plan is not None, f"{_MARK} chosen", f"{_MARK} chosen"),
        (bool(whole), "", "number: GiB left free"),
        (plain, "plain: without the drafter", "p: without the drafter"),
        (mixed, "in RAM: slower, because the CPU computes them", "r: layers with experts in RAM, slower"),
        (paged, "from disk: very slow", "disk: read from disk, very slow"),
        (None in found, "", "-: GiB short"),
    ]
    shown = [words if wide else signs for holds, words, signs in says if holds]
    return wrapped("; ".join(filter(None, shown)), width)


def _memory(plan: Plan) -> Iterator[str]:
    room = budgets(plan.machine)
    taken = {gpu.name: gpu.total - gpu.free for gpu in plan.machine.gpus}
    for device in plan.memory.devices:
        yield f"{device.name:<9} {device.total / GIB:6.2f} of {memory(room[device.name], 2)}"
        parts = {
            "weights": device.weights,
            "cache": device.kv,
            "computing": device.compute + device.output,
            "drafter": device.drafter,
            "driver": device.runtime,
        }
        for name, size in parts.items():
            if size:
                yield f"  {name:<9} {size / GIB:8.2f}"
        if taken.get(device.name):
            yield f"  {'others':<9} {taken[device.name] / GIB:8.2f} already in use"


def _item(subject: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(f"{subject}: {text}", width, subsequent_indent="  ", break_on_hyphens=False)


def plan_in_words(plan: Plan, rate: float | None = None) -> str:
    """Return in a few words how a model would run. rate: expected tokens per second; None if unknown."""
    context = f"{tokens(plan.load.n_ctx)} tokens of context"
    if plan.paged:
        return "does not fit into memory here, and would be read from disk for every token: minutes for a sentence"
    where = "fits on the GPU" if plan.whole else f"runs {'partly ' if plan.memory.gpus else ''}on the CPU"
    return f"{where} with {context}{f', about {units.rate(rate)}' if rate is not None else ''}"
