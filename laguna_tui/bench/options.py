"""What a benchmark is run with, checked before anything is opened. Values only."""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from laguna_engine.options import EngineOptions, Speculation
from laguna_engine.sampling import Sampling
from laguna_tui.choices import agent_options, drafter_of, engine_options
from laguna_tui.errors import UserError
from laguna_tui.models.catalogue import ModelEntry, load_catalogue, resolve
from laguna_tui.settings import NO_DRAFTER, Settings, load_settings

CONTEXT = 4096
"""Holds the app's prompt with its tools, a few results and an answer; a larger one would only take memory. Of a model
that can use less, all it can."""

COPY, DFLASH, BOTH = "copy", "dflash", "both"
USES = (DFLASH, COPY, BOTH)
"""Who may draft."""

_SETTINGS = ("model", "drafter", "threads", "kv", "context", "gpu_layers", "temperature", "seed", "speculation")


@dataclass(frozen=True, slots=True)
class Options:
    """A benchmark as asked for.

    settings: of the engine, the user's own where no flag says otherwise. drafter: None to draft by copying only.
    prompts: the user's file, None for what ships with the app. tokens: of each answer at most. repeats: of every
    prompt. use: who drafts where only one can.
    """

    settings: Settings
    entry: ModelEntry
    drafter: Path | None
    prompts: Path | None
    tokens: int
    repeats: int
    use: str

    @property
    def model(self) -> Path:
        """The model's file."""
        assert self.entry.path is not None, "resolve only returns entries with a file"
        return self.entry.path

    def engine(self, kv: str | None = None) -> EngineOptions:
        """What to open without a plan, with this type of KV cache if one is given.

        Nothing learned earlier is used, so that every benchmark begins alike.
        """
        asked = engine_options(self.fixed(kv), self.entry, self.drafter, Speculation(self.settings.speculation))
        return asked if self.settings.context else replace(asked, n_ctx=CONTEXT)

    def fixed(self, kv: str | None = None) -> Settings:
        """The settings that a plan has to keep: the drafter too, because it is what is measured."""
        drafter = NO_DRAFTER if self.drafter is None else str(self.drafter)
        return replace(self.settings, kv=kv or self.settings.kv, drafter=drafter)

    @property
    def sampling(self) -> Sampling:
        """How tokens are picked; the model card's filters, at the temperature asked for."""
        return agent_options(self.settings, self.entry).sampling


def from_arguments(arguments: argparse.Namespace) -> Options:
    """The options; UserError for what cannot be: a model or drafter that is not there, a number out of range."""
    given = {name: getattr(arguments, name, None) for name in _SETTINGS}
    # The user's own temperature and context are for chatting. A seed is only for draws, and always the same one.
    settings = replace(load_settings(), context=None).merged(_known(given))
    settings = settings.merged({"temperature": given["temperature"] or 0.0, "seed": given["seed"] or 1})
    entry = resolve(settings.model, load_catalogue())
    options = Options(
        settings=settings,
        entry=entry,
        drafter=drafter_of(settings, entry),
        prompts=arguments.prompts,
        tokens=arguments.tokens,
        repeats=arguments.repeats,
        use="",
    )
    return _checked(options, getattr(arguments, "use", None))


def _known(given: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}


def _checked(options: Options, use: str | None) -> Options:
    if options.settings.speculation == "off":
        raise UserError("speculation is off, so there is nothing to compare; add --speculation fast, or strict")
    for name, value, least in (("tokens", options.tokens, 2), ("repeats", options.repeats, 1)):
        if value < least:
            raise UserError(f"--{name} {value}: it must be {least} or more")
    if use is not None and use not in USES:
        raise UserError(f"--use {use}: it must be one of {', '.join(USES)}")
    if use in (DFLASH, BOTH) and options.drafter is None:
        raise UserError(
            f"--use {use}: {options.entry.title} has no drafter here; give one with --drafter FILE.gguf, or --use copy"
        )
    return replace(options, use=use or (COPY if options.drafter is None else DFLASH))
