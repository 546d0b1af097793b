"""The tools that look at folders and change files: what they do, what the model reads of it, and what they refuse."""

import os
import stat

import pytest

from laguna_tui.agent.changes import Changes
from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.full.change_files import SNIPPET_LINES
from laguna_tui.agent.tools.full.list import MAX_ENTRIES
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.events import ChangeMade, TodoChanged, TodoItem, TodoState
from laguna_tui.base.permission_request import Decision, PermissionAnswer
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.undo.undo import UndoHistory
from tests.app.approvers import YES, always, gate_for, run_tool
from tests.app.odd_files import listening, pipe

CART = "import math\n\n\nclass Cart:\n    def total(self):\n        return 1\n\n    def clear(self):\n        pass\n"


class Bench:
    """A folder, and the full set of tools over it."""

    def __init__(self, root, kept, codebase, approver):
        self.root = root
        self.codebase = codebase
        self.history = UndoHistory(root, kept)
        self.changes = Changes(self.history)
        self.told = []
        permissions = gate_for(root, approver)
        self.box = Toolbox(FULL, Workspace(root), codebase=codebase, changes=self.changes, permissions=permissions)

    def run(self, name, **arguments):
        return run_tool(self.box, name, arguments, told=self.told.append).output

    def read(self, path):
        return (self.root / path).read_text()


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "root/shop").mkdir(parents=True)
    (tmp_path / "root/shop/cart.py").write_text(CART)
    codebase = Codebase(tmp_path / "root", tmp_path / "index")
    made = Bench(tmp_path / "root", tmp_path / "kept", codebase, always)
    yield made
    codebase.close()


def test_the_tools_take_flat_scalars_and_few_tokens():
    for spec in FULL.specs:
        kinds = {each["type"] for each in spec.parameters["properties"].values()}
        assert kinds <= {"string", "integer", "boolean"}
    # A token of such JSON has three characters and more.
    assert sum(len(str(spec)) for spec in FULL.specs) < 1_400 * 3


def test_write_makes_a_file_and_says_how_long_it_is(bench):
    assert bench.run("write", path="lib/new.py", content="a = 1\nb = 2\n") == "Created `lib/new.py` with 2 lines."
    assert bench.read("lib/new.py") == "a = 1\nb = 2\n"
    (made,) = [event.change for event in bench.told if isinstance(event, ChangeMade)]
    assert (made.kind, made.path) == (ChangeKind.CREATE, "lib/new.py")


def test_write_replaces_a_file_that_was_read(bench):
    refused = bench.run("write", path="shop/cart.py", content="X = 1\n")
    assert refused.startswith("error: shop/cart.py exists and was not read; read it")
    assert bench.read("shop/cart.py") == CART
    bench.run("read", path="shop/cart.py", limit=1)
    assert bench.run("write", path="shop/cart.py", content="X = 1\n") == "Changed `shop/cart.py` in 1 place.\n1: X = 1"
    assert bench.run("write", path="shop/cart.py", content="X = 2\n").startswith("Changed")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"content": "X = 1\n"}),
        ("edit", {"old": "return 1", "new": "return 2"}),
        ("replace_symbol", {"symbol": "total", "new": "def total(self):\n    return 2"}),
        ("move", {"new_path": "other.py"}),
        ("delete", {}),
    ],
)
def test_a_file_that_changed_since_it_was_read_is_not_changed(bench, name, arguments):
    bench.run("read", path="shop/cart.py")
    theirs = CART + "THEIRS = 1\n"
    (bench.root / "shop/cart.py").write_text(theirs)
    output = bench.run(name, path="shop/cart.py", **arguments)
    assert output == "error: shop/cart.py changed since you read it; read it again, then call again"
    assert bench.read("shop/cart.py") == theirs
    bench.run("read", path="shop/cart.py")
    assert not bench.run(name, path="shop/cart.py", **arguments).startswith("error: ")


