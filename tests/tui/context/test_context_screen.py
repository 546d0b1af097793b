"""The context screen: what it shows, what can be changed, and that nothing changes without Enter."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import OptionList

from laguna_engine.errors import EngineError
from laguna_tui.base.events import TextDelta
from laguna_tui.base.messages import BlockKind, Place
from laguna_tui.context.blocks import BlockText, ContextBlock, Cost
from laguna_tui.tui.context.block_table import BlockTable, block_row, price, totals
from laguna_tui.tui.context.line_comparison import LineState, compare, counterparts, folded
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.text_lines import cells
from tests.tui.contexts import AFTER, BEFORE, BLOCKS, TEXTS, change_costs, prompting
from tests.tui.pilot import ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession, answer
from tests.tui.test_screen_safety import BRACKETS, HOSTILE, assert_harmless

FILE = 3
KEPT, SHORTENED, DROPPED = Place.KEPT, Place.SHORTENED, Place.DROPPED


def session(*scripts, **more) -> PlayedSession:
    given = {"blocks": BLOCKS, "texts": TEXTS, "change_costs": change_costs, **more}
    return prompting(PlayedSession(*scripts), **given)


async def opened(app, pilot, row: int = 0) -> None:
    """Open the inspector and go to a row of it."""
    await pilot.press("f9")
    await until(pilot, lambda: "Context" in screen(app) and app.screen.table.blocks)
    for _ in range(row):
        await pilot.press("down")


async def test_every_block_is_listed_with_what_it_takes_and_the_totals() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot)
        shown = screen(app)
        assert "3,309 of 8,192 tokens (40 %) · 79 % cached" in shown
        for block in BLOCKS:
            (row,) = [line for line in shown.split("\n") if f" {block.tokens:,}  " in line]
            assert block.kind.value in row
            assert block.place.value in row
        assert "58 %" in shown
        assert " new " in shown


async def test_the_command_opens_it_and_escape_leaves_without_a_change() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("/context")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 2 and "AGENTS.md" in screen(app))
        await pilot.press("down", "space")
        await until(pilot, lambda: "→ dropped" in screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.pause(0.1)
        assert scripted.prompt.given == BLOCKS


async def test_what_is_known_of_a_block_is_told_with_the_reason() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await until(pilot, lambda: "412 of 1,830 tokens, 412 cached; shortened: too much to fit whole" in screen(app))
        assert "Space: kept › shortened › dropped" in screen(app)


async def test_what_a_change_costs_is_told_before_it_is_made() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("space", "space")
        cost = change_costs({FILE: KEPT})
        await until(pilot, lambda: f"1 change: {cost.new:,} tokens to read, {cost.lost:,} of them again" in screen(app))
        assert "about 6 s" in screen(app)
        assert scripted.prompt.given == BLOCKS


async def test_enter_makes_the_changes_and_says_so() -> None:
    scripted = session()
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("space", "up", "space", "enter")
        await until(pilot, lambda: {scripted.prompt.given[at].place for at in (2, FILE)} == {DROPPED})
        await until(pilot, lambda: "The changes apply to your next message." in screen(app))
        await ready(app, pilot)
        assert len(app.screen_stack) == 1


async def test_a_block_that_is_never_touched_stays_as_it_is() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot)
        await until(pilot, lambda: "never left out" in screen(app))
        await pilot.press("space")
        await pilot.pause(0.1)
        assert not app.screen.table.changes


async def test_going_around_the_choices_is_no_change() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("space")
        await until(pilot, lambda: "1 change" in screen(app))
        await pilot.press("space", "space")
        await until(pilot, lambda: "1 change" not in screen(app))


async def test_changes_wait_for_the_answer() -> None:
    gate = threading.Event()
    scripted = session([TextDelta("one "), gate, *answer("two")])
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await opened(app, pilot, FILE)
        await pilot.press("space", "enter")
        await pilot.pause(0.2)
        assert scripted.prompt.given == BLOCKS
        gate.set()
        await until(pilot, lambda: scripted.prompt.given[FILE].place is DROPPED)
        await ready(app, pilot)


async def test_a_new_chat_forgets_changes_that_wait() -> None:
    scripted = session([TextDelta("one "), threading.Event()])
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await opened(app, pilot, FILE)
        await pilot.press("space", "enter", "ctrl+n")
        await until(pilot, lambda: scripted.chat.chats == 2)
        await ready(app, pilot)
        assert scripted.prompt.given == BLOCKS


@pytest.mark.parametrize("width", [40, 80, 200])
async def test_more_blocks_than_rows_are_scrolled_a_row_each(width: int) -> None:
    many = [replace(BLOCKS[FILE], number=number, title=f"{'long/' * 60}file_{number}.py") for number in range(60)]
    async with running(session(blocks=many), size=(width, 24)) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot)
        options = app.screen.query_one(OptionList)
        await until(pilot, lambda: options.virtual_size.height == len(many))
        await pilot.press("end", "space")
        await until(pilot, lambda: "file_59.py" in screen(app) and "1 change" in screen(app))
        assert options.virtual_size.height == len(many)


async def test_a_change_that_cannot_be_made_says_why_and_the_chat_goes_on() -> None:
    scripted = session(error=EngineError("The block is gone. Open the list again."))
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("space", "enter")
        await until(pilot, lambda: "Open the list again." in transcript(app))
        await until(pilot, lambda: app.state is SessionState.READY)


async def test_the_list_follows_an_answer_that_ends() -> None:
    gate = threading.Event()
    scripted = session([TextDelta("one "), gate, *answer("two")])
    async with running(scripted) as (app, pilot):
        await ready(app, pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "one" in transcript(app))
        await opened(app, pilot, FILE)
        await pilot.press("space")
        scripted.prompt.given = (*BLOCKS, replace(BLOCKS[-1], number=8, title="something new"))
        gate.set()
        await until(pilot, lambda: "something new" in screen(app))
        assert app.screen.table.changes == {FILE: DROPPED}


async def test_without_a_model_there_is_nothing() -> None:
    async with running(PlayedSession(opening=EngineError("no file"))) as (app, pilot):
        await until(pilot, lambda: app.state is SessionState.FAILED)
        await pilot.press("f9")
        await until(pilot, lambda: "The context is empty." in screen(app))
        await pilot.press("space", "enter", "d", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


async def test_what_cannot_be_found_out_says_why() -> None:
    def broken(places: object) -> Cost:
        raise EngineError("The engine is gone; start again")

    async with running(session(change_costs=broken)) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("space")
        await until(pilot, lambda: "The engine is gone; start again" in screen(app))


async def test_hostile_titles_and_texts_are_only_text() -> None:
    title = f"{HOSTILE} {BRACKETS}"
    block = ContextBlock(0, BlockKind.FILE, title, 10, 20, 0, SHORTENED, title, (KEPT, SHORTENED))
    text = BlockText(f"{HOSTILE}\n{BRACKETS}\nkept\n", f"kept\n{HOSTILE} {BRACKETS}\n")
    async with running(session(blocks=[block], texts={0: text}), size=(200, 40)) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot)
        assert BRACKETS in screen(app)
        assert_harmless(screen(app))
        await pilot.press("d")
        await until(pilot, lambda: "1 of 3 lines kept" in screen(app))
        assert BRACKETS in screen(app)
        assert_harmless(screen(app))


# -- before and after


@pytest.mark.parametrize("key", ["d", "enter"])
async def test_a_block_is_shown_before_and_after(key: str) -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press(key)
        await until(pilot, lambda: "17 of 28 lines kept" in screen(app))
        shown = screen(app)
        assert "− import logging" in shown
        assert shown.count("▎ class PrefixCache:") == 2
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 2)


@pytest.mark.parametrize(("width", "beside"), [(200, True), (80, False), (40, False)])
async def test_the_sides_stand_beside_each_other_where_there_is_room(width: int, beside: bool) -> None:
    async with running(session(), size=(width, 30)) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("d")
        await until(pilot, lambda: "lines kept" in screen(app))
        rows = screen(app).split("\n")
        assert any(row.count("class PrefixCache:") == 2 for row in rows) is beside
        assert all(len(row) == width for row in rows)


async def test_the_sides_scroll_together() -> None:
    long = [f"line {number}" for number in range(300)]
    text = BlockText("\n".join(long), "\n".join(long[200:]))
    async with running(session(texts={FILE: text})) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("d")
        await until(pilot, lambda: "100 of 300 lines kept" in screen(app))
        app.screen.before.scroll_to(y=250, animate=False)
        await until(pilot, lambda: app.screen.after.scroll_offset.y == 50)
        await pilot.pause(0.1)
        assert app.screen.before.scroll_offset.y == 250
        app.screen.after.scroll_to(y=20, animate=False)
        await until(pilot, lambda: app.screen.before.scroll_offset.y == 220)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BlockText("a\nb\n", "a\nb\n"), "nothing is left out"),
        (BlockText("a\nb\n", ""), "all lines are left out"),
        (BlockText("", ""), "the block is empty"),
    ],
)
async def test_one_side_is_enough_where_there_are_no_two(text: BlockText, words: str) -> None:
    async with running(session(texts={FILE: text})) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("d")
        await until(pilot, lambda: words in screen(app))
        assert not app.screen.after.display


async def test_a_text_that_cannot_be_had_says_why() -> None:
    async with running(session(texts={})) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("d")
        await until(pilot, lambda: "went wrong" in screen(app))


def test_what_was_kept_stands_beside_itself() -> None:
    pairs = compare(BlockText(BEFORE, AFTER))
    assert all(pair.before == pair.after for pair in pairs if pair.before.state is LineState.KEPT)
    dropped = [pair.before.text.strip() for pair in pairs if pair.before.state is LineState.DROPPED]
    assert "import logging" in dropped
    assert [pair.after.text.strip()[:9] for pair in pairs if pair.after.state is LineState.ADDED] == ["[left out"]


TEXT = st.lists(st.sampled_from(["", "a", "b", "    c", "日本"]) | st.text("xyz ", max_size=3), max_size=12).map(
    "\n".join
)


@given(TEXT, TEXT)
def test_each_side_has_all_its_lines_in_order_and_every_line_its_place(before: str, after: str) -> None:
    pairs = compare(BlockText(before, after))
    left = [pair.before for pair in pairs if pair.before.state is not LineState.GAP]
    right = [pair.after for pair in pairs if pair.after.state is not LineState.GAP]
    for lines, text in ((left, before), (right, after)):
        assert "\n".join(line.text for line in lines) == text.removesuffix("\n")
    to_after, to_before = counterparts(pairs)
    for there, lines, others in ((to_after, left, right), (to_before, right, left)):
        assert len(there) == len(lines)
        assert there == sorted(there)
        assert all(0 <= place <= len(others) for place in there)


@given(TEXT, TEXT, st.integers(4, 20))
def test_folded_lines_have_no_row_too_wide_and_lose_nothing_but_blanks(before: str, after: str, width: int) -> None:
    pairs = compare(BlockText(before, after))
    rows = folded(pairs, width)
    assert all(cells(line.text) <= width for row in rows for line in (row.before, row.after))
    for side in ("before", "after"):
        whole = "".join(getattr(pair, side).text for pair in pairs)
        assert "".join("".join(getattr(row, side).text for row in rows).split()) == "".join(whole.split())


async def test_a_long_line_is_shown_whole() -> None:
    words = " ".join(f"word{number}" for number in range(30))
    async with running(session(texts={FILE: BlockText(words, words)})) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot, FILE)
        await pilot.press("d")
        await until(pilot, lambda: "word29" in screen(app))


# -- rows and wishes

BLOCK = st.builds(
    ContextBlock,
    number=st.integers(0, 9),
    kind=st.sampled_from(BlockKind),
    title=st.text(max_size=90),
    tokens=st.integers(0, 9 * 10**6),
    whole=st.integers(0, 9 * 10**6),
    cached=st.integers(0, 9 * 10**6),
    place=st.sampled_from(Place),
    why=st.text(max_size=90),
    choices=st.sampled_from([(KEPT,), (KEPT, DROPPED), (KEPT, SHORTENED, DROPPED)]),
)


@given(BLOCK, st.integers(16, 220), st.integers(0, 9 * 10**6))
def test_a_row_never_leaves_its_width(block: ContextBlock, width: int, size: int) -> None:
    table = BlockTable()
    table.load([replace(block, cached=min(block.cached, block.tokens))])
    for parts in (block_row(table.blocks[0], table, width), totals(table, size, width)):
        assert sum(cells(text) for text, _ in parts) <= width


@given(st.lists(BLOCK, max_size=8, unique_by=lambda block: block.number), st.lists(st.integers(0, 7), max_size=20))
def test_only_what_can_be_had_and_differs_is_a_change(blocks: list[ContextBlock], cycles: list[int]) -> None:
    table = BlockTable()
    table.load(blocks)
    for index in cycles:
        if index < len(blocks):
            table.cycle(blocks[index])
    by_number = {block.number: block for block in blocks}
    for number, place in table.changes.items():
        assert place in by_number[number].choices
        assert place is not by_number[number].place
        assert len(by_number[number].choices) > 1


def test_wishes_about_blocks_that_are_gone_are_forgotten() -> None:
    table = BlockTable()
    table.load(BLOCKS)
    table.cycle(BLOCKS[1])
    table.cycle(BLOCKS[FILE])
    table.load([replace(BLOCKS[FILE], place=DROPPED)])
    assert not table.changes


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (None, "2 changes: computing the cost …"),
        (Cost(0, 900, 0, 0.0, fits=True), "2 changes: costs nothing · Enter applies"),
        (Cost(40, 900, 0, 0.2, fits=True), "2 changes: 40 tokens to read, about 0.2 s · Enter applies"),
        (Cost(900, 0, 900, 4.0, fits=True), "2 changes: 900 tokens to read again, about 4 s · Enter applies"),
        (Cost(9000, 0, 0, 40.0, fits=False), "2 changes: does not fit, the next message would have no room"),
    ],
)
def test_the_price_is_said_in_a_line(cost: Cost | None, words: str) -> None:
    assert "".join(text for text, _ in price(2, cost)) == words


async def test_a_blocks_text_opens_and_closes_with_a_letter_in_either_case() -> None:
    async with running(session()) as (app, pilot):
        await ready(app, pilot)
        await opened(app, pilot)
        for key, screens in (("D", 3), ("D", 2), ("Q", 1)):
            await pilot.press(key)
            await until(pilot, lambda: len(app.screen_stack) == screens)  # noqa: B023
