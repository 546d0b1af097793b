"""`laguna-tui fit`: whether a model runs here, how, and why so; before it is opened, and before it is downloaded."""

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from laguna_tui.errors import UserError
from laguna_tui.output import say
from laguna_tui.text import sanitize

if TYPE_CHECKING:
    from laguna_engine.fit.devices import Machine
    from laguna_engine.fit.plan import Plan
    from laguna_engine.fit.survey import Cell
    from laguna_engine.fit.wishes import Wishes
    from laguna_tui.fit_models import Known
    from laguna_tui.models.entry import ModelEntry
    from laguna_tui.settings import Settings

_EPILOG = """\
A machine is described by its parts, with commas or blanks between them:
  24GB, 2x12GB     CUDA cards of this size    desktop    the first one draws a desktop
  apple-32GB       an Apple machine           ram-16GB   so much RAM (default: 32 GB)
  cpu-16GB         no GPU, so much RAM        8cores     physical cores (default: 8)
For example: laguna-tui fit xs-2.1 --machine "24GB desktop"

exit codes: 0 it fits, 1 it does not, 2 wrong usage
"""

_NARROWEST, _WIDEST = 40, 100
_LEAST = 32
"""Cells that the table itself needs."""

FIRSTS = ("balanced", "quality", "speed")


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `fit` to the command line."""
    parser = commands.add_parser(
        "fit",
        help="say whether a model runs on this machine, and how",
        description="Whether a model fits on this machine, with every context and cache, and how it would be opened. "
        "Without a model: one line for each that the catalogue knows.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("wanted", nargs="?", metavar="MODEL", help="a model of the catalogue, or a GGUF file")
    # A sub-command's own default would overwrite what stood before the command's name.
    parser.add_argument(
        "--context", type=int, metavar="N", help="tokens of context that it must have", default=argparse.SUPPRESS
    )
    parser.add_argument(
        "--kv", metavar="TYPE", help="type that the KV cache must have: f16, q8_0 or q4_0", default=argparse.SUPPRESS
    )
    parser.add_argument("--first", choices=FIRSTS, default=FIRSTS[0], help="what counts most (default: balanced)")
    parser.add_argument("--machine", metavar="SPEC", help="another machine than this one, see below")
    parser.add_argument("--json", dest="as_json", action="store_true", help="one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Say what fits; returns the exit code."""
    from laguna_engine.errors import EngineError
    from laguna_tui.models.catalogue import load_catalogue

    machine, wishes, catalogue = _machine(arguments.machine), _wishes(arguments), load_catalogue()
    try:
        if arguments.wanted is None:
            return _all(catalogue, machine, wishes, as_json=arguments.as_json)
        return _one(arguments.wanted, catalogue, machine, wishes, as_json=arguments.as_json)
    except EngineError as error:
        raise UserError(sanitize(str(error))) from error


def _machine(specification: str | None) -> "Machine":
    from laguna_engine.fit.devices import read_machine
    from laguna_engine.fit.simulated import simulated

    if specification is None:
        return read_machine()
    try:
        return simulated(specification)
    except ValueError as error:
        raise UserError(f"--machine: {error}") from error


