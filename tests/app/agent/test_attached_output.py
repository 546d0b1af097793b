"""What is told beside the next message, whatever it says: once, in the room there is, and never to the wrong model."""

import pytest

from laguna_tui.agent.loop import Agent
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import Attached, TurnEnd
from laguna_tui.base.messages import Attachment, BlockKind, Place
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from tests.app.agent.scripted_engine import answer, backend

FREE = 8000
"""Tokens that are free in the context before anything is said."""


def piece(title, words, shorter=0):
    text = "cart " * words
    return Attachment(
        BlockKind.TOOL,
        title,
        "",
        text,
        text,
        Place.KEPT,
        "you ran it",
        (lambda: "cart " * shorter) if shorter else None,
    )


@pytest.fixture
def agent(tiny_model, tmp_path):
    codebase = Codebase(tmp_path, tmp_path / "index")

    def made(profile=FULL):
        toolbox = Toolbox(profile, Workspace(tmp_path), codebase=codebase)
        scripted = backend(tiny_model.vocab, [answer("Yes."), answer("No.")], 1)
        agent = Agent(scripted, toolbox, opening=lambda: "[folder shop]\n\n")
        scripted.engine.n_ctx = agent.conversation.size + FREE
        return agent

    yield made
    codebase.close()


def attached(events):
    return next((event for event in list(events) if isinstance(event, Attached)), None)


def tool_places(agent):
    return [block.place for block in agent.prompt_preview().blocks() if block.kind is BlockKind.TOOL]


def test_a_piece_is_told_with_the_next_message_alone(agent):
    talk = agent()
    assert talk.attach(piece("$ ls", 10))
    assert attached(talk.run("what is it?")).titles == ("$ ls",)
    assert attached(talk.run("and now?")) is None


def test_its_cost_is_known_before_it_is_sent(agent):
    talk = agent()
    before = talk.prompt_preview().cost("what is it?").new
    talk.attach(piece("$ ls", 100))
    assert talk.prompt_preview().cost("what is it?").new >= before + 100


def test_what_does_not_fit_is_shortened_or_left_out_the_oldest_first(agent):
    talk = agent()
    for each in (piece("$ oldest", 9000, shorter=8000), piece("$ older", 9000, shorter=400), piece("$ new", 300)):
        talk.attach(each)
    events = list(talk.run("what is it?"))
    assert attached(events).titles == ("$ oldest", "$ older (shortened)", "$ new")
    assert attached(events).notes == (
        "$ oldest does not fit into the remaining context, so the model does not see its output.",
    )
    assert events[-1].end is TurnEnd.ANSWERED
    assert tool_places(talk) == [Place.DROPPED, Place.SHORTENED, Place.KEPT]


def test_a_new_chat_is_not_told(agent):
    talk = agent()
    talk.attach(piece("$ ls", 10))
    talk.new_chat()
    assert attached(talk.run("what is it?")) is None


def test_a_model_that_reads_no_pieces_is_not_told(agent):
    talk = agent(NANO)
    assert not talk.attach(piece("$ ls", 10))
    assert attached(talk.run("what is it?")) is None
