"""Definitions, units and references of every language that has a grammar, at exact character offsets."""

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from laguna_tui.repo.syntax.analysis import PARSE_LIMIT_CHARS, analyse, file_outline
from laguna_tui.repo.syntax.grammars import grammar
from laguna_tui.repo.syntax.tag_queries import TAGS

PYTHON = '''\
# é: more bytes than characters
LIMIT = 3
# Leads the class.
@final
class Shelf(Base):
    """Holds ∞ books."""

    @property
    def first(self) -> Book:
        def inner(): ...
        return pick(self.books)

def close(): pass
'''

SOURCES = {
    "a.py": (PYTHON, {"Shelf", "Shelf.first", "Shelf.first.inner", "close", "LIMIT"}, {"Base", "Book", "pick"}),
    "a.js": (
        "import {foo} from 'x';\nclass A extends B { get() { return foo(); } }\n"
        "const go = () => run1();\nfunction* gen() {}",
        {"A", "A.get", "go", "gen"},
        {"foo", "run1"},
    ),
    "a.ts": (
        "interface Shape { area(): number }\n"
        "export class Box<T> implements Shape { area(): number { return side(1); } }\n"
        "type Id = string;\nenum E { X }\nnamespace N { export function inner() {} }\nexport const LIMIT = 1;",
        {"Shape", "Shape.area", "Box", "Box.area", "Id", "E", "N", "N.inner", "LIMIT"},
        {"side"},
    ),
    "a.tsx": ("export function App(p: Props) { return <View/>; }", {"App"}, {"Props", "View"}),
    "a.go": (
        "package x\ntype T struct { a int }\nfunc (t *T) Get(id Ident) error { return helper(id) }\n"
        "func F() {}\nconst Max = 1",
        {"T", "T.Get", "F", "Max"},
        {"helper", "Ident"},
    ),
    "a.rs": (
        "use a::Thing;\nstruct P<T> { x: T }\nimpl<T> Area for P<T> { fn area(&self) -> Thing { other() } }\n"
        "trait Area { fn area(&self); }\nmacro_rules! mac { () => {} }",
        {"P", "P.area", "Area", "Area.area", "mac"},
        {"Thing", "other"},
    ),
    "A.java": (
        "class A<T> extends Base { A() {} int get(Foo x) { return call(x); } enum E { X } }",
        {"A", "A.A", "A.get", "A.E"},
        {"Base", "Foo", "call"},
    ),
    "a.c": (
        "#define MAX 3\ntypedef struct node { int a; } node_t;\nstatic node_t **make(int x) { return helper(x); }\n"
        "int plain(void);",
        {"MAX", "node_t", "node_t.node", "make", "plain"},
        {"helper"},
    ),
    "a.cpp": (
        "namespace ns { template <typename T> class Box : Base { T get() const { return v; } }; }\n"
        "int ns::Box<int>::put(int x) { return store(x); }\nint& global() { return x; }",
        {"ns.Box", "ns.Box.get", "ns.Box.put", "global"},
        {"Base", "store"},
    ),
    "a.cs": (
        "using System.Text;\nnamespace A.B {\n/// Doc\n[Attr]\npublic class Foo<T> : Base {\n"
        "  public Foo() { new Thing(); }\n  public int Bar(Arg x) => Baz.Qux<int>(x);\n  const int K = 3;\n}\n"
        "enum Color { Red }\nrecord R(int a);\nstruct S {}\ninterface I { void M(); }\n}\n",
        {"Foo", "Foo.Foo", "Foo.Bar", "Foo.K", "Color", "R", "S", "I", "I.M"},
        {"Base", "Attr", "Thing", "Qux", "Arg", "Text"},
    ),
    "a.kt": (
        "package a\nimport c.d.Other\n/** Doc */\nclass Foo(val x: Int) : Base() {\n  fun bar(a: Arg): Int = baz(a)\n"
        "  companion object {\n    fun make() = Foo(1)\n  }\n}\nobject O {\n  fun q() { x.call(1) }\n}\n"
        "interface I { fun m() }\ntypealias T = Map<String, Int>\nenum class C { A, B }\nval top = 1\n",
        {"Foo", "Foo.bar", "Foo.make", "O", "O.q", "I", "I.m", "T", "C", "top"},
        {"Other", "Base", "Arg", "baz", "call"},
    ),
    "a.swift": (
        "/// Doc\npublic class Foo<T>: Base {\n  init(a: Arg) { bar(a) }\n"
        "  func bar(_ a: Int) -> Int { self.baz(a) }\n}\n"
        "struct S { }\nprotocol P { func m() }\nextension Foo { func ext() {} }\ntypealias T = Int\n"
        "func top() { Thing() }\nlet g = 1\n",
        {"Foo", "Foo.init", "Foo.bar", "S", "P", "P.m", "Foo.ext", "T", "top", "g"},
        {"Base", "Arg", "baz", "Thing"},
    ),
    "a.scala": (
        "package a\nimport c.d.Other\n/** Doc */\nclass Foo(x: Int) extends Base with T {\n"
        "  def bar(a: Arg): Int = baz(a)\n  val p = new Thing(1)\n}\nobject O { def q = x.call(1) }\n"
        "trait T { def m(): Unit }\n",
        {"Foo", "Foo.bar", "O", "O.q", "T", "T.m"},
        {"Other", "Base", "Arg", "baz", "Thing", "call"},
    ),
    "a.hs": (
        "module A where\nimport Data.Map (insert)\n-- | Doc\nfoo :: Int -> Arg\nfoo 0 = 1\nfoo x = bar (baz x)\n"
        "data T = A | B Int\nclass C a where\n  m :: a -> a\ninstance C T where\n  n = id\ntype S = String\n",
        {"foo", "T", "C", "C.m", "S"},
        {"insert", "bar", "baz"},
    ),
    "a.zig": (
        'const std = @import("std");\n/// Doc\npub fn foo(a: Arg) !void { try bar(a); std.debug.print("", .{}); }\n'
        "pub const T = struct { x: u8, pub fn init() T { return .{}; } };\nvar g: u8 = 3;\n",
        {"std", "foo", "T", "T.init", "g"},
        {"bar", "print", "Arg"},
    ),
    "a.rb": (
        "module A\n  # Doc\n  class B < C\n    K = 3\n    def foo(a)\n      bar(a)\n      Other.new\n    end\n"
        "    def self.cls; end\n  end\nend\n",
        {"A", "A.B", "A.B.K", "A.B.foo", "A.B.cls"},
        {"bar", "Other"},
    ),
    "a.php": (
        "<?php\nuse C\\Other;\n/** Doc */\nfinal class Foo extends Bar { public function run(Arg $x) { $this->go();"
        " Stat::call(); new Thing(); fn1(3); } }\ninterface I { function m(); }\ntrait T {}\nfunction top() {}\n"
        "const Z = 1;\n",
        {"Foo", "Foo.run", "I", "I.m", "T", "top", "Z"},
        {"Other", "Bar", "Arg", "Stat", "call", "Thing", "fn1"},
    ),
    "a.lua": (
        "-- Doc\nlocal function foo(a) bar(a) end\nfunction M.baz(a) x.qux(a) end\nfunction M:meth() self:other() end\n"
        "M.fn = function() end\nK = 3\n",
        {"foo", "M.baz", "M.meth", "M.fn", "K"},
        {"bar", "qux", "other"},
    ),
    "a.sh": ("# Doc\nfoo() { bar x; }\nfunction baz { foo; }\nK=3\nreadonly Z=4\n", {"foo", "baz", "K", "Z"}, {"bar"}),
    "a.ex": (
        'defmodule A.B do\n  alias C.Other\n  @doc "Doc"\n  @spec foo(integer) :: integer\n  def foo(x) when x > 1 do\n'
        "    bar(x) |> baz()\n  end\n  defp bar(x), do: x\n  defmacro mac(x) do\n  end\nend\n"
        "defprotocol P do\n  def m(x)\nend\n",
        {"A.B", "A.B.foo", "A.B.bar", "A.B.mac", "P", "P.m"},
        {"C.Other", "baz"},
    ),
}


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_and_references_of_a_language(path):
    text, defined, used = SOURCES[path]
    syntax = analyse(path, text)
    assert syntax.exact
    assert {symbol.qualified for symbol in syntax.symbols} == defined
    assert used <= syntax.references.keys()


