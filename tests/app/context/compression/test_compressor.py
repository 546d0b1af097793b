"""Which spans of documents over budget are kept, and why."""

import random

import pytest

from laguna_engine.compress.scores import Scores
from laguna_engine.errors import Stopped
from laguna_tui.context.compression.compressor import compress
from laguna_tui.context.compression.result import Why
from tests.app.context.compression.paragraphs import cut, filler, letters


def reasons(result, name):
    """The reason of each kept span of the unit `name`, in order."""
    return [kept.why for part in result.parts for kept in part.kept if part.document.units[kept.span.unit].name == name]


def keep(text, query, share=0.2, **options):
    document = cut("a.py", text)
    return compress([document], query, int(letters(text) * share), letters, **options)


def test_what_fits_is_not_changed():
    document = cut("a.py", filler(3) + "\n\n")
    result = compress([document], "anything", letters(document.text), letters)
    assert result.text == document.text
    assert {kept.why for kept in result.parts[0].kept} == {Why.FITS}


def test_nothing_is_longer_than_it_was_by_the_lines_that_say_what_is_missing():
    documents = [cut(f"{n}.py", f"def f{n}():\n    return {n}\n\ndef g{n}():\n    return {n}\n") for n in range(60)]
    for budget in range(100, sum(letters(one.text) for one in documents), 50):
        result = compress(documents, "what do `f3`, `f7` and `f9` do?", budget, letters)
        assert all(part.tokens_after <= part.tokens_before for part in result.parts)
        assert result.tokens_after <= result.budget


def test_a_name_brings_its_definition_and_not_the_places_that_mention_it():
    mentions = "".join(f"def use{n}(x):\n    return parse_header(x, {n}) + parse_header\n\n" for n in range(60))
    result = keep(mentions + "def parse_header(data):\n    return data[:4]\n\n" + filler(40), "fix parse_header", 0.1)
    assert reasons(result, "parse_header") == [Why.NAMED, Why.NAMED]


def test_one_hop_of_what_the_definition_calls_comes_with_it():
    chain = "def first_step():\n    return second_step()\n\ndef second_step():\n    return third_one()\n\n"
    result = keep(filler(40) + chain + filler(40, "more"), "what does `first_step` do?", 0.1)
    assert set(reasons(result, "second_step")) == {Why.CALLED}


def test_the_line_with_the_value_comes_however_often_the_key_is_mentioned():
    mentions = [f"log the harbor entry code again, case {n}\n\n" for n in range(80)]
    text = "".join([*mentions[:40], "harbor entry code: 48213\n\n", *mentions[40:]])
    document = cut("notes.txt", text)
    result = compress([document], "what is the harbor entry code?", 60, letters)
    assert "harbor entry code: 48213" in result.text
    assert Why.ANSWER in {kept.why for kept in result.parts[0].kept}


def test_a_name_that_only_a_value_has_is_followed():
    text = (
        filler(30)
        + "harbor_limit = base_of_ports(3)\n\n"
        + filler(30, "more")
        + "def base_of_ports(n):\n    return 7 * n\n\n"
    )
    assert "return 7 * n" in keep(text, "What is harbor_limit set to?", 0.1).text


def test_protected_documents_stay_whole_even_over_the_budget():
    edited, other = cut("edit.py", filler(20, "mine"), protected=True), cut("b.py", filler(50))
    result = compress([other, edited], "thing3", 10, letters)
    assert result.parts[1].text == edited.text
    assert {kept.why for kept in result.parts[1].kept} == {Why.PROTECTED}
    assert result.tokens_after > result.budget
    assert "must not be shortened" in result.notes[0]


def test_what_an_edited_file_uses_comes_before_what_it_does_not():
    edited = cut("edit.py", "def mine():\n    return wanted_helper()\n\n", protected=True)
    text = filler(40) + "def wanted_helper():\n    return 5\n\n" + filler(40, "more")
    result = compress([edited, cut("b.py", text)], "", letters(edited.text) + 120, letters)
    assert Why.EDITED in reasons(result, "wanted_helper")


