"""Opens a model as the app does: by a plan, unless the model is small or the user fixed everything.

A setting that the user fixed is honoured or refused, with the numbers. Opening without a plan does not check memory.
"""

import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from laguna_engine.config import EngineOptions, Speculation
from laguna_engine.engine import Engine
from laguna_engine.errors import EngineError
from laguna_engine.events import LoadProgress
from laguna_engine.ggml.device import Device
from laguna_engine.gguf import header
from laguna_engine.gguf.header import safe_context
from laguna_engine.native.control_groups import all_cores_but_one
from laguna_engine.native.cpu_determinism import can_fix_kernels
from laguna_engine.native.verdicts import verdicts
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.models.model_selection import ModelSelection, weights_doubt
from laguna_tui.session.draft_statistics import load_draft_statistics, save_draft_statistics
from laguna_tui.session.model_options import NOTES, VERDICTS, describe_model, economy_file, engine_options
from laguna_tui.session.opening_report import OpenedAs, OpeningReport, strict_lines, summary
from laguna_tui.session.values import SessionInfo

T = TypeVar("T")

SMALL_BYTES = 64 << 20
"""A smaller file fits on any machine that runs this program: a plan would only delay it."""
TOO_LATE = (
    "Strict speculation has to be chosen at the start, because it fixes the kernels of the whole process before the "
    "first token. Quit (/export saves the conversation) and start again with: {command}"
)
_AS_SET = "Opened as you set it; nothing was planned."
_FITS_ANYWHERE = "size: {} MB fit on any machine, so nothing was planned."


def open_selection(
    selected: ModelSelection, mode: Speculation, state: Path | None, progress: Callable[[LoadProgress], None]
) -> tuple[Engine, OpenedAs]:
    """Open a model for the memory that is free now.

    Args:
        selected: the model.
        mode: how it decodes.
        state: the user's state folder, with what was learned about drafts and what did not fit; None for none.
        progress: gets how far it is loaded.

    Raises:
        UserError: this model, or this machine, cannot do what the user fixed.
        EngineError: it cannot be opened; says why and what to do.
    """
    if state is not None:
        verdicts.store_in(state / VERDICTS)

    def opened(options: EngineOptions) -> Engine:
        if state is not None:
            options = replace(options, economy=load_draft_statistics(economy_file(state, options)))
        return Engine.open(options, progress)

    asked = engine_options(selected.settings, selected.entry, selected.drafter, mode)
    notes = state / NOTES if state is not None else None
    engine, options, report = open_engine(
        asked, selected.settings, selected.entry.title, selected.context, notes, opened
    )
    doubt = weights_doubt(selected.entry, options.drafter) if options.drafter is not None else ""
    return engine, OpenedAs(options, replace(report, warnings=(*report.warnings, doubt)) if doubt else report)


def close_engine(engine: Engine, options: EngineOptions, state: Path | None) -> None:
    """Close an engine opened with these options, and save its draft statistics in the state folder."""
    engine.cancel(guests=True)
    if state is not None:
        # An engine that fails at the very end has learned nothing, and is closed all the same.
        with suppress(EngineError):
            learned = engine.economy()
            if learned:
                save_draft_statistics(economy_file(state, options), learned)
    engine.close()


def session_info(
    engine: Engine, report: OpeningReport, settings: Settings, folder: Path, mode: Speculation
) -> SessionInfo:
    """Return what a front end shows of an open session."""
    info = engine.info
    warnings = (*report.warnings, *info.warnings)
    no_strict = info.no_drafts or strict_refusal(settings, folder)
    mode = Speculation.OFF if info.no_drafts else mode
    return SessionInfo(info.n_ctx, describe_model(info), warnings, mode, info.drafter, report.lines, no_strict)


def strict_refusal(settings: Settings, folder: Path) -> str:
    """Return why this process cannot use strict speculation, and the command that can; empty if it can."""
    if can_fix_kernels():
        return ""
    place = ["--folder", str(folder)]
    # The current folder may have been deleted.
    with suppress(FileNotFoundError):
        place = [] if folder == Path.cwd() else place
    flags = replace(settings, speculation=Speculation.STRICT.value).flags()
    return TOO_LATE.format(command=shlex.join(["laguna-tui", *place, *flags]))


def open_engine(
    options: EngineOptions,
    settings: Settings,
    title: str,
    context: int | None,
    notes: Path | None,
    opened: Callable[[EngineOptions], T],
) -> tuple[T, EngineOptions, OpeningReport]:
    """Open a model; arguments and results as of `open_planned`.

    Raises:
        UserError: this model, or this machine, cannot do what the user fixed.
        EngineError: it cannot be opened; says why and what to do.
    """
    options = _possible(options, settings, title)
    clear = opening_without_plan(options, settings)
    if clear is not None:
        return opened(clear[0]), *clear
    # Much is imported for a plan.
    from laguna_tui.session.planned_opening import open_planned

    return open_planned(options, settings, title, context, notes, opened)


def _possible(options: EngineOptions, settings: Settings, title: str) -> EngineOptions:
    """Return the options with at most the context that there is; UserError for a setting that cannot be honoured."""
    target = header.check(options.model)
    limit = safe_context(target)
    if settings.context is not None and settings.context > limit:
        raise UserError(
            f"{settings.given('context')}: {title} can use {limit:,} tokens of context, not {settings.context:,}; "
            f"give {limit} or less, or leave it out"
        )
    if settings.gpu_layers and not Device.gpus():
        raise UserError(
            f"{settings.given('gpu_layers')}: llama.cpp finds no GPU here, so 0 layers can be on one; leave it out, "
            "and see: laguna-tui doctor"
        )
    layers = target.metadata.get(f"{target.architecture}.block_count")
    if settings.gpu_layers is not None and isinstance(layers, int) and settings.gpu_layers > layers + 1:
        raise UserError(
            f"{settings.given('gpu_layers')}: {title} has {layers} layers and an output matrix; give {layers + 1} or "
            "less, or -1 for all"
        )
    return replace(options, n_ctx=min(options.n_ctx or limit, limit))


def opening_without_plan(options: EngineOptions, settings: Settings) -> tuple[EngineOptions, OpeningReport] | None:
    """Return what to open and the report about it, where there is nothing to plan; else None."""
    gpus = bool(Device.gpus())
    if None not in (settings.context, settings.kv, settings.gpu_layers, settings.threads):
        return options, OpeningReport((summary(options, gpus=gpus), _AS_SET, *strict_lines(options, gpus=gpus)))
    size = _size(options.model)
    if size >= SMALL_BYTES:
        return None
    if settings.threads is None:
        options = replace(options, threads=all_cores_but_one())
    fits = _FITS_ANYWHERE.format(max(1, round(size / 1e6)))
    return options, OpeningReport((summary(options, gpus=gpus), fits, *strict_lines(options, gpus=gpus)))


def _size(path: Path) -> int:
    """Return the bytes of a file; 0 for a missing one, which the engine reports best."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
