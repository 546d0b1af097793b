"""What people ask a coding assistant for, in six languages."""

from tests.agent_tasks.repositories import GO, JAVA, JAVASCRIPT, PYTHON, RUST, C
from tests.agent_tasks.task import Outcome, Task, passed
from tests.scripted_model import call, say, think

CHECK = call("shell", cmd="make test")


def _mend_the_total(seen):
    seen = yield say(think("What fails?"), CHECK)
    assert not passed(seen), seen.result
    seen = yield call("read", path="shop/cart.py")
    old = next(line.partition("return ")[2] for line in seen.result.splitlines() if "sum(" in line)
    seen = yield call("edit", path="shop/cart.py", old=old, new=old.replace("price for", "price * count for"))
    seen = yield CHECK
    yield "The total counts every piece now; the tests pass." if passed(seen) else "It still fails."


def _total_is_right(outcome: Outcome) -> None:
    assert "sum(price * count for name, price, count in items)" in outcome.text("shop/cart.py")
    assert outcome.answer.endswith("the tests pass.")
    assert outcome.refused == []


def _mend_the_stack(seen):
    seen = yield CHECK
    seen = yield say("The bound is off by one.", call("read", path="stack.c"))
    seen = yield call("edit", path="stack.c", old="    if (top > LIMIT)\n", new="    if (top >= LIMIT)\n")
    seen = yield CHECK
    yield "A full stack refuses more; passed." if passed(seen) else "It still fails."


def _stack_is_right(outcome: Outcome) -> None:
    assert "top >= LIMIT" in outcome.text("stack.c")
    assert outcome.answer.endswith("passed.")
    assert "FAILED: a full stack takes more" in outcome.outputs("shell")[0]


def _add_a_separator(seen):
    seen = yield say(
        think("All three files first."),
        call("read", path="src/cli.js"),
        call("read", path="src/format.js"),
        call("read", path="test.js"),
    )
    assert len(seen.results) == 3
    seen = yield say(
        call("edit", path="src/format.js", old='(cells) => cells.join(" | ")', new="(cells, by) => cells.join(by)"),
        call(
            "edit",
            path="src/cli.js",
            old="(line) => format(parse(line))",
            new='(line, by = " | ") => format(parse(line), by)',
        ),
        call(
            "edit",
            path="test.js",
            old='console.log("passed");',
            new='assert.strictEqual(run("a, b", "-"), "a-b");\nconsole.log("passed");',
        ),
    )
    seen = yield CHECK
    yield "run takes a separator." if passed(seen) else "It fails."


def _separator_is_there(outcome: Outcome) -> None:
    assert outcome.answer.endswith("run takes a separator.")
    assert "cells.join(by)" in outcome.text("src/format.js")
    assert '"a-b"' in outcome.text("test.js")
    assert [call.name for call in outcome.calls] == ["read"] * 3 + ["edit"] * 3 + ["shell"]


def _rename_calc(seen):
    seen = yield call("search", pattern="calc")
    seen = yield say(
        *(
            call("edit", path=path, old="calc", new="area_of", all=True)
            for path in ("src/area.rs", "src/report.rs", "src/lib.rs")
        )
    )
    seen = yield CHECK
    yield "calc is area_of everywhere." if passed(seen) else "It fails."


def _calc_is_renamed(outcome: Outcome) -> None:
    texts = [outcome.text(f"src/{name}.rs") for name in ("area", "report", "lib")]
    assert not any("calc" in text for text in texts)
    assert [text.count("area_of") for text in texts] == [1, 2, 2]
    assert outcome.answer.endswith("everywhere.")


FAREWELL = 'package greet\n\nfunc Farewell(name string) string {\n\treturn "Goodbye, " + name\n}\n'


def _write_farewell(seen):
    seen = yield call("read", path="greet/greet.go")
    seen = yield call("write", path="greet/farewell.go", content=FAREWELL)
    seen = yield CHECK
    yield "Farewell is in greet/farewell.go." if passed(seen) else "It fails."


def _farewell_is_there(outcome: Outcome) -> None:
    assert outcome.text("greet/farewell.go") == FAREWELL
    assert outcome.answer.endswith("Farewell is in greet/farewell.go.")


def _delete_the_old_queue(seen):
    seen = yield call("search", pattern="OldQueue")
    seen = yield call("delete", path="src/OldQueue.java")
    seen = yield CHECK
    yield "Nothing used it." if passed(seen) else "It fails."


def _old_queue_is_gone(outcome: Outcome) -> None:
    assert not (outcome.folder / "src/OldQueue.java").exists()
    assert outcome.answer.endswith("Nothing used it.")


def _move_money(seen):
    yield call("move", path="shop/money.py", new_path="shop/rounding.py")
    yield call("edit", path="shop/cart.py", old="from shop.money import", new="from shop.rounding import")
    seen = yield CHECK
    assert "test_the_total_counts_every_piece" in seen.result, seen.result
    while True:
        yield "Moved. The test of total failed before."