@pytest.mark.parametrize("first", [{"old": "return 1", "new": "return 2"}, {"old": "import math", "new": "import os"}])
def test_a_file_that_the_model_changed_itself_needs_no_further_look(bench, first):
    assert bench.run("edit", path="shop/cart.py", **first).startswith("Changed")
    assert bench.run("edit", path="shop/cart.py", old="pass", new="return").startswith("Changed")
    bench.run("move", path="shop/cart.py", new_path="shop/basket.py")
    assert bench.run("write", path="shop/basket.py", content="").startswith("Changed")
    (bench.root / "shop/basket.py").write_text("theirs\n")
    assert "changed since you read it" in bench.run("write", path="shop/basket.py", content="X = 1\n")


def test_a_deleted_file_that_is_there_again_was_not_read(bench):
    bench.run("read", path="shop/cart.py")
    assert bench.run("delete", path="shop/cart.py") == "Deleted `shop/cart.py`."
    assert bench.run("write", path="shop/cart.py", content="X = 1\n") == "Created `shop/cart.py` with 1 line."
    bench.run("delete", path="shop/cart.py")
    (bench.root / "shop/cart.py").write_text("theirs\n")
    assert "was not read" in bench.run("write", path="shop/cart.py", content="X = 1\n")


def test_an_edit_shows_the_lines_around_its_changes(bench):
    lines = [f"value_{number} = {number}" for number in range(1, 61)]
    (bench.root / "values.py").write_text("\n".join(lines) + "\n")
    bench.run("edit", path="values.py", old="value_5 = 5", new="value_5 = 55\nextra = 1")
    output = bench.run("edit", path="values.py", old="_5 = 55", new="_5 = 555")
    assert output.splitlines()[1:] == [
        "2: value_2 = 2",
        "3: value_3 = 3",
        "4: value_4 = 4",
        "5: value_5 = 555",
        "6: extra = 1",
        "7: value_6 = 6",
        "8: value_7 = 7",
    ]


def test_only_so_much_of_a_change_is_shown(bench):
    (bench.root / "values.py").write_text("".join(f"value_{number} = 0\n" for number in range(400)))
    many = bench.run("edit", path="values.py", old=" = 0", new=" = 1", all=True).splitlines()
    assert len(many) <= SNIPPET_LINES + 2
    assert many[-1] == f"… lines {SNIPPET_LINES + 1}-400 not shown"
    for number in range(0, 400, 10):
        bench.run("edit", path="values.py", old=f"value_{number} = 1", new=f"rare[{number}] = 1")
    apart = bench.run("edit", path="values.py", old="rare[", new="seldom[", all=True)
    spread = apart.splitlines()
    assert len(spread) <= SNIPPET_LINES + 12
    assert spread[-1].endswith("more places not shown")


def test_a_missed_edit_is_answered_with_the_text_that_is_there(bench):
    output = bench.run("edit", path="shop/cart.py", old="def total(self, rate):\n    return 2", new="x")
    assert output.startswith("error: the old text is not in shop/cart.py; the nearest text is lines ")
    assert "5:     def total(self):\n6:         return 1\n" in output


def test_a_part_of_a_name_is_not_replaced_everywhere(bench):
    output = bench.run("edit", path="shop/cart.py", old="tota", new="amoun", all=True)
    assert output.startswith("error: old is only a part of longer names in shop/cart.py")


def test_a_new_syntax_error_is_told_and_an_old_one_is_not(bench):
    (bench.root / "a.js").write_text("let a = ;\nlet b = 2;\n")
    assert "New problems" not in bench.run("edit", path="a.js", old="b = 2", new="b = 3")
    assert bench.run("edit", path="a.js", old="b = 3", new="b = + ;").splitlines()[-2:] == [
        "New problems:",
        "a.js:2: identifier is missing: let b = + ;;",
    ]


