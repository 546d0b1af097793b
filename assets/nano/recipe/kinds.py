"""Train the linear model that tells kinds of questions apart (`laguna_tui/agent/tools/nano/kinds.py`), in seconds.

    python kinds.py [OUT]

Writes its weights, a signed byte each, beside that module, or to OUT. Needs NumPy and the app. Names are masked.
Wordings kept for evaluation are used for the figure that is printed, and never trained on.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import apptools  # noqa: F401 - makes the app importable
import numpy as np
from chatter import TALK, TALK_HELD_OUT
from questions import AGAIN, AGAIN_HELD_OUT, HELD_OUT, TRAINED, Skill
from wording import tables

from laguna_tui.agent.tools.nano.kinds import BUCKETS, KINDS, SCALE, WEIGHTS, QuestionKind, features

SEED = 1
EPOCHS = 12
RATE = 0.5
DECAY = 2e-5
DRAWS = 3
"""Copies of each wording with topics, and of each wording as people type it."""
_OF = {skill: QuestionKind[skill.name] for skill in Skill if skill is not Skill.TALK}
_EXPLAINS = re.compile(
    r"(?:(?:can|could) you )?(?:explain|describe|summari[sz]e|why|how|what (?:does|is|happens|exactly|motivated)"
    r"|what's|when|is|are|would|compare|difference|the (?:purpose|meaning))\b",
    re.IGNORECASE,
)
_IN_FILE = re.compile(r",? ?\b(?:in|of|from|inside|within|throughout|across|for) (?:the |our )?(?:file |module )?\{f\}")
routed, spoken = tables("routed"), tables("spoken")
_NEW = (
    QuestionKind.WHERE,
    QuestionKind.TAKES,
    QuestionKind.MEMBERS,
    QuestionKind.SUBCLASSES,
    QuestionKind.BASES,
    QuestionKind.FAMILY,
    QuestionKind.CONCEPT,
    QuestionKind.FILES,
    QuestionKind.EXPLAIN,
)


def wordings(rng: random.Random) -> Iterator[tuple[str, QuestionKind]]:
    """Yield every trained wording with its kind, those with topics several times."""
    for table in (TRAINED, AGAIN):
        for skill, texts in table.items():
            yield from ((text, _OF[skill]) for text in texts)
            if skill is Skill.RENAME:
                # In no file, or in all of them.
                yield from (
                    (_IN_FILE.sub(rng.choice(("", f" {rng.choice(routed.EVERYWHERE)}")), text), QuestionKind.RENAME)
                    for text in texts
                )
    for kind in _NEW:
        for text in getattr(routed, kind.name):
            times = DRAWS * 4 if "{t}" in text else DRAWS
            yield from ((filled(text, rng), kind) for _ in range(times))
    for ask in routed.FILE_ASKS:
        yield from (
            (ask.replace("{x}", thing), QuestionKind.FILES) for thing in rng.sample(routed.FILE_THINGS, DRAWS * 3)
        )
    for name, texts in TALK.items():
        yield from ((text, QuestionKind.TALK if name != "other" else beyond(text)) for text in texts)


def beyond(text: str) -> QuestionKind:
    """Return the kind of a wording that the model declines: some ask for an explanation, or for a rename."""
    if "{" in text and _EXPLAINS.match(text):
        return QuestionKind.EXPLAIN
    return QuestionKind.RENAME if "{m}" in text else QuestionKind.WORK


def filled(text: str, rng: random.Random) -> str:
    """Return a wording with a topic and a verb; a word of a topic may happen to be a name of the folder."""
    topic = rng.choice(routed.TOPICS)
    if rng.random() < 0.3:
        topic = f"{rng.choice(routed.ADJECTIVES)} {topic}"
    words = topic.split()
    if rng.random() < 0.15 and len(words) > 1:
        words[rng.randrange(len(words))] = "{n}"
        topic = " ".join(words)
    verb = rng.choice(routed.VERBS)
    text = text.replace("{v}ed", verb.rstrip("e") + "ed").replace("{v}", verb).replace("{t}", topic)
    return re.sub(r"\{n\}", "it", text, count=1) if rng.random() < 0.05 else text


def typed(text: str, rng: random.Random) -> str:
    """Return a wording as people type it: with words before or after it, or with a slip."""
    if rng.random() < 0.15:
        text = f"{rng.choice(spoken.BEFORE)} {text}"
    if rng.random() < 0.1:
        text = f"{text} {rng.choice(spoken.AFTER)}"
    words = text.split()
    at = rng.randrange(len(words))
    if rng.random() < 0.2 and "{" not in words[at] and len(words[at]) > 3:
        cut = rng.randrange(1, len(words[at]) - 1)
        word = words[at]
        slips = (word[:cut] + word[cut + 1 :], word[: cut - 1] + word[cut] + word[cut - 1] + word[cut + 1 :])
        words[at] = rng.choice(slips)
    return " ".join(words)


def train(rng: random.Random) -> np.ndarray:
    """Return a row of weights for each kind, its bias last: softmax regression by stochastic gradients."""
    examples = list(wordings(rng))
    examples += [(typed(text, rng), kind) for text, kind in examples for _ in range(DRAWS)]
    counted = Counter(kind for _, kind in examples)
    found = [
        (
            np.array([*features(text.replace("{m}", "{n}")), BUCKETS]),
            KINDS.index(kind),
            (len(examples) / counted[kind] / len(KINDS)) ** 0.5,
        )
        for text, kind in examples
    ]
    weights = np.zeros((BUCKETS + 1, len(KINDS)), np.float32)
    for epoch in range(EPOCHS):
        rng.shuffle(found)
        rate = RATE * (1 - epoch / EPOCHS)
        for at, kind, worth in found:
            scores = weights[at].sum(axis=0)
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            shares[kind] -= 1
            weights[at] -= (rate * worth / len(at)) * shares + rate * DECAY * weights[at]
    return weights.T


def right(weights: np.ndarray) -> str:
    """Return how many wordings kept for evaluation are recognised, by kind."""
    held = [
        (text, _OF[skill]) for table in (HELD_OUT, AGAIN_HELD_OUT) for skill, texts in table.items() for text in texts
    ]
    held += [(text, QuestionKind.TALK) for name, texts in TALK_HELD_OUT.items() if name != "other" for text in texts]
    hits: Counter[QuestionKind] = Counter()
    for text, kind in held:
        scores = weights[:, [*features(text.replace("{m}", "{n}")), BUCKETS]].sum(axis=1)
        hits[kind] += KINDS[int(scores.argmax())] is kind
    totals = Counter(kind for _, kind in held)
    return ", ".join(f"{kind.name.lower()} {hits[kind]} of {totals[kind]}" for kind in totals)


def main() -> None:
    weights = train(random.Random(SEED))
    packed = np.clip(np.rint(weights * SCALE), -127, 127).astype(np.int8)
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else WEIGHTS
    out.write_bytes(packed.tobytes())
    print(f"{out}: {packed.nbytes:,} bytes; wordings kept for evaluation: {right(packed.astype(np.float32))}")


if __name__ == "__main__":
    main()
