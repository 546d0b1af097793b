"""Old texts of edits, held to the file they are for: how many miss, how many are let go.

Run by hand: `python -m tests.evals.constrained_edits [--edits N] [--seed N] [FOLDER]`; files are this repository's by
default. No model is involved: its logits are made up. Each edit has a place of a real file, one to six lines that occur
there once, and a made-up model that means to write them, with noise over the whole vocabulary. Three in five remember a
part wrongly (a word, a blank, a line, an indentation) with more or less confidence; one in five means a text that is in
no file. Everything else is the app's own: the call's grammar, the file's text, the sampler chain at temperature 1 and
top-k 20, and the search for the old text that `edit` makes.
"""

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "engine"))

from laguna_engine.chat.call_constraint import ToolCalls
from laguna_engine.chat.encoding import unescape
from laguna_engine.config import Sampling
from laguna_engine.constrain.base import FREE, Constraints
from laguna_engine.gguf.laguna import TOOL_CALL
from laguna_engine.llama import masked_row
from laguna_engine.llama.model import Model
from laguna_engine.llama.sampler import CANDIDATE, SamplerChain
from laguna_engine.llama.vocab import Vocab
from laguna_tui.agent.tools.base.call_rules import CallRules
from laguna_tui.agent.tools.full.change_files import EDIT
from laguna_tui.repo.edits.text_replacement import find_replacements, with_line_feeds
from laguna_tui.repo.files.text_files import decode
from laguna_tui.repo.files.workspace import Workspace
from tests.scripted_model import scripted_file

ROOT = Path(__file__).parents[2]
TOP_K = 20
MEANT = 14.0
"""Logits of the token that is meant, over noise of deviation 1: a probability of 0.99 in a vocabulary of 8,183."""

CLOSING = "</arg_value>"
MOST_TOKENS = 400


@dataclass(frozen=True)
class Edit:
    """One edit: the file, the text that is there, and what the model remembers of it."""

    path: str
    there: str
    remembered: str
    confidence: float
    kind: str


def wrongly(text: str, chosen: random.Random) -> tuple[str, str]:
    """Return the text with a mistake as models make them, and what kind it is."""
    kind = chosen.choice(["word", "blank", "line", "indentation"])
    words = list(re.finditer(r"\w+", text))
    lines = text.split("\n")
    if kind == "word" and words:
        word = chosen.choice(words)
        return text[: word.start()] + word[0] + chosen.choice(["s", "_", "2", "Id"]) + text[word.end() :], kind
    if kind == "blank" and " " in text.strip():
        place = chosen.choice([match.start() for match in re.finditer(r"(?<=\S) (?=\S)", text)] or [0])
        return text[:place] + text[place + 1 :], kind
    if kind == "line" and len(lines) > 2:
        del lines[chosen.randrange(1, len(lines) - 1)]
        return "\n".join(lines), kind
    if kind == "indentation" and len(lines) > 1:
        place = chosen.randrange(1, len(lines))
        lines[place] = lines[place].removeprefix("    ") if chosen.random() < 0.5 else f"    {lines[place]}"
        return "\n".join(lines), kind
    return text, "right"


def edits(files: Sequence[tuple[str, str]], count: int, chosen: random.Random) -> list[Edit]:
    """Return random edits."""
    made: list[Edit] = []
    while len(made) < count:
        path, text = chosen.choice(files)
        lines = text.split("\n")
        start = chosen.randrange(len(lines))
        there = "\n".join(lines[start : start + chosen.randint(1, 6)])
        if not there.strip() or len(there) > 600 or text.count(there) != 1:
            continue
        fate = chosen.random()
        if fate < 0.2:
            made.append(Edit(path, there, there, 1.0, "right"))
        elif fate < 0.8:
            remembered, kind = wrongly(there, chosen)
            made.append(Edit(path, there, remembered, chosen.choice([0.5, 0.8, 0.9, 0.97, 0.995]), kind))
        else:
            other = chosen.choice(files)[1].split("\n")
            place = chosen.randrange(len(other))
            foreign = "\n".join(other[place : place + 3]).strip() or "nothing of the kind"
            made.append(Edit(path, there, foreign, 1.0, "of another file"))
    return made


class MadeUpModel:
    """Logits of a model that writes what it remembers, and where it is not sure what is there."""

    def __init__(self, vocab: Vocab, seed: int) -> None:
        self._vocab = vocab
        self._noise = np.random.default_rng(seed)

    def logits(self, edit: Edit, said: str) -> np.ndarray:
        """Return the next token after `said` of the old text."""
        logits = self._noise.standard_normal(self._vocab.size, np.float32)
        remembered, there = self._next(edit.remembered, said), self._next(edit.there, said)
        meant = remembered if remembered is not None else there
        if meant is None:
            meant = self._vocab.tokenize(CLOSING, special=True)[0]
        logits[meant] += MEANT
        if there is not None and there != meant:
            logits[there] = logits[meant] - np.log(edit.confidence / (1 - edit.confidence + 1e-9))
        return logits

    def _next(self, text: str, said: str) -> int | None:
        """Return the token that continues with `text`; None where it was left."""
        if not text.startswith(said):
            return (
                next(iter(self._vocab.tokenize((text + CLOSING)[len(said) :], special=True)), None)
                if said.startswith(text) and (text + CLOSING).startswith(said)
                else None
            )
        return self._vocab.tokenize((text + CLOSING)[len(said) :], special=True)[0]