@pytest.mark.parametrize("path", [path for path, (text, *_) in SOURCES.items() if "Doc" in text])
def test_the_comment_before_a_definition_belongs_to_it_and_its_body_not_to_its_signature(path):
    text = SOURCES[path][0]
    symbols = analyse(path, text).symbols
    documented = [symbol for symbol in symbols if "Doc" in text[symbol.start : symbol.body]]
    assert documented
    assert all("Doc" not in symbol.signature and len(symbol.signature) < 60 for symbol in documented[-1:])


def test_the_equations_of_a_haskell_function_are_one_definition():
    text = SOURCES["a.hs"][0]
    foo = analyse("a.hs", text).symbols[0]
    assert (foo.line, foo.end) == (5, 6)
    assert text[foo.start : foo.stop] == "-- | Doc\nfoo :: Int -> Arg\nfoo 0 = 1\nfoo x = bar (baz x)"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("struct node { int a; };\nint plain(void);\n", "c"),
        ("namespace fmt {\nclass buffer { int size(); };\n}\n", "cpp"),
        ("#include <vector>\nint size(int);\n", "cpp"),
        ("#include <stdio.h>\nint public;\n", "c"),
    ],
)
def test_a_header_is_c_or_cpp_by_its_content(text, language):
    assert analyse("a.h", text).language == language


