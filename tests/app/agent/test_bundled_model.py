"""The whole way on the bundled model: a question, its tool call, an answer that points to the right line."""

import pytest

from laguna_engine.chat.template import Family
from laguna_engine.engine import Engine, EngineOptions
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.tools import Toolbox
from laguna_tui.agent.workspace import Workspace
from laguna_tui.events import TextDelta, ToolFinished
from laguna_tui.resources import data_root

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
