"""A turn of the bundled model, held to its question and its tools; and a chat of which only the newest turns are read.

The engine is scripted: it slips where a test wants it to.
"""

from dataclasses import replace

import pytest

from laguna_engine.chat.template import Family
from laguna_engine.events import FinishReason
from laguna_tui.agent.conversation import all_messages, forgets
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.tools.base.results import ResultStore
from laguna_tui.agent.tools.nano.guard import HAS_DOCSTRING, REFUSED
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.backends.local.backend import LocalBackend
from laguna_tui.base.events import (
    AnswerCorrected,
    Attached,
    ChangeMade,
    Notice,
    PermissionAsked,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.repo.files.workspace import Workspace
from tests.app.agent.scripted_engine import Say, ScriptedEngine, answer, call, text, tokens
from tests.app.approvers import always, gate_for

CODE = (
    'def total(items):\n    return sum(items)\n\n\ndef price(item):\n    """What it costs."""\n    return item.price\n'
)
SEARCH = call("search", list="defined", pattern="total")
LISTED = "Defined here:\n1. `total cart.py:1` `def total(items):`"
DOCSTRING = call(
    "edit", path="cart.py", old="def total(items):", new='def total(items):\n    """TODO: describe total."""'
)


class Changing(ScriptedEngine):
    """One that takes any prompt: a corrected turn is not what was generated."""

    def generate(self, request):
        self.forget()
        return super().generate(request)


class Chat:
    """An agent with the bundled model's tools; `asked` are the proposals that the user was asked about."""

    def __init__(self, vocabulary, root, script, turns, n_ctx):
        self.vocabulary = vocabulary
        self.engine = Changing(vocabulary, script, n_ctx)
        backend = LocalBackend(self.engine, Family.XS_2_1, "scripted")
        self.asked = []
        store = ResultStore(root.parent / "cache")
        profile = replace(NANO, turns=turns)
        gate = gate_for(root, self._approve)
        toolbox = Toolbox(profile, Workspace(root), store, permissions=gate)
        self.agent = Agent(backend, toolbox, None, lambda: "[folder shop]\n\n")

    def _approve(self, request, cancelled):
        self.asked.append(request.proposal)
        return always(request, cancelled)

    def ask(self, message):
        return list(self.agent.run(message))

    @property
    def prompt(self):
        """What stands in the prompt behind the system's part."""
        return text(self.agent.conversation).partition("</system>\n")[2]


@pytest.fixture
def cart(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text(CODE)
    return tmp_path / "shop/cart.py"


@pytest.fixture
def chat(tiny_model, cart):
    return lambda *script, turns=None, n_ctx=8192: Chat(tiny_model.vocab, cart.parent, script, turns, n_ctx)


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def said(events):
    return "".join(event.text for event in of(TextDelta, events))


def test_an_answer_that_repeats_the_tool_is_the_models_own(chat):
    events = chat(SEARCH, answer(LISTED)).ask("where is total defined?")
    assert said(events) == LISTED
    assert not of(AnswerCorrected, events)


WRONG = [
    answer(LISTED.replace("cart.py", "tart.py")),
    answer("Defined nowhere."),
    answer(f"{LISTED}\nand 3 more."),
    answer("Defined here:"),
    Say("\n</assistant>", taken_back=True),
    Say("\nDefined here:\n1. `total" + " cart cart" * 2000),
    Say("\nDefined here:\n1. `x", FinishReason.CONTEXT_FULL),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_that_differs_gives_way_to_what_the_tool_said(chat, wrong):
    talk = chat(SEARCH, wrong, answer("Hello!"))
    events = talk.ask("where is total defined?")
    assert said(events) == LISTED
    assert len(of(AnswerCorrected, events)) == 1
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)
    assert talk.prompt.endswith(f"</think>\n{LISTED}\n</assistant>\n")
    assert said(talk.ask("hello")) == "Hello!"


def test_nothing_wrong_was_shown_before_it_was_corrected(chat):
    events = chat(SEARCH, answer(LISTED.replace("cart.py", "tart.py"))).ask("where is total defined?")
    shown = [said(events[:number]) for number in range(len(events))]
    assert all(LISTED.startswith(text) for text in shown)
    (corrected,) = of(AnswerCorrected, events)
    assert corrected.said.startswith("Defined here:\n1. `total t")


def test_prose_is_shown_as_it_comes(chat):
    talk = chat(answer("Hello! I am Laguna Nano."))
    parts = of(TextDelta, talk.ask("hello"))
    assert len(parts) > 3
    assert said(parts) == "Hello! I am Laguna Nano."


def test_a_name_that_was_copied_wrongly_is_looked_up_as_it_was_asked_for(chat):
    talk = chat(call("search", list="defined", pattern="totable"), answer(LISTED))
    events = talk.ask("where is total defined?")
    assert of(ToolStarted, events)[0].arguments == {"list": "defined", "pattern": "total"}
    assert said(events) == LISTED
    assert "<arg_value>total</arg_value>" in talk.prompt
    assert "totable" not in talk.prompt


def test_a_call_that_was_never_closed_is_made_and_what_stands_behind_it_is_not_shown(chat):
    broken = SEARCH.partition("total")[0] + "to\n<arg_value>defined</tool_call>\n__to\n/arg_key>\n" * 3
    events = chat(broken, answer(LISTED)).ask("where is total defined?")
    assert said(events) == LISTED


def test_a_call_that_goes_round_in_a_loop_is_made(chat):
    events = chat(Say(SEARCH.partition("total")[0] + "to to" * 2000), answer(LISTED)).ask("where is total defined?")
    assert said(events) == LISTED


OTHER_EDITS = [
    ("add a docstring to total in cart.py", call("edit", path="cart.py", old="total", new="a", all="true")),
    ("explain total in cart.py", call("edit", path="cart.py", old="total", new="explain", all="true")),
    ("rename total to amount in cart.py", call("edit", path="cart.py", old="price", new="amount", all="true")),
]


@pytest.mark.parametrize(("question", "edit"), OTHER_EDITS)
def test_an_edit_that_was_not_asked_for_is_neither_made_nor_asked_about(chat, cart, question, edit):
    talk = chat(edit, answer("Hello!"))
    events = talk.ask(question)
    assert not of((PermissionAsked, ChangeMade), events)
    assert not talk.asked
    assert cart.read_text() == CODE
    assert said(events) == REFUSED
    assert [event.ok for event in of(ToolFinished, events)] == [False]
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)
    assert said(talk.ask("hello")) == "Hello!"


def test_a_rename_that_was_asked_for_is_made(chat, cart):
    changed = "Changed `cart.py` in 1 place."
    talk = chat(call("edit", path="cart.py", old="total", new="amount", all="true"), answer(changed))
    assert said(talk.ask("rename total to amount in cart.py")) == changed
    assert cart.read_text() == CODE.replace("total", "amount")


def test_a_rename_lists_the_other_files_that_have_the_name_and_offers_them(chat, cart):
    (cart.parent / "auth.py").write_text("from cart import total\n\n\ndef check():\n    return total([])\n")
    (cart.parent / "other.py").write_text("def total():\n    return total\n")
    (cart.parent / "talk.py").write_text("# total is in cart\nTEXT = 'total'\n")
    (cart.parent / "shop.py").write_text("import cart\n\nprint(cart.total([]))\n")
    talk = chat(
        call("edit", path="cart.py", old="total", new="amount", all="true"), answer("Changed `cart.py` in 1 place.")
    )
    (notice,) = of(Notice, talk.ask("rename total to amount in cart.py"))
    assert notice.text == (
        "`total` is still in 2 other files: auth.py, shop.py."
        " To rename it there too, send: rename total to amount everywhere"
    )


def test_a_rename_where_the_name_is_only_used_names_the_file_that_defines_it(chat, cart):
    (cart.parent / "auth.py").write_text("from cart import total\n\n\ndef check():\n    return total([])\n")
    talk = chat(
        call("edit", path="auth.py", old="total", new="amount", all="true"), answer("Changed `auth.py` in 2 places.")
    )
    (notice,) = of(Notice, talk.ask("rename total to amount in auth.py"))
    assert notice.text == (
        "`total` is still in 1 other file: cart.py. To rename it there too, send: rename total to amount everywhere"
    )


def test_a_file_that_is_switched_to_another_definition_needs_no_notice(chat, cart):
    (cart.parent / "auth.py").write_text("import cart\n\nprint(cart.total([]))\n")
    (cart.parent / "other.py").write_text("def amount():\n    pass\n")
    talk = chat(
        call("edit", path="auth.py", old="total", new="amount", all="true"), answer("Changed `auth.py` in 1 place.")
    )
    assert not of(Notice, talk.ask("rename total to amount in auth.py"))
    assert "cart.amount" in (cart.parent / "auth.py").read_text()


@pytest.mark.parametrize(("old", "new"), [("items", "wares"), ("total", "amount")])
def test_a_rename_of_a_local_name_or_of_one_that_no_other_file_has_is_made_without_a_notice(chat, cart, old, new):
    (cart.parent / "auth.py").write_text("items = []\n")
    talk = chat(call("edit", path="cart.py", old=old, new=new, all="true"), answer("Changed `cart.py` in 1 place."))
    assert not of(Notice, talk.ask(f"rename {old} to {new} in cart.py"))
    assert new in cart.read_text()


def test_a_docstring_that_was_asked_for_is_made(chat, cart):
    talk = chat(SEARCH, DOCSTRING, answer("Changed `cart.py` in 1 place."))
    assert said(talk.ask("add a docstring to total")) == "Changed `cart.py` in 1 place."
    assert '    """TODO: describe total."""\n    return sum' in cart.read_text()


def test_of_an_edit_that_was_indented_the_model_repeats_the_sentence_that_it_was_trained_on(chat, cart):
    cart.write_text("class Cart:\n    def total(self, items):\n        return sum(items)\n")
    line = "def total(self, items):"
    edit = call("edit", path="cart.py", old=line, new=f'{line}\n    """TODO: describe total."""')
    events = chat(SEARCH, edit, answer("Changed `cart.py` in 1 place.")).ask("add a docstring to total")
    assert said(events) == "Changed `cart.py` in 1 place."
    assert not of(AnswerCorrected, events)
    assert of(ToolFinished, events)[-1].output.endswith("so that the file stays valid Python.")


def test_a_docstring_is_not_put_above_another(chat, cart):
    edit = call("edit", path="cart.py", old="def price(item):", new='def price(item):\n    """TODO: describe price."""')
    talk = chat(call("search", list="defined", pattern="price"), edit)
    events = talk.ask("add a docstring to price")
    assert said(events) == HAS_DOCSTRING.format(name="price")
    assert not of(PermissionAsked, events)
    assert not talk.asked
    assert cart.read_text() == CODE


def asking(talk, count):
    """Ask so many questions; the events of each."""
    return [talk.ask(f"question {number}") for number in range(count)]


def test_only_the_newest_turns_are_read(chat):
    talk = chat(*(answer(f"Answer {number}.") for number in range(5)), turns=2)
    asking(talk, 5)
    prompt = talk.vocabulary.detokenize(list(talk.engine.requests[-1].tokens)).decode().partition("</system>\n")[2]
    assert prompt == (
        "<user>\n[folder shop]\n\nquestion 3\n</user>\n<assistant>\n</think>\nAnswer 3.\n</assistant>\n"
        "<user>\nquestion 4\n</user>\n<assistant>\n</think>"
    )


def test_a_model_that_reads_one_turn_begins_each_like_the_first(chat):
    talk = chat(*(answer("Hello!") for _ in range(3)), turns=1)
    asking(talk, 3)
    sizes = {len(request.tokens) for request in talk.engine.requests}
    assert len(sizes) == 1


def test_a_model_without_a_limit_reads_them_all(chat):
    talk = chat(*(answer("Hello!") for _ in range(5)))
    asking(talk, 5)
    assert [f"question {number}" in talk.prompt for number in range(5)] == [True] * 5


def test_that_turns_are_left_out_is_told_once_a_chat(chat):
    talk = chat(*(answer("Hello!") for _ in range(8)), turns=2)
    told = [of(Attached, events) for events in asking(talk, 5)]
    assert told == [[], [], [Attached((), (forgets(2),))], [], []]
    talk.agent.new_chat()
    assert [len(of(Attached, events)) for events in asking(talk, 3)] == [0, 0, 1]


def test_a_chat_of_any_length_never_fills_the_context(chat):
    talk = chat(*(answer(" ".join(map(str, range(40)))) for _ in range(30)), turns=2, n_ctx=2048)
    assert {events[-1].end for events in asking(talk, 30)} == {TurnEnd.ANSWERED}


def test_a_turn_that_leaves_no_room_for_the_next_is_left_out_at_once(chat):
    talk = chat(answer("Hello!"), answer("Here."), turns=2, n_ctx=2048)
    room = 2048 - len(tokens(talk.agent.conversation))
    long = "word " * (room * 2 // 3 // len(talk.vocabulary.tokenize("word word", special=False)) * 2)
    assert [talk.ask(long)[-1].end, talk.ask(long)[-1].end] == [TurnEnd.ANSWERED] * 2
    assert talk.prompt.startswith("<user>\n[folder shop]\n\nword")
    assert talk.prompt.count("<user>") == 1


def test_a_message_that_is_too_long_alone_does_not_make_the_chat_forget(chat):
    talk = chat(answer("Hello!"), turns=2, n_ctx=2048)
    talk.ask("Hi.")
    before = talk.prompt
    assert talk.ask("word " * 3000)[-1].end is TurnEnd.MESSAGE_TOO_LONG
    assert talk.prompt == before
    assert not talk.agent.conversation.state.forgotten


def test_another_model_is_told_what_was_forgotten(chat):
    talk = chat(*(answer(f"Answer {number}.") for number in range(4)), turns=2)
    asking(talk, 4)
    told = all_messages(talk.agent.conversation.state)
    assert [each.text for each in told if each.answer is None] == [f"question {number}" for number in range(4)]
    assert [each.opening for each in told if each.opening] == ["[folder shop]\n\n"]


def test_the_cost_of_a_message_is_that_of_the_turns_that_are_read(chat):
    talk = chat(*(answer("Hello!") for _ in range(4)), turns=2)
    asking(talk, 3)
    cost = talk.agent.prompt_preview().cost("question 3")
    talk.ask("question 3")
    assert cost.new + cost.cached == len(talk.engine.requests[-1].tokens)