def test_every_grammar_is_installed_and_fits_its_queries():
    assert [name for name in TAGS if grammar(name) is None] == []


def test_offsets_count_characters_and_include_what_leads_a_definition():
    syntax = analyse("a.py", PYTHON)
    shelf, first = (next(s for s in syntax.symbols if s.name == name) for name in ("Shelf", "first"))
    assert PYTHON[shelf.start : shelf.stop].startswith("# Leads the class.\n@final\nclass Shelf")
    assert PYTHON[shelf.start : shelf.stop].endswith("return pick(self.books)")
    assert PYTHON[shelf.body :].startswith('"""Holds ∞ books."""')
    assert (shelf.line, shelf.end, shelf.signature) == (5, 11, "class Shelf(Base)")
    assert (first.line, first.signature) == (9, "def first(self) -> Book")


def test_a_type_is_a_unit_without_its_methods():
    syntax = analyse("a.py", PYTHON)
    texts = {unit.title: "".join(PYTHON[a:b] for a, b in unit.spans) for unit in syntax.units}
    assert "Holds" in texts["Shelf"]
    assert "pick" not in texts["Shelf"]
    assert "pick" in texts["Shelf.first"]
    assert "LIMIT = 3" in texts[""]


def test_a_syntax_error_costs_only_what_it_covers():
    found = {symbol.name for symbol in analyse("a.py", "def fine(): pass\n\nx = = (\n\ndef also(): pass\n").symbols}
    assert "fine" in found


def test_definitions_that_a_macro_gets_are_guessed_where_one_asks_for_it():
    text = "fn fine() {}\n\nast_struct! {\n    pub struct Lost {\n        pub name: String,\n    }\n}\n"
    fine, lost = analyse("a.rs", text, guess=True).symbols
    assert (fine.name, lost.name, lost.line, lost.end) == ("fine", "Lost", 4, 6)
    assert text[lost.start : lost.stop].strip().startswith("pub struct Lost")
    assert [symbol.name for symbol in analyse("a.rs", text).symbols] == ["fine"]


