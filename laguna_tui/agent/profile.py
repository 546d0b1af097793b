"""The profile of a model: the one that its catalogue entry names, unless its chat template has no tool calls.

To add a model, add its entry to models.toml; its `tools` is one of the profiles below. A model that needs a prompt,
tools or a guard of its own gets a folder beside `tools/full` and `tools/nano` with a profile, a name in `ToolSet`, and
a line here.
"""

from collections.abc import Mapping
from dataclasses import replace

from laguna_tui.agent.tools.base.model_profile import ModelProfile
from laguna_tui.agent.tools.chat_profile import CHAT
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.models.entry import ModelEntry, ToolSet

PROFILES: Mapping[ToolSet, ModelProfile] = {ToolSet.BASIC: NANO, ToolSet.FULL: FULL, ToolSet.CHAT: CHAT}


def profile_of(entry: ModelEntry, *, writes_calls: bool = True) -> ModelProfile:
    """Return the profile of a model, by what the catalogue says about it, or assumes of an unknown file.

    Args:
        entry: The model's.
        writes_calls: Whether its chat format has tool calls.
    """
    return replace(PROFILES[entry.tools if writes_calls else ToolSet.CHAT], turns=entry.turns)
