"""The edit tool: who decides, what the model is told, and what can be taken back."""

import shutil

import pytest

from laguna_tui.agent.changes import Changes
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import ChangeMade, PermissionAnswered, PermissionAsked
from laguna_tui.base.permission_request import Decision, Mode, PermissionAnswer
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.undo.undo import UndoHistory
from tests.app.approvers import NO, YES, always, gate_for, never, run_tool

CART = "def total(items):\n    return sum(items)\n"
RENAME = {"path": "shop/cart.py", "old": "total", "new": "amount"}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root/shop").mkdir(parents=True)
    (tmp_path / "root/shop/cart.py").write_text(CART)
    return tmp_path / "root"


@pytest.fixture
def cart(root):
    return root / "shop/cart.py"


class Bench:
    """A toolbox whose changes can be undone, and what was told on the way."""

    def __init__(self, root, history, permissions, codebase):
        self.history, self.permissions = history, permissions
        self.told = []
        changes = Changes(history)
        self.box = Toolbox(FULL, Workspace(root), codebase=codebase, changes=changes, permissions=permissions)

    def run(self, arguments, should_stop=lambda: False):
        return run_tool(self.box, "edit", arguments, should_stop, self.told.append)

    def undo(self):
        self.history.apply(self.history.plan_undo())


@pytest.fixture
def bench(root, tmp_path):
    codebase = Codebase(root, tmp_path / "index")

    def made(approver=None, mode=Mode.ASK):
        return Bench(root, UndoHistory(root, tmp_path / "undo"), gate_for(root, approver, mode), codebase)

    yield made
    codebase.close()


def test_an_edit_that_is_agreed_to_is_made_and_told(bench, cart):
    with_user = bench(always)
    result = with_user.run(RENAME)
    shown = "1: def amount(items):\n2:     return sum(items)"
    assert (result.output, result.ok) == (f"Changed `shop/cart.py` in 1 place.\n{shown}", True)
    assert cart.read_text() == CART.replace("total", "amount")
    asked, answered, made = with_user.told
    assert (type(asked), asked.request.tool, asked.request.proposal.path) == (PermissionAsked, "edit", "shop/cart.py")
    assert answered == PermissionAnswered(1, YES, "user")
    assert made == ChangeMade(1, asked.request.proposal)


def test_several_places_are_counted(bench, cart):
    cart.write_text("total = total + subtotal\n")
    assert bench(always).run({**RENAME, "all": True}).output.startswith("Changed `shop/cart.py` in 2 places.\n")
    assert cart.read_text() == "amount = amount + subtotal\n"


def test_an_edit_that_breaks_a_python_file_says_so_to_the_model(bench, cart):
    cart.write_text("def total(items):\n    return 1\n")
    result = bench(always).run({"path": "shop/cart.py", "old": "return 1", "new": "return (1"})
    assert result.output == (
        "Changed `shop/cart.py` in 1 place.\n"
        "The file is no longer valid Python: '(' was never closed in line 2. Edit it again.\n"
        "1: def total(items):\n"
        "2:     return (1"
    )
    assert result.ok


def test_lines_that_were_indented_are_told_to_the_model_and_to_the_user(bench, cart):
    cart.write_text("class Cart:\n    def total(self):\n        return 1\n")
    with_user = bench(always)
    new = 'def total(self):\n    """The sum."""'
    result = with_user.run({"path": "shop/cart.py", "old": "def total(self):", "new": new})
    note = "The new lines were indented to match the line that they begin on, so that the file stays valid Python."
    assert result.output.startswith(f"Changed `shop/cart.py` in 1 place.\n{note}\n1: class Cart:\n")
    assert with_user.told[0].request.proposal.warning == note
    assert '\n        """The sum."""\n' in cart.read_text()


def accepting(*hunks):
    return lambda request, cancelled: PermissionAnswer.of_hunks(hunks, len(request.proposal.hunks))


