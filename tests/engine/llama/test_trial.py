"""A file of another architecture is opened by a child process first; a crash of it becomes an error message."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.errors import ModelFileError
from laguna_engine.llama import trial
from laguna_engine.llama.model import Model
from laguna_engine.native import child
from laguna_engine.native.verdicts import Verdicts
from tests.engine import generic

SEGFAULT = "import ctypes; ctypes.string_at(0)"
ABORT = "import os; os.write(2, b'/x/vendor/llama.cpp/src/a.cpp:7: GGML_ASSERT(b) failed'); os.abort()"
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
SLOW = "import time; time.sleep(60)"
REFUSED = "print('file.gguf: it is odd; choose another'); raise SystemExit(3)"


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """A process without any verdicts."""
    fresh = Verdicts()
    monkeypatch.setattr(trial, "verdicts", fresh)
    return fresh


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch, verdicts: Verdicts) -> Callable[[str], list[str]]:
    """Replaces the trial by another program, and lists the files tried with it."""

    def replaced(program: str) -> list[str]:
        asked: list[str] = []

        def command(module: str, path: str, **_: object) -> tuple[str, ...]:
            assert module == trial.TRIAL
            asked.append(path)
            return (sys.executable, "-c", program)

        monkeypatch.setattr(child, "python_command", command)
        return asked

    return replaced


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return generic.model("llama").write(tmp_path / "file.gguf")


def test_a_whole_file_opens_and_is_remembered(path: Path, verdicts: Verdicts, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model.open(path)
    assert (model.n_layer, model.warnings) == (generic.LAYERS, ())
    model.close()
    monkeypatch.setattr(child, "run", lambda *_: pytest.fail("it was tried before"))
    Model.open(path).close()


@pytest.mark.parametrize(
    ("program", "why"), [(SEGFAULT, "SIGSEGV"), (ABORT, r"SIGABRT, src/a.cpp:7: GGML_ASSERT\(b\) failed")]
)
def test_a_file_that_kills_the_child_is_refused_each_time_and_tried_once(
    path: Path, trials: Callable[[str], list[str]], program: str, why: str
) -> None:
    tried = trials(program)
    for _ in range(2):
        with pytest.raises(ModelFileError, match=rf"file\.gguf: llama\.cpp crashes on it \({why}\); download it again"):
            Model.open(path)
    assert tried == [str(path)]


def test_a_real_crash_is_found(tmp_path: Path, verdicts: Verdicts, monkeypatch: pytest.MonkeyPatch) -> None:
    """phi3 without one of its matrices, as if the header check did not cover phi3."""
    file = generic.model("phi3").remove("blk.0.attn_qkv.weight")
    path = file.write(tmp_path / "file.gguf")
    program = (
        "import sys; from laguna_engine.gguf import target_check; from laguna_engine.llama import trial_child;"
        " from pathlib import Path; target_check.check = lambda *_: None; sys.exit(trial_child.main(Path(sys.argv[1])))"
    )
    folder = Path(child.FOLDER).parent
    command = (sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {program}", str(path))
    monkeypatch.setattr(child, "python_command", lambda *_, **__: command)
    with pytest.raises(ModelFileError) as error:
        trial.check((path,), lambda: True)
    assert str(error.value) == (
        f"{path}: llama.cpp crashes on it (SIGSEGV); download it again, or choose another model"
    )


def test_another_file_in_its_place_is_tried_again(path: Path, trials: Callable[[str], list[str]]) -> None:
    tried = trials("")
    Model.open(path).close()
    other = generic.model("llama", seed=2).write(path.with_name("other.gguf"))
    other.replace(path)
    Model.open(path).close()
    assert len(tried) == 2


def test_one_that_takes_too_long_is_opened_with_a_warning_and_not_waited_for_again(
    path: Path, trials: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = trials(SLOW)
    monkeypatch.setattr(trial, "LIMIT_S", 0.5)
    model = Model.open(path)
    assert "file.gguf was not fully tested" in model.warnings[0]
    model.close()
    model = Model.open(path)
    assert model.warnings == ()
    model.close()
    assert len(tried) == 1


@pytest.mark.parametrize("program", [KILLED, None], ids=["killed from outside", "not started"])
def test_a_trial_that_says_nothing_about_the_file_is_a_warning_and_is_repeated(
    path: Path, trials: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    tried = trials(program or "")
    if program is None:
        monkeypatch.setattr(child, "run", lambda *_: child.MISSING)
    for _ in range(2):
        model = Model.open(path)
        assert "could not be tested in a separate process" in model.warnings[0]
        model.close()
    assert len(tried) == 2


def test_the_warning_reaches_the_user(path: Path, trials: Callable[[str], list[str]]) -> None:
    trials(KILLED)
    with Engine.open(EngineOptions(path, n_ctx=256, threads=1)) as engine:
        assert any("could not be tested" in warning for warning in engine.info.warnings)


def test_what_the_child_refuses_is_refused_with_its_reason(path: Path, trials: Callable[[str], list[str]]) -> None:
    trials(REFUSED)
    with pytest.raises(ModelFileError, match=r"^file\.gguf: it is odd; choose another$"):
        Model.open(path)


def test_the_trial_can_be_given_up(path: Path, trials: Callable[[str], list[str]]) -> None:
    trials(SLOW)
    with pytest.raises(ModelFileError) as error:
        Model.open(path, progress=lambda _: False)
    assert str(error.value) == f"{path}: loading was cancelled; open it again when wanted"

    def interrupted(_fraction: float) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Model.open(path, progress=interrupted)


def test_a_laguna_is_not_tried(tiny_model_path: Path, trials: Callable[[str], list[str]]) -> None:
    tried = trials(SEGFAULT)
    Model.open(tiny_model_path).close()
    assert tried == []


def test_a_refused_file_leaves_nothing_behind(path: Path, trials: Callable[[str], list[str]]) -> None:
    trials(SEGFAULT)
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("open files are counted as Linux shows them")

    def failed() -> tuple[int, int]:
        with pytest.raises(ModelFileError):
            Engine.open(EngineOptions(path, n_ctx=256, threads=1))
        return threading.active_count(), len(list(descriptors.iterdir()))

    first = failed()
    assert [failed() for _ in range(5)] == [first] * 5


def test_the_childs_memory_is_limited(path: Path) -> None:
    program = "from laguna_engine.native.child import confine; confine(256 << 20, 30); bytearray(1 << 30)"
    command = (sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(child.FOLDER).parent)!r}); {program}")
    ended = child.run(command)
    assert ended.code == 1
    assert "MemoryError" in ended.errors


def test_a_child_ends_by_itself_when_its_time_is_over() -> None:
    program = "from laguna_engine.native.child import confine; confine(1 << 30, 1); import time; time.sleep(60)"
    command = (sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(child.FOLDER).parent)!r}); {program}")
    assert child.run(command, 30).signal == "SIGALRM"
