"""An export holds what was said and done, without secrets, and nothing that a terminal or a browser would obey."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec import structs

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.events import (
    CallRejected,
    ChangeMade,
    Compacted,
    Notice,
    ReasoningDelta,
    Steered,
    TextDelta,
    TodoChanged,
    TodoItem,
    TodoState,
    ToolFinished,
    ToolStarted,
)
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.text import sanitize
from laguna_tui.base.text_diff import Hunk, HunkLine, Sign
from laguna_tui.store.events import Content, HistoryMoved, MessageSent, Shown, TurnEnded
from laguna_tui.store.journal_lines import JOURNAL
from laguna_tui.store.session_export import ExportForm, exported
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_transcript import call_text, read_transcript
from laguna_tui.store.transcript_parts import PartKind, SessionTranscript, TranscriptPart
from tests.app.store.kept_sessions import HOSTILE, begun, forge, kept, shown, turn

LONG = "1: ```\n" * 900
SECRET = "ghp_" + "a1B2" * 9
LINES = [(Sign.KEPT, "def total():"), (Sign.REMOVED, "    return 0"), (Sign.ADDED, "    return 1")]
CHANGE = ChangeProposal(
    "shop/cart.py",
    before="",
    after="",
    places=1,
    hunks=(Hunk(3, 3, tuple(HunkLine(sign, text) for sign, text in LINES)),),
    warning="",
    root=Path("/shop"),
    old=b"",
    new=b"",
    identity=FolderIdentity(1, 2),
)


@pytest.fixture
def session(tmp_path):
    """A session with an event of every kind that is shown."""
    journal = begun(tmp_path, ("Why?\nSay.", "First "), title="My <b>cart</b>")
    journal.append(shown(TextDelta("and **second**.")))
    journal.append(MessageSent(message="Fix it"))
    journal.append(turn(2, "Fix it"))
    output = {"stdout": f"line 1\nTOKEN={SECRET}\n", "exit_code": 1, "note": "cut"}
    journal.append(
        shown(
            ReasoningDelta("Let me "),
            ReasoningDelta("see."),
            ToolStarted(1, "shell", {"command": "make <test>\nmake"}),
            ToolStarted(2, "read", {"path": "a.py", "limit": 3}),
        )
    )
    finished = Content(str, journal.put_blob).stored(ToolFinished(2, "read", LONG, True, 0.1))
    journal.append(Shown(events=(finished,)))
    journal.append(
        shown(
            ToolFinished(1, "shell", json.dumps(output), True, 0.1),
            ChangeMade(3, CHANGE),
            ChangeMade(3, structs.replace(CHANGE, kind=ChangeKind.CREATE, path="new.py")),
            ChangeMade(3, structs.replace(CHANGE, kind=ChangeKind.MOVE, target="there.py")),
            TodoChanged((TodoItem("fix", TodoState.DONE), TodoItem("test"))),
            Steered("quickly"),
            Notice("Look out."),
            CallRejected("x", "no such tool"),
            Compacted(7900, 2000, 0, 12, 0, "A shop."),
        )
    )
    journal.append(Shown(events=({"type": "Danced"},)))
    journal.append(TurnEnded(end="max_tokens", detail=""))
    journal.close()
    return tmp_path / journal.id


def test_a_transcript_has_all_that_was_shown_in_its_order(session):
    transcript = read_transcript(session)
    assert (transcript.title, transcript.session, transcript.about) == ("My <b>cart</b>", session.name, "/shop")
    assert [(part.kind.value, part.title, part.text) for part in transcript.parts] == [
        ("message", "", "Why?\nSay."),
        ("answer", "", "First and **second**."),
        ("message", "", "Fix it"),
        ("thinking", "", "Let me see."),
        ("call", "$ make <test>\nmake", f"line 1\nTOKEN={SECRET}\ncut"),
        ("call", "read(a.py, limit=3)", LONG),
        ("change", "shop/cart.py", diff("shop/cart.py", "shop/cart.py")),
        ("change", "new.py", diff("/dev/null", "new.py")),
        ("change", "shop/cart.py → there.py", "rename from shop/cart.py\nrename to there.py"),
        ("todo", "", "- [x] fix\n- [ ] test"),
        ("message", "", "quickly"),
        ("notice", "", "Look out."),
        ("notice", "", "no such tool"),
        ("notice", "", "The context was compacted: the oldest 12 messages replaced by a summary, "
                       "7,900 tokens became 2,000.\n\nA shop."),
        ("notice", "", "The answer reached the limit of tokens."),
    ]  # fmt: skip


def diff(before, after):
    return f"--- {before}\n+++ {after}\n@@ -3,2 +3,2 @@\n def total():\n-    return 0\n+    return 1"


def test_markdown(session):
    text = exported(read_transcript(session), ExportForm.MARKDOWN)
    assert text.startswith("# My &lt;b&gt;cart&lt;/b&gt;\n\n")
    for part in (
        "> Why?\n> Say.\n\nFirst and **second**.\n\n> Fix it\n",
        "<details><summary><code>thinking</code></summary>\n\n```\nLet me see.\n```",
        "<summary><code>$ make &lt;test&gt; make</code></summary>\n\n```\n$ make <test>\nmake\nline 1\nTOKEN=[redact",
        "````\n1: ```",
        f"```diff\n{diff('/dev/null', 'new.py')}\n```",
        "- [x] fix",
    ):
        assert part in text


class Reader(HTMLParser):
    """What a browser makes of a page: its tags with attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


TAGS = set("html head meta title style body h1 h2 p div details summary code pre span strong em a ul li hr br".split())
TAGS |= set("blockquote ol h3 table thead tbody tr th td".split())