@pytest.mark.parametrize(
    ("newline", "end", "encoding"),
    [
        ("\n", "\n", "utf-8"),
        ("\r\n", "\r\n", "utf-8"),
        ("\n", "", "utf-8"),
        ("\n", "\n", "latin-1"),
        ("\n", "\n", "utf-16"),
    ],
)
def test_only_the_hunks_that_the_user_accepts_are_written_and_undone(bench, cart, newline, end, encoding):
    def text(*changed):
        lines = [
            f"é{number} = {'new' if number in changed else 'old'}" if number % 20 == 0 else "" for number in range(41)
        ]
        return (newline.join(lines) + end).encode(encoding)

    cart.write_bytes(text())
    with_user = bench(accepting(0, 2))
    result = with_user.run({"path": "shop/cart.py", "old": "old", "new": "new", "all": True})
    assert cart.read_bytes() == text(0, 40)
    assert result.ok
    assert result.output.startswith(
        "Changed `shop/cart.py` in 2 places.\n"
        "The user declined 1 of 3 hunks of this edit, so these lines are as they were before it; ask what to do"
        " instead:\n@@ -18,7 +18,7 @@\n-é20 = old\n+é20 = new\n1: é0 = new\n"
    )
    made = with_user.told[-1].change
    assert (made.places, len(made.hunks), made.new) == (2, 2, text(0, 40))
    with_user.undo()
    assert cart.read_bytes() == text()


def test_a_file_that_changed_while_its_hunks_were_decided_about_stays_as_it_is(bench, cart):
    lines = "old\n" + "\n" * 20 + "old\n"
    cart.write_text(lines)

    def approver(request, cancelled):
        cart.write_text("mine\n" + lines)
        return accepting(1)(request, cancelled)

    result = bench(approver).run({"path": "shop/cart.py", "old": "old", "new": "new", "all": True})
    assert result.output == "error: shop/cart.py changed since the edit was proposed; read it and call again"
    assert result.shown == "Nothing was changed: shop/cart.py changed since the edit was proposed."
    assert cart.read_text() == "mine\n" + lines


def test_an_edit_that_is_declined_changes_nothing(bench, cart):
    with_user = bench(never)
    result = with_user.run(RENAME)
    assert result.output == "error: the user declined this edit; ask what to do instead"
    assert result.shown == "Declined. Nothing was changed."
    assert not result.ok
    assert cart.read_text() == CART
    assert [type(event) for event in with_user.told] == [PermissionAsked, PermissionAnswered]


def test_the_user_sees_the_proposal_before_the_file_is_touched(bench, cart):
    seen = []

    def approver(request, cancelled):
        seen.append((request.proposal.diff[1], cart.read_text()))
        return YES

    bench(approver).run(RENAME)
    assert seen == [("-def total(items):", CART)]


def test_always_asks_no_more(bench, cart):
    asked = []

    def approver(request, cancelled):
        asked.append(request.proposal.path)
        return PermissionAnswer(Decision.ALWAYS)

    with_user = bench(approver)
    with_user.run(RENAME)
    with_user.run({**RENAME, "old": "sum(", "new": "max("})
    assert len(asked) == 1
    kinds = [type(event) for event in with_user.told]
    assert kinds == [PermissionAsked, PermissionAnswered, ChangeMade, ChangeMade]
    assert cart.read_text() == "def amount(items):\n    return max(items)\n"


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [(Mode.PLAN, "plan mode"), (Mode.ASK, "--allow 'edit(shop/cart.py)'")],
)
def test_where_nobody_agrees_nothing_is_proposed(bench, cart, mode, sentence):
    alone = bench(mode=mode)
    result = alone.run(RENAME)
    assert result.output.startswith("error: ")
    assert sentence in result.output
    assert not alone.told
    assert cart.read_text() == CART


