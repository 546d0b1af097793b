"""Whether and how a model fits a machine: its sizes, from its file or its description, and the plan as text."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.errors import EngineError
from laguna_engine.fit import devices
from laguna_engine.fit.decode_speed import DeviceRate, expected_rate, measured_rate, measured_rates
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
    shape = known_model(entry.title, {**entry.facts, **entry.shape}, entry.context_max or entry.context, entry.size)
    if shape is None:
        has = f"a file of {units.size(entry.size)}" if entry.size else "a file of unknown size"
        raise UserError(f"{entry.title} has {has}; whether it runs here can be computed when it is downloaded")
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
        rate: Tokens per second; None if unknown, as on a simulated machine.
        measured: Whether the rate is that of answers given here, and not computed.
    """

    model: ModelToFit
    machine: Machine
    plan: Plan | None
    refusal: str
    rows: list[list[FitCell]]
    rate: float | None = None
    measured: bool = False


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
    table = fit_table(wider, tuple(sorted({*TABLE_CONTEXTS, *own})))
    if plan is None:
        return FitReport(model, machine, None, refusal, table)
    return FitReport(model, machine, plan, "", table, *_speed(model, plan, machine, measured_rates(machine)))


def _speed(
    model: ModelToFit, plan: Plan, machine: Machine, rates: Mapping[str, DeviceRate]
) -> tuple[float | None, bool]:
    """Return the tokens per second, None if unknown, and whether they were measured in an answer."""
    known = None if machine.name or model.file is None else measured_rate(model.file)
    return (known, True) if known is not None else (expected_rate(model.shape, plan, rates), False)


NOT_MEASURED = (
    "Other programs use the processor, so the speed cannot be measured; run it again when they have finished."
)
RECOMMENDED = "xs-2.1"
SLOW = 8.0
"""Tokens per second below which a model is not recommended: answers come slower than they are read."""


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """Whether and how fast a model of the catalogue runs on a machine.

    Attributes:
        entry: The model.
        plan: How it would be opened; None if it cannot be.
        rate: Tokens per second; None if unknown, as on a simulated machine.
        measured: Whether the rate is that of answers given here, and not computed.
        refusal: Why there is no plan.
        unknown: Whether there is no plan because too little is known about the model.
    """

    entry: ModelEntry
    plan: Plan | None = None
    rate: float | None = None
    measured: bool = False
    refusal: str = ""
    unknown: bool = False

    @property
    def suits(self) -> bool:
        """Whether it answers as fast as one reads; where that is unknown, whether it fits on the GPU."""
        if self.plan is None or self.plan.paged:
            return False
        return self.plan.whole if self.rate is None else self.rate >= SLOW

    @property
    def slow(self) -> bool:
        """Whether its answers would come slower than they are read; False if unknown."""
        return self.plan is not None and (self.plan.paged or (self.rate is not None and self.rate < SLOW))

    @property
    def speed(self) -> str:
        """The speed and whether it was measured; empty if unknown."""
        return "" if self.rate is None else speed_text(self.rate, measured=self.measured)

    @property
    def words(self) -> str:
        """How it would run, or why it cannot, in a few words."""
        return self.refusal if self.plan is None else plan_in_words(self.plan, self.speed)


_FREE = PlanConstraints()


def speed_text(rate: float, *, measured: bool) -> str:
    """Return a model's speed and where it is from."""
    return f"{units.rate(rate)} measured" if measured else f"about {units.rate(rate)} (estimate)"


def model_verdict(
    name: str,
    catalogue: Mapping[str, ModelEntry],
    settings: Settings,
    machine: Machine,
    rates: Mapping[str, DeviceRate],
    constraints: PlanConstraints = _FREE,
) -> ModelVerdict:
    """Return the verdict on a model of the catalogue. rates: of the machine's devices, as far as they are known."""
    entry = catalogue[name]
    try:
        model = model_to_fit(name, catalogue, replace(settings, model=name, drafter=None))
    except (UserError, EngineError) as error:
        return ModelVerdict(entry, refusal=str(error), unknown=True)
    plan, refusal = plan_or_refusal(model, machine, constraints)
    if plan is None:
        return ModelVerdict(entry, refusal=refusal)
    return ModelVerdict(entry, plan, *_speed(model, plan, machine, rates))


def compared(
    catalogue: Mapping[str, ModelEntry], settings: Settings, machine: Machine, rates: Mapping[str, DeviceRate]
) -> list[ModelVerdict]:
    """Return the verdicts on all downloadable models, those that suit the machine first, of these Laguna XS 2.1 first.

    Then come those with a known hash before others, and larger before smaller ones. Of those that do not suit the
    machine the fastest comes first.
    """
    found = [
        model_verdict(name, catalogue, settings, machine, rates)
        for name, entry in catalogue.items()
        if entry.kind is ModelKind.TARGET and entry.source is not None
    ]
    return sorted(found, key=_order)


def _order(found: ModelVerdict) -> tuple[bool, bool, bool, bool, float, int]:
    entry = found.entry
    size, pinned = entry.size or 0, entry.source is not None and entry.source.pinned
    if found.suits:
        return False, entry.name != RECOMMENDED, False, not pinned, 0.0, -size
    return True, found.unknown, found.plan is None, not pinned, -(found.rate or 0.0), size


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
    speed = "" if found.rate is None else speed_text(found.rate, measured=found.measured)
    yield from wrapped(f"It {plan_in_words(plan, speed)}." if plan is not None else f"{found.refusal}.", width)
    if found.rate is not None:
        source = (
            "of the newest answer here" if found.measured else "computed from the speed of the memory, without drafts"
        )
        yield from wrapped(f"The speed is {source}.", width)
    elif plan is not None and not plan.paged and not found.machine.name:
        yield from wrapped(NOT_MEASURED, width)
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


def plan_in_words(plan: Plan, speed: str = "") -> str:
    """Return in a few words how a model would run. speed: of `speed_text`, if known."""
    context = f"{tokens(plan.load.n_ctx)} tokens of context"
    if plan.paged:
        return "does not fit into memory here, and would be read from disk for every token: minutes for a sentence"
    cpu = "partly on the CPU (experts in RAM)" if plan.load.experts_in_ram else "partly on the CPU"
    where = "fits on the GPU" if plan.whole else f"runs {cpu if plan.memory.gpus else 'on the CPU'}"
    return f"{where} with {context}{f', {speed}' if speed else ''}"
