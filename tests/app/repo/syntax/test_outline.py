"""Names are found where they are defined, and lines know what they lie in."""

import time
from textwrap import dedent

import pytest

from laguna_tui.repo.syntax.language_patterns import LANGUAGES
from laguna_tui.repo.syntax.languages import DefinitionKind
from laguna_tui.repo.syntax.outline import line_outline

PYTHON = dedent('''\
    """Module.

    def not_a_definition():
    """
    LIMIT = 3

    class Shelf(Base):
        """Holds books.

    class AlsoNot:
        """

        async def find(
            self,
            title,
        ) -> Book:
            # a comment
    # and one that was commented out
            return self.books[title]

        def close(self):
            text = """
    def quoted():
    """
            return text

    def main():
        pass
    ''')


def names(path, source):
    return {d.name: (d.line, d.end) for d in line_outline(path, source.splitlines()).definitions}


def test_python_definitions_reach_as_far_as_their_body():
    assert names("a.py", PYTHON) == {
        "LIMIT": (5, 5),
        "Shelf": (7, 25),
        "find": (13, 19),
        "close": (21, 25),
        "main": (27, 28),
    }


def test_a_line_lies_in_the_innermost_definition():
    found = line_outline("a.py", PYTHON.splitlines())
    lines = (1, 5, 10, 15, 18, 22, 26, 27)
    around = zip(lines, found.enclosing(lines), strict=True)
    enclosing = {line: definitions[-1].name if definitions else None for line, definitions in around}
    assert enclosing == {
        1: None,
        5: "LIMIT",
        10: "Shelf",
        15: "find",
        18: "find",
        22: "close",
        26: None,
        27: "main",
    }


def test_the_top_level_is_functions_and_types_that_lie_in_nothing():
    assert [d.name for d in line_outline("a.py", PYTHON.splitlines()).top_level()] == ["Shelf", "main"]


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "a.ts",
            "export class Cart {\n  private total(items: Item[]): number {\n    if (items) {\n    }\n  }\n}\n"
            "export const add = async (a: number) => {\n  return a;\n};\ninterface Item {\n  id: string;\n}\n",
            {"Cart": (1, 6), "total": (2, 5), "add": (7, 9), "Item": (10, 12)},
        ),
        (
            "a.js",
            "const text = `\nfunction fake() {\n`;\nfunction real(a) {\n  return a;\n}\n",
            {"text": (1, 3), "real": (4, 6)},
        ),
        (
            "a.go",
            "package a\n\ntype Store struct {\n\tn int\n}\n\nfunc (s *Store) Get(k string) int {\n\treturn s.n\n}\n",
            {"Store": (3, 5), "Get": (7, 9)},
        ),
        (
            "a.rs",
            "pub struct Ring<'a> {\n    x: &'a str,\n}\n\nimpl<'a> Ring<'a> {\n    pub fn turn(&self) {\n    }\n}\n",
            {"Ring": (5, 8), "turn": (6, 7)},
        ),
        (
            "A.java",
            "public class A {\n    @Override\n    public int size(List<A> x) {\n        return x.size();\n    }\n}\n",
            {"A": (1, 6), "size": (3, 5)},
        ),
        (
            "a.c",
            "#define LIMIT 3\nstatic int\n*find(int x);\nstruct node {\n  int x;\n};\nint main(void)\n{\n#if X\n"
            "  call(x);\n#endif\nout:\n  return 0;\n}\n",
            {"LIMIT": (1, 1), "node": (4, 6), "main": (7, 14)},
        ),
        (
            "a.cpp",
            "Shop::Cart* Shop::find(int id) {\n}\nMACRO(x)\nShop::~Shop()\n{\n}\n",
            {"find": (1, 2), "~Shop": (4, 6)},
        ),
        (
            "a.rb",
            "module Shop\n  class Cart\n    def total?\n      1\n    end\n  end\nend\n",
            {"Shop": (1, 7), "Cart": (2, 6), "total?": (3, 5)},
        ),
        ("a.sh", "build() {\n  make\n}\nfunction clean {\n  rm x\n}\n", {"build": (1, 3), "clean": (4, 6)}),
        ("a.lua", "local function go(x)\n  return x\nend\nM.run = function()\nend\n", {"go": (1, 3), "run": (4, 5)}),
        ("a.php", "class A {\n    public function go() {\n    }\n}\n", {"A": (1, 4), "go": (2, 3)}),
        ("a.txt", "def nothing():\n", {}),
    ],
)
def test_other_languages_by_their_look(path, source, expected):
    assert names(path, source) == expected


def test_kinds_are_told_apart():
    kinds = {d.name: d.kind for d in line_outline("a.py", PYTHON.splitlines()).definitions}
    assert (kinds["LIMIT"], kinds["Shelf"], kinds["find"]) == (
        DefinitionKind.VARIABLE,
        DefinitionKind.TYPE,
        DefinitionKind.FUNCTION,
    )


UNITS = ["a", "a ", " ", "<", "a<", "a,", "*", "(", "a(", "()", "public a ", "=", ":", "a::", "[", "a* ", "=> ", "& "]
HEADS = ["", "  ", "function a", "const x = (", "impl ", "func (", "void f(", "template<", "class ", "  a("]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_hostile_lines_take_no_time(language):
    lines = [(head + unit * 400)[:399] + tail for head in HEADS for unit in UNITS for tail in ("", ";", "!", " {")]
    begun = time.process_time()
    line_outline("a" + language.suffixes[0], lines)
    # 2 ms a line would already be far too slow; quadratic patterns need more than 100.
    assert time.process_time() - begun < 0.002 * len(lines)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
@pytest.mark.parametrize(
    "unit", ['\\"', "\\'", "\\`", '\\"""', '"', "`", "/*", "--[[", "[[", "#", '"\n', "(\n", "x {\n"]
)
def test_hostile_files_take_time_in_proportion_to_their_length(language, unit):
    text = unit * (200_000 // len(unit)) + "\\"
    begun = time.process_time()
    line_outline("a" + language.suffixes[0], text.split("\n"))
    assert time.process_time() - begun < 2
