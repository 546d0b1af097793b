"""The blocks of a context with the changes requested for them, and both as rows of text. No widget.

Texts of blocks are sanitised here.
"""

from collections.abc import Mapping, Sequence

from laguna_tui.base import units
from laguna_tui.base.messages import BlockKind, Place
from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import count, plural
from laguna_tui.context.blocks import ContextBlock, Cost
from laguna_tui.tui.context.cost_text import WARNING, about, breaks
from laguna_tui.tui.text_lines import BAD, BAR_EMPTY, MUTED, StyledText, cells, crop, crop_front, progress_bar

Changes = Mapping[int, Place]


class BlockTable:
    """The blocks and the requested changes.

    Attributes:
        blocks: the blocks of the context.
        changes: the requested place of each block that changes, by block number.
    """

    def __init__(self) -> None:
        self.blocks: tuple[ContextBlock, ...] = ()
        self.changes: dict[int, Place] = {}

    @property
    def used(self) -> int:
        """Tokens of all blocks."""
        return sum(block.tokens for block in self.blocks)

    @property
    def cached(self) -> int | None:
        """Tokens of all blocks that are in the KV cache; None of a remote model."""
        known = [block.cached for block in self.blocks if block.cached is not None]
        return sum(known) if len(known) == len(self.blocks) else None

    def load(self, blocks: Sequence[ContextBlock]) -> None:
        """Replace the blocks. Changes that are still possible, and still changes, are kept."""
        self.blocks = tuple(blocks)
        can = {block.number: block for block in blocks}
        self.changes = {
            number: place
            for number, place in self.changes.items()
            if number in can and place in can[number].choices and place is not can[number].place
        }

    def place(self, block: ContextBlock) -> Place:
        """Return the requested place of the block, or its current one."""
        return self.changes.get(block.number, block.place)

    def cycle(self, block: ContextBlock) -> bool:
        """Request the next place the block can have. Returns whether there is another."""
        if len(block.choices) < 2:
            return False
        at = block.choices.index(self.place(block)) if self.place(block) in block.choices else -1
        wanted = block.choices[(at + 1) % len(block.choices)]
        self.changes.pop(block.number, None)
        if wanted is not block.place:
            self.changes[block.number] = wanted
        return True


# Minimum widths for the columns of kind, share and place, and for the reasons.
COLUMNS_FROM, REASONS_FROM = 60, 120
KIND, TOKENS, CACHED, PLACE = 13, 9, 9, 12
BAR, WIDE_BAR = 6, 16
MAX_TITLE = 64
NOT_SHOWN = "a remote model does not report its cache"
EMPTY_STYLE, NEW_STYLE, CACHED_STYLE = "$foreground 25%", "$accent", "$primary"
MARKS = {
    Place.KEPT: ("● ", "$success"),
    Place.SHORTENED: ("◐ ", "$warning"),
    Place.DROPPED: ("○ ", "$foreground 50%"),
}


def totals(table: BlockTable, size: int, width: int) -> list[StyledText]:
    """Return how full the context is, and how much of it is cached."""
    share = f"({units.share(table.used, size)})"
    used = f"{count(table.used)} of {count(size)} tokens {share}"
    known = table.cached
    share_cached = NOT_SHOWN if known is None else f"{units.share(known, table.used)} cached"
    cached = f" · {share_cached}" if table.used else ""
    if cells(used + cached) > width:
        used = f"{count(table.used)} / {count(size)} {share}"
    room = width - cells(used + cached) - 2
    bar = _bar(table.used, known or 0, size, min(room, 2 * WIDE_BAR)) if room >= BAR else []
    return [(crop(used, width), "bold"), (crop(cached, width - cells(used)), MUTED), ("  " if bar else "", MUTED), *bar]


def block_row(block: ContextBlock, table: BlockTable, width: int) -> list[StyledText]:
    """Return one block in one row of `width` cells."""
    wanted = table.place(block)
    if width < COLUMNS_FROM:
        title = _title(block, width - 2 - TOKENS)
        return [MARKS[wanted], title, _tokens(block)]
    bar = WIDE_BAR if width >= REASONS_FROM else BAR
    after: list[StyledText] = [
        _tokens(block),
        ("  ", MUTED),
        *_bar(block.tokens, block.cached or 0, table.used, bar),
        _cached(block),
        _place(block, wanted),
    ]
    room = width - 2 - KIND - sum(cells(text) for text, _ in after)
    name = min(room, MAX_TITLE) if width >= REASONS_FROM else room
    why = crop(sanitize_line(block.why), room - name)
    return [MARKS[wanted], (f"{block.kind.value:<{KIND}}", MUTED), _title(block, name), *after, (why, MUTED)]


