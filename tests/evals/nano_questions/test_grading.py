"""Grades of answers that were written by hand, and the frozen sets of questions."""

import pytest

from tests.evals.nano_questions.command import leaks
from tests.evals.nano_questions.grading import Grade, grade
from tests.evals.nano_questions.questions import Fact, Question, read_questions, sets

RIGHT, DECLINED, WRONG = Grade.RIGHT, Grade.DECLINED, Grade.WRONG
DEFINITION = Question("1", "pack", "definition", "where is Cache", right=(Fact((("src/cache.py:28",),)),), name="Cache")
USE = Question(
    "2",
    "pack",
    "use",
    "who calls load",
    right=(Fact((("a.py:12", "a.py:10"), ("b.py:7",)), least=2),),
    name="load",
    only={"a.py": frozenset({10, 12}), "b.py": frozenset({7}), "tests/test_a.py": frozenset()},
)
CONCEPT = Question("3", "pack", "concept", "where is the retry logic", right=(Fact((("net.py:20-40",),)),))
CONTENTS = Question(
    "4", "pack", "contents", "methods of Job", right=(Fact((("run",), ("stop",)), least=2),), name="Job"
)
ABSENT = Question("5", "pack", "absent", "where is Zebra", name="Zebra", absent=True)
RENAME = Question("6", "pack", "other", "rename a to b in m.py", name="a", changes={"m.py": "b"})


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (DEFINITION, "Defined here:\n1. `Cache src/cache.py:28` `class Cache(dict):`", RIGHT),
        (DEFINITION, "It is in cache.py:28.", RIGHT),
        (DEFINITION, "Defined here:\n1. `Cache src/cache.py:281`", WRONG),
        (DEFINITION, "Defined here:\n1. `Cache src/other.py:28`", WRONG),
        (DEFINITION, "Not sure. Search results:\n1. `src/other.py:3`", DECLINED),
        (DEFINITION, "Search results:\n" + "\n".join(f"{n}. src/cache.py:{n + 20}" for n in range(20)), DECLINED),
        (DEFINITION, "\n".join(f"{n}. src/cache.py:{n + 20}" for n in range(20)), WRONG),
        (DEFINITION, "That is beyond me.", DECLINED),
        (DEFINITION, "", WRONG),
        (USE, "Used here:\n1. `main a.py:12`\n2. `start b.py:7`", RIGHT),
        (USE, "Used here:\n1. `main a.py:10`\n2. `start b.py:7`\n3. `tests/test_a.py:99`", RIGHT),
        (USE, "Used here:\n1. `main a.py:10`\n2. `main a.py:12`", WRONG),  # one caller, twice
        (USE, "Used here:\n1. `main a.py:12`\n2. `start b.py:7`\n3. `c.py:1`", WRONG),
        (CONCEPT, "Search results:\n1. `fetch net.py:33`\n2. `x.py:1`", RIGHT),
        (CONCEPT, "Search results:\n1. `x.py:1`", DECLINED),
        (CONCEPT, "`logic x.py:1`", WRONG),
        (CONTENTS, "`run`, `stop` and `wait`", RIGHT),
        (CONTENTS, "`rerun`, `stop`", WRONG),
        (ABSENT, "No definition of `Zebra`. Closest: `Zeb z.py:1`", RIGHT),
        (ABSENT, "Search results:\n1. `z.py:1`", DECLINED),
        (ABSENT, "Defined here:\n1. `Zeb z.py:1`", WRONG),
    ],
)
def test_an_answer_has_its_grade(question: Question, answer: str, expected: Grade) -> None:
    assert grade(question, answer).grade is expected


@pytest.mark.parametrize(
    ("question", "answer", "false_absence"),
    [
        (DEFINITION, "Nothing matches `Cache`.", True),
        (DEFINITION, "There is no definition of `Cache` here. Search results:\n1. `x.py:1`", True),
        (CONCEPT, "Nothing matches `logic`.", True),
        (CONCEPT, "No file matches these words. Closest search results:\n1. `x.py:1`", False),
        (USE, "No uses outside the tests; 80 in tests: `a.py:12`, `b.py:7`", False),
        (ABSENT, "Nothing matches `Zebra`.", False),
    ],
)
def test_that_something_is_missing_is_false_where_it_is_there(
    question: Question, answer: str, false_absence: bool
) -> None:
    assert grade(question, answer).false_absence is false_absence


def test_a_name_of_an_earlier_question_is_wrong() -> None:
    question = Question("7", "pack", "concept", "shutdown?", right=CONCEPT.right, wrong=("load",))
    assert grade(question, "`stop net.py:20`").grade is RIGHT
    assert grade(question, "`load net.py:20`").grade is WRONG


def test_a_rename_is_right_if_it_changed_that_file_and_no_other() -> None:
    assert grade(RENAME, "Done.", {"m.py": "b = 1"}).grade is RIGHT
    assert grade(RENAME, "Done.", {"m.py": "bb = 1"}).grade is WRONG
    assert grade(RENAME, "Done.", {"m.py": "b = 1", "n.py": "b"}).grade is WRONG
    assert grade(RENAME, "Done.").grade is WRONG
    assert grade(RENAME, "I can't do that.").grade is DECLINED
    assert grade(DEFINITION, "`Cache src/cache.py:28`", {"m.py": "b"}).grade is WRONG


def test_a_leak_is_a_name_that_the_answer_alone_lacks() -> None:
    said = [(USE, "`load a.py:1`"), (CONTENTS, "`load`"), (DEFINITION, "`Cache` uses `load`")]
    found = list(leaks(said, {"4": "`run`", "1": "`Cache` uses `load`"}))
    assert [(leak.question.id, leak.name) for leak in found] == [("4", "load")]


@pytest.mark.parametrize("name", sets())
def test_the_questions_of_a_set_can_be_graded(name: str) -> None:
    questions = read_questions(name)
    assert len({question.id for question in questions}) == len(questions)
    for question in questions:
        assert question.right or question.absent or question.changes, question.id
        assert all(fact.least <= len(fact.of) for fact in question.right), question.id
