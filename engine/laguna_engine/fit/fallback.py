"""Fallback when memory runs out despite the plan: smaller plans, each tried once; failures are recorded on disk.

A plan's memory use is an estimate, and how much a driver can allocate shows only on allocation. Each fallback step is
the best plan for a machine with less memory than the failed plan uses, so it gives up the least important things first.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

import msgspec

from laguna_engine.errors import OutOfMemory
from laguna_engine.files import read_small_file, write_atomically
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.explanation import difference
from laguna_engine.fit.plan import DoesNotFit, Plan, solve
from laguna_engine.fit.plan_search import ram_reserve, reserve

_CUTS = (1 / 24, 1 / 12, 1 / 6, 1 / 3)
"""Share of the failed plan's memory that each step saves; few steps, because each loads the model."""

_MORE_FREE = 1.02
"""A failed plan is retried when free memory has grown by this factor."""

_MOST_NOTES = 64
_VERSION = 1
_LIMIT_BYTES = 1 << 20
"""Larger than a file with all notes."""

_Opened = TypeVar("_Opened")


def open_with_fallback(
    plan: Plan, notes: "FailedPlans", attempt: Callable[[Plan], _Opened], report: Callable[[str], None]
) -> tuple[Plan, _Opened]:
    """Open `plan`, or the first fallback step that can be opened.

    Args:
        plan: the first plan to try.
        notes: plans that failed before; updated.
        attempt: opens one plan.
        report: called with a sentence for the user about every fallback.

    Returns:
        The plan that was opened, and the result of `attempt`.

    Raises:
        OutOfMemory: no step could be opened. Other errors of `attempt` are raised at once.
    """
    before, failure = plan, None
    for step in notes.attempts(plan):
        if step.key != plan.key:
            when = "the last time" if failure is None else "now"
            report(f"Memory ran out {when}; trying {difference(before, step)}.")
        try:
            return step, attempt(step)
        except OutOfMemory as error:
            # The note only saves time on the next start; failing to write it must not stop the fallback.
            with suppress(OSError):
                notes.failed(step)
            before, failure = step, error
    if failure is not None:
        raise failure
    # Every step is noted as failed with as much free memory; the last one is the most likely to open.
    last = [plan, *fallbacks(plan)][-1]
    return last, attempt(last)


def fallbacks(plan: Plan) -> Iterator[Plan]:
    """Yield the steps to try in turn after `plan` could not be opened; all meet the user's constraints."""
    seen = {plan.key}
    for machine in _smaller_machines(plan):
        try:
            step = solve(replace(plan.space, machine=machine))
        except DoesNotFit:
            continue
        # It is a plan for the real machine, that takes less of it.
        step = replace(step, space=replace(step.space, machine=plan.machine))
        if step.key not in seen:
            seen.add(step.key)
            yield step


class _Notes(msgspec.Struct):
    version: int
    failures: dict[str, dict[str, int]]


class FailedPlans:
    """Plans that could not be opened, by model, GPUs and build, in a JSON file; in memory only without a path."""

    def __init__(self, path: Path | None, model: str, machine: Machine, build: str) -> None:
        """Read the notes.

        Args:
            path: the JSON file; None keeps the notes in memory.
            model: identifies the model file.
            machine: its GPUs are part of the key.
            build: llama.cpp's build and backends.
        """
        self._path = path
        cards = ", ".join(f"{gpu.description} {gpu.total}" for gpu in machine.gpus)
        self._key = f"{model} | {cards or 'CPU'} | {build}"
        self._all = _read(path)
        self._failed = self._all.pop(self._key, {})

    def allows(self, plan: Plan) -> bool:
        """Return whether the plan has not failed yet, or failed with less free memory than now."""
        then = self._failed.get(plan.key)
        return then is None or _free(plan.machine) > then * _MORE_FREE

    def failed(self, plan: Plan) -> None:
        """Record that the plan could not be opened; OSError if the file cannot be written."""
        self._failed[plan.key] = _free(plan.machine)
        kept = [*self._all.items(), (self._key, self._failed)][-_MOST_NOTES:]
        if self._path is not None:
            document = msgspec.json.format(msgspec.json.encode(_Notes(_VERSION, dict(kept))), indent=1)
            write_atomically(self._path, document + b"\n")

    def attempts(self, plan: Plan) -> Iterator[Plan]:
        """Yield `plan` and its fallback steps, without those known to fail; computed lazily."""
        return (step for step in chain((plan,), fallbacks(plan)) if self.allows(step))


def _smaller_machines(plan: Plan) -> Iterator[Machine]:
    """Yield machines with less memory than `plan` takes, last one without a GPU."""
    machine = plan.machine
    used = {device.name: device.total for device in plan.memory.gpus}
    for cut in _CUTS:
        if used:
            cards = [
                replace(card, free=min(card.free, round(used[card.name] * (1 - cut)) + reserve(card)))
                if card.name in used
                else card
                for card in machine.devices
            ]
            yield replace(machine, devices=tuple(cards))
        else:
            room = round(plan.memory.host.total * (1 - cut)) + ram_reserve(machine)
            yield replace(machine, ram_free=min(machine.ram_free, room))
    if used and plan.space.constraints.gpu_layers is None:
        yield replace(machine, devices=tuple(card for card in machine.devices if card.kind == "cpu"))


def _free(machine: Machine) -> int:
    return sum(gpu.free for gpu in machine.gpus) or machine.ram_free


def _read(path: Path | None) -> dict[str, dict[str, int]]:
    """Return the recorded failures; empty if the file is missing or invalid."""
    with suppress(OSError, msgspec.DecodeError, RecursionError):
        notes = msgspec.json.decode(read_small_file(path, _LIMIT_BYTES), type=_Notes) if path is not None else None
        if notes is not None and notes.version == _VERSION:
            return notes.failures
    return {}
