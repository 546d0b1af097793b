"""Syntax errors of a file, and those that a change made."""

import pytest

from laguna_tui.repo.syntax.syntax_errors import MAX_ERRORS, new_syntax_errors, syntax_errors

BROKEN = {
    "a.py": ("def f(:\n    pass\n", 1),
    "a.js": ("function f() {\n  return 1;\n}\nfunction g( {\n}\n", 4),
    "a.ts": ("const a: number = 1;\nconst b: = ;\n", 2),
    "a.go": ("package a\n\nfunc f() {\n\treturn +\n}\n", 4),
    "a.rs": ("fn f() {\n    let x = ;\n}\n", 2),
    "a.java": ("class A {\n  int f() { return 1 }\n}\n", 2),
    "a.c": ("int f(void) {\n  return 1\n}\n", 2),
}
VALID = {
    "a.py": "def f():\n    return 1\n",
    "a.js": "export const f = async (a) => `${a}`;\n",
    "a.ts": "export function f<T>(a: T): T { return a; }\n",
    "a.go": "package a\n\nfunc f() int {\n\treturn 1\n}\n",
    "a.rs": "fn f() -> u8 {\n    1\n}\n",
    "a.java": "class A {\n  int f() { return 1; }\n}\n",
    "a.c": "int f(void) { return 1; }\n",
}


@pytest.mark.parametrize("path", BROKEN)
def test_an_error_is_told_with_its_line(path):
    text, line = BROKEN[path]
    first = syntax_errors(path, text)[0]
    assert (first.line, first.text) == (line, text.split("\n")[line - 1].strip())
    assert first.message


@pytest.mark.parametrize("path", VALID)
def test_a_valid_file_has_none(path):
    assert syntax_errors(path, VALID[path]) == []


@pytest.mark.parametrize("path", BROKEN)
def test_an_error_that_was_there_before_is_not_new_wherever_it_moved(path):
    text, _ = BROKEN[path]
    shifted = f"{'#' if path.endswith('.py') else '//'} a comment\n{text}"
    assert new_syntax_errors(path, text, shifted) == []
    assert new_syntax_errors(path, VALID[path], shifted) == syntax_errors(path, shifted)


def test_a_missing_sign_is_named():
    assert str(syntax_errors("a.c", BROKEN["a.c"][0])[0]) == "line 2: ; is missing"


@pytest.mark.parametrize(
    ("path", "text"), [("a.txt", "((("), ("a.py", ""), ("a.unknown", "\0"), ("a.js", "(" * 20_000)]
)
def test_what_is_not_parsed_has_none(path, text):
    assert syntax_errors(path, text) == []


def test_a_nul_in_python_is_an_error_of_the_whole_file():
    (fault,) = syntax_errors("a.py", "a = 1\n\0")
    assert fault.message


def test_only_the_first_errors_are_told():
    text = "".join(f"function f{number}() {{ return + ; }}\n" for number in range(50))
    assert len(syntax_errors("a.js", text)) == MAX_ERRORS
