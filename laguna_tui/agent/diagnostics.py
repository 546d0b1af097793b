"""What a change broke: new syntax errors, told by the grammar of the file."""

from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.repo.relative_paths import escaped
from laguna_tui.repo.syntax_errors import new_syntax_errors


class Diagnostics:
    """What a session's changes broke. One thread at a time."""

    def before_change(self, run: ToolRun, proposal: ChangeProposal) -> None:
        """Note what is wrong before a change, which was permitted and is not made yet."""

    def after_change(self, run: ToolRun, change: ChangeProposal) -> list[str]:
        """What is wrong since a change and was not before, as lines for the model; mostly none."""
        if change.kind is ChangeKind.DELETE:
            return []
        path = change.target or change.path
        faults = new_syntax_errors(path, change.before, change.after)
        # The notes of a change that broke a Python file say so already.
        found = [fault for fault in faults if not any(fault.message in note for note in change.notes)]
        lines = [f"{escaped(path)}:{fault.line}: {fault.message}: {fault.text}" for fault in found]
        return ["New problems:", *lines] if lines else []
