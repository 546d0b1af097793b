"""The table of keys, from the bindings of the app and its widgets: for the help, the manual and keys.toml."""

from collections.abc import Mapping, Sequence

from textual.binding import Binding, BindingType

from laguna_tui.base.paths import keys_path
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.base_app import BaseApp
from laguna_tui.tui.context.context_screen import ContextScreen
from laguna_tui.tui.history.rewind_screen import RewindScreen
from laguna_tui.tui.jobs_screen import JobsScreen
from laguna_tui.tui.keys import OwnKeys, read_own_keys
from laguna_tui.tui.prompt.prompt_input import PromptInput
from laguna_tui.tui.sessions.session_picker import SessionPicker
from laguna_tui.tui.transcript.transcript import Transcript


def key_sections() -> Mapping[str, Sequence[Binding]]:
    """Return the bindings of each part of the screen by its title."""
    sections: Mapping[str, Sequence[BindingType]] = {
        "Everywhere": BaseApp.BINDINGS,
        "In the input": PromptInput.BINDINGS,
        "In the transcript": Transcript.BINDINGS,
        "In the approval panel": ApprovalPanel.BINDINGS,
        "In the context": ContextScreen.BINDINGS,
        "In the background commands": JobsScreen.BINDINGS,
        "In the sessions": SessionPicker.BINDINGS,
        "In the list of turns": RewindScreen.BINDINGS,
    }
    return {
        title: [each for each in bindings if isinstance(each, Binding) and each.description]
        for title, bindings in sections.items()
    }


def own_keys() -> OwnKeys:
    """Return the keys in the user's `keys.toml`."""
    return read_own_keys(keys_path(), (each for bindings in key_sections().values() for each in bindings))
