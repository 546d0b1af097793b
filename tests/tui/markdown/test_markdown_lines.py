"""A block of Markdown becomes rows that fit, look right and can be copied back."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.events import Source
from laguna_tui.tui.markdown.attributed_text import AttributedText, TintSwitch, tinted
from laguna_tui.tui.markdown.flow import CodeFlow, ProseFlow
from laguna_tui.tui.markdown.highlight import MAX_HIGHLIGHT, highlight
from laguna_tui.tui.markdown.layout import MAX_PROSE, column_widths, lay_out
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.markdown.open_block import OpenBlock
from laguna_tui.tui.markdown.splitter import Splitter
from laguna_tui.tui.text_lines import TextRun, cells, crop, crop_front, fold, plain, wrap


def rows(source: str, width: int = 40) -> list[str]:
    return [plain(line.runs).rstrip() for line in lay_out(to_flows(source), width)]


def tones(source: str) -> dict[str, str]:
    return {run.text: run.tone for flow in to_flows(source) if isinstance(flow, ProseFlow) for run in flow.runs}


def test_inline_marks_become_tones() -> None:
    said = tones("a **b** *c* `d` ~~e~~ **_f_**")
    assert said["b"] == "text strong"
    assert said["c"] == "text em"
    assert said["d"] == "text inline-code"
    assert said["e"] == "text strike"
    assert said["f"] == "text strong em"


def test_a_link_shows_where_it_leads() -> None:
    assert rows("[here](https://a.example/b)") == ["here (https://a.example/b)"]


def test_a_link_that_says_its_address_is_not_told_twice() -> None:
    assert rows("<https://a.example>") == ["https://a.example"]


def test_html_is_text() -> None:
    assert rows("a <b>c</b>") == ["a <b>c</b>"]


def test_entities_cannot_bring_back_what_the_sanitizer_took_out() -> None:
    for source in (
        "&#x202e;abc",
        "&#27;]52;c;aGk=&#7;",
        "[x](a&#x202e;b)",
        "a&zwj;b",
        "```a&#x202e;b\nx\n```",
        "&zwj;",
    ):
        shown = "".join(rows(source))
        assert "\u202e" not in shown
        assert "\u200d" not in shown
        assert "\x1b" not in shown


def test_nested_lists_are_indented_and_marked() -> None:
    assert rows("- a\n  - b\n    1. c\n") == ["• a", "  ◦ b", "    1. c"]


def test_wrapped_items_hang() -> None:
    assert rows("10. " + "word " * 6, 16) == ["10. word word", "    word word", "    word word"]


def test_the_lines_of_a_paragraph_and_of_an_item_stay_lines() -> None:
    assert rows("Found:\nnothing") == ["Found:", "nothing"]
    assert rows("1. a\n2. b\nand 3 more.") == ["1. a", "2. b", "   and 3 more."]


def test_a_loose_item_keeps_its_blank_line() -> None:
    assert rows("- a\n\n  b\n") == ["• a", "", "  b"]


def test_a_quote_has_a_bar_through_all_its_rows() -> None:
    assert rows("> a\n>\n> b\n") == ["▎ a", "▎", "▎ b"]


def test_code_is_never_wrapped_at_blanks_and_says_its_language() -> None:
    assert rows("```python\nx  =  1\n```") == [" python", " x  =  1"]
    (code,) = to_flows("```python\nx  =  1\n```")
    assert isinstance(code, CodeFlow)
    assert code.language == "python"


def test_prose_stays_readable_on_a_wide_screen_and_code_uses_it() -> None:
    wide = lay_out(to_flows("word " * 100), 300)
    assert max(cells(plain(line.runs)) for line in wide) <= MAX_PROSE
    assert len(lay_out(to_flows("```\n" + "x" * 250 + "\n```"), 300)) == 1


def test_a_table_is_aligned() -> None:
    assert rows("| a | bb |\n|--:|:--|\n| 1 | 2 |\n| 333 | 4 |\n") == [
        "  a │ bb",
        "────┼───",
        "  1 │ 2",
        "333 │ 4",
    ]


def test_wide_cells_wrap_and_narrow_columns_keep_their_width() -> None:
    assert column_widths([3, 50, 60], 40) == [3, 18, 18]


def test_a_table_without_room_becomes_cards() -> None:
    source = "| one | two | three |\n|---|---|---|\n| alpha beta | gamma delta | epsilon zeta |\n"
    assert rows(source, 18)[:2] == ["one: alpha beta", "two: gamma delta"]


def test_highlighting_gives_the_code_back_unchanged() -> None:
    code = 'def f(x):\n\n    """doc"""\n    return x  # done'
    assert "\n".join(plain(line) for line in highlight(code, "python")) == code
    assert any("code-keyword" in run.tone for line in highlight(code, "python") for run in line)


def test_code_that_is_too_long_or_unknown_is_plain() -> None:
    for code, language in (("x = 1\n" * MAX_HIGHLIGHT, "python"), ("x = 1", "no-such-language"), ("x = 1", "")):
        assert {run.tone for line in highlight(code, language) for run in line} == {"code"}


def test_wide_characters_count_twice() -> None:
    for line in wrap((TextRun("日本語のとても長い文章です。" * 4),), 15):
        assert cells(plain(line.runs)) <= 15
    assert crop("日本語", 5) == "日本…"
    assert [plain(part) for part in fold((TextRun("日本語"),), 4)] == ["日本", "語"]


TEXT = st.text(alphabet="ab 日é\U0001f600-`*[]()|#\n", max_size=120)


@given(TEXT, st.integers(8, 60))
def test_no_row_is_wider_than_the_screen(text: str, width: int) -> None:
    splitter = Splitter()
    for chunk in [*splitter.feed(text), *splitter.finish()]:
        for line in lay_out(to_flows(chunk.source), width):
            assert cells(plain(line.runs).rstrip()) <= max(width, 12)


@given(st.text(alphabet="ab 日é-", max_size=120), st.integers(4, 40))
def test_wrapped_rows_join_to_the_text_again(text: str, width: int) -> None:
    lines = wrap((TextRun(text),), width)
    joined = "".join((line.glue or "") + plain(line.runs) for line in lines)
    assert joined.rstrip() == text.rstrip() or joined.split() == text.split()


@given(TEXT, st.integers(10, 60))
def test_an_open_block_never_breaks_the_tail(text: str, width: int) -> None:
    splitter = Splitter()
    tail = OpenBlock(splitter, AttributedText(), TintSwitch())
    for character in text:
        if splitter.feed(character):
            tail.restart()
        assert all(cell_len(plain(line.runs)) <= width for line in tail.lines(width))


def test_an_open_fence_lays_out_each_line_once() -> None:
    splitter = Splitter()
    tail = OpenBlock(splitter, AttributedText(), TintSwitch())
    splitter.feed("```python\nx = 1\ny = 2\n")
    first = list(tail.lines(40))
    splitter.feed("z = 3\nhalf")
    second = tail.lines(40)
    assert [plain(line.runs) for line in second] == [" python", " x = 1", " y = 2", " z = 3", " half"]
    assert all(new is old for new, old in zip(second, first, strict=False))


def test_drafts_of_a_slow_block_are_rationed() -> None:
    moments = iter([0.0, 0.1, 0.2, 0.3, 0.6, 0.7])
    splitter = Splitter()
    tail = OpenBlock(splitter, AttributedText(), TintSwitch(), clock=lambda: next(moments))
    splitter.feed("one")
    assert plain(tail.lines(40)[0].runs) == "one"  # took 0.1 s: the next draft waits 0.4 s
    splitter.feed(" two")
    assert plain(tail.lines(40)[0].runs) == "one"
    assert plain(tail.lines(40)[0].runs) == "one"
    assert plain(tail.lines(40)[0].runs) == "one two"


FAMILY = "\u200d".join("👨👩👧👦")
WHOLE_EMOJI = ("👩\u200d💻", "👩🏽\u200d💻", FAMILY, "🏳\ufe0f\u200d🌈", "👍🏽", "🇩🇪", "1\ufe0f\u20e3", "㊙\ufe0f")


def cut_emoji(text: str) -> str:
    """What is left of a text that was made of whole emoji, `x` and blanks."""
    for emoji in sorted(WHOLE_EMOJI, key=len, reverse=True):
        text = text.replace(emoji, "")
    return text.strip("x …")


@given(st.lists(st.sampled_from([*WHOLE_EMOJI, "x", " "]), max_size=30), st.integers(4, 20))
def test_no_emoji_is_cut_where_a_text_is_broken(parts: list[str], width: int) -> None:
    text = "".join(parts)
    broken = [plain(line.runs) for line in wrap((TextRun(text, "text"),), width)]
    folded = [plain(runs) for runs in fold((TextRun(text, "text"),), width)]
    for row in [*broken, *folded, crop(text, width), crop_front(text, width)]:
        assert not cut_emoji(row)
        assert cells(row) <= width
    assert "".join(folded) == text


def test_an_emoji_that_two_drafters_proposed_is_drawn_as_one() -> None:
    said = AttributedText()
    for part, source in (("so 👩", Source.TARGET), ("\u200d💻 is", SuffixDrafter.source)):
        said.add(part, source)
    ((prose,),) = [tinted(to_flows(said.text), said)]
    assert [run.text for run in prose.runs] == ["so 👩\u200d💻", " is"]