def test_diffs_come_before_code():
    diff = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old\n+new\n"
    documents = [cut("a.py", filler(60)), cut("change.txt", diff)]
    assert compress(documents, "thing1 thing2", letters(diff) + 150, letters).parts[1].text == diff


def test_an_error_in_a_log_is_kept():
    log = "".join(f"step {n} went well and took {n} ms\n\n" for n in range(100))
    text = log + "Traceback (most recent call last)\n  File \"a.py\", line 3\nKeyError: 'x'\n\n" + log
    assert "KeyError: 'x'" in compress([cut("run.log", text)], "why so slow?", 80, letters).text


def test_a_definition_is_whole_or_only_its_outline():
    result = keep(filler(80), "other_thing7 and thing50 value", 0.3)
    kept = {kept.span for kept in result.parts[0].kept}
    document = result.parts[0].document
    for head, body in zip(document.spans[::2], document.spans[1::2], strict=True):
        assert body not in kept or head in kept


def test_a_scorer_decides_where_words_say_nothing():
    def scorer(texts, query):
        assert query == "unrelated"
        return [Scores(1.0, 2.0) if "thing33(" in text else Scores(0.5, 0.0) for text in texts]

    result = keep(filler(60), "unrelated", 0.1, scorer=scorer)
    assert result.scored_by == "words, gain and attention"
    assert Why.SCORE in reasons(result, "thing33")
    assert keep(filler(60), "unrelated", 0.1).scored_by == "words"


def test_a_scorer_that_is_stopped_leaves_it_to_the_words():
    def scorer(texts, query):
        raise Stopped("scoring was stopped")

    result = keep(filler(60), "thing33", 0.1, scorer=scorer)
    assert result.scored_by == "words"
    assert any("stopped" in note for note in result.notes)
    assert reasons(result, "thing33")


def test_nobody_asks_a_scorer_once_it_is_to_stop():
    def scorer(texts, query):
        raise AssertionError("asked")

    assert keep(filler(60), "thing33", 0.1, scorer=scorer, should_stop=lambda: True).scored_by == "words"


@pytest.mark.parametrize("query", ["", "thing3", "how does other_thing17 work?", "\n\n", "((( ```"])
@pytest.mark.parametrize("budget", [0, 1, 30, 100, 400, 1000])
def test_the_budget_holds_and_the_same_input_gives_the_same_result(query, budget):
    documents = [cut("a.py", filler(40)), cut("b.py", filler(30, "part")), cut("c.py", "")]
    first, second = (compress(documents, query, budget, letters) for _ in range(2))
    assert first.tokens_after == sum(letters(part.text) for part in first.parts) <= budget
    assert first.parts == second.parts


def test_nothing_is_left_for_a_budget_of_nothing_and_that_is_said():
    result = compress([cut("a.py", filler(5))], "thing1", 0, letters)
    assert result.text == ""
    assert any("Nothing is left of a.py" in note for note in result.notes)
    assert any("signatures" in note for note in result.notes)


def test_more_room_is_used():
    sizes = [keep(filler(80), "value of thing9", share).tokens_after for share in (0.1, 0.2, 0.4, 0.8)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 0.7 * letters(filler(80))


def test_the_tokenizer_is_asked_for_each_text_once():
    asked = []

    def measure(text):
        asked.append(text)
        return letters(text)

    compress([cut("a.py", filler(100))], "thing1", 300, measure)
    assert len(asked) == len(set(asked)) <= 100 + 20


def test_chance_finds_less_than_the_words_do():
    """A hundred functions, each queried by a word of its body."""
    text = filler(100)
    rng = random.Random(5)
    numbers = rng.sample(range(100), 20)
    found = sum(bool(reasons(keep(text, f"where is other_thing{n} used", 0.1), f"thing{n}")) for n in numbers)
    assert found == len(numbers)
