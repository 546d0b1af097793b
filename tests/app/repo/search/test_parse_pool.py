"""Worker processes as the app really starts them: behind a screen, where none can be started, and where they die."""

import sys

import msgspec
import pytest

from laguna_engine.native import child
from laguna_engine.native.child import Worker
from laguna_tui.base.errors import UserError
from laguna_tui.repo.search import parse_pool
from laguna_tui.repo.search.file_parsing import ParseTask
from laguna_tui.repo.search.parse_pool import NO_WORKERS, parse_all


class Screen:
    """Stands in for stderr as a screen does, whose number is -1."""

    def fileno(self):
        return -1

    def write(self, text):
        pass

    def flush(self):
        pass


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "code"
    root.mkdir()
    for name in "abcdef":
        (root / f"{name}.py").write_text(f"def {name}():\n    return 1\n")
    return root


def parse(root, workers=1, should_stop=lambda: False):
    tasks = [ParseTask(path.name, size=path.stat().st_size) for path in sorted(root.iterdir())]
    return sorted(parse_all(root, tasks, should_stop, workers), key=lambda outcome: outcome.task.path)


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    """Workers that die of files whose name begins with "killer"."""
    (tmp_path / "deadly.py").write_text(
        "import os, msgspec\n"
        "from laguna_engine.native.child import serve\n"
        "import laguna_tui.repo.search.parse_pool as pool\n"
        "def parse(request):\n"
        "    if any(task[0].startswith(b'killer') for task in msgspec.msgpack.decode(request)[1]):\n"
        "        os._exit(9)\n"
        "    return pool._parse_watched(request)\n"
        "serve(parse)\n"
    )
    folders = child._own_folders()
    monkeypatch.setattr(child, "_own_folders", lambda: [str(tmp_path), *folders])
    monkeypatch.setattr(parse_pool, "_WORKER", "deadly")


def test_what_workers_find_is_what_is_found_here(folder):
    here, there = parse(folder, workers=0), parse(folder, workers=2)
    assert there == here
    assert [outcome.parsed.syntax.symbols[0].name for outcome in there] == list("abcdef")


def test_workers_start_behind_a_screen_that_stands_in_for_stderr(folder, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen())
    assert [outcome.refused for outcome in parse(folder)] == [False] * 6


def test_no_file_is_blamed_when_no_worker_can_be_started(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-such-python"))
    with pytest.raises(UserError, match=r"ulimit -u") as raised:
        parse(folder)
    assert str(raised.value) == NO_WORKERS


def test_no_file_is_blamed_when_every_worker_dies_at_once(folder, monkeypatch):
    monkeypatch.setattr(parse_pool, "_WORKER", "no_such_module")
    with pytest.raises(UserError, match=r"ulimit -u"):
        parse(folder)


def test_a_file_that_ends_its_worker_costs_only_itself(folder, deadly):
    for name in ("killer_1.py", "killer_2.py"):
        (folder / name).write_text("x = 1\n")
    outcomes = parse(folder, workers=2)
    assert [outcome.task.path for outcome in outcomes if outcome.refused] == ["killer_1.py", "killer_2.py"]
    assert [outcome.task.path for outcome in outcomes if not outcome.refused] == [f"{name}.py" for name in "abcdef"]


def test_an_answer_of_other_types_is_no_answer(folder):
    encode = msgspec.msgpack.encode
    (parsed,) = (outcome.parsed for outcome in parse(folder, workers=0)[:1])
    assert parse_pool._results(encode([parsed, None])) == [parsed, None]
    for answer in (b"no answer", encode("no list"), encode([["no size"]]), encode([parsed._replace(syntax=[1])])):
        assert parse_pool._results(answer) is None


def test_no_worker_is_left_when_the_user_stops(folder, monkeypatch):
    started = []

    class Recorded(Worker):
        def __init__(self, name):
            super().__init__(name)
            started.append(self)

    monkeypatch.setattr(parse_pool, "Worker", Recorded)
    tasks = [ParseTask(path.name, size=path.stat().st_size) for path in sorted(folder.iterdir())]
    outcomes = parse_all(folder, tasks, lambda: False, workers=2)
    next(outcomes)
    outcomes.close()
    assert started
    assert all(worker.process.poll() is not None for worker in started)
