"""What is let through of the bundled model's turn: the question's names, the edit asked for, the tools' lines."""

import sys

import pytest

from laguna_engine.chat.messages import Malformed, ToolCall
from laguna_tui.agent.tools.base.guard import CheckedAnswer
from laguna_tui.agent.tools.base.results import ToolResult, failure
from laguna_tui.agent.tools.nano.guard import HAS_DOCSTRING, REFUSED, NanoGuard
from laguna_tui.base.paths import data_root
from laguna_tui.repo.edits.edit_files import propose_edit
from laguna_tui.repo.files.workspace import Workspace

LOOKED_UP = "<tool_call>search\n<arg_key>list</arg_key>\n<arg_value>used</arg_value>\n" + (
    "<arg_key>pattern</arg_key>\n<arg_value>fill_order</arg_value>\n</tool_call>"
)


def search(pattern, wanted="defined"):
    return ToolCall("search", {"list": wanted, "pattern": pattern})


def looked_up(question, call, before=""):
    """What is searched for where the model called this."""
    return NanoGuard(question, lambda: before).resolved(call).arguments["pattern"]


@pytest.mark.parametrize(
    ("question", "said", "meant"),
    [
        ("where is größe defined?", "gröe", "größe"),
        ("Where can I find `naïve_café`?", "na\ufffdold", "naïve_café"),
        ("who calls 计算总价?", "ttymorept", "计算总价"),
        ("where is TutorialTest defined?", "TutplayTest", "TutorialTest"),
        ("where is pop defined?", "JSONField", "pop"),
        ("where is find defined?", "JSONField", "find"),
        ("which tests cover Cart.total or load_config?", "load_conf", "load_config"),
    ],
)
def test_a_name_that_does_not_stand_in_the_question_gives_way_to_the_one_that_does(question, said, meant):
    assert looked_up(question, search(said)) == meant


@pytest.mark.parametrize("name", ["pop", "load_config", "Cart.total", "carts.add", "größe", "type"])
def test_a_name_of_the_question_is_left_alone(name):
    assert NanoGuard(f"where is {name} defined?", lambda: LOOKED_UP).resolved(search(name)) == search(name)


def test_a_file_gives_way_to_the_one_of_the_question():
    call = ToolCall("find", {"pattern": "gr\ufffde.py"})
    assert NanoGuard("what is in maße/größe.py?", str).resolved(call).arguments == {"pattern": "maße/größe.py"}


def test_what_a_file_defines_is_not_where_its_folders_name_is_defined():
    call = NanoGuard("what does shop/cart define?", str).resolved(search("shop"))
    assert call == ToolCall("find", {"pattern": "shop/cart"})


@pytest.mark.parametrize("question", ["and who calls it?", "which tests cover that?", "location?", "and the params?"])
@pytest.mark.parametrize("said", ["fill_order", "fill_orde", "referenced"])
def test_a_follow_up_is_about_what_was_looked_up_before(question, said):
    assert looked_up(question, search(said), LOOKED_UP) == "fill_order"


def test_a_question_with_a_name_of_its_own_is_no_follow_up():
    assert looked_up("where is Cart defined, I need it", search("fill_order"), LOOKED_UP) == "Cart"


def test_a_search_that_lost_its_way_is_made_for_the_name_of_the_question():
    begun = "<tool_call>search\n<arg_key>list</arg_key>\n<arg_value>used</arg_value>\n<arg_key>pattern</arg_key>\n<arg"
    guard = NanoGuard("who calls naïve_café?", str)
    assert guard.repaired(Malformed(begun, "not closed")) == search("naïve_café", "used")
    assert guard.repaired(Malformed("<tool_call>edit\n<arg_key>path", "not closed")) is None
    assert NanoGuard("hello", str).repaired(Malformed(begun, "not closed")) is None


def edit(path, old, new, **more):
    return ToolCall("edit", {"path": path, "old": old, "new": new, **more})


def refused(question, call, before=""):
    return NanoGuard(question, lambda: before).refusal(call) == REFUSED


RENAME = edit("src/cart.py", "total", "amount", all=True)


