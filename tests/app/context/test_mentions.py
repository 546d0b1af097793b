"""What is a mention in a message, and what only looks like one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from laguna_tui.context.mentions import Mention, OpenMention, mentions, open_mention, written

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
HOSTILE = st.text(st.sampled_from("@@@\"'`~\\.:#L-()[] \n\tab1/é文\x00\x1b\u202e"), max_size=60)


def named(message):
    return [(mention.name, mention.first, mention.last) for mention in mentions(message)]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("look at @src/a.py", ("src/a.py", None, None)),
        ("@src/", ("src/", None, None)),
        ("@src/a.py:10-20 please", ("src/a.py", 10, 20)),
        ("@src/a.py:10", ("src/a.py", 10, 10)),
        ("@src/a.py#L10-L20", ("src/a.py", 10, 20)),
        ("@src/a.py#L7", ("src/a.py", 7, 7)),
        ("error in @src/a.py:10:5: no such name", ("src/a.py", 10, 10)),
        ("@ShoppingCart", ("ShoppingCart", None, None)),
        ("@ShoppingCart.total_price()", ("ShoppingCart.total_price()", None, None)),
        ("@shop::Cart::total", ("shop::Cart::total", None, None)),
        ('@"a b.py"', ("a b.py", None, None)),
        ('@"a b.py":3-4', ("a b.py", 3, 4)),
        (r'@"say \"hi\" \\ twice.md"', (r'say "hi" \ twice.md', None, None)),
        ("(see @a.py)", ("a.py", None, None)),
        ("is it @a.py?", ("a.py", None, None)),
        ("@a.py, then", ("a.py", None, None)),
        ("@a.py's tests", ("a.py", None, None)),
        ("@app/[id]/(group)/page.tsx", ("app/[id]/(group)/page.tsx", None, None)),
        ("[@app/[id]/page.tsx]", ("app/[id]/page.tsx", None, None)),
        ("@logo@2x.svg", ("logo@2x.svg", None, None)),
        ("请看@文件.py。", ("文件.py", None, None)),
        ("“@a.py”", ("a.py", None, None)),
    ],
)
def test_a_mention(message, found):
    assert named(message) == [found]


@pytest.mark.parametrize(
    "message",
    [
        "write to ada@example.org",
        "ada.lovelace+news@example.org",
        "npm i react@18.2",
        "https://example.org/@user/post",
        "--from=@x",
        r"a literal \@thing",
        "@@twice",
        "an @ alone",
        "@",
        '@""',
        '@"never closed',
        "`@property` in a line",
        "``a ` @b`` still code",
        "```python\n@dataclass\nclass A: pass\n```",
        "~~~\n@dataclass\n~~~",
        "> ```\n> @dataclass\n> ```",
        "```\n@an_open_block",
        "````\n```\n@inner\n```\n````",
    ],
)
def test_no_mention(message):
    assert named(message) == []


def test_text_around_code_still_mentions():
    message = "use @a.py not `@b` nor\n```\n@c\n```\nbut @d.py and an odd ` before @e.py"
    assert [name for name, _, _ in named(message)] == ["a.py", "d.py", "e.py"]


@given(HOSTILE | WORDS)
@example('@"\\')
@example("`" * 50 + "@a" + "`" * 49)
def test_mentions_are_pieces_of_the_message_in_order(message):
    at = 0
    for mention in mentions(message):
        assert mention.start >= at
        assert message[mention.start : mention.stop] == mention.text
        assert mention.text.startswith("@")
        assert mention.name
        at = mention.stop


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=40))
@example('"')
@example("\\")
@example("a:3")
@example("x#L1-L2")
@example("ends.")
@example("@")
def test_what_is_written_for_a_name_is_read_as_that_name(name):
    for lines in ((), (3, 3), (3, 90)):
        text = written(name, *lines)
        read = mentions(f"see {text} and")
        assert [(mention.text, mention.name) for mention in read] == [(text, name)]
        assert (read[0].first, read[0].last) == (lines or (None, None))


@pytest.mark.parametrize(
    ("name", "text"), [("a.py", "@a.py"), ("a b.py", '@"a b.py"'), ("src/", "@src/"), ("operator==", "@operator==")]
)
def test_quotes_are_written_only_where_they_are_needed(name, text):
    assert written(name) == text


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("see @", OpenMention(4, "", False)),
        ("see @src/ca", OpenMention(4, "src/ca", False)),
        ('see @"a b', OpenMention(4, "a b", True)),
        ("one @a.py and @b", OpenMention(14, "b", False)),
        ("(@Fo", OpenMention(1, "Fo", False)),
        ("line\n@x", OpenMention(5, "x", False)),
        ("see @a.py ", None),
        ("ada@example", None),
        ('see @"a b" and', None),
        ("```\n@data", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_the_mention_that_is_being_typed(before, found):
    assert open_mention(before + " rest @x", len(before)) == found


@given(HOSTILE, st.integers(0, 60))
def test_what_is_being_typed_reaches_from_its_start_to_the_cursor(message, cursor):
    found = open_mention(message, min(cursor, len(message)))
    if found is not None:
        assert message[found.start] == "@"
        assert "\n" not in message[found.start : cursor]


def test_a_long_hostile_message_takes_time_in_proportion():
    # Each of these took the square of its length with a careless pattern: minutes for a megabyte.
    for piece in ("@", '@"', '@"a\\', "@(((((", "`", "`a``b", "```\n", "@a.....", "@x@", ":1", "@a:1-", "\\@"):
        message = piece * (200_000 // len(piece))
        assert len(mentions(message)) <= len(message)
        open_mention(message, len(message))


def test_a_mention_is_a_value():
    assert mentions("@a.py:2")[0] == Mention("@a.py:2", 0, 7, "a.py", 2, 2)
