"""What an open session holds. Values only; what they are made of is imported where it is made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from laguna_engine.engine import Engine, EngineOptions
    from laguna_tui.agent.loop import Agent
    from laguna_tui.agent.tools import Edits, Toolbox
    from laguna_tui.surroundings import Surroundings
    from laguna_tui.unplanned import Told


@dataclass(frozen=True, slots=True)
class How:
    """How an engine was opened, and what there is to say about it."""

    options: "EngineOptions"
    told: "Told"


@dataclass(slots=True)
class Parts:
    """The engine and everything around it; a switch of models puts others in their places."""

    engine: "Engine"
    toolbox: "Toolbox"
    agent: "Agent"
    how: How
    around: "Surroundings"
    edits: "Edits"