def check_harmless(page):
    """Nothing in the page runs, loads, or leads anywhere but to the web."""
    reader = Reader(page)
    assert {tag for tag, _ in reader.tags} <= TAGS
    for tag, attributes in reader.tags:
        allowed = {"meta": {"charset", "http-equiv", "content"}, "a": {"href", "title"}, "details": {"open"}}
        assert attributes.keys() <= allowed.get(tag, set()) | {"class", "style"}
        assert re.match("https?://", attributes.get("href", "https://"))
    assert "default-src 'none'" in page
    return reader


def test_html_is_one_page_that_runs_and_loads_nothing(session):
    page = exported(read_transcript(session), ExportForm.HTML)
    reader = check_harmless(page)
    words = "".join(reader.words)
    for part in ("My <b>cart</b>", "$ make <test>", "and second.", "+    return 1", "Look out.", "TOKEN=[redacted]"):
        assert part in words
    assert ("strong", {}) in reader.tags


def test_json_is_exact(session):
    value = json.loads(exported(read_transcript(session), ExportForm.JSON))
    assert (value["id"], value["folder"], value["title"]) == (session.name, "/shop", "My <b>cart</b>")
    assert value["parts"][0] == {"kind": "message", "text": "Why?\nSay.", "title": ""}
    assert len(value["parts"]) == 15


@pytest.mark.parametrize("form", ExportForm)
def test_no_form_has_secrets(session, form):
    text = exported(read_transcript(session), form)
    assert SECRET not in text
    assert "[redacted]" in text


@pytest.mark.parametrize("form", ExportForm)
def test_hostile_texts_are_harmless_in_every_form_and_place(form):
    parts = tuple(TranscriptPart(kind, HOSTILE, title) for kind in PartKind for title in (HOSTILE, f"$ {HOSTILE}", ""))
    transcript = SessionTranscript(HOSTILE, "20260101-000000-abcd", HOSTILE, HOSTILE, 0.0, parts)
    if form is ExportForm.JSON:
        assert json.loads(exported(transcript, form))["parts"][0]["text"] == HOSTILE
    else:
        assert exported(transcript, form) == sanitize(exported(transcript, form))
        exported(transcript, form).encode()
    if form is ExportForm.HTML:
        check_harmless(exported(transcript, form))
    if form is ExportForm.MARKDOWN:
        title, about, *_ = exported(transcript, form).split("\n\n")
        assert "<" not in title + about
        assert "\n" not in title + about
    exported(transcript, form).encode("ascii" if form is ExportForm.JSON else "utf-8")


def test_a_hostile_session_is_exported(tmp_path):
    session = kept(tmp_path, (HOSTILE, HOSTILE), title=HOSTILE, about=HOSTILE, model=HOSTILE)
    transcript = read_transcript(tmp_path / session)
    assert [part.text for part in transcript.parts] == [HOSTILE, HOSTILE]
    check_harmless(exported(transcript, ExportForm.HTML))


def test_events_of_any_shape_are_exported(tmp_path):
    odd = [None, 3, "text", [], {}, [{}], {"blob": "none"}, {"blob": 3}, [[{"type": "TextDelta"}]]]
    fields = "message title text output arguments change items hunks path target end detail summary before call_id"
    types = "TextDelta ToolStarted ToolFinished ChangeMade TodoChanged Steered Notice Compacted".split()
    journal = SessionJournal.create(tmp_path, "/shop")
    journal.release()
    forge(journal.folder, {"event": "session", "folder": 3})
    for value in odd:
        given = dict.fromkeys(fields.split(), value)
        for event in ("opened", "titled", "turn", "asked", "turn_ended"):
            forge(journal.folder, {"event": event, **given})
        forge(journal.folder, {"event": "shown", "events": value})
        hashable = {**given, "call_id": 1}
        for kind in types:
            shown = [{**hashable, "type": kind}, {**given, "type": kind, "change": {"hunks": value}}]
            forge(journal.folder, {"event": "shown", "events": shown})
    for form in ExportForm:
        assert exported(read_transcript(tmp_path / journal.id), form)


def test_a_damaged_session_is_exported_as_far_as_it_can_be_read(tmp_path):
    session = kept(tmp_path, ("message", "answer"))
    path = tmp_path / session / JOURNAL
    before = path.read_bytes()
    path.write_bytes(before + b"damage\n")
    assert [part.text for part in read_transcript(tmp_path / session).parts] == ["message", "answer"]
    assert path.read_bytes() == before + b"damage\n"


def test_calls_are_named_in_one_way():
    assert call_text("search", {"name": "cart", "path": "src", "limit": 3}) == "search(cart, path=src, limit=3)"
    assert call_text("shell", {"command": "make test"}) == "$ make test"
    assert call_text("todo", {"items": "- [ ] x"}) == "todo"


@pytest.mark.parametrize("form", ExportForm)
def test_what_was_undone_is_in_no_export(tmp_path, form):
    journal = begun(tmp_path, ("zebra", "one"), ("giraffe", "elephant"))
    journal.append(HistoryMoved(position=1))
    journal.append(MessageSent(message="lion"))
    text = exported(read_transcript(tmp_path / journal.id), form)
    # The message that was just sent has no turn yet.
    assert [word in text for word in ("zebra", "giraffe", "elephant", "lion")] == [True, False, False, True]
    journal.append(turn(3, "lion"))
    journal.append(shown(TextDelta("roars")))
    text = exported(read_transcript(tmp_path / journal.id), form)
    assert [word in text for word in ("zebra", "giraffe", "lion", "roars")] == [True, False, True, True]
    journal.append(HistoryMoved(position=0))
    text = exported(read_transcript(tmp_path / journal.id), form)
    assert [word in text for word in ("zebra", "giraffe", "lion", "roars")] == [False] * 4
    journal.close()