def test_a_toolbox_that_was_told_of_no_edits_makes_none(root, tmp_path, cart):
    codebase = Codebase(root, tmp_path / "index")
    result = run_tool(Toolbox(FULL, Workspace(root), codebase=codebase), "edit", RENAME)
    assert result.output.startswith("error: changes need approval in ask mode")
    assert "nobody can be asked" in result.output
    assert cart.read_text() == CART


def test_edits_that_are_forbidden_while_the_user_is_asked_are_not_made(bench, cart):
    def approver(request, cancelled):
        with_user.permissions.permissions.mode = Mode.PLAN
        return YES

    with_user = bench(approver)
    assert "plan mode" in with_user.run(RENAME).output
    assert cart.read_text() == CART


def test_a_turn_that_is_stopped_while_the_user_is_asked_changes_nothing(bench, cart):
    stopped = []

    def approver(request, cancelled):
        stopped.append(True)
        assert cancelled()
        return YES

    result = bench(approver).run(RENAME, lambda: bool(stopped))
    assert result.output == "error: the turn was stopped before this edit was made"
    assert cart.read_text() == CART


def test_a_file_that_changes_while_the_user_is_asked_is_left_alone(bench, cart):
    def approver(request, cancelled):
        cart.write_text("mine\n")
        return YES

    assert "changed since the edit was proposed" in bench(approver).run(RENAME).output
    assert cart.read_text() == "mine\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "shop/cart.py", "old": "total"},
        {**RENAME, "old": ""},
        {**RENAME, "new": "total"},
        {**RENAME, "old": None},
        {**RENAME, "all": "sometimes"},
        {**RENAME, "path": " "},
        {**RENAME, "path": "shop"},
        {**RENAME, "path": "../x\ny"},
        {**RENAME, "path": "no\nfile"},
        {**RENAME, "old": "not\nthere"},
        {**RENAME, "line": 3},
        {**RENAME, "new": "\ud800"},
    ],
)
def test_bad_arguments_are_answered_in_one_line(bench, cart, arguments):
    result = bench(always).run(arguments)
    assert result.output.startswith("error: ")
    assert "\n" not in result.output
    assert not result.ok
    assert cart.read_text() == CART


def test_what_the_app_itself_goes_by_is_not_edited(bench, root, monkeypatch):
    config = root / ".config/laguna-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('edits = "never"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / ".config"))
    result = bench(always).run({"path": ".config/laguna-tui/config.toml", "old": "never", "new": "allow"})
    assert "belongs to laguna-tui itself" in result.output
    assert config.read_text() == 'edits = "never"\n'


def obeyed(root):
    (root / "AGENTS.md").write_text("A=1\n")
    return {"path": "AGENTS.md", "old": "A=1", "new": "A=2"}


def test_what_other_programs_run_is_asked_about_whatever_is_allowed(bench, root):
    asked = []

    def approver(request, cancelled):
        asked.append(request.proposal.path)
        return NO

    with_user = bench(approver, Mode.ACCEPT_EDITS)
    result = with_user.run(obeyed(root))
    assert asked == ["AGENTS.md"]
    assert with_user.told[0].request.approval_reason == "coding assistants follow it"
    assert result.output == "error: the user declined this edit; ask what to do instead"
    assert (root / "AGENTS.md").read_text() == "A=1\n"


def test_always_is_no_answer_for_what_other_programs_run(bench, root):
    asked = []

    def approver(request, cancelled):
        asked.append(request.proposal.path)
        return PermissionAnswer(Decision.ALWAYS)

    with_user = bench(approver)
    assert with_user.run(obeyed(root)).ok
    assert with_user.run({"path": "AGENTS.md", "old": "A=2", "new": "A=3"}).ok
    assert asked == ["AGENTS.md", "AGENTS.md"]
    assert (root / "AGENTS.md").read_text() == "A=3\n"