def test_a_definition_is_replaced_by_its_name(bench):
    output = bench.run("replace_symbol", path="cart.py", symbol="Cart.total", new="def total(self):\n    return 2")
    assert output.splitlines()[0] == "Changed `shop/cart.py` in 1 place."
    assert "6:         return 2" in output
    assert bench.read("shop/cart.py") == CART.replace("return 1", "return 2")


def test_who_takes_a_definition_away_is_told_who_still_uses_it(bench):
    (bench.root / "till.py").write_text("from shop.cart import Cart\n\nprint(Cart().total())  # total\n")
    renamed = bench.run("edit", path="shop/cart.py", old="def total", new="def sum_up")
    assert renamed.splitlines()[-1] == "total is no longer defined here, and still used: till.py:3"
    assert "still used" not in bench.run("edit", path="shop/cart.py", old="def sum_up", new="def total")
    assert bench.run("delete", path="shop/cart.py").splitlines()[1:] == [
        "Cart is no longer defined here, and still used: till.py:1, till.py:3",
        "total is no longer defined here, and still used: till.py:3",
    ]


def test_a_constant_that_is_taken_away_is_named_too(bench):
    bench.run("write", path="shop/limits.py", content="MOST = 3\n")
    bench.run("write", path="till.py", content="from shop.limits import MOST\n")
    assert bench.run("edit", path="shop/limits.py", old="MOST", new="LIMIT").splitlines()[-1] == (
        "MOST is no longer defined here, and still used: till.py:1"
    )


def test_who_moves_a_module_is_told_who_imports_it(bench):
    (bench.root / "till.py").write_text("from shop.cart import Cart\nfrom shop import cart\n\ncart.Cart()\n")
    (bench.root / "lib").mkdir()
    (bench.root / "lib/__init__.py").write_text("")
    (bench.root / "app.py").write_text("import lib\n")
    assert bench.run("move", path="shop/cart.py", new_path="lib/").splitlines() == [
        "Moved `shop/cart.py` to `lib/cart.py`.",
        "Check the imports of cart: till.py:1, till.py:2",
    ]
    assert bench.run("move", path="lib/__init__.py", new_path="library/__init__.py").splitlines() == [
        "Moved `lib/__init__.py` to `library/__init__.py`.",
        "Check the imports of lib: app.py:1",
    ]


def test_where_the_folder_may_not_be_indexed_who_takes_a_definition_away_has_to_search(bench):
    bench.codebase.withheld = "not yet"
    assert bench.run("edit", path="shop/cart.py", old="def total", new="def sum_up").splitlines()[-1] == (
        "The folder is not indexed yet; search for other uses of total with mode regex"
    )


def test_files_are_moved_and_deleted(bench):
    assert bench.run("move", path="shop/cart.py", new_path="lib/") == "Moved `shop/cart.py` to `lib/cart.py`."
    assert bench.run("delete", path="shop") == "Deleted `shop`."
    assert bench.read("lib/cart.py") == CART


def test_every_kind_of_change_can_be_taken_back(bench):
    (bench.root / "tool.sh").write_text("echo\n")
    bench.run("write", path="new.py", content="X = 1\n")
    bench.run("delete", path="tool.sh")
    bench.run("move", path="shop/cart.py", new_path="cart.py")
    bench.run("edit", path="cart.py", old="return 1", new="return 2")
    bench.history.apply(bench.history.plan_undo())
    assert not (bench.root / "new.py").exists()
    assert (bench.read("tool.sh"), bench.read("shop/cart.py")) == ("echo\n", CART)


def test_the_users_own_text_is_what_is_made_and_shown(bench, tmp_path):
    mine = PermissionAnswer(Decision.YES, edited="Y = 2\n")
    bench.box.permissions.approver = lambda request, cancelled: mine
    assert bench.run("write", path="new.py", content="X = 1\n").splitlines()[0] == "Created `new.py` with 1 line."
    assert bench.read("new.py") == "Y = 2\n"
    assert bench.run("write", path="new.py", content="Z = 3\n") == (
        "error: the user edited this change so that new.py stays as it is; ask what to do instead"
    )


