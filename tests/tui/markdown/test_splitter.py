"""A stream of Markdown is split into the same blocks however it arrives, and no text is lost."""

from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.tui.markdown.splitter import BlockType, Splitter


def split(text: str) -> list[tuple[str, bool]]:
    splitter = Splitter()
    chunks = [*splitter.feed(text), *splitter.finish()]
    return [(chunk.source, chunk.gap) for chunk in chunks]


def sources(text: str) -> list[str]:
    return [source for source, _ in split(text)]


def test_paragraphs_end_at_a_blank_line() -> None:
    assert split("one\ntwo\n\nthree\n") == [("one\ntwo", False), ("three", True)]


def test_a_heading_is_a_block_of_its_own() -> None:
    assert sources("text\n# Title\nmore\n") == ["text", "# Title", "more"]


def test_a_setext_heading_stays_with_its_underline() -> None:
    assert sources("Title\n===\ntext\n") == ["Title\n===", "text"]


def test_a_rule_is_not_an_item() -> None:
    assert sources("text\n***\n- item\n") == ["text", "***", "- item"]


def test_a_fence_keeps_blank_lines_and_markdown_inside() -> None:
    code = "```python\n# not a heading\n\n- not an item\n```"
    assert sources(f"before\n{code}\nafter\n") == ["before", code, "after"]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    code = "````\n```\n````"
    assert sources(f"{code}\nafter") == [code, "after"]


def test_an_indented_fence_does_not_close_one() -> None:
    code = "```\n    ```\nx\n```"
    assert sources(f"{code}\nafter") == [code, "after"]


def test_a_fence_may_have_no_end() -> None:
    assert sources("```\nx = 1") == ["```\nx = 1"]


def test_a_list_is_cut_into_items_that_keep_their_numbers() -> None:
    assert split("1. one\n2. two\n   more\n3. three\n") == [
        ("1. one", False),
        ("2. two\n   more", False),
        ("3. three", False),
    ]


def test_nested_items_and_code_stay_in_their_item() -> None:
    item = "- one\n  - inner\n\n  ```\n  - code\n\n  x\n  ```"
    assert sources(f"{item}\n- two\n") == [item, "- two"]


def test_a_blank_line_between_items_is_a_gap() -> None:
    assert split("- one\n\n- two\n") == [("- one", False), ("- two", True)]


def test_a_list_right_below_its_sentence_has_no_gap() -> None:
    assert split("These:\n- one\n") == [("These:", False), ("- one", False)]


def test_a_lazy_line_belongs_to_the_item_above() -> None:
    assert sources("- one\nlazy\n\nafter\n") == ["- one\nlazy", "after"]


def test_a_number_in_a_paragraph_is_not_a_list() -> None:
    assert sources("In the year\n1984. That was it.\n") == ["In the year\n1984. That was it."]


def test_a_quote_ends_where_its_marks_end() -> None:
    assert sources("> one\n> two\nafter\n") == ["> one\n> two", "after"]


def test_the_open_block_is_at_hand() -> None:
    splitter = Splitter()
    assert splitter.feed("done\n\n```py\nx = ") != []
    assert splitter.kind is BlockType.FENCE
    assert (splitter.lines, splitter.partial) == (["```py"], "x = ")
    assert splitter.tail == "```py\nx = "


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# h",
            "- a",
            "  - b",
            "1. c",
            "   d",
            "```",
            "~~~",
            "```py",
            "> q",
            "text",
            "| a | b |",
            "|---|---|",
            "***",
            "---",
            "    x",
            "",
        ]
    )
).map("\n".join)


@given(MARKDOWN, st.lists(st.integers(1, 9), min_size=1))
def test_the_cut_does_not_depend_on_the_pieces_the_text_comes_in(text: str, sizes: list[int]) -> None:
    splitter = Splitter()
    chunks = []
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        chunks += splitter.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    chunks += splitter.finish()
    assert [(chunk.source, chunk.gap) for chunk in chunks] == split(text)


@given(MARKDOWN)
def test_no_text_is_lost(text: str) -> None:
    kept = "\n".join(sources(text))
    assert "".join(kept.split()) == "".join(text.split())
