"""What to try when memory ran out all the same: smaller plans, each once, and a note of what failed for the next time.

Estimates are for what a plan takes; how much a driver really gives shows only when it is asked. Each rung is the best
plan for a machine that has less than what has just failed, so it gives up first what counts least.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from laguna_engine.errors import OutOfMemory
from laguna_engine.files import read_small_file, write_atomically
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.explanation import cache_name, tokens
from laguna_engine.fit.plan import DoesNotFit, Plan, answer
from laguna_engine.fit.search import RAM_SPARE, spare

_CUTS = (1 / 24, 1 / 12, 1 / 6, 1 / 3)
"""Shares of what was asked for that the rungs do without: loading takes long, so there are few."""

_MORE = 1.02
"""A plan that failed is tried again when there is so much more free memory than then."""

_MOST_NOTES = 64
_VERSION = 1
_LIMIT_BYTES = 1 << 20
"""More than all notes take."""

_Opened = TypeVar("_Opened")


def open_with_fallback(
    plan: Plan, notes: "FailedPlans", attempt: Callable[[Plan], _Opened], tell: Callable[[str], None]
) -> tuple[Plan, _Opened]:
    """Open `plan`, or the first rung below it that can be opened; what was opened, and by which plan.

    attempt: opens one plan. tell: is given a sentence about every plan that had to be left, for the user. What fails
    for other reasons than memory is raised at once, and so is the last failure when no rung is left.
    """
    before, failure = plan, None
    for rung in notes.rungs(plan):
        if rung.key != plan.key:
            when = "the last time" if failure is None else "now"
            tell(f"Memory ran out {when}; trying {difference(before, rung)}.")
        try:
            return rung, attempt(rung)
        except OutOfMemory as error:
            # The note is for the next time; a disk that refuses it is no reason not to go on now.
            with suppress(OSError):
                notes.failed(rung)
            before, failure = rung, error
    if failure is not None:
        raise failure
    # Everything has failed before, with as much free memory: the last rung is the likeliest all the same.
    last = [plan, *fallbacks(plan)][-1]
    return last, attempt(last)


def fallbacks(plan: Plan) -> Iterator[Plan]:
    """What to try, in turn, after `plan` could not be opened; wishes stay as they are. Ends when nothing is left."""
    seen = {plan.key}
    for machine in _smaller_machines(plan):
        try:
            rung = _again(plan, machine)
        except DoesNotFit:
            continue
        if rung.key not in seen:
            seen.add(rung.key)
            yield rung


def difference(before: Plan, after: Plan) -> str:
    """What is less in `after`, in words: "48 K tokens of context instead of 64 K, no drafter"."""
    old, new = before.load, after.load
    parts = [
        f"{tokens(new.n_ctx)} tokens of context instead of {tokens(old.n_ctx)}" if new.n_ctx != old.n_ctx else "",
        f"{cache_name(new.kv)} instead of {old.kv.value}" if new.kv is not old.kv else "",
        "no drafter" if before.drafter and not after.drafter else "",
        f"micro-batches of {new.n_ubatch}" if new.n_ubatch != old.n_ubatch else "",
        _moved(before, after),
    ]
    return ", ".join(filter(None, parts))


class FailedPlans:
    """Which plans could not be opened, by model, cards and build, in a JSON file; without a path only for now."""

    def __init__(self, path: Path | None, model: str, machine: Machine, build: str) -> None:
        """model: what identifies the file. build: of llama.cpp, its backends included."""
        self._path = path
        cards = ", ".join(f"{gpu.description} {gpu.total}" for gpu in machine.gpus)
        self._place = f"{model} | {cards or 'CPU'} | {build}"
        self._all = _read(path)
        self._failed = self._all.pop(self._place, {})

    def allows(self, plan: Plan) -> bool:
        """Whether it has not failed yet, or failed with less free memory than there is now."""
        then = self._failed.get(plan.key)
        return then is None or _free(plan.machine) > then * _MORE

    def failed(self, plan: Plan) -> None:
        """Remember that it could not be opened; OSError if that cannot be written down."""
        self._failed[plan.key] = _free(plan.machine)
        kept = [*self._all.items(), (self._place, self._failed)][-_MOST_NOTES:]
        if self._path is not None:
            document = {"version": _VERSION, "failures": dict(kept)}
            write_atomically(self._path, json.dumps(document, indent=1) + "\n")

    def rungs(self, plan: Plan) -> Iterator[Plan]:
        """`plan` and what to try after it, without what is known to fail; each is worked out when it is asked for."""
        return (rung for rung in chain((plan,), fallbacks(plan)) if self.allows(rung))


def _smaller_machines(plan: Plan) -> Iterator[Machine]:
    """Machines with less memory than `plan` takes; at last one without a GPU."""
    machine = plan.machine
    used = {device.name: device.total for device in plan.memory.gpus}
    for cut in _CUTS:
        if used:
            cards = [
                replace(card, free=min(card.free, round(used[card.name] * (1 - cut)) + spare(card)))
                if card.name in used
                else card
                for card in machine.devices
            ]
            yield replace(machine, devices=tuple(cards))
        else:
            room = round(plan.memory.host.total * (1 - cut)) + RAM_SPARE
            yield replace(machine, ram_free=min(machine.ram_free, room))
    if used and plan.question.wishes.gpu_layers is None:
        yield replace(machine, devices=tuple(card for card in machine.devices if card.kind == "cpu"))


def _again(plan: Plan, machine: Machine) -> Plan:
    """The best plan for `machine`, which says that it is for the real one."""
    rung = answer(replace(plan.question, machine=machine))
    return replace(rung, question=replace(rung.question, machine=plan.machine))


def _moved(before: Plan, after: Plan) -> str:
    if not after.memory.gpus and before.memory.gpus:
        return "everything on the CPU"
    home = len(after.load.home_experts)
    if after.load.gpu_layers != before.load.gpu_layers:
        return f"{after.load.gpu_layers} layers on the GPU"
    return f"the experts of {home} layers in RAM" if home != len(before.load.home_experts) else ""


def _free(machine: Machine) -> int:
    return sum(gpu.free for gpu in machine.gpus) or machine.ram_free


def _read(path: Path | None) -> dict[str, dict[str, int]]:
    """What was noted; nothing if there is no file, or none that can be used."""
    try:
        document = json.loads(read_small_file(path, _LIMIT_BYTES)) if path is not None else {}
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        return {}
    failures = document.get("failures")
    return {
        place: {key: free for key, free in plans.items() if isinstance(free, int)}
        for place, plans in (failures.items() if isinstance(failures, dict) else ())
        if isinstance(plans, dict)
    }