@pytest.mark.parametrize("path", ["../x.py", "/etc/x.py", ".git/config", "a\0b", "\x1b[2J", "", "x" * 5000, "loop/x"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"content": "x"}),
        ("move", {"new_path": "y.py"}),
        ("delete", {}),
        ("edit", {"old": "a", "new": "b"}),
        ("replace_symbol", {"symbol": "a", "new": "b"}),
        ("list", {}),
        ("read", {}),
    ],
)
def test_hostile_paths_are_answered_and_change_nothing(bench, name, arguments, path):
    (bench.root / "loop").symlink_to("loop")
    before = {each: each.lstat().st_mtime_ns for each in bench.root.rglob("*")}
    output = bench.run(name, path=path, **arguments)
    assert output.startswith("error: ") or (name, path) == ("list", "")
    assert {each: each.lstat().st_mtime_ns for each in bench.root.rglob("*")} == before


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\xff\xfea\0\r\0\n\0",
        "caf\xe9 total\n".encode("latin-1"),
        b"x" * 3_000_000,
        b"one\r\ntwo\rthree\n",
        b"no end",
        b"",
    ],
)
def test_odd_files_are_read_or_refused_and_keep_their_bytes(bench, data):
    (bench.root / "odd.txt").write_bytes(data)
    bench.run("read", path="odd.txt")
    assert bench.run("edit", path="odd.txt", old="not there", new="x").startswith("error: ")
    assert bench.run("replace_symbol", path="odd.txt", symbol="total", new="x").startswith("error: ")
    assert (bench.root / "odd.txt").read_bytes() == data
    bench.run("move", path="odd.txt", new_path="moved.txt")
    assert (bench.root / "moved.txt").read_bytes() == data
    bench.run("delete", path="moved.txt")
    assert not (bench.root / "moved.txt").exists()


def test_a_folder_is_listed_with_sizes_folders_first(bench):
    (bench.root / "big.bin").write_bytes(b"\0" * 2_000)
    (bench.root / "empty").mkdir()
    (bench.root / "link").symlink_to("shop")
    pipe(bench.root / "pipe")
    listening(bench.root / "socket")
    (bench.root / "\x1b[2J").touch()
    assert bench.run("list").splitlines() == [
        "empty/ (empty or ignored)",
        "shop/",
        "\\x1b[2J (0 B)",
        "big.bin (2 kB)",
        "link (link to shop)",
        "pipe (not a regular file)",
        "socket (not a regular file)",
    ]
    assert bench.run("list", path="shop") == f"cart.py ({len(CART)} B)"
    assert bench.run("list", path="empty") == "empty is empty"
    assert bench.run("list", path="link") == f"cart.py ({len(CART)} B)"


def test_ignored_entries_are_marked_and_gits_own_are_left_out(bench):
    (bench.root / ".gitignore").write_text("secret.txt\nbuild/\n")
    (bench.root / "secret.txt").write_text("x")
    (bench.root / "build").mkdir()
    (bench.root / "build/a.o").touch()
    (bench.root / ".git").mkdir()
    lines = bench.run("list").splitlines()
    assert lines == ["build/ (empty or ignored)", "shop/", ".gitignore (18 B)", "secret.txt (1 B, ignored)"]


def test_a_long_listing_is_cut_and_kept(bench):
    (bench.root / "many").mkdir()
    for number in range(MAX_ENTRIES + 50):
        (bench.root / f"many/{number:04}").touch()
    result = run_tool(bench.box, "list", {"path": "many"})
    assert result.output.splitlines()[-1] == "… 50 more entries; use find"
    assert result.full_output is not None


def test_listing_a_file_says_so(bench):
    assert bench.run("list", path="shop/cart.py").startswith("error: shop/cart.py is a file")


