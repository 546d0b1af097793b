"""The whole way on the bundled model: a question, its tool call, an answer that points to the right line."""

import pytest

from laguna_engine.chat.template import Family
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.events import Source
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.tools import Toolbox
from laguna_tui.events import DraftRound, TextDelta, ToolFinished
from laguna_tui.local import LocalSession
from laguna_tui.repo.workspace import Workspace
from laguna_tui.resources import data_root
from laguna_tui.settings import Settings
from laguna_tui.tui.transcript.proof import NEAR_TIE_LOGITS

NAMES = ["parse_header", "OrderBook", "close_socket", "render_page", "TokenBucket", "merge_ranges"]
# It is a demo of 5 M parameters: most answers are right, not all.
RIGHT = 4


@pytest.fixture
def shop(tmp_path):
    for index, name in enumerate(NAMES):
        keyword = "class" if name[0].isupper() else "def"
        head = "import os\n" * (3 + index)
        (tmp_path / f"module_{index}.py").write_text(f"{head}\n\n{keyword} {name}(value):\n    pass\n")
    return tmp_path


def test_it_finds_definitions(shop):
    right = 0
    with Engine.open(EngineOptions(model=data_root() / "assets/nano/laguna-nano.gguf", threads=1)) as engine:
        agent = Agent(engine, engine.vocab, Family.XS_2_1, Toolbox(Workspace(shop)))
        for index, name in enumerate(NAMES):
            events = list(agent.run(f"Where is {name} defined?"))
            answer = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert any(isinstance(event, ToolFinished) for event in events)
            right += f"module_{index}.py:{6 + index}" in answer
            agent.new_chat()
    assert right >= RIGHT


def test_its_drafter_drafts_and_the_answer_is_proved_to_be_the_same(shop):
    session = LocalSession.prepare(Settings(threads=1, draft_length=4, max_tokens=64), shop)
    info = session.open(lambda progress: None)
    assert info.drafter
    events = list(session.ask("Where is OrderBook defined?"))
    rounds = [event.round for event in events if isinstance(event, DraftRound)]
    assert sum(told.accepted for told in rounds if told.drafter is Source.DFLASH) > 0
    assert {event.source for event in events if isinstance(event, TextDelta)} > {Source.TARGET}
    proof = session.prove(lambda progress: None)
    # Kernels of another width may round a tie the other way; anything else would be a fault.
    assert proof.difference is None or abs(proof.difference.margin) < NEAR_TIE_LOGITS
    session.close()
