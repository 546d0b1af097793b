"""The last row: what the keys do in the widget that has the focus."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen

from laguna_tui.tui.keys import UNBOUND, key_names
from laguna_tui.tui.status_bar import Bar
from laguna_tui.tui.text_lines import MUTED, StyledText, cells

# Many terminals send Enter alone for these.
_NOT_EVERYWHERE = frozenset({"shift+enter", "alt+enter", "ctrl+enter"})
_BETWEEN = "  "


class KeyHint(NamedTuple):
    """What one or several keys do.

    Attributes:
        label: in a word or two.
        actions: the actions that the keys are bound to, separated by blanks: keys can be bound anew.
        typed: what to type, where it is not bound to an action.
    """

    label: str
    actions: str = ""
    typed: str = ""


@runtime_checkable
class HintsKeys(Protocol):
    """A widget that says what its keys do in its present state, the most important first."""

    def key_hints(self) -> Sequence[KeyHint]:
        """Return the hints."""
        ...


STOP, HELP = KeyHint("stop", "stop"), KeyHint("help", "help")


class KeyBar(Bar):
    """Shows the hints that fit into one row.

    Attributes:
        busy: whether there is something to stop.
    """

    busy: reactive[bool] = reactive(False)

    def on_mount(self) -> None:
        # Published when the focus moves, and when a widget says that its keys changed (`refresh_bindings`).
        self.screen.bindings_updated_signal.subscribe(self, lambda screen: self.refresh())

    def render(self) -> Content:
        focused = self.screen.focused
        hints: Sequence[KeyHint] = focused.key_hints() if isinstance(focused, HintsKeys) else ()
        stops = self.busy and all(hint.actions != STOP.actions for hint in hints)
        return Content.assemble(*_parts(self.screen, [*([STOP] if stops else []), *hints], self.size.width))


def _parts(screen: Screen[object], hints: Sequence[KeyHint], width: int) -> list[StyledText]:
    """Return the hints, as many as fit, and the help; those whose keys are not bound are left out."""
    found = [(hint.typed or bound_keys(screen, hint.actions), hint.label) for hint in (*hints, HELP)]
    shown = [(keys, label) for keys, label in found if keys]
    while len(shown) > 1 and cells(_BETWEEN.join(f"{keys} {label}" for keys, label in shown)) > width - 2:
        del shown[-2]
    parts: list[StyledText] = []
    for keys, label in shown:
        parts += [(_BETWEEN if parts else " ", MUTED), (keys, "$accent"), (f" {label}", MUTED)]
    return parts


def bound_keys(screen: Screen[object], actions: str) -> str:
    """Return the keys for actions, one for each, as they are bound now."""
    found: list[str] = []
    bindings = {key: each.binding.action for key, each in screen.active_bindings.items()}
    for action in actions.split():
        keys = [key for key, bound in bindings.items() if bound == action and key != UNBOUND]
        keys.sort(key=lambda key: (key in _NOT_EVERYWHERE, len(key_names(key))))
        found += map(key_names, keys[:1])
    return " ".join(found)
