"""Pictures of the screens of undo: diffs, conflicts and the list of turns."""

import pytest

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.text_diff import diff_texts
from laguna_tui.repo.git.git_commit import PendingChanges
from laguna_tui.session.commits import CommitDraft
from laguna_tui.session.values import RewindCost
from laguna_tui.tui.history.commit_screen import CommitScreen
from laguna_tui.tui.history.conflict_screen import ConflictScreen
from laguna_tui.tui.history.diff_screen import DiffScreen
from laguna_tui.tui.history.rewind_screen import RewindScreen
from laguna_tui.undo.file_diff import FileDiff
from laguna_tui.undo.undo_log import UndoKind
from laguna_tui.undo.undo_plan import PlannedFile, UndoPlan, UndoPoint
from tests.tui.pilot import ready, screen, until
from tests.tui.test_snapshots import still, story

BEFORE = "def total(items):\n    return sum(items)\n"
AFTER = BEFORE.replace("total", "amount")
FILES = (
    FileDiff("shop/cart.py", ChangeKind.EDIT, diff_texts(BEFORE, AFTER)),
    FileDiff("shop/new.py", ChangeKind.CREATE, diff_texts("", "X = 1\n")),
    FileDiff("logo.png", ChangeKind.EDIT, (), "it is binary"),
    FileDiff("old.py", ChangeKind.MOVE, (), "", "lib/old.py"),
)
POINTS = (
    UndoPoint(1, "rename total to amount everywhere, and say which callers there are", 0.0, (), False, False),
    UndoPoint(2, "now add a test", 0.0, ("shop/cart.py", "tests/test_cart.py"), True, False),
)
PLAN = UndoPlan(
    UndoKind.UNDO, (), (), (PlannedFile("shop/cart.py", None, None, "it was changed since"),), {}, (), 0, 0, {}
)
COST = RewindCost(38_100, 0.2, 12_400, 9.0)
SCREENS = {
    "diff": lambda: DiffScreen("Changes of this session", lambda: FILES),
    "conflict": lambda: ConflictScreen("Undo", PLAN, FILES),
    "rewind": lambda: RewindScreen(lambda: POINTS, lambda number: (PLAN, COST)),
    "commit": lambda: CommitScreen(
        CommitDraft(
            "Rename total to amount",
            "Commands run in bubblewrap.",
            PendingChanges(changed_files=dict.fromkeys(("shop/cart.py", "shop/new.py"))),
        )
    ),
}


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)])
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen(snap_compare, name: str, size: tuple[int, int]) -> None:
    async def opened(pilot) -> None:
        await ready(pilot.app, pilot)
        shown = SCREENS[name]()
        pilot.app.push_screen(shown)
        await until(pilot, lambda: pilot.app.screen is shown and "reading …" not in screen(pilot.app))
        if name == "rewind":
            await until(pilot, lambda: "50,500 tokens" in screen(pilot.app))

    assert snap_compare(still(story()), terminal_size=size, run_before=opened)
