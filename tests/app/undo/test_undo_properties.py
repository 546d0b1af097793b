"""Whatever turns, the user, undo, redo and crashes do: bytes come back exactly, and no edit of the user's is lost."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from laguna_tui.undo.restore import Restorer
from laguna_tui.undo.undo import UndoHistory
from laguna_tui.undo.undo_plan import UndoPlan
from tests.app.undo.folder_states import State, clear, put, states

PATHS = ("a", "b", "d", "d/x", "d/y", "d/e/z", "n/m/k")
CONTENTS = (b"", b"one\n", b"two\n", b"\0binary\xff", b"long line " * 500)
Here = Mapping[str, State]


class Killed(BaseException):
    """The process is killed."""


changes = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"), st.sampled_from(PATHS), st.sampled_from(CONTENTS), st.sampled_from((0o644, 0o755, 0o600))
        ),
        st.tuples(st.just("link"), st.sampled_from(PATHS), st.sampled_from((b"a", b"d/x", b"../out"))),
        st.tuples(st.just("delete"), st.sampled_from(PATHS)),
        st.tuples(st.just("folder"), st.sampled_from(PATHS)),
        st.tuples(st.just("rename"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
    ),
    min_size=1,
    max_size=4,
)


class Turn:
    """What a turn did, as the test has seen it: per path first and last state, and whether only the turn did it."""

    def __init__(self) -> None:
        self.paths: dict[str, tuple[State | None, State | None, bool]] = {}

    def add(self, before: Here, after: Here, *, sure: bool = True) -> None:
        for path in before.keys() | after.keys():
            old, new = before.get(path), after.get(path)
            if old != new:
                first, last, so_far = self.paths.get(path, (old, old, True))
                self.paths[path] = (first, new, so_far and sure and last == old)


def joined(turns: list[Turn]) -> dict[str, tuple[State | None, State | None, bool]]:
    total: dict[str, tuple[State | None, State | None, bool]] = {}
    for turn in turns:
        for path, (old, new, sure) in turn.paths.items():
            first, last, so_far = total.get(path, (old, old, True))
            total[path] = (first, new, so_far and sure and last == old)
    return total


class Undoing(RuleBasedStateMachine):
    """Turns, user, undo, redo and crashes in one folder, with or without git."""

    @initialize(
        with_git=st.booleans(), first=st.dictionaries(st.sampled_from(("a", "d/x", "d/e/z")), st.sampled_from(CONTENTS))
    )
    def start(self, with_git: bool, first: dict[str, bytes]) -> None:
        self.patch = pytest.MonkeyPatch()
        # What survives a power cut is not tried here, and syncing takes most of the time.
        self.patch.setattr(os, "fsync", lambda descriptor: None)
        self.folder = Path(tempfile.mkdtemp(prefix="undoing"))
        self.root = self.folder / "work"
        self.root.mkdir()
        for path, data in first.items():
            put(self.root, path, data)
        if with_git:
            subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
            subprocess.run(["git", "add", "-A"], cwd=self.root, check=True)
        self.turns: list[Turn] = []
        self.position = 0
        self.open()

    def open(self) -> None:
        self.history = UndoHistory(self.root, self.folder / "state" / "one")

    def kill(self) -> None:
        """The process ends without a word."""
        self.history._log.close()
        self.history._store.close()
        self.open()

    def here(self) -> Here:
        return states(self.root)

    def do(self, made: list[tuple[object, ...]]) -> None:
        for what, path, *rest in made:
            target = self.root / str(path)
            with suppress(OSError):
                if what == "write":
                    put(self.root, str(path), *rest)  # type: ignore[arg-type]
                elif what == "link":
                    put(self.root, str(path), b"").unlink()
                    target.symlink_to(rest[0].decode())  # type: ignore[attr-defined]
                elif what == "delete":
                    clear(target)
                elif what == "folder":
                    target.mkdir(parents=True)
                else:
                    target.rename(self.root / str(rest[0]))

    def begin(self) -> Turn:
        self.history.begin_turn("go")
        del self.turns[self.position :]
        self.turns.append(Turn())
        self.position = len(self.turns)
        return self.turns[-1]

    @rule(commands=st.lists(changes, max_size=2), meanwhile=changes, user=st.booleans())
    def turn_with_commands(self, commands, meanwhile, user) -> None:
        turn = self.begin()
        for command in commands:
            self.history.before_change()
            before = self.here()
            self.do(command)
            after = self.here()
            self.history.after_change()
            turn.add(before, after)
            if user:
                self.do(meanwhile)
        self.history.after_change()

    @rule(path=st.sampled_from(PATHS), data=st.sampled_from(CONTENTS))
    def turn_with_an_edit(self, path, data) -> None:
        turn = self.begin()
        before = self.here()
        if any(before.get(str(parent), ("folder",))[0] != "folder" for parent in Path(path).parents):
            return
        if before.get(path, ("file",))[0] != "file":
            return
        self.history.before_change([path])
        put(self.root, path, data)
        self.history.after_change()
        turn.add(before, self.here())
        self.history.after_change()

    @rule(command=changes)
    def turn_that_is_killed(self, command) -> None:
        turn = self.begin()
        self.history.before_change()
        before = self.here()
        self.do(command)
        turn.add(before, self.here(), sure=False)
        self.kill()
        self.history.after_change()

    @rule(command=changes)
    def the_user_edits(self, command) -> None:
        self.do(command)

    @rule()
    def is_killed_between_turns(self) -> None:
        self.kill()

    @precondition(lambda self: self.position)
    @rule(all_of_it=st.booleans(), killed_after=st.none() | st.integers(0, 5), finish=st.booleans())
    def undo(self, all_of_it, killed_after, finish) -> None:
        self.apply(
            self.history.plan_undo(), self.turns[self.position - 1 : self.position], all_of_it, killed_after, finish
        )

    @precondition(lambda self: self.position)
    @rule(all_of_it=st.booleans(), data=st.data(), killed_after=st.none() | st.integers(0, 5), finish=st.booleans())
    def rewind(self, all_of_it, data, killed_after, finish) -> None:
        back = data.draw(st.integers(1, self.position))
        number = self.history.points()[self.position - back].number
        turns = self.turns[self.position - back : self.position]
        self.apply(self.history.plan_rewind(number), turns, all_of_it, killed_after, finish)

    @precondition(lambda self: self.position < len(self.turns))
    @rule(all_of_it=st.booleans(), killed_after=st.none() | st.integers(0, 5), finish=st.booleans())
    def redo(self, all_of_it, killed_after, finish) -> None:
        turns = self.turns[self.position : self.position + 1]
        self.apply(self.history.plan_redo(), turns, all_of_it, killed_after, finish, redo=True)

    @precondition(lambda self: self.position)
    @rule(all_of_it=st.booleans())
    def undo_and_redo_again(self, all_of_it) -> None:
        before = self.here()
        undone = self.history.apply(self.history.plan_undo(), overwrite=all_of_it)
        redone = self.history.apply(self.history.plan_redo())
        after = self.here()
        # A folder that the user removed is made again for the files in it, and stays.
        made = {str(parent) for path in undone.restored for parent in Path(path).parents} - before.keys()
        known = {*undone.skipped, *redone.skipped, *made}
        for path in before.keys() | after.keys():
            if path not in known:
                assert after.get(path) == before.get(path), path
        self.learn(self.turns[self.position - 1 : self.position])

    def apply(self, plan: UndoPlan, turns: list[Turn], all_of_it, killed_after, finish, redo=False) -> None:
        now = self.here()
        conflicts = {file.path for file in plan.conflicts}
        self.position += 1 if redo else -len(turns)
        kept: Mapping[str, str]
        if killed_after is None:
            kept = self.history.apply(plan, overwrite=all_of_it).skipped
        else:
            kept = self.killed_in_the_middle(plan, all_of_it, killed_after, finish)
        after = self.here()
        for path, (before_turn, after_turn, sure) in joined(turns).items():
            left, wanted = (before_turn, after_turn) if redo else (after_turn, before_turn)
            if now.get(path) == wanted:
                continue
            users = now.get(path) != left or not (sure or redo)
            if before_turn != after_turn or users:
                assert not users or path in conflicts or before_turn == after_turn, path
            if users and not all_of_it:
                assert after.get(path) == now.get(path), path
            elif before_turn != after_turn and path not in kept and (finish or killed_after is None):
                assert after.get(path) == wanted, path
        self.nothing_else_changed(plan, now, after)
        for path, why in kept.items():
            assert after.get(path) == now.get(path) or why, path
        self.learn(turns)

    def killed_in_the_middle(self, plan: UndoPlan, all_of_it, killed_after: int, finish: bool) -> Mapping[str, str]:
        attempts = iter(range(killed_after + 1))
        real = Restorer._attempt

        def attempt(restorer: Restorer, *arguments: object) -> None:
            if next(attempts, None) is None:
                raise Killed
            real(restorer, *arguments)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Restorer, "_attempt", attempt)
            try:
                return self.history.apply(plan, overwrite=all_of_it).skipped
            except Killed:
                pass
        self.kill()
        rest = self.history.plan_unfinished()
        assert rest is not None
        assert not rest.conflicts
        return self.history.apply(rest).skipped if finish else {}

    def nothing_else_changed(self, plan: UndoPlan, now: Here, after: Here) -> None:
        planned = {file.path for file in (*plan.files, *plan.conflicts)}
        parents = {str(parent) for path in planned for parent in Path(path).parents}
        for path in now.keys() | after.keys():
            if path not in planned and path not in parents:
                assert after.get(path) == now.get(path), path

    def learn(self, turns: list[Turn]) -> None:
        """What was overwritten comes back with the reverse: the history's own record is taken over for that."""
        for turn, known in zip(self.turns, self.history._log.turns, strict=True):
            if turn in turns:
                for path, (old, new, sure) in turn.paths.items():
                    change = known.changes.get(path)
                    if change is not None:
                        turn.paths[path] = (self.stored(change.before, old), self.stored(change.after, new), sure)

    def stored(self, entry, otherwise):
        if entry is None:
            return None
        data = self.history._store.get(entry.content) if entry.content else b""
        return str(entry.kind), 0 if entry.kind == "link" else entry.mode, data

    @invariant()
    def no_temporary_file_is_left(self) -> None:
        if hasattr(self, "root"):
            assert not list(self.root.rglob(".laguna-tui-*"))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.history.close()
            self.patch.undo()
            shutil.rmtree(self.folder)


TestUndoing = Undoing.TestCase
TestUndoing.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
