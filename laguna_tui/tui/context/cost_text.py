"""What sending would cost, in as many words as there is room for. Values and text only, no widget."""

from laguna_tui.base.units import count, duration
from laguna_tui.context.blocks import Cost
from laguna_tui.tui.formatting import BAD, MUTED, StyledText
from laguna_tui.tui.text_lines import cells, crop

WARNING = "$warning"
# What is read again below this many tokens is not worth a warning: it is over before it could be read.
LITTLE = 64


def cost_part(cost: Cost, size: int, room: int) -> StyledText:
    """The cost of a message in at most `room` cells. size: of the context, in tokens."""
    texts, tone = _sayings(cost, size)
    return next((text for text in texts if cells(text) <= room), crop(texts[-1], room)), tone


def breaks(cost: Cost) -> bool:
    """Whether so much of the cache is lost that the user should know."""
    return cost.lost >= LITTLE


def about(cost: Cost) -> tuple[str, str]:
    """The time until the first token, at length and in short; empty when nobody knows."""
    if cost.seconds is None:
        return "", ""
    return f", about {duration(cost.seconds)}", f", {duration(cost.seconds)}"


def _sayings(cost: Cost, size: int) -> tuple[list[str], str]:
    """The same at length and ever shorter, and the tone it is said in."""
    long, short = about(cost)
    if not cost.fits:
        total = count(cost.new + cost.cached)
        return [f"does not fit: {total} tokens, the context has {count(size)}", f"does not fit: {total} tokens"], BAD
    if breaks(cost):
        again = f"{count(cost.lost)} tokens again"
        return [f"breaks the cache: {again}{long}", f"{again}{long}", f"{again}{short}"], WARNING
    plain = f"{count(cost.new)} new, {count(cost.cached)} cached"
    return [f"{plain}{long}", f"{plain}{short}", f"{count(cost.new)} new{short}"], MUTED
