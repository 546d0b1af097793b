"""The tools the model may call: all of them only look. One file a tool; the registry puts them together."""

from laguna_tui.agent.tools.registry import TOOL_SPECS, Toolbox, tool_specs
from laguna_tui.agent.tools.result import ToolResult

__all__ = ["TOOL_SPECS", "ToolResult", "Toolbox", "tool_specs"]
