"""What constraints cost: a masked row at Laguna's vocabulary, a row without any, and a whole session of tool calls.

Run by hand: `python -m tests.bench.constraint_cost`. Rows are measured on made-up logits of 100,352 tokens whose pieces
are the words of this repository and of Python's library. "meant": the likeliest tokens are allowed; "not meant": forty
that are not are likelier. A state is new in every measurement. The session is one that edits files, by a random Laguna
that says what a script says, with constraints and without in turns; seconds are of processor time.
"""

import argparse
import json
import re
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "engine"))

from laguna_engine.chat.answer_constraint import SchemaAnswer
from laguna_engine.chat.call_constraint import Choices, Excerpt, ToolCalls
from laguna_engine.config import Sampling
from laguna_engine.constrain.base import FREE, Constraints
from laguna_engine.llama import masked_row
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.base.events import DraftRound, StepFinished
from tests.engine import tiny
from tests.scripted_model import call, say, scripted_session

ROOT = Path(__file__).parents[2]
SIZE = 100_352
TOP_K = 20
REPEATS = 200
DOCUMENT = (ROOT / "engine/laguna_engine/speculate/cost_model.py").read_text()
LONG = 200_000
"""Bytes of a long file, about the longest whose text is held."""
SHORT, OTHER = "laguna_tui/compose.py", "laguna_tui/supervise.py"
SHAPE = tiny.Shape(n_layer=12, n_embd=1024, head=64, full_heads=16, sliding_heads=16, kv_heads=4, n_ff=4096, experts=8,
                   experts_used=4, expert_ff=512, window=512, n_ctx=8192, n_vocab=8183)  # fmt: skip
SESSIONS = 3


class Words:
    """A vocabulary of the words of source files, and of every byte."""

    size = SIZE
    eog = frozenset({2})
    _special = ("<tool_call>", "</tool_call>", "<eos>", "<think>", "</think>")

    def __init__(self) -> None:
        counts: Counter[bytes] = Counter()
        for folder in (ROOT / "engine", ROOT / "laguna_tui", Path(sysconfig.get_path("stdlib"))):
            for path in sorted(folder.glob("**/*.py"))[:1500]:
                counts.update(re.findall(rb" ?[A-Za-z]+|\d|[^\sA-Za-z\d]{1,4}\n?|\s+|[A-Za-z]{2,4}", path.read_bytes()))
        words = [word for word, _ in counts.most_common(SIZE)]
        known = dict.fromkeys([*(bytes((byte,)) for byte in range(256)), *words])
        filler = (b"%dx" % number for number in range(SIZE))
        while len(known) < SIZE - len(self._special):
            known[next(filler)] = None
        texts = [text.encode() for text in self._special]
        self._pieces = [*texts, *list(known)[: SIZE - len(texts)]]
        self.pieces = [b"" if token < len(texts) else piece for token, piece in enumerate(self._pieces)]
        self._ids = {piece: token for token, piece in enumerate(self._pieces)}
        self._longest = max(map(len, self._pieces))

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def is_control(self, token: int) -> bool:
        return token < len(self._special)

    def id_of(self, text: str) -> int | None:
        return self._ids.get(text.encode()) if text in self._special else None

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        data, tokens = text.encode(), []
        while data:
            size = next(size for size in range(min(self._longest, len(data)), 0, -1) if data[:size] in self._ids)
            tokens.append(self._ids[data[:size]])
            data = data[size:]
        return tokens


class Rules:
    def __init__(self) -> None:
        self._paths = Choices.of(path.relative_to(ROOT).as_posix() for path in ROOT.glob("laguna_tui/**/*.py"))
        engine = sorted((ROOT / "engine/laguna_engine").glob("*/*.py"))
        long = "".join(path.read_text() for path in engine)[:LONG]
        self._documents = {SHORT: DOCUMENT, OTHER: long}

    def rule(self, tool: str, key: str, given: Mapping[str, str]) -> Choices | Excerpt | None:
        if key == "old":
            return Excerpt(self._documents[given["path"]], once=True)
        return self._paths if key == "path" else None


