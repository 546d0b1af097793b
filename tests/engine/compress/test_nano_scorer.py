"""The bundled scorer ranks the right text first among similar ones."""

from collections.abc import Iterator

import pytest

from laguna_engine.compress.scorer import Scorer
from laguna_engine.compress.scores import Scores
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import ModelKind, companions

TEXTS = (
    "class Session:\n    def __init__(self, folder):\n        self.folder = folder\n        self.opened = []\n",
    "def close_all(session):\n    for file in session.opened:\n        file.close()\n    session.opened.clear()\n",
    "UPLOAD_RETRY_LIMIT = 7\n",
    "DOWNLOAD_CHUNK_BYTES = 65536\n",
    "def parse_header(line):\n    name, _, value = line.partition(':')\n    return name.strip(), value.strip()\n",
    "def render(template, values):\n    return template.format(**values)\n",
)


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    """The bundled scorer, opened from the path the app uses."""
    catalogue = load_catalogue()
    (entry,) = companions(catalogue["nano"], catalogue, ModelKind.SCORER)
    assert entry.path is not None
    with Scorer.open(entry.path, threads=1) as opened:
        yield opened


def best(scores: list[Scores], name: str) -> int:
    values = [getattr(one, name) for one in scores]
    return values.index(max(values))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("What is the upload retry limit?", 2),
        ("What is DOWNLOAD_CHUNK_BYTES set to?", 3),
        ("Where is parse_header defined?", 4),
        ("What does close_all do?", 1),
        ("Which function reads name and value out of a header line?", 4),
    ],
)
def test_attention_points_to_the_text_that_is_asked_for(scorer: Scorer, query: str, wanted: int) -> None:
    assert best(scorer.score(TEXTS, query), "attention") == wanted


@pytest.mark.parametrize(
    ("query", "wanted"), [("What does parse_header return?", 4), ("What is DOWNLOAD_CHUNK_BYTES set to?", 3)]
)
def test_a_question_is_likeliest_after_the_text_with_its_name(scorer: Scorer, query: str, wanted: int) -> None:
    scores = scorer.score(TEXTS, query)
    assert best(scores, "gain") == wanted
    assert scores[wanted].gain > 1.0, "nats a token; by chance it is near zero"
