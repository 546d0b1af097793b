"""How a tool's answer stands in the prompt once the user wants less of it: shortened to both its ends, or left out.

What is left out is always said, and how to get it again, so that the model neither guesses nor is stuck.
"""

from laguna_tui.base.units import plural
from laguna_tui.context.blocks import Place

_DROPPED = "… {lines} left out by the user; call the tool again if they are needed"
_BETWEEN = "… {lines} left out by the user here; call the tool again if they are needed"
# Of a result that is shortened, this share of the lines stays: definitions come first in what tools answer.
_HEAD, _TAIL = 0.2, 0.1
# Fewer lines than this are their own summary.
_SHORTEST = 10


def in_place(text: str, place: Place) -> str:
    """What the model reads of a tool's answer `text`; KEPT is the answer itself."""
    lines = text.splitlines()
    match place:
        case Place.KEPT:
            return text
        case Place.DROPPED:
            return _DROPPED.format(lines=_counted(len(lines)))
        case Place.SHORTENED:
            head, tail = int(len(lines) * _HEAD), int(len(lines) * _TAIL)
            between = _BETWEEN.format(lines=_counted(len(lines) - head - tail))
            return "\n".join([*lines[:head], between, *lines[len(lines) - tail :]])


def places_of(text: str) -> tuple[Place, ...]:
    """What the user may make of a tool's answer."""
    if len(text.splitlines()) < _SHORTEST:
        return (Place.KEPT, Place.DROPPED)
    return (Place.KEPT, Place.SHORTENED, Place.DROPPED)


def _counted(lines: int) -> str:
    return f"{lines} {plural(lines, 'line')}"
