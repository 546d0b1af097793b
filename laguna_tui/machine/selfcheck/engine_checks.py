"""The checks of one model, each run in a process of its own: memory, taps, drafter, strict parity, KV types,
snapshots, speed.

A new one is a function from a selection to findings, and a line in `CHECKS`.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from laguna_engine.config import EngineOptions, Speculation
from laguna_engine.errors import EngineError, SnapshotError
from laguna_engine.fit.devices import read_machine
from laguna_engine.fit.memory import DeviceMemory, DrafterShape, Load, drafter_size, memory_of
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.ggml.device import Device
from laguna_engine.gguf import drafter_header as drafter_files
from laguna_engine.gguf import header
from laguna_engine.gguf.laguna import ARCHITECTURE
from laguna_engine.native.verdicts import verdicts
from laguna_engine.selfcheck.drafter import compare_drafter
from laguna_engine.selfcheck.target import TargetCheck, check_target
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import state_dir
from laguna_tui.base.settings import KV_TYPES, Settings, load_settings
from laguna_tui.base.units import size
from laguna_tui.bench import statistics
from laguna_tui.bench.answer_runs import PLAIN_VARIANT, AnswerSample, Runner, drafted_variant
from laguna_tui.bench.parity import Parity, compare, pieces, replayer
from laguna_tui.bench.report import HostInfo
from laguna_tui.bench.workload import DFLASH, uses
from laguna_tui.machine.child_check import answer
from laguna_tui.machine.doctor.findings import Finding, fail, ok, skip, warn
from laguna_tui.machine.selfcheck.answers import measure, opened_runner, prefill_rate, restored_answer, verify_costs
from laguna_tui.machine.selfcheck.check_runner import BUNDLED
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelKind, companions
from laguna_tui.models.model_selection import ModelSelection, select_model, select_other, weights_doubt
from laguna_tui.session.model_options import VERDICTS, engine_options
from laguna_tui.session.opening import open_engine

REPORT = "please report it, and attach the file from: laguna-tui selfcheck --report FILE"

_NO_DRAFTER = "to check this file's drafter: laguna-tui --drafter FILE selfcheck"

TOLERANCE = 1.05
"""How much more than planned may be used: plans keep at least this much in reserve."""

_LOGGED = 1 << 20
"""Bytes: llama.cpp's log is exact to hundredths of a MiB, for each of some buffers."""

DRAFTER_TOLERANCE = 2e-3
"""Squared error where quantized weights are multiplied with numbers of 8 bits; a wrong position shows as more."""


def check_build(_: ModelSelection) -> list[Finding]:
    """Report the versions and devices."""
    return [ok("versions", f"{HostInfo.here().line()}, Python {HostInfo.here().python}")]


def check_target_files(selection: ModelSelection) -> list[Finding]:
    """Compare planned memory with what was taken, and the taps with the eval callback."""
    settings = selection.settings
    options = engine_options(settings, selection.entry, selection.drafter, Speculation.FAST)
    found, options, report = open_engine(
        options, settings, selection.entry.title, selection.context, None, check_target
    )
    return [*_memory(found, options), *(warn("plan", text, REPORT) for text in report.warnings), _taps(found)]


def _memory(found: TargetCheck, options: EngineOptions) -> list[Finding]:
    """Report each device that holds something."""
    shape, machine = ModelShape.of(header.check(options.model)), read_machine()
    kept, layers = options.tensors_in_ram, range(len(shape.layers))
    home = [layer for layer in layers if kept and re.search(kept, f"blk.{layer}.ffn_up_exps.weight")]
    load = Load(
        min(options.n_ctx or shape.n_ctx, shape.n_ctx),
        options.kv_type,
        options.n_ubatch,
        options.gpu_layers if machine.gpus else 0,
        tuple(home),
        options.split,
        swa_full=options.swa_full,
    )
    planned = memory_of(shape, load, machine.gpus).devices
    return [_device_memory(found, device) for device in planned if device.total]


def _device_memory(found: TargetCheck, planned: DeviceMemory) -> Finding:
    buffers = found.buffers.get(planned.name, {})
    parts = [(part, getattr(planned, part), buffers.get(part, 0)) for part in ("weights", "kv", "compute")]
    text = ", ".join(f"{name} {size(wanted)} planned, {size(taken)} used" for name, wanted, taken in parts)
    ours, theirs = (sum(column) for column in zip(*(numbers for _, *numbers in parts), strict=True))
    # Another program may have freed more meanwhile.
    free = max(0, found.taken[planned.name]) if planned.name in found.taken else None
    if free is not None:
        text += f"; the device's free memory fell by {size(free)}, {size(ours + planned.runtime)} planned"
    more = theirs > TOLERANCE * ours + _LOGGED or (free or 0) > TOLERANCE * (ours + planned.runtime)
    check = f"memory, {planned.name}"
    if any(wanted > _LOGGED and not taken for _, wanted, taken in parts):
        return warn(check, f"{text}: llama.cpp did not log what it uses, so the plan was not checked", REPORT)
    return warn(check, text, f"until this is fixed, use a smaller --context; {REPORT}") if more else ok(check, text)


