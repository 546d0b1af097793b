"""A model that says what a test wants, through everything that a model's tokens pass in the app.

A script is a list of turns. A turn is all that the model says in one generation: text, reasoning, tool calls.

    from tests.scripted_model import call, say, scripted_session, think

    session = scripted_session(
        folder,
        [
            say(think("The test fails in add."), call("read", path="add.py")),
            say(call("edit", path="add.py", old="a - b", new="a + b")),
            say("It adds now."),
        ],
        mode="accept-edits",
    )
    with closing(session):
        session.open(lambda progress: None)
        events = list(session.chat.ask("fix add"))

What a turn may be:

- a string, which is an answer in text; `say(...)` with text, `think(...)` first, `call(name, **arguments)`, and
  `raw("<tool_call>read\\n<arg_key>path")` for what a model writes wrongly (markers become special tokens), and
  `hold(event)` to be looked at in the middle of it: no more is said until the event is set, or a cancel;
- a function of what the model sees (`Seen`) that returns one of these: `lambda seen: say(f"It said {seen.result}")`.

The whole script may be a function that is called for every turn, or a generator function, which can loop and remember:

    def until_it_passes(seen):
        while "exit_code\\": 0" not in seen.result:
            seen = yield call("shell", cmd="pytest -q")
        yield "It passes."

`Script(lines, asides={"Summarise the conversation": "They want add fixed."})` answers what the app asks in between
without moving on in the script; `script.asked` is what the model saw at each turn. After the last turn it says
"The script is over.".

Which turn comes is decided by the prompt, not by a count of calls: the same prompt is answered the same (retries, a
replay, a fresh engine, a prefill ahead), another one gets the next turn; a turn that was cancelled is over if any of it
is in the prompt, else it is said again. Where a mask refuses a token of the script, the model continues after it; where
reasoning is ended from outside it continues with what the script says after it. `say(..., instead=...)` gives
other words for that.

`scripted_session(..., family="Qwen3.5")` is a model of another family, with its real chat template; its turns are
written as such models write them. `FAMILIES` in `speech.py` has those that there are.

What is real: the file, its weights (two layers of the `laguna` architecture, full and sliding attention, experts), the
vocabulary, llama.cpp, the KV cache and its checkpoints, drafts and their verification, the sampler, the detokenizer,
the parser, tools. What is not: the logit of one token of each row is raised by 100 inside llama.cpp's graph, where the
row is still complete. Everything later (masks, top-k, temperature) works on that row.

Speed on one core: opened in 0.05 s; with 8 K tokens of context 40,000 tokens/s are read and 1,700 written, with 64 K
10,000 (six seconds for all of it) and 330.

For the command line in a process of its own, with the script in `SCRIPT`; without a command, in a terminal, it opens
the TUI:

    python -m tests.scripted_model.ask my_script.py ask --json "fix add"
"""

from tests.scripted_model.model import said, scripted_file, scripted_session, thought
from tests.scripted_model.script import OVER, Lines, Script, Seen
from tests.scripted_model.turns import Call, Hold, Raw, Think, Turn, call, hold, raw, say, think

__all__ = [
    "OVER",
    "Call",
    "Hold",
    "Lines",
    "Raw",
    "Script",
    "Seen",
    "Think",
    "Turn",
    "call",
    "hold",
    "raw",
    "said",
    "say",
    "scripted_file",
    "scripted_session",
    "think",
    "thought",
]