def _wishes(arguments: argparse.Namespace) -> "Wishes":
    from laguna_engine.fit.wishes import First, Wishes
    from laguna_engine.llama.options import KvType
    from laguna_tui.settings import KV_TYPES, MIN_CONTEXT

    if arguments.kv is not None and arguments.kv not in KV_TYPES:
        raise UserError(f"--kv {arguments.kv}: choose one of {', '.join(KV_TYPES)}")
    if arguments.context is not None and arguments.context < MIN_CONTEXT:
        raise UserError(f"--context {arguments.context}: it must be at least {MIN_CONTEXT}")
    return Wishes(arguments.context, KvType(arguments.kv) if arguments.kv else None, First(arguments.first))


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is to say about one model on one machine; without a plan `refusal` says why."""

    model: "Known"
    machine: "Machine"
    plan: "Plan | None"
    refusal: str
    rows: "list[list[Cell]]"


def _found(
    wanted: str, catalogue: "Mapping[str, ModelEntry]", settings: "Settings", machine: "Machine", wishes: "Wishes"
) -> _Found:
    from laguna_engine.fit.plan import ask
    from laguna_engine.fit.survey import CONTEXTS, survey
    from laguna_tui.fit_models import known

    model = known(wanted, catalogue, settings)
    plan, refusal = _plan(model, machine, wishes)
    wider = ask(model.shape, model.drafter, machine, _unbound(wishes))
    own = {plan.load.n_ctx} if plan is not None else set()
    return _Found(model, machine, plan, refusal, survey(wider, tuple(sorted({*CONTEXTS, *own}))))


def _one(
    wanted: str, catalogue: "Mapping[str, ModelEntry]", machine: "Machine", wishes: "Wishes", as_json: bool
) -> int:
    """Everything about one model."""
    from laguna_tui.settings import load_settings

    found = _found(wanted, catalogue, load_settings(), machine, wishes)
    if as_json:
        say([json.dumps(_as_json(found), ensure_ascii=False)])
    else:
        say(_told(found, min(max(shutil.get_terminal_size().columns - 1, _NARROWEST), _WIDEST)))
    return 0 if found.plan is not None else 1


def _plan(model: "Known", machine: "Machine", wishes: "Wishes") -> "tuple[Plan | None, str]":
    """The plan, or why there is none."""
    from laguna_engine.fit.plan import DoesNotFit, choose_plan

    try:
        return choose_plan(model.shape, model.drafter, machine, wishes), ""
    except DoesNotFit as error:
        return None, str(error)


def _unbound(wishes: "Wishes") -> "Wishes":
    """Without what the table itself goes through."""
    from dataclasses import replace

    return replace(wishes, context=None, kv=None)


def report(wanted: str, settings: "Settings", width: int) -> list[str]:
    """Everything about one model on this machine, as lines for a panel of `width` cells.

    Raises:
        UserError: there is no such model. EngineError: its file cannot be read.
    """
    from laguna_engine.fit.wishes import Wishes
    from laguna_tui.models.catalogue import load_catalogue

    found = _found(wanted, load_catalogue(), settings, _machine(None), Wishes())
    return list(_told(found, min(max(width, _LEAST), _WIDEST)))


def _told(found: "_Found", width: int) -> Iterator[str]:
    from laguna_tui.fit_table import explanation, summary, table, wrapped

    model, plan = found.model, found.plan
    yield from wrapped(f"{model.title} on {_place(found.machine)}: {found.machine.described}.", width)
    if model.file is None:
        yield from wrapped("Its file is not here yet: sizes follow from what is published about it.", width)
    yield ""
    yield from wrapped(f"It runs: {summary(plan)}." if plan is not None else f"{found.refusal}.", width)
    yield ""
    yield from table(found.rows, plan, width)
    if plan is not None:
        yield ""
        yield from explanation(plan, width)


def _place(machine: "Machine") -> str:
    return f"a machine like {machine.name!r}" if machine.name else "this machine"


def _all(catalogue: "Mapping[str, ModelEntry]", machine: "Machine", wishes: "Wishes", as_json: bool) -> int:
    """A line for every model."""
    from laguna_tui.fit_table import summary, wrapped
    from laguna_tui.models.entry import Kind

    width = min(max(shutil.get_terminal_size().columns - 1, _NARROWEST), _WIDEST)
    found = {name: _verdict(name, catalogue, machine, wishes) for name, e in catalogue.items() if e.kind is Kind.TARGET}
    if as_json:
        plans = {name: {"plan": plan and _plan_json(plan), "refused": why} for name, (plan, why) in found.items()}
        say([json.dumps({"machine": _machine_json(machine), "models": plans}, ensure_ascii=False)])
    else:
        lines = [f"{name}: {why if plan is None else summary(plan)}" for name, (plan, why) in found.items()]
        head = f"Models on {_place(machine)}: {machine.described}."
        say(line for text in (head, *lines) for line in wrapped(text, width))
    return 0 if any(plan is not None for plan, _ in found.values()) else 1


def _verdict(
    name: str, catalogue: "Mapping[str, ModelEntry]", machine: "Machine", wishes: "Wishes"
) -> "tuple[Plan | None, str]":
    from laguna_engine.errors import EngineError
    from laguna_tui.fit_models import known
    from laguna_tui.settings import load_settings

    try:
        return _plan(known(name, catalogue, load_settings()), machine, wishes)
    except (UserError, EngineError) as error:
        return None, str(error)


def _as_json(found: "_Found") -> dict[str, Any]:
    return {
        "model": found.model.title,
        "file": None if found.model.file is None else str(found.model.file),
        "machine": _machine_json(found.machine),
        "plan": found.plan and _plan_json(found.plan),
        "refused": found.refusal,
        "table": [_cell_json(cell) for row in found.rows for cell in row],
    }


def _machine_json(machine: "Machine") -> dict[str, Any]:
    devices = [
        {"name": one.name, "description": one.description, "kind": one.kind, "free": one.free, "total": one.total}
        for one in machine.devices
    ]
    ram = {"ram_free": machine.ram_free, "ram_total": machine.ram_total, "cores": machine.cores}
    return {"simulated": machine.name, "devices": devices, **ram}


def _plan_json(plan: "Plan") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "context": plan.load.n_ctx,
        "kv": plan.load.kv.value,
        "ubatch": plan.load.n_ubatch,
        "gpu_layers": plan.load.gpu_layers,
        "experts_in_ram": list(plan.load.home_experts),
        "split": list(plan.load.split),
        "drafter": plan.drafter,
        "draft_context": plan.load.draft_context,
        "threads": plan.threads,
        "from_disk": plan.paged,
        "memory": {device.name: {**asdict(device), "total": device.total} for device in plan.memory.devices},
        "reasons": {reason.subject: {"choice": reason.choice, "why": reason.text} for reason in plan.reasons},
        "given_up": list(plan.given_up),
        "next_step": plan.next_step,
    }


def _cell_json(cell: "Cell") -> dict[str, Any]:
    found = cell.found
    return {
        "context": cell.context,
        "kv": cell.kv.value,
        "fits": found is not None,
        "left": cell.left,
        "drafter": found is not None and found.drafter,
        "layers_in_ram": found.merits.home if found is not None else None,
        "from_disk": found is not None and found.paged,
    }
