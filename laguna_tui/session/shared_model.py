"""The open model as other programs may use it: its engine, and the user's settings for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from laguna_engine.chat.template import Family
from laguna_engine.config import Drafting, Sampling
from laguna_tui.backends.local.backend import family_of
from laguna_tui.session.model_options import agent_options

if TYPE_CHECKING:
    from laguna_engine.engine import Engine
    from laguna_tui.session.engine_slot import EngineSlot


@dataclass(frozen=True, slots=True)
class SharedModel:
    """A model that is open.

    Attributes:
        engine: what generates; requests of other programs come as guests.
        name: the name that requests give.
        title: for the user.
        family: the Laguna template it was trained on; None for the template in its file.
        sampling: the user's, or the model's own.
        thinking: whether it thinks unless a request says otherwise.
        thinking_limit: limit of tokens of thinking in one generation; None for none.
        max_tokens: limit of tokens of one answer; None for none.
        drafting: how answers are sped up.
    """

    engine: "Engine"
    name: str
    title: str
    family: Family | None
    sampling: Sampling
    thinking: bool
    thinking_limit: int | None
    max_tokens: int | None
    drafting: Drafting

    @property
    def template(self) -> str:
        """The chat template: the name of a Laguna one, or the one in the file."""
        return self.family.value if self.family is not None else self.engine.info.chat_template


def shared_model(slot: "EngineSlot") -> SharedModel | None:
    """Return the model that is open in a slot; None if none is. Any thread."""
    engine, selection = slot.engine, slot.selection
    if engine is None:
        return None
    entry = selection.entry
    options = agent_options(selection.settings, entry)
    family = family_of(entry, engine.info)
    limit = options.thinking_limit(engine.n_ctx) if options.thinking else None
    return SharedModel(
        engine,
        entry.name,
        entry.title,
        family,
        options.sampling,
        options.thinking,
        limit,
        options.max_tokens,
        options.drafting,
    )
