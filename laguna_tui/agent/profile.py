"""Which profile a model gets: the one that its entry in the catalogue names, with the template it was trained on.

To add a model, add its entry to models.toml; its `tools` is one of the profiles below. A model that needs a prompt,
tools or a guard of its own gets a folder beside `tools/full` and `tools/nano` with a profile, a name in `ToolSet`, and
a line here.
"""

from collections.abc import Mapping
from dataclasses import replace

from laguna_engine.chat.template import Family, family_for
from laguna_engine.config import EngineInfo
from laguna_tui.agent.tools.base.model_profile import ModelProfile
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.models.entry import ModelEntry, ToolSet

PROFILES: Mapping[ToolSet, ModelProfile] = {ToolSet.BASIC: NANO, ToolSet.FULL: FULL}


def profile_of(entry: ModelEntry, info: EngineInfo | None) -> ModelProfile:
    """The profile of an open model.

    Args:
        entry: what the catalogue says about it; of a file that it does not know, what is assumed.
        info: what the file says about itself, for the template where the entry names none; None of a remote model,
            whose endpoint has the template: ours is only for counting.
    """
    if entry.template or info is None:
        family = Family[entry.template or Family.XS_2_1.name]
    else:
        family = family_for(info.name, info.chat_template)
    return replace(PROFILES[entry.tools], family=family, turns=entry.turns)
