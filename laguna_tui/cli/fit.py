"""`laguna-tui fit`: whether and how a model runs on a machine, before it is opened or downloaded."""

import argparse
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from laguna_engine.config import KvType
from laguna_engine.fit.decode_speed import measured_rates
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.plan import FitCell, Plan
from laguna_engine.fit.plan_search import PlanConstraints, Priority
from laguna_engine.native.verdicts import verdicts
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import state_dir
from laguna_tui.base.schema import declarations
from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.base.units import size
from laguna_tui.cli.arguments import add_inherited, add_json
from laguna_tui.cli.console import print_json, say
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelEntry, ModelKind
from laguna_tui.models.fit import (
    NARROWEST,
    NOT_MEASURED,
    WIDEST,
    FitReport,
    ModelVerdict,
    described_machine,
    fit_report,
    machine_title,
    model_verdict,
    report_lines,
    wrapped,
)
from laguna_tui.session.model_options import VERDICTS

_EPILOG = """\
A machine is described by its parts, separated by commas or blanks:
  24GB, 2x12GB     CUDA cards of this size    desktop    the first one draws a desktop
  apple-32GB       an Apple machine           ram-16GB   this much RAM (default: 32 GB)
  cpu-16GB         no GPU, this much RAM      8cores     physical cores (default: 8)
For example: laguna-tui fit xs-2.1 --machine "24GB desktop"

exit codes: 0 it fits, 1 it does not, 2 wrong usage
"""
_PRIORITIES = [each.value for each in Priority]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fit`."""
    parser.description = (
        "Show whether a model fits on this machine, with every context and KV cache type, and how it would be opened."
        " Without a model: one line for each model in the catalogue."
    )
    parser.epilog = _EPILOG
    parser.add_argument("wanted", nargs="?", metavar="MODEL", help="a model from the catalogue, or a GGUF file")
    add_inherited(parser, "--context", type=int, metavar="N", help="required context, in tokens")
    kv = f"required type of the KV cache, {declarations(Settings)['kv'].allowed}"
    add_inherited(parser, "--kv", metavar="TYPE", help=kv)
    parser.add_argument(
        "--first", choices=_PRIORITIES, default=_PRIORITIES[0], help=f"what matters most (default: {_PRIORITIES[0]})"
    )
    parser.add_argument("--machine", metavar="SPEC", help="a machine to simulate, see below (default: this one)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what fits; returns the exit code."""
    verdicts.store_in(state_dir() / VERDICTS)
    machine, constraints, catalogue = described_machine(arguments.machine), _constraints(arguments), load_catalogue()
    if arguments.wanted is None:
        return _all(catalogue, machine, constraints, as_json=arguments.json)
    return _one(arguments.wanted, catalogue, machine, constraints, as_json=arguments.json)


def _constraints(arguments: argparse.Namespace) -> PlanConstraints:

    for key, advice in (("kv", "choose"), ("context", "it must be")):
        setting, value = declarations(Settings)[key], getattr(arguments, key)
        if setting.wrong(value):
            raise UserError(f"{setting.flag} {value}: {advice} {setting.allowed}")
    return PlanConstraints(arguments.context, KvType(arguments.kv) if arguments.kv else None, Priority(arguments.first))


def _one(
    wanted: str,
    catalogue: Mapping[str, ModelEntry],
    machine: Machine,
    constraints: PlanConstraints,
    as_json: bool,
) -> int:
    """Report one model."""
    found = fit_report(wanted, catalogue, load_settings(), machine, constraints)
    if as_json:
        print_json(_as_json(found))
    else:
        say(report_lines(found, _width()))
    return 0 if found.plan is not None else 1


def _width() -> int:
    """Cells per line on this terminal."""
    return min(max(shutil.get_terminal_size().columns - 1, NARROWEST), WIDEST)


def _all(catalogue: Mapping[str, ModelEntry], machine: Machine, constraints: PlanConstraints, as_json: bool) -> int:
    """Report every model, a line each."""
    width, settings, rates = _width(), load_settings(), measured_rates(machine)
    found = [
        model_verdict(name, catalogue, settings, machine, rates, constraints)
        for name, e in catalogue.items()
        if e.kind is ModelKind.TARGET
    ]
    if as_json:
        plans = {each.entry.name: _verdict_json(each) for each in found}
        print_json({"machine": _machine_json(machine), "models": plans})
    else:
        say(wrapped(f"Models on {machine_title(machine)}: {machine.description}.", width))
        say(line for each in found for line in _verdict_lines(each, width))
        say(wrapped(NOT_MEASURED, width) if not rates and not machine.name else ())
    return 0 if any(each.plan is not None for each in found) else 1


def _verdict_lines(found: ModelVerdict, width: int) -> Iterator[str]:
    entry = found.entry
    about = ", ".join(filter(None, (entry.design, size(entry.size) if entry.size else "", entry.license)))
    yield from wrapped(f"{entry.name}: {about}" if about else entry.name, width)
    yield from (f"  {line}" for line in wrapped(found.words, width - 2))


def _verdict_json(found: ModelVerdict) -> dict[str, Any]:
    return {
        "plan": found.plan and _plan_json(found.plan),
        "expected_tokens_per_second": found.rate,
        "measured": found.measured,
        "design": found.entry.design,
        "size": found.entry.size,
        "license": found.entry.license,
        "refused": found.refusal,
    }


def _as_json(found: FitReport) -> dict[str, Any]:
    return {
        "model": found.model.title,
        "file": None if found.model.file is None else str(found.model.file),
        "chat": found.model.chat,
        "machine": _machine_json(found.machine),
        "plan": found.plan and _plan_json(found.plan),
        "expected_tokens_per_second": found.rate,
        "measured": found.measured,
        "refused": found.refusal,
        "table": [_cell_json(cell) for row in found.rows for cell in row],
    }


def _machine_json(machine: Machine) -> dict[str, Any]:
    devices = [
        {"name": one.name, "description": one.description, "kind": one.kind, "free": one.free, "total": one.total}
        for one in machine.devices
    ]
    ram = {"ram_free": machine.ram_free, "ram_total": machine.ram_total, "cores": machine.cores}
    return {"simulated": machine.name, "devices": devices, **ram}


def _plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "context": plan.load.n_ctx,
        "kv": plan.load.kv.value,
        "ubatch": plan.load.n_ubatch,
        "gpu_layers": plan.load.gpu_layers,
        "experts_in_ram": list(plan.load.experts_in_ram),
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


def _cell_json(cell: FitCell) -> dict[str, Any]:
    found = cell.found
    return {
        "context": cell.context,
        "kv": cell.kv.value,
        "fits": found is not None,
        "left": cell.left,
        "drafter": found is not None and found.drafter,
        "layers_in_ram": found.merits.layers_in_ram if found is not None else None,
        "from_disk": found is not None and found.paged,
    }