def test_a_list_of_steps_is_repeated_and_shown(bench):
    text = "- [x] read the code\n[~] change it\n\n2. [ ] test it\nsay so\n"
    repeated = "[x] read the code\n[~] change it\n[ ] test it\n[ ] say so"
    assert bench.run("todo", items=text) == repeated
    assert bench.told == [
        TodoChanged(
            (
                TodoItem("read the code", TodoState.DONE),
                TodoItem("change it", TodoState.ACTIVE),
                TodoItem("test it"),
                TodoItem("say so"),
            )
        )
    ]
    assert bench.run("todo", items="") == "The list is empty."


def test_a_list_of_steps_goes_on_with_another_model(bench):
    bench.run("todo", items="[ ] test it")
    other = bench.box.with_profile(FULL)
    assert other._services.todo.text == "[ ] test it"


@pytest.mark.parametrize("text", ["\0", "[ ]" * 1000, "x" * 100_000, "[x", "[]]] \x1b[2J", "\n" * 1000])
def test_hostile_lists_of_steps_are_taken_as_they_are(bench, text):
    assert not bench.run("todo", items=text).startswith("error: ")


def test_a_list_of_too_many_steps_says_so(bench):
    output = bench.run("todo", items="\n".join(f"[ ] step {number}" for number in range(80)))
    assert output.splitlines()[-1].startswith("… only the first 50 items are kept")


def test_a_new_file_is_private_to_nobody_and_a_script_stays_one(bench):
    umask = os.umask(0o022)
    try:
        bench.run("write", path="new.sh", content="echo\n")
        (bench.root / "new.sh").chmod(0o755)
        bench.run("write", path="new.sh", content="echo 2\n")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((bench.root / "new.sh").stat().st_mode) == 0o755


SECRET = "API_TOKEN = hunter2 # total\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": ".env"}),
        ("read", {"path": "alias"}),
        ("search", {"pattern": "hunter2|API", "path": ".env"}),
        ("search", {"pattern": "hunter2|total"}),
        ("search", {"pattern": "TOKEN hunter2 total", "mode": "ranked"}),
        ("search", {"pattern": "API_TOKEN", "mode": "symbol"}),
        ("find", {"pattern": "credentials.toml"}),
        ("edit", {"path": ".env", "old": "API_TOKEN = ?", "new": "x"}),
        ("edit", {"path": "env", "old": "API_TOKEN = ?", "new": "x"}),
        ("replace_symbol", {"path": "secrets/credentials.toml", "symbol": "API_TOKEN", "new": "x"}),
    ],
)
def test_no_tool_shows_what_is_in_a_file_with_secrets(bench, name, arguments):
    (bench.root / "secrets").mkdir()
    for path in (".env", "secrets/credentials.toml", "secrets/.env"):
        (bench.root / path).write_text(SECRET)
    (bench.root / "alias").symlink_to(".env")
    output = bench.run(name, **arguments)
    assert "hunter2" not in output.replace(str(arguments.get("pattern")), "")
    assert "# total" not in output


def test_a_file_with_secrets_is_refused_with_its_reason(bench):
    (bench.root / ".env").write_text(SECRET)
    assert bench.run("read", path=".env").startswith("error: .env holds the settings and secrets of an environment, so")
    assert ".env" in bench.run("list")


def test_what_a_rule_makes_unreadable_is_not_shown_either(bench):
    def readable(path):
        return "the rule read(shop/*) restricts reading it" if path.startswith("shop/") else ""

    def run(name, **arguments):
        lent = ToolRun(bench.box.workspace, 1, bench.told.append, lambda request: YES, lambda: False, readable)
        return bench.box.run(name, arguments, lent).output

    assert run("read", path="shop/cart.py") == "error: the rule read(shop/*) restricts reading it"
    for mode in ("regex", "symbol", "ranked"):
        assert "cart.py" not in run("search", pattern="total", mode=mode)
    assert run("find", pattern="cart") == "shop/cart.py"
