"""Which scorer shortening uses, what it remembers, and how a real scorer's opinion gets in."""

from dataclasses import replace

import pytest

from laguna_engine.compress.scorer import Scorer
from laguna_engine.compress.scores import Scores
from laguna_engine.native import control_groups
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.context.scoring import open_scorer
from laguna_tui.context.shortening import shorten
from laguna_tui.models.model_selection import scorer_path
from laguna_tui.models.store import Store

FILES = [("a.py", "".join(f"def f{n}():\n    return g{n}()\n\n\n" for n in range(60)))]


class Recorder:
    """What `Scorer.score` is asked; longer texts score higher. Stands in for a model to count the questions."""

    rate = 1e9

    def __init__(self):
        self.asked = []

    def count(self, text):
        return letters(text)

    def score(self, texts, query, should_stop, progress):
        self.asked += texts
        return [Scores(float(len(text)), 0.0) for text in texts]


def letters(text):
    return (len(text) + 3) // 4


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "models")


def test_a_scorer_is_asked_once_for_each_text_and_question():
    scorer = Recorder()
    for budget in (100, 200):
        assert shorten(FILES, "f3", budget, letters, scorer).scored_by != "words"
    assert len(scorer.asked) == len(set(scorer.asked)) == 60
    shorten(FILES, "f4", 100, letters, scorer)
    assert len(scorer.asked) == 120


def test_paths_can_be_protected():
    assert shorten(FILES, "f3", 0, letters, protected={"a.py"}).text == FILES[0][1]


def test_nobody_scores_when_the_settings_say_so(store):
    assert scorer_path(replace(Settings(), scorer="none"), store) is None


def test_a_scorer_that_is_not_here_is_named_with_the_way_to_get_it(store):
    with pytest.raises(UserError) as error:
        scorer_path(replace(Settings(), scorer="qwen3-0.6b"), store)
    assert str(error.value) == "--scorer qwen3-0.6b: not on this machine; run: laguna-tui models download qwen3-0.6b"


def test_a_scorer_that_does_not_exist_is_refused(store):
    with pytest.raises(UserError) as error:
        scorer_path(replace(Settings(), scorer="missing.gguf"), store)
    assert str(error.value) == (
        "--scorer missing.gguf: no such file, and not a scorer in the catalogue; give a GGUF, or none"
    )


def test_a_file_is_taken_as_it_is(store, tmp_path):
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF")
    assert scorer_path(replace(Settings(), scorer=str(file)), store) == file


@pytest.mark.parametrize(("asked", "cores", "threads"), [(None, 8, 7), (None, 1, 1), (3, 8, 3), (0, 8, 0)])
def test_a_scorer_leaves_a_core_to_others_unless_told_how_many_to_use(monkeypatch, tmp_path, asked, cores, threads):
    opened = []
    monkeypatch.setattr(control_groups, "physical_cores", lambda: cores)
    monkeypatch.setattr(Scorer, "open", lambda path, **how: opened.append(how["threads"]))
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF")
    open_scorer(file, replace(Settings(), threads=asked))
    assert opened == [threads]
