"""What changes between the question and the answer, and what git would run when the app itself asks it."""

import itertools
import os
import subprocess

import pytest

from laguna_tui.base.permission_request import Decision, Mode, PermissionAnswer
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.sensitive_paths import sensitive_reason
from laguna_tui.repo.git import git_objects, git_programs, repository
from laguna_tui.repo.git.git_commit import pending_changes, recent_subjects
from laguna_tui.undo.undo import UndoHistory
from tests.hostile.case import Case, obedient, tried
from tests.hostile.file_cases import read, write
from tests.hostile.test_hostile_repositories import entered
from tests.hostile.world import World
from tests.scripted_model import call


def _folder_becomes_a_link(world: World) -> None:
    (world.folder / "data").rename(world.folder / "before")
    world.link("data", world.outside)


def _file_becomes_a_link(world: World) -> None:
    (world.folder / "data/a.txt").unlink()
    world.link("data/a.txt", world.home / ".bashrc")


def _file_becomes_a_pipe(world: World) -> None:
    (world.folder / "data/a.txt").unlink()
    os.mkfifo(world.folder / "data/a.txt")


def _the_folder_itself_is_another(world: World) -> None:
    world.folder.rename(world.base / "before")
    world.folder.symlink_to(world.outside)


SWAPS = (_folder_becomes_a_link, _file_becomes_a_link, _file_becomes_a_pipe, _the_folder_itself_is_another)
CHANGES = {
    "write": ([read("data/a.txt")], [write("data/a.txt")]),
    "create": ([write("data/new.txt")],),
    "edit": ([call("edit", path="data/a.txt", old="mine", new="owned")],),
    "move": ([call("move", path="data/a.txt", new_path="data/b.txt")],),
    "move away": ([call("move", path="b.txt", new_path="data/mine.txt")],),
    "delete": ([call("delete", path="data/a.txt")],),
}


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__.strip("_"))
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sampled(3)
def test_what_is_swapped_behind_an_approval_leads_nowhere(change, swap, monkeypatch):
    case = Case(
        "swap", CHANGES[change], lambda world: (world.plant("data/a.txt", "mine\n"), world.plant("b.txt", "b\n"))
    )
    with entered(case, monkeypatch) as world, obedient(world, case) as model:
        world.plant_in(world.outside, "a.txt", "mine\n")
        outside = world.harm("", inside=False)
        assert [each.rpartition("/")[2] for each in outside] == ["a.txt"]

        def agrees(request, cancelled):
            swap(world)
            return PermissionAnswer(Decision.YES)

        model.session.permissions.use_approver(agrees)
        assert len(tried(model.obey(Mode.ASK))) > 1
        assert os.path.lexists(world.folder / "data") or swap is _the_folder_itself_is_another
        assert [
            each for each in world.harm("", inside=False) if "/before" not in each and str(world.folder) not in each
        ] == outside
        assert (world.outside / "a.txt").read_text() == "mine\n"


RUN = "./run.sh"
PROGRAMS = {
    "the monitor": (f"[core]\n\tfsmonitor = {RUN}\n", "status"),
    "a filter": (f'[filter "x"]\n\tclean = {RUN}\n\tsmudge = {RUN}\n', "status"),
    "a filter's process": (f'[filter "x"]\n\tprocess = {RUN}\n\trequired = true\n', "status"),
    "a text conversion": (f'[diff "x"]\n\ttextconv = {RUN}\n', "diff"),
    "an external diff": (f"[diff]\n\texternal = {RUN}\n", "diff"),
    "a driver's command": (f'[diff "x"]\n\tcommand = {RUN}\n', "diff"),
    "a hook of the index": ("[core]\n\thooksPath = hooks\n", "status"),
    "an alias": (f"[alias]\n\tst = !{RUN}\n", "st"),
    "an included file": ("[include]\n\tpath = ../more\n", "status"),
    "a signature's program": (f"[gpg]\n\tprogram = {RUN}\n[log]\n\tshowSignature = true\n", "log"),
}


@pytest.fixture(params=PROGRAMS)
def hostile(request, monkeypatch):
    """A repository in which a plain git runs a program; and that git."""
    config, asked = PROGRAMS[request.param]
    case = Case("git", [[read("a.txt")]])
    with entered(case, monkeypatch) as world:

        def plain(*command: str) -> None:
            subprocess.run(["git", *command], cwd=world.folder, check=False, capture_output=True, timeout=20)

        script = f"#!/bin/sh\necho ran >> {world.outside}/owned\ncat 2>/dev/null || true\n"
        for path in ("run.sh", "hooks/post-index-change"):
            world.plant(path, script).chmod(0o755)
        world.plant("a.txt", "a\n")
        same = world.plant("same", "a\n")
        plain("add", "a.txt", "same")
        plain("commit", "-qm", "first")
        if "signature" in request.param:
            head = subprocess.run(
                ["git", "cat-file", "commit", "HEAD"], cwd=world.folder, capture_output=True, check=True
            ).stdout
            signed = head.replace(
                b"\n\n", b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
            )
            name = (
                subprocess.run(
                    ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
                    cwd=world.folder,
                    input=signed,
                    capture_output=True,
                    check=True,
                )
                .stdout.decode()
                .strip()
            )
            plain("update-ref", "HEAD", name)
        world.plant(".gitattributes", "*.txt filter=x diff=x\n")
        world.plant("more", f"[core]\n\tfsmonitor = {RUN}\n")
        world.plant("a.txt", "b\n")
        world.git_config(config)

        def ran() -> bool:
            found = (world.outside / "owned").exists()
            (world.outside / "owned").unlink(missing_ok=True)
            return found

        times = itertools.count(1)

        def ask() -> None:
            # A file with another time and the same contents makes a status write the index.
            os.utime(same, (next(times),) * 2)
            plain(*(asked.split()))

        yield world, case, ran, ask


def test_no_program_of_the_repository_runs_when_the_app_asks_git(hostile):
    world, case, ran, plain = hostile
    assert not ran()
    plain()
    assert ran(), "not proven: a plain git runs nothing"
    world.plant("a.txt", "c\n")
    repository.state(world.folder)
    repository.list_files(world.folder)
    git_programs.configured_paths(world.folder)
    for ask in (
        git_objects.head_entries,
        git_objects.index_entries,
        git_objects.ignored_files,
        git_objects.converted_files,
    ):
        ask(world.folder, ["a.txt", "run.sh"])
    pending_changes(world.folder, sensitive_reason)
    recent_subjects(world.folder)
    undo = UndoHistory(world.folder, world.app / "undo")
    undo.begin_turn("a")
    undo.before_change()
    undo.after_change()
    codebase = Codebase(world.folder)
    codebase.start()
    codebase.wait(20)
    codebase.close()
    with obedient(world, case) as model:
        model.obey(Mode.ASK)
    assert not ran()
    plain()
    assert ran(), "it was disarmed meanwhile"
