"""Runs the checks one after the other, each in a child process, within ten minutes in all."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from laguna_engine.native import child
from laguna_engine.native.child import python_command
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import Settings
from laguna_tui.machine.child_check import CheckFailed, read_answer
from laguna_tui.machine.doctor.checks import examine_machine
from laguna_tui.machine.doctor.findings import Finding, FindingStatus, fail, skip, warn
from laguna_tui.machine.doctor.host import Host
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.store import Store

BUNDLED = "nano"

LIMIT_S = 600.0
"""Seconds for all checks together."""

LONGEST_S = 240.0
"""Seconds of one check; on two slow cores the longest one of Laguna Nano takes 20."""

SETUP = ("versions",)
ONCE = ("strict parity",)
"""Checks of the bundled model only: on the CPU, larger ones take too long."""

MODEL_CHECKS = ("memory and taps", "drafter", "strict parity", "KV types", "snapshots", "speed")


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One check of one model, which is a catalogue name or a file."""

    check: str
    model: str

    @property
    def label(self) -> str:
        """Its name in progress and in reports."""
        return self.check if self.check in SETUP else f"{self.model.rsplit('/', 1)[-1]}: {self.check}"


@dataclass(slots=True)
class SelfCheck:
    """The findings so far.

    Attributes:
        findings: In the order of the checks.
        seconds: Of each check that was run, by its label.
        interrupted: Whether it was ended before the last check.
    """

    findings: list[Finding] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def works(self) -> bool:
        """Whether nothing that was checked fails."""
        return not any(finding.status is FindingStatus.FAIL for finding in self.findings)


def models_to_check(settings: Settings, store: Store | None = None) -> list[str]:
    """Return the models to check: the bundled one, and the chosen one or else the largest downloaded one.

    Raises:
        UserError: The chosen model is not on this machine.
    """
    catalogue = load_catalogue()
    if settings.model != BUNDLED:
        resolve(settings.model, catalogue, store)
        return [BUNDLED, settings.model]
    shelf = store or Store()
    targets = [(name, shelf.path(entry)) for name, entry in catalogue.items() if entry.kind is ModelKind.TARGET]
    sizes = {name: path.stat().st_size for name, path in targets if path is not None and name != BUNDLED}
    return [BUNDLED, *([max(sizes, key=lambda name: sizes[name])] if sizes else [])]


def steps_for(models: Sequence[str]) -> list[CheckStep]:
    """Return the checks in their order: all of the bundled model before the first one of another."""
    first = [CheckStep(check, BUNDLED) for check in SETUP]
    wanted = [(check, model) for model in models for check in MODEL_CHECKS if model == BUNDLED or check not in ONCE]
    return [*first, *(CheckStep(check, model) for check, model in wanted)]


def run_selfcheck(
    steps: Sequence[CheckStep],
    chosen: Mapping[str, object],
    host: Host,
    progress: ProgressLine,
    limit_s: float = LIMIT_S,
) -> SelfCheck:
    """Examine the machine, then run the steps; KeyboardInterrupt ends it with the findings so far.

    Args:
        chosen: Settings given as flags.
    """
    result, started = SelfCheck(), time.monotonic()
    try:
        progress.show("the machine and its llama.cpp", at_once=True)
        result.findings += examine_machine(host)
        if not result.works:
            return result
        for number, step in enumerate(steps, 1):
            left = limit_s - (time.monotonic() - started)
            result.findings += _timed(step, chosen, left, result, _shown(progress, step, number, len(steps)))
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _shown(progress: ProgressLine, step: CheckStep, number: int, count: int) -> Callable[[], None]:
    started = time.monotonic()

    def waiting() -> None:
        progress.show(f"{number} of {count}: {step.label}, {time.monotonic() - started:.0f} s")

    progress.show(f"{number} of {count}: {step.label}", at_once=True)
    return waiting


def _timed(
    step: CheckStep, chosen: Mapping[str, object], left: float, result: SelfCheck, waiting: Callable[[], None]
) -> list[Finding]:
    """Run a step and return its findings, named by their model; nothing else can fail because of it."""
    if left <= 0:
        return [skip(step.label, "there was no time left")]
    started = time.monotonic()
    try:
        findings = _run(step, chosen, min(left, LONGEST_S), waiting)
    finally:
        result.seconds[step.label] = time.monotonic() - started
    if step.check in SETUP:
        return findings
    return [replace(finding, check=replace(step, check=finding.check).label) for finding in findings]


def _run(step: CheckStep, chosen: Mapping[str, object], limit_s: float, waiting: Callable[[], None]) -> list[Finding]:
    arguments = (step.check, step.model, json.dumps(dict(chosen)))
    command = python_command("laguna_tui.machine.selfcheck.engine_checks", *arguments)
    output = child.run(command, limit_s, waiting=waiting)
    if output.timed_out:
        return [warn(step.check, f"not finished within {limit_s:.0f} s", "run it again when the machine is idle")]
    try:
        # One that crashes at its end computes wrongly as well.
        return read_answer(output if output.good else replace(output, text=""), list[Finding])
    except CheckFailed as failure:
        todo = "please report it; for a build that crashes, see: laguna-tui doctor"
        return [fail(step.check, f"the check did not finish: {failure}", todo)]
