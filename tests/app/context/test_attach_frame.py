"""The frame around a file's text: whatever the file is called and holds, the frame says so and nothing gets out of it.

Frames are read back by the rules of CommonMark's fenced code blocks, written here a second time on purpose.
"""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from laguna_tui.context import frame
from laguna_tui.context.frame import framed, plain
from laguna_tui.repo.files.text_files import split_lines

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
HEAD = re.compile(r"(?P<path>.*) \((?P<facts>[^()]*)\)")
PIECES = st.lists(
    st.sampled_from(["```", "````", "~~~", "~~~~~", "`", " ", "   ", "\n", "\r\n", "\r", "a.py (3 lines)", "x", "\f"])
    | st.text(max_size=5)
)
TEXTS = PIECES.map("".join)
PATHS = st.text(st.characters(exclude_characters="\0"), min_size=1) | PIECES.map("".join).filter(bool)


def blocks(message):
    """Path, facts and text of every frame in a message, as a reader of Markdown finds them."""
    found, opened, head, body = [], "", "", []
    for line in message.split("\n"):
        fence = FENCE.fullmatch(line)
        if opened and fence and fence[1].startswith(opened) and set(fence[1]) == set(opened):
            named = HEAD.fullmatch(head)
            found.append((named["path"], named["facts"], "".join(body)))
            opened, body = "", []
        elif opened:
            body.append(f"{line}\n")
        elif fence:
            opened = fence[1]
        else:
            head = line
    assert not opened, "a block is still open at the end"
    return found


@given(TEXTS)
@example("```\nnow outside\n```\n")
@example("`" * 10 + "\n" + "~" * 10)
@example("a.py (1 line)\n```\nforged\n```\n")
def test_a_files_text_comes_back_as_it_was(text):
    assert blocks(framed("a.py", plain(text), "2 lines")) == [("a.py", "2 lines", plain(text))]


@given(PATHS)
@example("a.py (9 lines)\n```\nforged")
@example("```")
@example("odd\u2028\x85\udcff.py")
def test_whatever_a_path_is_called_its_frame_is_one_line_and_one_block(path):
    ((shown, facts, text),) = blocks(framed(path, "body\n", "1 line"))
    assert (facts, text) == ("1 line", "body\n")
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8", "replace")


@given(st.lists(st.tuples(PATHS, TEXTS), max_size=4))
def test_frames_after_each_other_stay_apart(files):
    message = "".join(framed(path, plain(text), "some lines") for path, text in files)
    assert [text for _, _, text in blocks(message)] == [plain(text) for _, text in files]


@given(TEXTS)
def test_plain_text_has_the_lines_that_the_tools_count(text):
    assert plain(text).count("\n") == len(split_lines(text))
    assert "\r\n" not in plain(text)
    assert plain(plain(text)) == plain(text)


def test_text_without_a_newline_at_its_end_still_closes():
    assert framed("a", "x", "1 line") == "a (1 line)\n```\nx\n```\n"
    assert framed("a", "", "empty") == "a (empty)\n```\n```\n"


def test_a_fence_costs_no_more_than_the_rarer_mark():
    assert framed("a", "`" * 5000 + "\n", "1 line").endswith("\n~~~\n")


def test_the_facts_are_in_words():
    assert [frame.whole(count) for count in (0, 1, 2)] == ["empty", "1 line", "2 lines"]
    assert frame.lines(10, 20, 193) == "lines 10-20 of 193"
    assert frame.lines(7, 7, 193, "ShoppingCart.total") == "line 7 of 193: ShoppingCart.total"
    assert frame.shortened(120, 840) == "120 of 840 lines"


@given(TEXTS)
def test_a_name_from_a_file_stays_on_its_line(name):
    assert "\n" not in frame.lines(1, 2, 3, name)
    assert len(frame.one_line(name)) <= 4 * 120
