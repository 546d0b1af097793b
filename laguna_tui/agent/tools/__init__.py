"""The tools the model may call: all but one only look. One file a tool; the registry puts them together."""

from laguna_tui.agent.tools.edits import Edits
from laguna_tui.agent.tools.registry import TOOL_SPECS, Toolbox, tool_specs
from laguna_tui.agent.tools.result import ToolResult

__all__ = ["TOOL_SPECS", "Edits", "ToolResult", "Toolbox", "tool_specs"]
