"""Undo and redo of what turns did to the files of the workspace, commands included.

A checkpoint is taken before each change and after it. What differs is the turn's; what somebody changed in between,
or since, is a conflict: it is shown, and only replaced if the user agrees. Not covered, which the user is told: what is
outside the folder, what git ignores, git's own files (commits stay), and files that are too large.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.locked_file import reason
from laguna_tui.base.object_store import STORE_LIMIT_BYTES, ObjectStore, StoreError
from laguna_tui.repo.files.source_writer import TemporaryFiles
from laguna_tui.repo.files.walk import is_generated
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.undo.file_diff import FileDiff, file_diffs
from laguna_tui.undo.file_tree import FILE_LIMIT_BYTES, FileTree, PathState, StoppedError, TreeReader, same
from laguna_tui.undo.restore import Restorer, RestoreStep, is_started
from laguna_tui.undo.tree_changes import AUTHOR_UNKNOWN, TreeDifference, difference, joined, listed_difference
from laguna_tui.undo.undo_log import (
    ChangeBegan,
    ChangeEnded,
    LoggedTurn,
    Steps,
    TurnLogged,
    UndoBegan,
    UndoEnded,
    UndoKind,
    UndoLog,
)
from laguna_tui.undo.undo_plan import (
    CHANGED_SINCE,
    PlannedFile,
    UndoPlan,
    UndoPoint,
    UndoResult,
    notes,
    paths_of_files,
    sorted_out,
)

_TITLE_CHARS = 200
_NO_CHECKPOINT = "nothing was changed, because it could not be undone"
_NOT_LOGGED = "what was changed cannot be saved, so undo will ask about each file"


class UndoError(UserError):
    """Something cannot be undone or redone; nothing was changed."""


class CheckpointError(UserError):
    """No checkpoint can be taken, so the change must not be made."""


class UndoHistory:
    """The turns of one session, and the way back. Thread-safe."""

    def __init__(
        self,
        root: Path,
        store: Path,
        *,
        file_limit: int = FILE_LIMIT_BYTES,
        store_limit: int = STORE_LIMIT_BYTES,
        unfinished: TemporaryFiles | None = None,
    ) -> None:
        """Open the history of a session, and create it if there is none.

        Args:
            root: The workspace.
            store: The folder of its store.
            file_limit: Bytes above which a file is not covered.
            store_limit: Largest size of the store in bytes.
            unfinished: Records temporary files; None records none.

        Raises:
            StoreError: The store cannot be used, or another process has it open.
            WorkspaceError: There is no such folder.
        """
        self._lock = threading.RLock()
        self._workspace = Workspace(root)
        self._store = ObjectStore(store, store_limit)
        try:
            self._log = UndoLog(self._workspace.root, self._store)
        except BaseException:
            self._store.close()
            raise
        self._reader = TreeReader(self._workspace.root, self._workspace.identity, self._store, file_limit)
        self._restorer = Restorer(self._workspace, self._reader, self._store, unfinished)
        self._tree: FileTree | None = None
        self._crashed = self._is_open
        self._primed = not self._log.tree

    @property
    def progress(self) -> tuple[int, Sequence[int]]:
        """The number of the turn that was begun last, 0 before the first, and of those that are not undone."""
        return self._log.last_number, [turn.number for turn in self._log.turns[: self._log.position]]

    def begin_turn(self, title: str) -> None:
        """A user's message begins a turn; turns that are undone are forgotten, and an open one ends.

        Raises:
            CheckpointError: Nothing can be stored.
        """
        with self._lock:
            self.after_change()
            with _checkpointing():
                self._log.record(TurnLogged(self._log.last_number + 1, title[:_TITLE_CHARS], time.time()))

    def prepare(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Store the contents of all files ahead of the first command. Any thread; what fails here fails again then."""
        with self._lock, suppress(StoppedError, StoreError, OSError):
            self._prime()
            self._reader.whole(should_stop=should_stop)

    def before_change(
        self, paths: Collection[str] | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Take the checkpoint before a change. Without `after_change` in between, a second call adds what is missing.

        Args:
            paths: Located paths that alone are changed (both of a move), ignored ones too; None for a command, which
                may change anything.
            should_stop: Called now and then.

        Raises:
            CheckpointError: There is none, and the change must not be made.
        """
        with self._lock, _checkpointing():
            self._before(paths, should_stop)

    def after_change(self) -> bool:
        """Take the state after a change, which ends it. Idempotent; also ends the turn.

        Returns:
            Whether it changed a file that is not a cache.

        Raises:
            CheckpointError: It cannot be stored; it is tried again when the turn ends.
        """
        with self._lock, _checkpointing(_NOT_LOGGED):
            return self._after()

    def points(self) -> tuple[UndoPoint, ...]:
        """Return the turns, also those that changed nothing; newest last. Does not wait for a checkpoint."""
        return tuple(map(self._point, tuple(self._log.turns)))

    def plan_undo(self) -> UndoPlan:
        """Return what undoing the last turn would do.

        Raises:
            UndoError: There is none.
            CheckpointError: The files cannot be read.
        """
        with self._lock:
            if not self._log.position:
                raise UndoError("there is nothing to undo in this session")
            return self._planned(UndoKind.UNDO, self._log.position - 1)

    def plan_rewind(self, number: int) -> UndoPlan:
        """Return what undoing a turn and all after it would do. Raises as `plan_undo`.

        Args:
            number: Of the turn.
        """
        with self._lock:
            done = [turn.number for turn in self._log.turns[: self._log.position]]
            if number not in done:
                raise UndoError(f"there is no turn {number} to go back to; to see the turns: /rewind")
            return self._planned(UndoKind.REWIND, done.index(number))

    def plan_redo(self) -> UndoPlan:
        """Return what redoing the turn that was undone last would do. Raises as `plan_undo`."""
        with self._lock:
            if self._log.position == len(self._log.turns):
                raise UndoError("there is nothing to redo: nothing was undone since the last message")
            return self._planned(UndoKind.REDO, self._log.position + 1)

    def plan_unfinished(self) -> UndoPlan | None:
        """Return what is left of an undo that was killed in the middle, to be shown and applied; None if nothing is."""
        with self._lock:
            unfinished = self._log.unfinished
            if unfinished is None:
                return None
            steps = self._log.load_steps(unfinished.steps)
            now = self._at(step.path for step in steps)
            files, conflicts = [], []
            for step in steps:
                here = now[step.path]
                if is_started(step, here) or same(here, step.now):
                    files.append(PlannedFile(step.path, step.now, step.then))
                elif not same(here, step.then):
                    conflicts.append(PlannedFile(step.path, here, step.then, CHANGED_SINCE))
            if not files and not conflicts:
                return None
            turns = [turn for turn in self._log.turns if turn.number in unfinished.numbers]
            return UndoPlan(
                unfinished.kind,
                tuple(map(self._point, turns)),
                tuple(files),
                tuple(conflicts),
                {},
                notes(turns),
                self._log.events,
                self._log.position,
                {},
                resumes=True,
            )

    def apply(self, plan: UndoPlan, overwrite: bool | Collection[str] = False) -> UndoResult:
        """Apply a plan. If it is killed in the middle, the next start finds the rest in `plan_unfinished`.

        Args:
            plan: Of the present state.
            overwrite: Paths of conflicts that the user agreed to overwrite; True for all in the plan. What was there
                comes back with the opposite direction.

        Raises:
            UndoError: The plan is of another state.
            CheckpointError: Nothing can be stored; nothing was changed.
        """
        with self._lock:
            if plan.state != self._log.events:
                raise UndoError("something was done since this was planned, so nothing was changed; try again")
            wanted = {file.path for file in plan.conflicts} if overwrite is True else set(overwrite or ())
            replaced = [file for file in plan.conflicts if file.path in wanted]
            chosen = sorted((*plan.files, *replaced), key=lambda file: file.path)
            steps = [RestoreStep(file.path, file.now, file.then) for file in chosen]
            if not plan.resumes:
                with _checkpointing():
                    self._begin(plan, steps, replaced)
            failed = self._restorer.restore(steps, again=plan.resumes)
            with suppress(StoreError):  # without this line the next start finds that nothing is left to do
                self._log.record(UndoEnded())
            skipped = {file.path: file.conflict for file in plan.conflicts if file.path not in wanted}
            restored = tuple(file.path for file in chosen if file.path not in failed and not file.is_folder)
            points = {point.number: point for point in self.points()}
            return UndoResult(
                plan.kind,
                tuple(points[point.number] for point in plan.points),
                restored,
                {**plan.uncovered, **skipped, **failed},
                plan.notes,
            )

    def diff(self, number: int | None = None) -> tuple[FileDiff, ...]:
        """Return what a turn changed, or all turns that are not undone; sorted by path.

        Args:
            number: Of the turn; None for the session.

        Raises:
            UndoError: There is no such turn.
        """
        with self._lock:
            self.after_change()
            if number is None:
                chosen = self._log.turns[: self._log.position]
            else:
                chosen = [turn for turn in self._log.turns if turn.number == number]
                if not chosen:
                    raise UndoError(f"there is no turn {number}; to see the turns: /rewind")
            changes = joined(turn.changes for turn in chosen)
            return file_diffs({path: (change.before, change.after) for path, change in changes.items()}, self._store)

    def preview(self, plan: UndoPlan) -> tuple[FileDiff, ...]:
        """Return what applying a plan would change, conflicts included; sorted by path."""
        with self._lock:
            return file_diffs(
                {file.path: (file.now, file.then) for file in (*plan.files, *plan.conflicts)}, self._store
            )

    def close(self) -> None:
        """End the turn and close the store. Idempotent."""
        with self._lock:
            with suppress(CheckpointError):
                self.after_change()
            self._log.close()
            self._store.close()

    @property
    def _turn(self) -> LoggedTurn | None:
        return self._log.turns[self._log.position - 1] if self._log.position else None

    @property
    def _is_open(self) -> bool:
        return self._turn is not None and self._turn.open is not None

    def _point(self, turn: LoggedTurn) -> UndoPoint:
        undone = turn in self._log.turns[self._log.position :]
        return UndoPoint(turn.number, turn.title, turn.time, paths_of_files(turn.changes), turn.ran_commands, undone)

    def _before(self, paths: Collection[str] | None, should_stop: Callable[[], bool]) -> None:
        if self._crashed:
            self._after()
        if self._turn is None or self._log.position < len(self._log.turns):
            self.begin_turn("")
        opened = self._turn.open if self._turn is not None else None
        if paths is None:
            if opened is None or not opened.tree:
                self._prime()
                self._tree = self._reader.whole(self._reader.known, should_stop)
                name = self._log.stored_tree(self._tree)
                self._log.record(ChangeBegan(name, {}), durable=True)
            return
        wanted = {path for path in _with_folders(paths) if opened is None or path not in opened.paths}
        if opened is not None and self._tree is not None:
            wanted = {path for path in wanted if self._tree.ignores(path) and path not in self._tree.entries}
        if wanted or opened is None:
            found = self._reader.at(sorted(wanted), should_stop)
            self._log.record(ChangeBegan("", found), durable=True)

    def _after(self) -> bool:
        turn = self._turn
        if turn is None or turn.open is None:
            return False
        unsure = AUTHOR_UNKNOWN if self._crashed else ""
        listed = turn.open.paths
        if turn.open.tree:
            self._prime()
            before = self._tree or self._log.load_tree(turn.open.tree)
            after = self._reader.whole({*before.entries, *listed})
            found = difference(before, after, unsure)
            now: Mapping[str, PathState | None] = {path: after.entries.get(path) for path in listed}
            changes = {path: change for path, change in found.changes.items() if path not in listed}
            left = tuple(path for path in found.left if path not in listed)
            found = TreeDifference({**changes, **listed_difference(listed, now, unsure).changes}, left)
        else:
            found = listed_difference(listed, self._reader.at(sorted(listed)), unsure)
        self._log.record(ChangeEnded(self._log.stored(found)))
        self._crashed, self._tree = False, None
        return not all(map(is_generated, paths_of_files(found.changes)))

    def _prime(self) -> None:
        """Load what an earlier process knew of the files, so that only changed ones are read again."""
        if not self._primed:
            self._reader.known = {**self._log.load_tree(self._log.tree).entries, **self._reader.known}
            self._primed = True

    def _planned(self, kind: UndoKind, position: int) -> UndoPlan:
        """Return a plan after which this many turns are not undone."""
        self.after_change()
        turns = self._log.turns[min(position, self._log.position) : max(position, self._log.position)]
        changes = joined(turn.changes for turn in turns)
        now = self._at(changes)
        files, conflicts, uncovered = sorted_out(changes, now, kind)
        planned = {*uncovered, *(file.path for file in (*files, *conflicts))}
        unchanged = {path: entry for path, entry in now.items() if path not in planned}
        points = map(self._point, turns if kind is UndoKind.REDO else reversed(turns))
        return UndoPlan(
            kind, tuple(points), files, conflicts, uncovered, notes(turns), self._log.events, position, unchanged
        )

    def _at(self, paths: Iterable[str]) -> Mapping[str, PathState | None]:
        """Return what is at these paths now, its contents stored, so that nothing is lost that an undo replaces."""
        with _checkpointing():
            return self._reader.at(sorted(paths))

    def _begin(self, plan: UndoPlan, steps: Iterable[RestoreStep], overwritten: Iterable[PlannedFile]) -> None:
        """Log an undo that begins. Its reverse brings back what it takes away, and nothing else."""
        numbers = [point.number for point in plan.points]
        turns = [turn for number in numbers for turn in self._log.turns if turn.number == number]
        now = {**plan.unchanged, **{file.path: file.now for file in overwritten}}
        replaced = {
            path: (next(turn.number for turn in turns if path in turn.changes), entry) for path, entry in now.items()
        }
        began = UndoBegan(plan.kind, tuple(numbers), plan.position, self._log.stored(Steps(tuple(steps))), replaced)
        self._log.record(began, durable=True)


@contextmanager
def _checkpointing(failed: str = _NO_CHECKPOINT) -> Iterator[None]:
    """Raise CheckpointError where something cannot be read or stored.

    Args:
        failed: What to say then, in front of the reason.
    """
    try:
        yield
    except StoppedError as error:
        raise CheckpointError("the checkpoint was stopped, so nothing was changed") from error
    except StoreError as error:
        raise CheckpointError(f"{failed}: {error}; make room there, then try again") from error
    except OSError as error:
        raise CheckpointError(f"{failed}: {reason(error)}; start again there") from error


def _with_folders(paths: Iterable[str]) -> set[str]:
    """Return the paths, and all folders on the way to them, which may be created with them."""
    parts = (path.split("/") for path in paths)
    return {"/".join(each[: depth + 1]) for each in parts for depth in range(len(each))}