def test_where_nobody_can_agree_what_other_programs_run_is_not_edited(bench, root, cart):
    alone = bench(mode=Mode.ACCEPT_EDITS)
    result = alone.run(obeyed(root))
    assert result.output == (
        "error: it always needs approval: coding assistants follow it, and nobody can be asked here (no flag allows it:"
        " the user has to start laguna-tui in a terminal); go on without it, and tell the user"
    )
    assert not alone.told
    assert (root / "AGENTS.md").read_text() == "A=1\n"
    assert alone.run(RENAME).ok


def test_gits_own_files_are_not_edited_even_if_the_user_agrees(bench, root):
    (root / "store/objects").mkdir(parents=True)
    (root / "store/refs").mkdir()
    (root / "store/HEAD").write_text("ref: refs/heads/main\n")
    (root / "store/config").write_text("[core]\n")
    result = bench(always).run({"path": "store/config", "old": "[core]", "new": "[core]\nfsmonitor = evil"})
    assert "belongs to git itself" in result.output
    assert (root / "store/config").read_text() == "[core]\n"


def as_a_folder(root, other):
    other.rename(root)


def as_a_link(root, other):
    root.symlink_to(other)


@pytest.mark.parametrize("swap", [as_a_folder, as_a_link])
def test_a_folder_that_was_swapped_while_the_user_is_asked_is_not_written_to(bench, root, cart, tmp_path, swap):
    shutil.copytree(root, tmp_path / "other")

    def approver(request, cancelled):
        root.rename(tmp_path / "away")
        swap(root, tmp_path / "other")
        return YES

    result = bench(approver).run(RENAME)
    assert "the folder was replaced by another one" in result.output
    assert cart.read_text() == (tmp_path / "away/shop/cart.py").read_text() == CART


def test_taking_back_gives_the_very_bytes_again(bench, cart):
    cart.write_bytes(b"\xef\xbb\xbfx = '\xe9'\r\ntotal")
    with_user = bench(always)
    assert with_user.run(RENAME).ok
    with_user.undo()
    assert cart.read_bytes() == b"\xef\xbb\xbfx = '\xe9'\r\ntotal"


def test_the_next_search_knows_the_edited_file(bench, cart):
    with_user = bench(always)
    search = {"pattern": "amount", "mode": "symbol"}
    assert "no definition" in run_tool(with_user.box, "search", search).output
    with_user.run(RENAME)
    assert run_tool(with_user.box, "search", search).output == "amount shop/cart.py:1: def amount(items)"
    with_user.undo()
    assert "no definition" in run_tool(with_user.box, "search", search).output


def test_the_text_that_the_user_edited_is_the_one_that_is_written(bench, cart):
    cart.write_bytes(b"\xef\xbb\xbfdef total(items):\r\n    return sum(items)\r\n")
    mine = PermissionAnswer(Decision.YES, edited="def amount(items):\n    return 0\n")
    with_user = bench(lambda request, cancelled: mine)
    result = with_user.run(RENAME)
    assert cart.read_bytes() == b"\xef\xbb\xbfdef amount(items):\r\n    return 0\r\n"
    assert result.output.splitlines()[1] == (
        "The user edited the change before it was made; read the file before you go on."
    )
    (made,) = [event.change for event in with_user.told if isinstance(event, ChangeMade)]
    assert made.diff == (
        "@@ -1,2 +1,2 @@",
        "-def total(items):",
        "-    return sum(items)",
        "+def amount(items):",
        "+    return 0",
    )
    with_user.undo()
    assert cart.read_bytes() == b"\xef\xbb\xbfdef total(items):\r\n    return sum(items)\r\n"


def test_an_edited_text_that_the_file_cannot_hold_changes_nothing(bench, cart):
    cart.write_bytes("# é\ndef total(items): pass\n".encode("latin-1"))
    before = cart.read_bytes()
    mine = PermissionAnswer(Decision.YES, edited="# 日\n")
    result = bench(lambda request, cancelled: mine).run(RENAME)
    assert result.output.startswith("error: ")
    assert cart.read_bytes() == before