def _taps(found: TargetCheck) -> Finding:
    taps = found.taps
    text = f"squared error {taps.error:.1e} against the eval callback, {taps.same} of {taps.rows} top tokens equal"
    if taps.right:
        return ok("taps", text)
    return warn("taps", f"{text}: drafting uses the callback, which is slower", REPORT)


def check_drafter(selection: ModelSelection) -> list[Finding]:
    """Compare the drafts of each device with float64."""
    model = selection.entry.file
    if selection.drafter is None:
        entry = selection.entry
        known = companions(entry, load_catalogue(), ModelKind.DRAFTER)
        if not known and header.check(model).architecture != ARCHITECTURE:
            return [skip("drafter", "there is none for this model; text is drafted by copying")]
        todo = _NO_DRAFTER if entry.source is None else f"laguna-tui models download {entry.name}"
        return [skip("drafter", "not on this machine", todo)]
    head = drafter_files.read(selection.drafter)
    planned = drafter_size(DrafterShape.of(head, ModelShape.of(header.check(model)).n_vocab), 512)
    return [_drafter_on(device, selection, planned) for device in Device.all() if device.kind != "accel"]


def _drafter_on(device: Device, selection: ModelSelection, planned: int) -> Finding:
    assert selection.drafter is not None and selection.entry.path is not None, "both were checked"
    check = f"drafter, {device.name}"
    try:
        found = compare_drafter(selection.drafter, selection.entry.path, device)
    except EngineError as error:
        return warn(check, str(error), f"drafts come from another device, or from copying; {REPORT}")
    text = (
        f"squared error {found.error:.1e} against float64, {found.same} of {found.drafted} tokens equal; "
        f"{size(found.held)} used, {size(planned)} planned"
    )
    if found.error < DRAFTER_TOLERANCE:
        return ok(check, text)
    return fail(check, text, f"use --drafter none, which gives the same answers; {REPORT}")


def check_strict(selection: ModelSelection) -> list[Finding]:
    """Compare strict answers on the CPU, drafted and plain, byte for byte."""
    with opened_runner(selection, Speculation.STRICT, gpu_layers=0) as runner:
        use = uses(selection.drafter)[-1]
        samples = measure(runner, [PLAIN_VARIANT, drafted_variant(use), drafted_variant(use, 4)])
        found = [compare(samples, way, PLAIN_VARIANT.name, pieces(runner.engine)) for way in (use, "4")]
        tokens = sum(sample.stats.generated_tokens for sample in samples)
    text = f"{_equal_answers(found)} drafted answers equal the plain ones byte for byte ({tokens} tokens)"
    wrong = [each.line() for parity in found for each in parity.differences]
    return [fail("strict parity", f"{text}; {'; '.join(wrong)}", REPORT) if wrong else ok("strict parity", text)]


def check_kv(selection: ModelSelection) -> list[Finding]:
    """Check that every KV cache type opens and decodes, and that drafts change no answer."""
    return [finding for kind in KV_TYPES for finding in _kv(selection, kind)]


def _kv(selection: ModelSelection, kind: str) -> list[Finding]:
    check = f"KV cache {kind}"
    try:
        with opened_runner(selection, Speculation.FAST, kv=kind) as runner:
            use = uses(selection.drafter)[-1]
            samples = measure(runner, [PLAIN_VARIANT, drafted_variant(use, 4)])
            return [_parity(check, runner, samples, "4")]
    except EngineError as error:
        return [fail(check, str(error), f"use another type with --kv; {REPORT}")]


def _parity(check: str, runner: Runner, samples: Sequence[AnswerSample], way: str) -> Finding:
    """Check that drafts changed no answer other than by rounding."""
    replay = replayer(runner.engine, runner.prompts, runner.options.sampling)
    found = compare(samples, way, PLAIN_VARIANT.name, pieces(runner.engine), replay)
    speed = statistics.rate(statistics.of_variant(samples, PLAIN_VARIANT.name))
    text = f"{speed or 0:.1f} tok/s plain; {_equal_answers([found])} drafted answers equal the plain ones"
    wrong = [each.line() for each in found.differences if not each.near_tie]
    if wrong:
        return fail(check, f"{text}; {'; '.join(wrong)}", f"use --speculation off; {REPORT}")
    near = [each.line() for each in found.differences]
    return ok(check, f"{text}; {'; '.join(near)}" if near else text)


