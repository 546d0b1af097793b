"""What imports by path say, in each language that has them, and which files of a folder they mean."""

import pytest

from laguna_tui.repo.search.reference_graph import load_graph
from laguna_tui.repo.syntax.analysis import analyse
from laguna_tui.repo.syntax.import_paths import MAX_FILES, ImportPaths, import_path
from laguna_tui.repo.syntax.tag_queries import LANGUAGE_OF, TAGS
from tests.app.repo.conftest import write

WRITTEN = {
    "a.go": ('package a\nimport (\n\tx "corp/shop/cart"\n\t"fmt"\n)\n', ["corp/shop/cart"]),
    "a.c": ('#include "cart/sum.h"\n#include <zlib.h>\n', ["cart/sum.h", "zlib.h"]),
    "a.cpp": ('#include "cart/sum.h"\n#include <vector>\n', ["cart/sum.h", "vector"]),
    "a.swift": ("import Cart\n@testable import Shop.Cart\n", ["Cart", "Shop/Cart"]),
    "a.zig": ('const cart = @import("../cart.zig");\nconst x = @intCast(3);\n', ["cart.zig"]),
    "a.rb": ('require "shop/cart"\nrequire_relative("../sum")\nputs "no/import"\n', ["shop/cart", "sum"]),
    "a.lua": ("local cart = require('shop.cart')\nlocal sum = require \"sum\"\nprint('x')\n", ["shop/cart", "sum"]),
    "a.sh": ('source ./cart.sh\n. "$DIR/sum.sh"\n. ${L}/tax/a.sh x\necho a/b\n', ["cart.sh", "sum.sh", "tax/a.sh"]),
    "a.js": (
        'import c from "./cart";\nexport * from "../sum";\nrequire("./tax");\nimport "r";\n',
        ["cart", "sum", "tax"],
    ),
    "a.ts": ('import { c } from "./cart";\n', ["cart"]),
    "a.tsx": ('import { c } from "./cart";\n', ["cart"]),
}


@pytest.mark.parametrize("path", WRITTEN)
def test_the_paths_of_imports(path):
    text, imported = WRITTEN[path]
    assert sorted(analyse(path, text).imports) == sorted(imported)


def test_every_language_with_imports_by_path_is_asked_about():
    assert {LANGUAGE_OF[path[1:]] for path in WRITTEN} == {name for name, (tags, _) in TAGS.items() if tags.imports}


FILES = {
    1: "src/cart/sum.h",
    2: "src/cart/sum.c",
    3: "src/main.c",
    4: "lib/shop/cart.rb",
    5: "old/shop/cart.rb",
    6: "lib/till.rb",
    7: "internal/store/store.go",
    8: "internal/store/rows.go",
    9: "Sources/Cart/Cart.swift",
    10: "tax/rates.go",
}


@pytest.mark.parametrize(
    ("path", "importer", "meant"),
    [
        ("cart/sum.h", 3, [1]),
        ("sum.h", 2, [1]),
        ("shop/cart", 6, [4]),
        ("shop/cart", 99, [4, 5]),
        ("corp/repo/internal/store", 99, [7, 8]),
        ("corp/repo/tax", 99, [10]),
        ("corp/other/store", 99, []),
        ("Cart", 99, [9]),
        ("zlib.h", 3, []),
        ("cart/other.h", 3, []),
    ],
)
def test_an_import_means_the_nearest_files_whose_paths_end_like_it(path, importer, meant):
    assert ImportPaths(FILES).meant(path, importer) == meant


def test_an_import_of_too_many_files_means_none_of_them():
    files = {number: f"Sources/Cart/file{number}.swift" for number in range(MAX_FILES + 1)}
    assert ImportPaths(files).meant("Cart", 99) == []


def test_nothing_imports_itself_and_odd_paths_mean_nothing():
    paths = ImportPaths({1: "a/b.rb", 2: "b.rb"})
    assert paths.meant("b", 2) == [1]
    assert [paths.meant(path, 1) for path in ("", "/", "..", "x" * 1000)] == [[]] * 4
    assert import_path("ruby", "'../'") == import_path("shell", "$DIR/") == ""


def test_a_file_that_imports_another_leads_to_it_in_the_graph(index, shop):
    write(shop, {"lib/rates.sh": "RATE=3\n", "bin/run.sh": ". ../lib/rates.sh\n"})
    index.refresh(workers=0)
    ids = dict(index.connection.execute("select path, id from files"))
    graph = load_graph(index.connection)
    run, rates = (ids[path] for path in (b"bin/run.sh", b"lib/rates.sh"))
    edges = {(int(graph.files[a]), int(graph.files[b])) for a, b in zip(graph.source, graph.target, strict=True)}
    assert (run, rates) in edges
    (shop / "bin/run.sh").write_text("echo\n")
    index.refresh(workers=0)
    assert index.connection.execute("select count(*) from imports").fetchone() == (0,)