def _money_is_moved(outcome: Outcome) -> None:
    assert not (outcome.folder / "shop/money.py").exists()
    assert outcome.text("shop/rounding.py") == PYTHON["shop/money.py"]
    assert "ImportError" not in outcome.outputs("shell")[0]
    assert outcome.answer.endswith("Moved. The test of total failed before.")


LINE = """pub fn line(width: u32, height: u32) -> String {
    let area = calc(width, height);
    format!("area {area}")
}"""


def _rewrite_line(seen):
    seen = yield call("read", path="src/report.rs")
    seen = yield call("replace_symbol", path="src/report.rs", symbol="line", new=LINE)
    seen = yield CHECK
    yield "line has a variable now." if passed(seen) else "It fails."


def _line_is_rewritten(outcome: Outcome) -> None:
    assert outcome.text("src/report.rs") == f"use crate::area::calc;\n\n{LINE}\n"
    assert outcome.answer.endswith("now.")


PEEK = (
    "int peek(int *value)\n{\n    if (top == 0)\n        return -1;\n    *value = values[top - 1];\n    return 0;\n}\n"
)


def _plan_a_peek(seen):
    yield say(
        call("todo", items="[ ] declare peek\n[ ] define peek\n[ ] run the tests"),
        call("read", path="stack.h"),
        call("read", path="stack.c"),
    )
    yield say(
        call("edit", path="stack.h", old="int depth(void);", new="int peek(int *value);\nint depth(void);"),
        call("edit", path="stack.c", old="int depth(void)\n", new=f"{PEEK}\nint depth(void)\n"),
        call("edit", path="stack.c", old="top > LIMIT", new="top >= LIMIT"),
        call("todo", items="[x] declare peek\n[x] define peek\n[ ] run the tests"),
    )
    yield CHECK
    yield call("todo", items="[x] declare peek\n[x] define peek\n[x] run the tests")
    yield "peek is there, and the tests pass."


def _peek_is_there(outcome: Outcome) -> None:
    assert "int peek(int *value);" in outcome.text("stack.h")
    assert "values[top - 1]" in outcome.text("stack.c")
    assert len(outcome.outputs("todo")) == 3
    assert outcome.refused == []


def _explain(seen):
    seen = yield say(*(call("read", path=path) for path in ("main.go", "greet/greet.go", "check.sh", "go.mod")))
    assert [text.count("package") > 0 for text in seen.results] == [True, True, True, False]
    yield "main prints a greeting; Farewell is missing."


def _nothing_is_changed(outcome: Outcome) -> None:
    assert {path: outcome.text(path) for path in GO} == GO
    assert [call.arguments["path"] for call in outcome.calls] == ["main.go", "greet/greet.go", "check.sh", "go.mod"]


TASKS = [
    Task(
        "a failing test is fixed",
        "Python",
        PYTHON,
        "The tests fail. Mend it.",
        lambda folder: _mend_the_total,
        _total_is_right,
        programs=("make", "python3"),
    ),
    Task(
        "an off by one is fixed in C",
        "C",
        C,
        "make test fails, why?",
        lambda folder: _mend_the_stack,
        _stack_is_right,
        programs=("make", "cc"),
    ),
    Task(
        "a feature goes through three files",
        "JavaScript",
        JAVASCRIPT,
        "Let run take the separator.",
        lambda folder: _add_a_separator,
        _separator_is_there,
        programs=("make", "node"),
    ),
    Task(
        "a name is changed in every file",
        "Rust",
        RUST,
        "Rename calc to area_of.",
        lambda folder: _rename_calc,
        _calc_is_renamed,
        programs=("make", "rustc"),
    ),
    Task(
        "a new file is written",
        "Go",
        GO,
        "Farewell is missing, write it.",
        lambda folder: _write_farewell,
        _farewell_is_there,
    ),
    Task(
        "a file that nothing uses is deleted",
        "Java",
        JAVA,
        "Is OldQueue used? If not, delete it.",
        lambda folder: _delete_the_old_queue,
        _old_queue_is_gone,
        allow=("shell(make …)", "delete(src/**)"),
        programs=("make", "javac"),
    ),
    Task(
        "a module is moved and its users follow",
        "Python",
        PYTHON,
        "Call money.py rounding.py.",
        lambda folder: _move_money,
        _money_is_moved,
        programs=("make", "python3"),
    ),
    Task(
        "a function is replaced by its name",
        "Rust",
        RUST,
        "Give line a variable for the area.",
        lambda folder: _rewrite_line,
        _line_is_rewritten,
        programs=("make", "rustc"),
    ),
    Task(
        "a plan is kept while it is done",
        "C",
        C,
        "Add a peek, and mend the bound.",
        lambda folder: _plan_a_peek,
        _peek_is_there,
        programs=("make", "cc"),
    ),
    Task(
        "a question is answered from several files",
        "Go",
        GO,
        "What does it do?",
        lambda folder: _explain,
        _nothing_is_changed,
        programs=(),
    ),
]