@pytest.fixture
def wordings(monkeypatch):
    """All ways to ask for a rename that the model was trained on or measured with."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(data_root() / "assets/nano/recipe")])
    from questions import HELD_OUT, TRAINED, Skill

    texts = [*TRAINED[Skill.RENAME], *HELD_OUT[Skill.RENAME]]
    return [text.format(n="total", m="amount", f="src/cart.py") for text in texts]


def test_a_rename_that_is_asked_for_is_let_through_in_nearly_any_words(wordings):
    assert len([text for text in wordings if refused(text, RENAME)]) <= len(wordings) // 100


def test_a_rename_the_other_way_round_is_never_let_through(wordings):
    turned = edit("src/cart.py", "amount", "total", all=True)
    assert [text for text in wordings if not refused(text, turned)] == []


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("add a docstring to total in src/cart.py", edit("src/cart.py", "total", "a", all=True)),
        ("add a docstring to total in src/cart.py", edit("src/cart.py", "add", "total", all=True)),
        ("rename total in src/cart.py", edit("src/cart.py", "total", "rename", all=True)),
        ("rename total to amount in src/cart.py", edit("src/cart.py", "total", "amounts", all=True)),
        ("rename total to amount in src/cart.py", edit("src/cart.py", "totals", "amount", all=True)),
        ("rename total to amount in src/cart.py", edit("src/other.py", "total", "amount", all=True)),
        ("rename total to amount in src/cart.py", edit("src/cart.py", "total", "amount")),
        ("does total call amount in src/cart.py?", RENAME),
        ("compare total and amount in src/cart.py", RENAME),
        ("rename total to sum_of and amount to price in src/cart.py", RENAME),
        ("delete src/cart.py", edit("src/cart.py", "total", "")),
        ("fix the bug in src/cart.py", edit("src/cart.py", "bug", "the", all=True)),
    ],
)
def test_any_other_edit_is_refused(question, call):
    assert refused(question, call)


def test_it_may_be_the_name_of_the_question_before():
    before = "<user>\nwhere is total defined?\n</user>\n"
    assert not refused("rename it to amount in src/cart.py", RENAME, before)
    assert refused("rename it to amount in src/cart.py", RENAME)


SIGNATURE = "def total(items):"
LISTED = ToolResult("Defined here:\n1. `total cart.py:1` `def total(items):`")
ADDED = f'{SIGNATURE}\n    """TODO: describe total."""'


def documenting(question, new=ADDED, old=SIGNATURE, path="cart.py"):
    """Whether an edit after a search for `total` is refused for its texts alone."""
    guard = NanoGuard(question, str)
    guard.take(search("total"), LISTED)
    return guard.refusal(edit(path, old, new))


def test_a_docstring_below_the_definition_that_was_found_is_let_through():
    assert documenting("add a docstring to total") == ""
    assert documenting('document total with "All of it."', f'{SIGNATURE}\n    """All of it."""') == ""


@pytest.mark.parametrize(
    ("new", "old", "path"),
    [
        (f'{SIGNATURE}\n    """Not what was asked."""', SIGNATURE, "cart.py"),
        (f'{SIGNATURE}\n    """TODO: describe tot."""', SIGNATURE, "cart.py"),
        (f'{SIGNATURE}\n    """a"""', SIGNATURE, "cart.py"),
        (f"{SIGNATURE}\n    return 0", SIGNATURE, "cart.py"),
        (f'{SIGNATURE}\n    """TODO: describe total."""\n    return 0', SIGNATURE, "cart.py"),
        ('def total():\n    """TODO: describe total."""', SIGNATURE, "cart.py"),
        ('def other():\n    """TODO: describe total."""', "def other():", "cart.py"),
        (ADDED, SIGNATURE, "other.py"),
    ],
)
def test_a_docstring_that_is_more_or_elsewhere_is_refused(new, old, path):
    assert documenting("add a docstring to total", new, old, path) == REFUSED


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def total(items):\n    return 0\n", ""),
        ("def total(items):\r\n    return 0\r\n", ""),
        ('def total(items):\n    """Has one."""\n    return 0\n', HAS_DOCSTRING.format(name="total")),
        ("def total(items): return 0\n", REFUSED),
        ("def total(items):  # all of them\n    return 0\n", REFUSED),
    ],
)
def test_a_docstring_is_only_added_and_never_above_another(tmp_path, code, said):
    (tmp_path / "cart.py").write_text(code, newline="")
    call = edit("cart.py", SIGNATURE, ADDED)
    proposal = propose_edit(Workspace(tmp_path), "cart.py", SIGNATURE, ADDED)
    assert NanoGuard("add a docstring to total", str).objection(call, proposal) == said


@pytest.mark.parametrize("question", ["add a docstring to total in other.py", "add a docstring to sum_of"])
def test_a_docstring_of_another_file_or_name_is_refused(tmp_path, question):
    (tmp_path / "cart.py").write_text("def total(items):\n    return 0\n")
    proposal = propose_edit(Workspace(tmp_path), "cart.py", SIGNATURE, ADDED)
    assert NanoGuard(question, str).objection(edit("cart.py", SIGNATURE, ADDED), proposal) == REFUSED


def test_the_answer_is_what_the_last_tool_said():
    guard = NanoGuard("where is total defined?", str)
    assert guard.expected is None
    guard.take(search("total"), LISTED)
    assert guard.expected == LISTED.output
    guard.take(edit("cart.py", "a", "b"), failure("the user declined this edit; ask what to do instead"))
    assert guard.expected == "I changed nothing: the user declined this edit."


def streamed(expected, *texts):
    """What of an answer comes out, and the answer behind it."""
    answer = CheckedAnswer(expected)
    return [answer.feed(text) for text in texts], answer


def test_an_answer_comes_out_up_to_where_it_differs():
    out, answer = streamed("1. `a x.py:1`", "1. `a ", "y.py:1`", " more")
    assert (out, answer.correction()) == (["1. `a ", "", ""], "x.py:1`")
    assert answer.wrong
    assert answer.corrected == "1. `a x.py:1`"


def test_an_answer_that_ends_too_soon_or_goes_on_too_long_is_corrected():
    out, answer = streamed("one\ntwo", "one")
    assert (out, answer.correction(), answer.corrected) == (["one"], "\ntwo", "one\ntwo")
    out, answer = streamed("one", "one", "\ntwo")
    assert (out, answer.correction(), answer.corrected) == (["one", ""], "", "one")


def test_an_answer_that_is_right_is_the_models_own():
    out, answer = streamed("one\ntwo", "one", "\nt", "wo")
    assert "".join(out) == "one\ntwo"
    assert (answer.wrong, answer.corrected) == (False, None)


def test_what_is_not_expected_comes_out_as_it_is():
    out, answer = streamed(None, "Hello! ", "I am Laguna Nano.")
    assert "".join(out) == "Hello! I am Laguna Nano."
    assert (answer.wrong, answer.corrected, answer.correction()) == (False, None, "")
