"""The context as rows of text for a width: totals, a block, what is known of it, what changes would cost. No widget.

Texts of blocks are raw; they are made safe here.
"""

from laguna_tui.base import units
from laguna_tui.base.units import count, plural
from laguna_tui.context.blocks import BlockKind, ContextBlock, Cost, Place
from laguna_tui.text import sanitize_line
from laguna_tui.tui import meter
from laguna_tui.tui.context.board import Board
from laguna_tui.tui.context.cost import WARNING, about, breaks
from laguna_tui.tui.markdown.wrap import cells, crop, crop_front
from laguna_tui.tui.status import BAD, MUTED, Part

# From these widths on there are columns for kind, share and place, and for the reasons.
COLUMNS_FROM, REASONS_FROM = 60, 120
KIND, TOKENS, CACHED, PLACE = 13, 9, 9, 12
BAR, WIDE_BAR = 6, 16
MAX_TITLE = 64
FAINT, NEW, HELD = "$foreground 25%", "$accent", "$primary"
MARKS = {
    Place.KEPT: ("● ", "$success"),
    Place.SHORTENED: ("◐ ", "$warning"),
    Place.DROPPED: ("○ ", "$foreground 50%"),
}


def totals(board: Board, size: int, width: int) -> list[Part]:
    """How full the context is, and how much of it need not be computed again."""
    share = f"({units.share(board.used, size)})"
    used = f"{count(board.used)} of {count(size)} tokens {share}"
    held = f" · {units.share(board.cached, board.used)} cached" if board.used else ""
    if cells(used + held) > width:
        used = f"{count(board.used)} / {count(size)} {share}"
    room = width - cells(used + held) - 2
    bar = _bar(board.used, board.cached, size, min(room, 2 * WIDE_BAR)) if room >= BAR else []
    return [(crop(used, width), "bold"), (crop(held, width - cells(used)), MUTED), ("  " if bar else "", MUTED), *bar]


def block_row(block: ContextBlock, board: Board, width: int) -> list[Part]:
    """One block in one row of `width` cells."""
    wanted = board.place(block)
    if width < COLUMNS_FROM:
        title = _title(block, width - 2 - TOKENS)
        return [MARKS[wanted], title, _tokens(block)]
    bar = WIDE_BAR if width >= REASONS_FROM else BAR
    after: list[Part] = [
        _tokens(block),
        ("  ", MUTED),
        *_bar(block.tokens, block.cached, board.used, bar),
        _held(block),
        _place(block, wanted),
    ]
    room = width - 2 - KIND - sum(cells(text) for text, _ in after)
    name = min(room, MAX_TITLE) if width >= REASONS_FROM else room
    why = crop(sanitize_line(block.why), room - name)
    return [MARKS[wanted], (f"{block.kind.value:<{KIND}}", MUTED), _title(block, name), *after, (why, MUTED)]


def details(block: ContextBlock, board: Board, width: int) -> list[Part]:
    """What there is to know of a block, in a few lines; its name in one."""
    takes = f"{count(block.tokens)} of {count(block.whole)}" if block.whole != block.tokens else count(block.tokens)
    parts = [
        (f"{block.kind.value}  ", MUTED),
        (_cropped(block, width - len(block.kind.value) - 2), "bold"),
        (f"\n{takes} tokens, {count(block.cached)} cached; {block.place.value}", "$foreground"),
        (f": {sanitize_line(block.why)}" if block.why else "", "$foreground"),
    ]
    if len(block.choices) < 2:
        return [*parts, ("\nthis is never left out", MUTED)]
    parts.append(("\nSpace: ", MUTED))
    for index, place in enumerate(block.choices):
        tone = "bold $accent" if place is board.place(block) else MUTED
        parts += [(" › " if index else "", MUTED), (place.value, tone)]
    return parts


def price(changes: int, cost: Cost | None) -> list[Part]:
    """What the changes would cost with the next message; None: not known yet."""
    if not changes:
        return []
    many = f"{changes} {plural(changes, 'change')}"
    if cost is None:
        return [(f"{many}: looking what that costs …", MUTED)]
    long, _ = about(cost)
    if not cost.fits:
        return [(f"{many}: does not fit, the next message would have no room", BAD)]
    if not cost.new:
        return [(f"{many}: costs nothing", "$success"), (" · Enter applies", MUTED)]
    again = f", {count(cost.lost)} of them again" if cost.lost < cost.new else " again"
    tone = WARNING if breaks(cost) else "$foreground"
    words = f"{many}: {count(cost.new)} tokens to read{again if breaks(cost) else ''}{long}"
    return [(words, tone), (" · Enter applies", MUTED)]


def _title(block: ContextBlock, room: int) -> Part:
    text = _cropped(block, max(1, room - 1))
    return text + " " * max(0, room - cells(text)), "$foreground" if block.tokens else MUTED


def _cropped(block: ContextBlock, room: int) -> str:
    """The end of a path says more than its start; with words it is the other way round."""
    cropped = crop_front if block.kind in (BlockKind.FILE, BlockKind.INSTRUCTIONS) else crop
    return cropped(sanitize_line(block.title), room)


def _tokens(block: ContextBlock) -> Part:
    return f"{count(block.tokens):>{TOKENS}}", "$foreground" if block.cached >= block.tokens else NEW


def _held(block: ContextBlock) -> Part:
    if block.cached >= block.tokens:
        return f"  {'cached' if block.tokens else '–':<{CACHED}}", MUTED
    text = units.share(block.cached, block.tokens) if block.cached else "new"
    return f"  {text:<{CACHED}}", NEW


def _place(block: ContextBlock, wanted: Place) -> Part:
    if wanted is not block.place:
        return f"{f'→ {wanted.value}':<{PLACE}}", "bold $accent"
    return f"{wanted.value:<{PLACE}}", MUTED


def _bar(part: int, cached: int, whole: int, width: int) -> list[Part]:
    """The share of `part` in `whole`; what is cached of it in another colour. Nothing is too little to be seen."""
    fraction = max(part / whole, 0.5 / width) if whole and part else 0.0
    text = meter.progress(fraction, width)
    filled = len(text.rstrip(meter.EMPTY))
    held = round(filled * cached / part) if part else 0
    return [(text[:held], HELD), (text[held:filled], NEW), (text[filled:], FAINT)]