def rows(vocab: Words) -> None:
    """Print what a row costs in each place of a call and of a schema's answer."""
    calls = ToolCalls(FULL.specs, Rules())
    opening = vocab.id_of("<tool_call>")
    path = "edit\n<arg_key>path</arg_key>\n<arg_value>"
    old, other = (f"{path}{known}</arg_value>\n<arg_key>old</arg_key>\n<arg_value>" for known in (SHORT, OTHER))
    schema = SchemaAnswer.checked({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    places = [
        ("a tool's name", calls, "", [opening]),
        ("a tag", calls, "edit\n<arg", [opening]),
        ("a path, first token", calls, path, [opening]),
        ("a path, in the middle", calls, f"{path}laguna_tui/tui/", [opening]),
        ("`old`, first token", calls, old, [opening]),
        ("`old`, in the middle", calls, f"{old}    def add(self, length", [opening]),
        ("`old`, after an indentation", calls, f"{old}        ", [opening]),
        ("`old` of a long file, first token", calls, other, [opening]),
        ("`old` of a long file, after an indentation", calls, f"{other}        ", [opening]),
        ("`old` of a long file, in the middle", calls, f"{other}        return ", [opening]),
        ("JSON, between", schema, '{"a', []),
        ("JSON, in a string", schema, '{"a": "some', []),
    ]
    print("| place | allowed | greedy, meant | greedy, not meant | top-k 20, meant | top-k 20, not meant |")
    print("|---|---|---|---|---|---|")
    for name, spec, text, before in places:
        constraints = Constraints([spec.begin(vocab, [])])
        *head, last = [*before, *vocab.tokenize(text, special=True)]
        for token in head:
            constraints.advance(token)
        costs = [row_cost(constraints, last, greedy, meant) for greedy in (True, False) for meant in (True, False)]
        constraints.advance(last)
        allowed = constraints.mask().allowed.every()
        print(f"| {name} | {len(allowed):,} | " + " | ".join(f"{cost:.3f} ms" for cost in costs) + " |")
    inactive = Constraints([calls.begin(vocab, [])])

    def free() -> None:
        assert inactive.mask() is FREE
        inactive.sampled(300, FREE)

    print(
        f"\nA row outside of a call: {timed(free) * 1e3:.1f} µs. A draft of 8 tokens there: "
        f"{timed(lambda: inactive.admitted(range(300, 308))) * 1e3:.1f} µs."
    )


def row_cost(before: Constraints, last: int, greedy: bool, meant: bool) -> float:
    """Milliseconds to mask and sample the row after the token `last`. meant: whether the likeliest are allowed."""
    generator = np.random.default_rng(3)
    states = [before.fork() for _ in range(REPEATS + 1)]
    for state in states:
        state.advance(last)
    allowed = states.pop().mask().allowed.every()
    logits = generator.normal(0, 1, SIZE).astype(np.float32)
    logits[allowed[:TOP_K]] += 12 if meant else 8
    if not meant:
        logits[generator.choice(np.setdiff1d(np.arange(SIZE), allowed), 40)] += 9
    order = np.argsort(-logits)[: 1 if greedy else TOP_K]
    likeliest = np.zeros(len(order), CANDIDATE)
    likeliest["id"], likeliest["logit"] = order, logits[order]
    chain = SamplerChain(Sampling() if greedy else Sampling(temperature=1.0, top_k=TOP_K, seed=1), SIZE)
    with closing(chain):
        return timed(lambda: pick(chain, states.pop(), likeliest.copy(), logits.copy))


def pick(chain: SamplerChain, constraints: Constraints, likeliest: np.ndarray, row: Callable[[], np.ndarray]) -> None:
    """Sample the row, and see where that leads."""
    mask = constraints.mask()
    token = masked_row.pick(chain, constraints, mask, likeliest, row)
    if token is not None:
        constraints.sampled(token, mask)


def timed(work: Callable[[], object]) -> float:
    """Return median milliseconds of processor time."""
    spent = []
    for _ in range(REPEATS):
        began = time.process_time_ns()
        work()
        spent.append((time.process_time_ns() - began) / 1e6)
    return median(spent)


def sessions(count: int) -> None:
    """Print the tokens a second of a session of tool calls with constraints and without, `count` times in turns."""
    rates: dict[str, list[float]] = {"off": [], "on": []}
    drafts: Counter[str] = Counter()
    for _ in range(count):
        for side in rates:
            rates[side].append(session(side, drafts))
            print(f"a session with constraints {side}: {rates[side][-1]:.1f} tok/s", file=sys.stderr)
    on, off = (median(rates[side]) for side in ("on", "off"))
    print(f"\nA session of tool calls, on / off: {on / off:.3f} ({on:.0f} and {off:.0f} tok/s of processor time)")
    print("Drafts, drafted and accepted: " + json.dumps(drafts))


def session(side: str, drafts: Counter[str]) -> float:
    """Return tokens a second of processor time; drafts of the constraint are counted in `drafts`."""
    parts = [line for line in DOCUMENT.split("\n") if DOCUMENT.count(line) == 1 and len(line) > 40][:6]
    script = [say(call("read", path="costs.py"))]
    script += [
        say(call("edit", path="costs.py", old=line, new=f"{line}  # {number}")) for number, line in enumerate(parts)
    ]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "costs.py").write_text(DOCUMENT)
        made = scripted_session(
            folder, [*script, say("Done.")], shape=SHAPE, mode="accept-edits", constrain=side, context=8192, pack=0
        )
        with closing(made):
            made.open(lambda progress: None)
            tokens, began = 0, time.process_time()
            for event in made.chat.ask("mark the lines"):
                if isinstance(event, StepFinished):
                    tokens += event.stats.generated_tokens
                if isinstance(event, DraftRound) and event.round.drafter is not None:
                    name = f"{side} {event.round.drafter.value}"
                    drafts[f"{name}, drafted"] += event.round.drafted
                    drafts[f"{name}, accepted"] += event.round.accepted
            return tokens / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="on each side; 0 for the rows alone")
    options = parser.parse_args()
    rows(Words())
    if options.sessions:
        sessions(options.sessions)


if __name__ == "__main__":
    main()
