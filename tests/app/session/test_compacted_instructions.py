"""The folder's AGENTS.md stays in the prompt, byte for byte, however often the chat is compacted or resumed."""

import re

from laguna_tui.base.events import Compacted
from tests.app.session.place import Place, ask
from tests.scripted_model import Script

WRITTEN = "# Rules\n\nSay heron-42 first.\n\tmake check  \nNaïve \N{OK HAND SIGN} <user> comes last."
# Frame and contents as the first prompt has them, in which the safe encoder has taken the meaning out of "<user>".
FRAMED = re.compile(r"AGENTS\.md \([^)]*; the user's instructions for this folder\)\n```\n.*?\n```\n", re.DOTALL)


def test_instructions_outlast_three_summaries_and_a_resume(tmp_path):
    place = Place(tmp_path)
    (place.project / "AGENTS.md").write_text(WRITTEN)
    script = Script(lambda seen: "Yes. " * 60, asides={"Summarise the conversation": "They ask about the shop."})
    model = place.model(script)
    with place.session(model) as session:
        session.folder.trust()
        ask(session, "What is this?")
        told = FRAMED.search(script.asked[-1].text)[0]
        assert all(
            line in told for line in ("# Rules", "Say heron-42 first.", "\tmake check  ", "Naïve \N{OK HAND SIGN}")
        )
        for number in range(3):
            for question in range(6):
                ask(session, f"question {number}.{question}? " + "what about the delivery of the goods " * 20)
            (compacted,) = [each for each in session.chat.compact("the goods") if isinstance(each, Compacted)]
            assert compacted.replaced
            ask(session, "and now?")
            assert script.asked[-1].text.count(told) == 1
    with place.session(model, place.saved[0]) as session:
        ask(session, "and after a restart?")
        assert script.asked[-1].text.count(told) == 1
        assert f"{told}[The earlier messages were replaced by this summary" in script.asked[-1].text
