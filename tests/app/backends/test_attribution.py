"""Text that leaves the parser is given back to whoever proposed it, also where the parser held it back."""

from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter
from laguna_engine.events import Source
from laguna_tui.backends.local.answer import Attribution

TARGET, DFLASH, FILE = Source.TARGET, DFlash.source, FileDrafter.source


def test_a_token_that_comes_out_whole_is_one_part():
    trail = Attribution()
    trail.add("word", DFLASH)
    assert trail.parts("word") == [("word", DFLASH)]


def test_what_was_held_back_keeps_its_proposer():
    trail = Attribution()
    trail.add("one <", DFLASH)
    assert trail.parts("one") == [("one", DFLASH)]
    trail.add("b", FILE)
    assert trail.parts(" <b") == [(" <", DFLASH), ("b", FILE)]


def test_what_is_left_out_is_passed_over():
    trail = Attribution()
    trail.add("\n</think>\n", TARGET)
    trail.add("Here", DFLASH)
    assert trail.parts("Here") == [("Here", DFLASH)]


def test_text_that_was_never_laid_belongs_to_the_newest_token():
    trail = Attribution()
    trail.add("abc", DFLASH)
    trail.clear()
    trail.add("", FILE)
    assert trail.parts("é") == [("é", FILE)]