def test_other_languages_have_their_line_patterns():
    syntax = analyse("a.groovy", "class A {\n  def m() {\n    1\n  }\n}\n")
    assert not syntax.exact
    assert [(s.qualified, s.line, s.end) for s in syntax.symbols] == [("A", 1, 5), ("A.m", 2, 4)]


def test_prose_is_cut_at_its_headings():
    text = "# Title\nhello\n## Sub\nworld\n\nOther\n-----\nx\n"
    assert [(u.title, u.line) for u in analyse("x.md", text).units] == [("Title", 1), ("Sub", 3), ("Other", 6)]


def test_a_long_text_without_definitions_is_cut_into_pieces():
    units = analyse("x.txt", "word\n" * 200).units
    assert len(units) == 4
    assert units[1].line == 61


@example("é = 1", "a.py")
@given(st.text(max_size=400), st.sampled_from([*SOURCES, "a.groovy", "a.md", "a.unknown"]))
def test_whatever_a_file_holds_its_units_never_overlap_and_cover_what_is_not_blank(text, path):
    syntax = analyse(path, text)
    spans = sorted(span for unit in syntax.units for span in unit.spans)
    covered = [0] * len(text)
    for start, stop in spans:
        assert 0 <= start < stop <= len(text)
        for at in range(start, stop):
            covered[at] += 1
    assert max(covered, default=0) <= 1
    assert all(covered[at] or not text[at].strip() for at in range(len(text)))
    assert all(0 <= s.start <= s.stop <= len(text) for s in syntax.symbols)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.cpp"])
def test_brackets_without_end_are_not_parsed(path):
    assert not analyse(path, "a(" * 100_000).exact


def test_a_file_that_is_too_long_to_parse_is_still_text():
    syntax = analyse("a.py", "x = 1\n" * (PARSE_LIMIT_CHARS // 6 + 1))
    assert not syntax.exact
    assert syntax.units


def test_threads_that_parse_at_the_same_time_do_not_disturb_each_other():
    """In a process of its own: a parser that two threads share ends the process."""
    program = """
import sys, threading
from laguna_tui.repo.syntax.analysis import analyse
sys.setswitchinterval(1e-6)
text = "".join(f"def step_{n}(order):\\n    return order + {n}\\n\\n" for n in range(1500))
right, found = analyse("a.py", text, 60), []
threads = [threading.Thread(target=lambda: found.append(analyse("a.py", text, 60))) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found == [right] * 8)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


MISLEADING = {
    "a.ts": "run(\n  async () => {\n    go();\n  },\n);\nexport const add = (a: number) => a;\n",
    "a.cpp": "int once(int x);\nint once(int x) {\n  Table rows(x, limit(x) ? 1 : 2);\n  return x;\n}\n",
    "a.go": "package a\n\nconst (\n\tLimit = 3\n)\n",
    "a.py": "first = second = 3\nif first:\n    def f(): pass\n",
    "a.rs": "impl Ring {\n    fn turn(&self) {}\n}\n",
    "a.rb": "class Cart\nend\n",
}


@pytest.mark.parametrize(("path", "text"), MISLEADING.items(), ids=MISLEADING)
def test_the_outline_has_the_definitions_that_the_index_has(path, text):
    indexed = {(symbol.name, symbol.line, symbol.end) for symbol in analyse(path, text).symbols}
    assert {(d.name, d.line, d.end) for d in file_outline(path, text.splitlines()).definitions} == indexed


def test_a_prototype_is_told_from_its_definition():
    found = file_outline("a.cpp", MISLEADING["a.cpp"].splitlines()).definitions
    assert [(d.line, d.prototype) for d in found if d.name == "once"] == [(1, True), (2, False)]


def test_what_a_syntax_error_hides_is_in_the_outline():
    lines = ["def whole(a):", "    return a", "", "def begun(a,"]
    assert [(d.name, d.line) for d in file_outline("a.py", lines).definitions] == [("whole", 1), ("begun", 4)]
