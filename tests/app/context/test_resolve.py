"""What a mention means in a folder, and that no mention gets out of it."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.base.paths import escaped
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.mentions import mentions, written
from laguna_tui.context.resolve import MentionKind, Resolved, Unresolved, resolve
from laguna_tui.repo.files.workspace import Workspace
from tests.app.repo.conftest import git, write

LONG_S = 60.0
ODD_BYTES = os.fsdecode(b"bad\xff\x1b[31m\n.py")
FILES = {
    "shop/cart.py": '''from functools import cached_property


# Holds items until they are paid.
@final
class Cart:
    @property
    def total(self):
        return self._total

    @total.setter
    def total(self, value):
        self._total = value

    def clear(self):
        """Forget everything."""


def clear(): pass
''',
    "shop/models/user.py": "class User:\n    def name(self): pass\n\n\nclass Config: pass\n",
    "shop/models/admin.py": "class Admin:\n    def name(self): pass\n\n\nclass Config: pass\n",
    "shop/order.py": "class Order: pass\n",
    "tests/test_order.py": "class Order: pass\n\ndef helper(): pass\n",
    "docs/index.md": "# Shop\n",
    "web/index.md": "# Web\n",
    "src.py/inner.py": "x = 1\n",
    "a b.py": "y = 2\n",
    "docs/re\u0301sume\u0301/plan.md": "decomposed names\n",
    "q\"uote'.py": "z = 3\n",
    "naïve 文件.py": "w = 4\n",
    "a.py:3": "a name that ends like lines\n",
    "Makefile": "all:\n",
    "Order": "a file that is called like a class\n",
    "ends.": "with a dot\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    base = tmp_path_factory.mktemp("mentioned")
    root = base / "root"
    write(root, FILES)
    (root / "latin.txt").write_bytes("größe".encode("latin-1") + b"\nsecond\n")
    (root / "photo.dat").write_bytes(b"\x89PNG\0\0")
    (root / ODD_BYTES).write_text("odd = 1\n")
    (root / "empty").mkdir()
    (root / "vendor").mkdir()
    (root / "vendor/dep.py").write_text("d = 1\n")
    (root / ".gitignore").write_text("vendor/\n")
    with (root / "huge.log").open("wb") as log:
        log.write(b"line\n" * 2000)
        log.truncate(10 * 1024**3)
    (root / "long.log").write_bytes(b"one line\n" * 600_000)
    (base / "secret.txt").write_text("secret\n")
    (base / "secrets").mkdir()
    (base / "secrets/key.txt").write_text("secret\n")
    (root / "out.txt").symlink_to(base / "secret.txt")
    (root / "out").symlink_to(base / "secrets")
    (root / "loop").symlink_to(root / "loop")
    (root / "within.py").symlink_to("shop/cart.py")
    os.mkfifo(root / "pipe.py")
    git(root, "init")
    return root


@pytest.fixture(scope="module")
def workspace(root):
    return Workspace(root)


@pytest.fixture(scope="module")
def codebase(root, tmp_path_factory):
    opened = Codebase(root, tmp_path_factory.mktemp("cache"))
    opened.start()
    assert opened.wait(LONG_S)
    yield opened
    opened.close()


@pytest.fixture
def meaning(codebase, workspace):
    """What the one mention of a text means."""

    def meaning(text):
        (mention,) = mentions(text)
        return resolve(mention, codebase, workspace)

    return meaning


def where(found):
    assert isinstance(found, Resolved), found
    return found.kind, found.path, found.first, found.last


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("@shop/cart.py", "shop/cart.py"),
        ("@./shop/cart.py", "shop/cart.py"),
        ("@shop//cart.py", "shop/cart.py"),
        ("@cart.py", "shop/cart.py"),
        ("@CART.py", "shop/cart.py"),
        ("@models/user.py", "shop/models/user.py"),
        ('@"a b.py"', "a b.py"),
        (written("q\"uote'.py"), "q\"uote'.py"),
        (written("naïve 文件.py"), "naïve 文件.py"),
        (written(escaped(ODD_BYTES)), ODD_BYTES),
        ("@a.py:3", "a.py:3"),
        ('@"ends."', "ends."),
        ("@Makefile", "Makefile"),
        ("@within.py", "shop/cart.py"),
        ("@latin.txt", "latin.txt"),
        ("@vendor/dep.py", "vendor/dep.py"),
    ],
)
def test_a_file(meaning, text, path):
    assert where(meaning(text)) == (MentionKind.FILE, path, None, None)


@pytest.mark.parametrize("text", ["@docs/r\u00e9sum\u00e9/plan.md", "@r\u00e9sum\u00e9/plan.md"])
def test_a_name_is_found_in_another_normal_form(meaning, text):
    assert where(meaning(text)) == (MentionKind.FILE, "docs/re\u0301sume\u0301/plan.md", None, None)


def test_a_folder_is_found_in_another_normal_form(meaning):
    assert where(meaning("@r\u00e9sum\u00e9/"))[:2] == (MentionKind.FOLDER, "docs/re\u0301sume\u0301")


def test_an_absolute_path_inside_the_folder_is_the_file(meaning, root):
    assert where(meaning(f"@{root}/shop/cart.py"))[1] == "shop/cart.py"


@pytest.mark.parametrize(
    ("text", "path", "first", "last"),
    [
        ("@shop/cart.py:3-6", "shop/cart.py", 3, 6),
        ("@cart.py:4", "shop/cart.py", 4, 4),
        ("@cart.py#L4-L5", "shop/cart.py", 4, 5),
        ("@cart.py:6-3", "shop/cart.py", 3, 6),
        ("@cart.py:18-900", "shop/cart.py", 18, 19),
        ('@"a b.py":1', "a b.py", 1, 1),
        ("@latin.txt:2", "latin.txt", 2, 2),
        ("@long.log:500000-500010", "long.log", 500_000, 500_010),
    ],
)
def test_lines_of_a_file(meaning, text, path, first, last):
    assert where(meaning(text)) == (MentionKind.LINES, path, first, last)


@pytest.mark.parametrize(
    ("text", "path", "paths"),
    [
        ("@shop/models/", "shop/models", ("shop/models/admin.py", "shop/models/user.py")),
        ("@shop/models", "shop/models", ("shop/models/admin.py", "shop/models/user.py")),
        ("@models", "shop/models", ("shop/models/admin.py", "shop/models/user.py")),
        ("@src.py", "src.py", ("src.py/inner.py",)),
        ("@src.py/", "src.py", ("src.py/inner.py",)),
        ("@vendor", "vendor", ("vendor/dep.py",)),
    ],
)
def test_a_folder_brings_its_text_files(meaning, text, path, paths):
    found = meaning(text)
    assert where(found) == (MentionKind.FOLDER, path, None, None)
    assert found.paths == paths


def test_the_whole_folder_has_every_text_file_once(meaning):
    paths = meaning("@./").paths
    assert "shop/cart.py" in paths
    assert len(set(paths)) == len(paths)
    assert not {"photo.dat", "out.txt", "pipe.py", "within.py"} & set(paths)


@pytest.mark.parametrize(
    ("text", "path", "first", "last", "symbol"),
    [
        ("@Cart", "shop/cart.py", 4, 16, "Cart"),
        ("@Cart.clear", "shop/cart.py", 15, 16, "Cart.clear"),
        ("@Cart::clear", "shop/cart.py", 15, 16, "Cart.clear"),
        ("@clear", "shop/cart.py", 19, 19, "clear"),
        ("@User", "shop/models/user.py", 1, 2, "User"),
        ("@User.name", "shop/models/user.py", 2, 2, "User.name"),
        ("@helper", "tests/test_order.py", 3, 3, "helper"),
    ],
)
def test_a_definition_with_what_stands_right_before_it(meaning, text, path, first, last, symbol):
    found = meaning(text)
    assert where(found) == (MentionKind.SYMBOL, path, first, last)
    assert found.symbol == symbol


def test_neighbours_of_one_name_are_one_definition(meaning):
    assert where(meaning("@Cart.total"))[2:] == (7, 13)


def test_a_definition_in_code_is_meant_before_one_in_tests_and_a_file_before_both(meaning, codebase):
    assert {definition.path for definition in codebase.definitions("Order")} == {"shop/order.py", "tests/test_order.py"}
    assert where(meaning("@Order")) == (MentionKind.FILE, "Order", None, None)


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("@Config", "@shop/models/admin.py:5 or @shop/models/user.py:5"),
        ("@name", "@shop/models/admin.py:2 or @shop/models/user.py:2"),
        ("@index.md", "@docs/index.md or @web/index.md"),
        ("@index.md:1", "@docs/index.md:1 or @web/index.md:1"),
    ],
)
def test_what_could_mean_several_things_names_them_so_that_each_can_be_mentioned(meaning, text, candidates):
    assert meaning(text) == Unresolved(f"{text} could mean {candidates}; mention one of them")
    for candidate in candidates.split(" or "):
        assert isinstance(meaning(candidate), Resolved)


def test_a_definition_is_where_it_is_now_not_where_the_index_saw_it(codebase, workspace, root):
    path = root / "shop/order.py"
    before = path.read_text()
    path.write_text("\n\n# moved\n" + before.replace("Order", "Moved"))
    try:
        codebase.refresh()
        assert codebase.wait(LONG_S)
        path.write_text("x = 0\n" * 10 + "class Moved: pass\n")
        (mention,) = mentions("@Moved")
        assert where(resolve(mention, codebase, workspace))[2:] == (11, 11)
        path.write_text("nothing = 0\n")
        assert isinstance(resolve(mention, codebase, workspace), Unresolved)
    finally:
        path.write_text(before)
        codebase.refresh()
        codebase.wait(LONG_S)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("@../secret.txt", "is outside the folder or belongs to git"),
        ("@shop/../../secret.txt", "is outside the folder or belongs to git"),
        ("@/etc/passwd", "is outside the folder or belongs to git"),
        ("@out.txt", "is outside the folder or belongs to git"),
        ("@out/key.txt", "is outside the folder or belongs to git"),
        ("@out/", "is outside the folder or belongs to git"),
        ("@.git/config", "is outside the folder or belongs to git"),
        ("@.GIT/config", "is outside the folder or belongs to git"),
        ("@/proc/self/environ", "is outside the folder or belongs to git"),
        ("@pipe.py", "not a regular file"),
        ("@photo.dat", "is a binary file"),
        ("@photo.dat:1", "is a binary file"),
        ("@huge.log", "10,737,418,240 bytes, more than the 4,194,304 of a whole file"),
        ("@huge.log:10-20", "10,737,418,240 bytes, more than the 33,554,432 that can be read"),
        ("@long.log", "5,400,000 bytes, more than the 4,194,304 of a whole file"),
        ("@shop/cart.py:100", "the file has 19 lines"),
        ("@shop/cart.py:0", "the file has 19 lines"),
        ("@shop/:3", "is a folder; only a file has lines to mention"),
        ("@empty/", "has no text files"),
        ("@shop/cart.py/", "is not a file, folder or definition"),
        ("@loop", "too many levels of symbolic links"),
        ("@~/secret.txt", "is not a file, folder or definition"),
        ("@nosuchthing", "is not a file, folder or definition here; type @ and a few letters"),
        ("@shop/crt.py", "did you mean @shop/cart.py?"),
        ("@Cartt", "is not a file, folder or definition"),
    ],
)
def test_what_cannot_be_mentioned_is_a_sentence(meaning, text, sentence):
    found = meaning(text)
    assert isinstance(found, Unresolved)
    assert sentence in found.sentence
    assert "secret\n" not in found.sentence


def test_control_characters_do_not_reach_the_sentence(meaning):
    found = meaning('@"\x1b[2Jwipe"')
    assert "\x1b" not in found.sentence
    assert "\\x1b[2Jwipe" in found.sentence


def test_before_the_index_is_ready_paths_resolve_and_names_say_that_they_are_not_known_yet(workspace, tmp_path):
    idle = Codebase(workspace.root, tmp_path)
    assert isinstance(resolve(mentions("@shop/cart.py:2")[0], idle, workspace), Resolved)
    assert "still being indexed" in resolve(mentions("@Cart")[0], idle, workspace).sentence
    idle.start()
    assert idle.wait(LONG_S)
    assert where(resolve(mentions("@Cart")[0], idle, workspace))[1] == "shop/cart.py"
    idle.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["..", "out", "out.txt", "/", "shop", "src.py", ".git", "pipe.py", "~", ".", "\0", " "]))
    | st.lists(st.text(max_size=8), max_size=4)
)
def test_no_mention_leaves_the_folder(root, codebase, workspace, parts):
    for mention in mentions(written("/".join(parts).replace("\n", "")) if parts else ""):
        found = resolve(mention, codebase, workspace)
        if isinstance(found, Resolved):
            for path in (found.path, *found.paths):
                real = os.path.realpath(root / path)
                assert real == str(root) or real.startswith(f"{root}/")
                assert ".git" not in path.split("/")