def _equal_answers(found: Sequence[Parity]) -> str:
    return f"{sum(each.same for each in found)} of {sum(each.prompts for each in found)}"


def check_snapshots(selection: ModelSelection) -> list[Finding]:
    """Restore a snapshot of the KV cache, and compare the answer with the one before."""
    with opened_runner(selection, Speculation.FAST) as runner, tempfile.TemporaryDirectory() as folder:
        try:
            found = restored_answer(runner, Path(folder))
        except SnapshotError as error:
            return [warn("snapshots", str(error), "conversations are read again when they are resumed")]
    text = f"{size(found.written)} written, {found.restored} of {found.tokens} tokens restored in {found.seconds:.2f} s"
    if not found.same:
        return [fail("snapshots", f"{text}; the answer differs", REPORT)]
    if not found.restored:
        return [warn("snapshots", f"{text}; {found.refused or 'nothing was restored'}", REPORT)]
    return [ok("snapshots", f"{text}; the answer is the same")]


def check_speed(selection: ModelSelection) -> list[Finding]:
    """Measure prefill, decoding plainly and with each drafter, and verifying several tokens at once."""
    with opened_runner(selection, Speculation.FAST) as runner:
        reading = prefill_rate(runner)
        variants = [PLAIN_VARIANT, *map(drafted_variant, uses(selection.drafter))]
        samples = measure(runner, variants)
        plain = statistics.rate(statistics.of_variant(samples, PLAIN_VARIANT.name))
        steps = verify_costs(runner)
        devices = ", ".join(runner.engine.info.devices)
    ratios = [(way.name, statistics.ratio_median(samples, way.name, PLAIN_VARIANT.name)) for way in variants[1:]]
    drafted = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios if ratio)
    verified = ", ".join(f"{count}: {cost * (plain or 0):.2f}" for count, cost in steps)
    accepted = [] if selection.drafter is None else _acceptance(selection, selection.drafter, samples)
    return [
        *accepted,
        ok("speed", f"prefill {reading:,.0f} tok/s, decoding {plain or 0:,.1f} tok/s on {devices}; {drafted}"),
        ok("verifying", f"cost of verifying N tokens at once, in plain decoding steps: {verified}"),
    ]


ACCEPTANCE_FLOOR = 0.3
"""Accepted share of a drafter's tokens. Poolside's reach .7 on code; with a norm left out it was .28."""
_COMPARE = "compare it with another one: laguna-tui bench ab --drafter NAME"


def _acceptance(selection: ModelSelection, drafter: Path, samples: Sequence[AnswerSample]) -> list[Finding]:
    """Report the share of a drafter's tokens that the target accepts, and whether it was trained for other weights."""
    rounds = statistics.rounds_of(statistics.of_variant(samples, DFLASH))
    accepted = statistics.summary_of(rounds).together.acceptance
    doubt = weights_doubt(selection.entry, drafter)
    if accepted is None:
        return [warn("acceptance", doubt, _COMPARE)] if doubt else []
    share = f"{accepted:.0%} of the drafted tokens accepted"
    low = accepted < ACCEPTANCE_FLOOR
    if not (doubt or low):
        return [ok("acceptance", share)]
    text = f"{share}, {'below' if low else 'at least'} {ACCEPTANCE_FLOOR:.0%}"
    return [warn("acceptance", f"{text}; {doubt}" if doubt else text, _COMPARE)]


Check = Callable[[ModelSelection], list[Finding]]

CHECKS: Mapping[str, Check] = {
    "versions": check_build,
    "memory and taps": check_target_files,
    "drafter": check_drafter,
    "strict parity": check_strict,
    "KV types": check_kv,
    "snapshots": check_snapshots,
    "speed": check_speed,
}
"""In the order in which they are run."""


def checked_settings(model: str, chosen: dict[str, object]) -> Settings:
    """Return the settings to check a model with: the user's, for the bundled model only the threads of them.

    Raises:
        UserError: The settings are wrong.
    """
    settings = load_settings().merged(chosen)
    if model == BUNDLED:
        return replace(Settings(), threads=settings.threads)
    return settings


def _run_check(check: str, model: str, chosen: str) -> list[Finding]:
    """Run a check with the settings given as flags, a JSON object."""
    try:
        settings = checked_settings(model, json.loads(chosen))
        verdicts.store_in(state_dir() / VERDICTS)
        selection = select_model(settings) if settings.model == model else select_other(settings, model)
        return CHECKS[check](selection)
    except (EngineError, UserError) as error:
        return [fail(check, str(error), "fix that, and run it again")]


if __name__ == "__main__":
    sys.exit(answer(_run_check))
