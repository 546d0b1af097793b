"""What Laguna Nano is asked in training: every wording can be filled, and none of them is kept for evaluation."""

import sys
from pathlib import Path
from random import Random

import pytest

RECIPE = Path(__file__).parents[2] / "assets/nano/recipe"
SKILLS = ("WHERE", "TAKES", "USES", "TESTS", "OUTLINE", "RENAME", "DOCSTRING")
PLACES = {"OUTLINE": "{f}", "RENAME": "{n}{m}{f}"}
DRAWS = 400


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules, behind all others of the same name."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(RECIPE)])


def places(text: str) -> list[str]:
    return sorted("{" + rest[0] + "}" for rest in text.split("{")[1:] if rest[0] != "t")


@pytest.mark.parametrize("skill", SKILLS)
def test_every_wording_has_each_of_its_places_once(recipe: None, skill: str):
    from questions import AGAIN, AGAIN_HELD_OUT, HELD_OUT, TRAINED, Skill

    first = places(PLACES.get(skill, "{n}"))
    later = [place for place in first if place != "{n}"]
    for table, wanted in ((TRAINED, first), (HELD_OUT, first), (AGAIN, later), (AGAIN_HELD_OUT, later)):
        for wording in table.get(Skill[skill], ()):
            assert places(wording) == wanted, wording


def test_no_wording_kept_for_evaluation_is_trained(recipe: None):
    from chatter import TALK, TALK_HELD_OUT
    from questions import AGAIN, HELD_OUT_BARE, TRAINED
    from wording import bare

    trained = {bare(text) for table in (TRAINED, AGAIN) for texts in table.values() for text in texts}
    assert not trained & HELD_OUT_BARE
    talk = {bare(text) for texts in TALK.values() for text in texts}
    assert not talk & {bare(text) for texts in TALK_HELD_OUT.values() for text in texts}


def test_a_wording_means_one_skill(recipe: None):
    from chatter import TALK
    from questions import TRAINED, Skill
    from wording import bare

    owners: dict[str, str] = {}
    tables = {skill.name: texts for skill, texts in TRAINED.items()} | {"TALK": TALK["other"]}
    for name, texts in tables.items():
        for text in texts:
            assert owners.setdefault(bare(text), name) == name, text
    assert set(tables) - {"TALK"} == {skill.name for skill in Skill if skill is not Skill.TALK}


def test_what_is_put_together_from_parts_has_each_of_its_places_once(recipe: None):
    import framed

    rng = Random(1)
    for _ in range(DRAWS):
        assert places(framed.rename(rng)) == ["{f}", "{m}", "{n}"]
        for skill in framed.WORDS_FOR:
            assert places(framed.lookup(rng, skill)) == [PLACES.get(skill.upper(), "{n}")]
        assert places(framed.beyond(rng)) in (["{n}"], ["{f}"])
