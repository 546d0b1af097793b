"""The cost of a message as text of a given width. No widget."""

from laguna_tui.base.units import count, duration
from laguna_tui.context.blocks import Cost
from laguna_tui.tui.text_lines import BAD, MUTED, StyledText, cells, crop

WARNING = "$warning"
# Reading fewer tokens again needs no warning: it is over before the warning could be read.
LITTLE = 64


def cost_part(cost: Cost, size: int, room: int) -> StyledText:
    """Return the cost of a message in at most `room` cells. size: of the context, in tokens."""
    texts, tone = _variants(cost, size)
    return next((text for text in texts if cells(text) <= room), crop(texts[-1], room)), tone


def breaks(cost: Cost) -> bool:
    """Return whether the message loses enough of the cache for a warning."""
    return cost.lost >= LITTLE


def about(cost: Cost) -> tuple[str, str]:
    """Return the time until the first token, long and short; empty if unknown."""
    if cost.seconds is None:
        return "", ""
    return f", about {duration(cost.seconds)}", f", {duration(cost.seconds)}"


def _variants(cost: Cost, size: int) -> tuple[list[str], str]:
    """Return the texts of a cost, the longest first, and their style."""
    long, short = about(cost)
    if not cost.fits:
        total = count(cost.new + (cost.cached or 0))
        return [f"does not fit: {total} tokens, the context has {count(size)}", f"does not fit: {total} tokens"], BAD
    if breaks(cost):
        again = f"{count(cost.lost)} tokens again"
        texts = [f"{again}: {cost.why}{long}"] if cost.why else [f"breaks the cache: {again}{long}"]
        return [*texts, f"{again}{long}", f"{again}{short}"], WARNING
    if cost.cached is None:
        return [f"about {count(cost.new)} tokens", f"{count(cost.new)} tokens"], MUTED
    plain = f"{count(cost.new)} new tokens, {count(cost.cached)} cached"
    return [f"{plain}{long}", f"{plain}{short}", f"{count(cost.new)} new{short}"], MUTED