def details(block: ContextBlock, table: BlockTable, width: int) -> list[StyledText]:
    """Return the details of a block, in a few lines."""
    cached = NOT_SHOWN if block.cached is None else f"{count(block.cached)} cached"
    takes = f"{count(block.tokens)} of {count(block.whole)}" if block.whole != block.tokens else count(block.tokens)
    parts = [
        (f"{block.kind.value}  ", MUTED),
        (_cropped(block, width - len(block.kind.value) - 2), "bold"),
        (f"\n{takes} tokens, {cached}; {block.place.value}", "$foreground"),
        (f": {sanitize_line(block.why)}" if block.why else "", "$foreground"),
    ]
    if len(block.choices) < 2:
        return [*parts, ("\nnever left out", MUTED)]
    parts.append(("\nSpace: ", MUTED))
    for index, place in enumerate(block.choices):
        tone = "bold $accent" if place is table.place(block) else MUTED
        parts += [(" › " if index else "", MUTED), (place.value, tone)]
    return parts


def price(changes: int, cost: Cost | None) -> list[StyledText]:
    """Return what the changes would cost with the next message; a cost of None is not known yet."""
    if not changes:
        return []
    many = f"{changes} {plural(changes, 'change')}"
    if cost is None:
        return [(f"{many}: computing the cost …", MUTED)]
    long, _ = about(cost)
    if not cost.fits:
        return [(f"{many}: does not fit, the next message would have no room", BAD)]
    if not cost.new:
        return [(f"{many}: costs nothing", "$success"), (" · Enter applies", MUTED)]
    again = f", {count(cost.lost)} of them again" if cost.lost < cost.new else " again"
    tone = WARNING if breaks(cost) else "$foreground"
    words = f"{many}: {count(cost.new)} tokens to read{again if breaks(cost) else ''}{long}"
    return [(words, tone), (" · Enter applies", MUTED)]


def _title(block: ContextBlock, room: int) -> StyledText:
    text = _cropped(block, max(1, room - 1))
    return text + " " * max(0, room - cells(text)), "$foreground" if block.tokens else MUTED


def _cropped(block: ContextBlock, room: int) -> str:
    """Return the title, cropped at the start for paths and at the end for words."""
    cropped = crop_front if block.kind in (BlockKind.FILE, BlockKind.INSTRUCTIONS) else crop
    return cropped(sanitize_line(block.title), room)


def _tokens(block: ContextBlock) -> StyledText:
    is_new = block.cached is not None and block.cached < block.tokens
    return f"{count(block.tokens):>{TOKENS}}", NEW_STYLE if is_new else "$foreground"


def _cached(block: ContextBlock) -> StyledText:
    if block.cached is None:
        return f"  {'–':<{CACHED}}", MUTED
    if block.cached >= block.tokens:
        return f"  {'cached' if block.tokens else '–':<{CACHED}}", MUTED
    text = units.share(block.cached, block.tokens) if block.cached else "new"
    return f"  {text:<{CACHED}}", NEW_STYLE


def _place(block: ContextBlock, wanted: Place) -> StyledText:
    if wanted is not block.place:
        return f"{f'→ {wanted.value}':<{PLACE}}", "bold $accent"
    return f"{wanted.value:<{PLACE}}", MUTED


def _bar(part: int, cached: int, whole: int, width: int) -> list[StyledText]:
    """Return the share of `part` in `whole`, its cached share in another colour. Any part is at least half a cell."""
    fraction = max(part / whole, 0.5 / width) if whole and part else 0.0
    text = progress_bar(fraction, width)
    filled = len(text.rstrip(BAR_EMPTY))
    cached = round(filled * cached / part) if part else 0
    return [(text[:cached], CACHED_STYLE), (text[cached:filled], NEW_STYLE), (text[filled:], EMPTY_STYLE)]