class Writer:
    """Writes the old text of an edit with the made-up model."""

    def __init__(self, vocab: Vocab, calls: ToolCalls, model: MadeUpModel) -> None:
        self._vocab = vocab
        self._calls = calls
        self._model = model

    def write(self, edit: Edit, seed: int) -> tuple[str, Constraints]:
        """Return what was written, and the constraints it was written under."""
        vocab = self._vocab
        constraints = Constraints([self._calls.begin(vocab, [])])
        opening = vocab.id_of(TOOL_CALL)
        head = f"edit\n<arg_key>path</arg_key>\n<arg_value>{edit.path}</arg_value>\n<arg_key>old</arg_key>\n<arg_value>"
        for token in [opening, *vocab.tokenize(head, special=True)]:
            constraints.advance(token)
        chain = SamplerChain(Sampling(temperature=1.0, top_k=TOP_K, seed=seed), vocab.size)
        said = b""
        for _ in range(MOST_TOKENS):
            text = said.decode("utf-8", "ignore")
            token = self._sample(chain, constraints, self._model.logits(edit, text))
            constraints.advance(token)
            said += vocab.piece(token)
            if CLOSING.encode() in said:
                break
        chain.close()
        assert not constraints.failures()
        return said.decode("utf-8", "replace").partition(CLOSING)[0], constraints

    def _sample(self, chain: SamplerChain, constraints: Constraints, logits: np.ndarray) -> int:
        order = np.argpartition(logits, -TOP_K)[-TOP_K:]
        order = order[np.argsort(-logits[order])]
        top = np.zeros(TOP_K, CANDIDATE)
        top["id"], top["logit"] = order, logits[order]
        while (mask := constraints.mask()) is not FREE:
            token = masked_row.pick(chain, constraints, mask, top.copy(), lambda: logits)
            if token is not None:
                return token
        return chain.choose(top)


def texts(folder: Path) -> list[tuple[str, str]]:
    """Return files that edits can be made of, by path."""
    found = []
    for entry in Workspace(folder).files().entries:
        data = (folder / entry.path).read_bytes() if entry.size < 100_000 else b"\0"
        if b"\0" not in data and data.strip():
            found.append((entry.path, with_line_feeds(decode(data).text)))
    return found


class Paths:
    """The part of a codebase that the rules ask."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths

    def paths(self) -> Sequence[str]:
        return self._paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = texts(options.folder)
    with tempfile.TemporaryDirectory() as home:
        model = Model.open(scripted_file(Path(home) / "vocabulary.gguf", []))
        rules = CallRules(
            {"edit": EDIT.values}, Workspace(options.folder), Paths([path for path, _ in files]), lambda path: ""
        )
        writer = Writer(model.vocab, ToolCalls((EDIT.spec,), rules), MadeUpModel(model.vocab, options.seed))
        report(files, writer, edits(files, options.edits, random.Random(options.seed)))
        model.close()


def report(files: Sequence[tuple[str, str]], writer: Writer, wanted: Sequence[Edit]) -> None:
    """Write all edits, and print a table."""
    content = dict(files)
    counts: dict[str, Counter[str]] = {}
    began = time.monotonic()
    for number, edit in enumerate(wanted):
        if number % 1000 == 999:
            found = sorted(sum(counts.values(), Counter()).items())
            print(f"{number + 1} edits: " + ", ".join(f"{many} {what}" for what, many in found), file=sys.stderr)
        said, constraints = writer.write(edit, number)
        found = len(find_replacements(content[edit.path], unescape(said), "", every=False, limit=2)) if said else 0
        outcome = "let go" if constraints.dropped else "held"
        if outcome == "held" and found != 1:
            print(f"missed: {number}, {edit}, said {said!r}", file=sys.stderr)
        counted = counts.setdefault(edit.kind, Counter())
        counted[outcome] += 1
        counted[f"{outcome}, {'found' if found == 1 else 'missed'}"] += 1
        counted["as it is there"] += said == edit.there
    print("| what the model remembers | edits | held | held, missed | let go | let go, missed | the place meant |")
    print("|---|---|---|---|---|---|---|")
    total = Counter()
    for kind, counted in sorted(counts.items()):
        total += counted
        print(_row(kind, counted))
    print(_row("all", total))
    print(f"{len(files)} files, {(time.monotonic() - began) / len(wanted) * 1000:.0f} ms an edit")


def _row(kind: str, counted: Counter[str]) -> str:
    size = counted["held"] + counted["let go"]
    columns = ("held", "held, missed", "let go", "let go, missed", "as it is there")
    return f"| {kind} | {size:,} | " + " | ".join(f"{counted[column]:,}" for column in columns) + " |"


if __name__ == "__main__":
    main()
