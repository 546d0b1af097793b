"""`laguna-tui setup gpu` as it is typed, on a machine with an RTX 3090, a CPU build and an index on loopback."""

import io
import os
import signal

import pytest
from filelock import FileLock

from laguna_tui.base.paths import state_dir
from laguna_tui.cli.main import main
from laguna_tui.machine.setup_gpu.pip import Pip, PythonEnvironment
from laguna_tui.machine.setup_gpu.rollback import Rollback
from laguna_tui.machine.setup_gpu.trial import Trial
from tests.app.machine.doctor.simulated import RTX_3090, Simulated, answer, loads, nvidia
from tests.app.machine.setup_gpu import fake_builds

HAS_CUDA = {"ldconfig -p": "libcudart.so.12 => /x\nlibcublas.so.12 => /x"}


@pytest.fixture
def machine(monkeypatch, place):
    """The machine that the command finds; its environment is that of `place`."""
    simulated = Simulated({**nvidia(RTX_3090), **HAS_CUDA})
    environment = PythonEnvironment.of(place.python)
    monkeypatch.setenv("XDG_STATE_HOME", str(place.folder / "state"))
    monkeypatch.setattr("laguna_tui.cli.setup.Host", lambda: simulated)
    monkeypatch.setattr(PythonEnvironment, "of", classmethod(lambda cls: environment))
    monkeypatch.setattr("laguna_tui.cli.setup.try_nano", fake_builds.try_build)
    return simulated


class Person(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def setup(machine, index, capsys):
    """Types the command; returns the exit code, what was said and what was complained about."""

    def type_it(*arguments):
        code = main(["setup", "gpu", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return type_it


def test_a_working_build_is_installed_and_can_be_rolled_back(place, index, setup):
    before = fake_builds.listing(place.site)
    index.offer("whl/cu124", fake_builds.wheel(place.folder / "new", fake_builds.GPU))
    code, said, _ = setup("--yes", "--index-url", f"{index.address}/whl")
    assert code == 0
    assert fake_builds.says(place.python) == fake_builds.GPU
    assert "-m pip download" in said
    assert "llama-cpp-python==0.3.36" in said
    assert "sha256 " in said
    assert "Done. llama.cpp computes on Some Card; the bundled model generated 16 tokens in 0.5 s." in said
    code, said, _ = setup("--rollback", "--yes")
    assert code == 0
    folder = place.site / ".laguna-tui-previous-1"
    assert f"This uninstalls the cu124 build and restores llama_cpp_python-0.3.36 from {folder}:\n" in said
    assert said.splitlines()[1].endswith(
        "-m pip uninstall --disable-pip-version-check --no-input --yes llama-cpp-python"
    )
    assert fake_builds.says(place.python) == fake_builds.CPU
    assert fake_builds.listing(place.site) == before
    assert setup("--rollback", "--yes")[0] == 2


def test_indexes_without_the_version_give_way_to_the_next_and_sources_are_no_substitute(place, machine, index, setup):
    machine.commands.update(nvidia(RTX_3090, header="CUDA Version: 12.1"))
    source = b'<a href="llama_cpp_python-0.3.36.tar.gz">llama_cpp_python-0.3.36.tar.gz</a>'
    index.pages["/cu121/llama-cpp-python/"] = source
    index.offer("cu118", fake_builds.wheel(place.folder / "older", fake_builds.GPU, version="0.3.1"))
    code, said, complaint = setup("--yes", "--index-url", index.address)
    assert code == 1
    assert "If its index does not have this version, the next is tried: cu118." in said
    for name in ("cu121", "cu118"):
        assert f"{name} has no wheel of llama-cpp-python==0.3.36 for this machine." in said
    assert complaint.endswith("build it here instead: laguna-tui setup gpu --source\n")
    assert fake_builds.says(place.python) == fake_builds.CPU


def test_a_closed_terminal_puts_everything_back(place, setup, monkeypatch):
    def attempt(python, beside):
        if beside is None:
            assert fake_builds.says(python) == fake_builds.GPU
            os.kill(os.getpid(), signal.SIGHUP)
        return Trial(("Some Card",), 16, 0.5)

    monkeypatch.setattr("laguna_tui.cli.setup.try_nano", attempt)
    monkeypatch.setattr(Pip, "fetch", lambda pip, *_: fake_builds.wheel(pip.wheels, fake_builds.GPU))
    with pytest.raises(SystemExit) as end:
        setup("--yes")
    assert end.value.code == 128 + signal.SIGHUP
    assert fake_builds.says(place.python) == fake_builds.CPU
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_it_shows_what_will_run_and_does_nothing_without_a_yes(place, index, setup, monkeypatch):
    screen = Person()
    monkeypatch.setattr("sys.stdin", Person("n\n"))
    monkeypatch.setattr("sys.stderr", screen)
    code, said, _ = setup("--index-url", f"http://me:secret@{index.address.removeprefix('http://')}")
    assert code == 1
    assert "NVIDIA GeForce RTX 3090, driver 550.54.14: the build for CUDA 12.4 (cu124)." in said
    assert f"--index-url {index.address}/cu124 llama-cpp-python==0.3.36" in said
    assert "--only-binary=:all:" in said
    assert "secret" not in said
    assert "Continue? [y/N] " in screen.getvalue()
    assert said.endswith("Nothing was changed.\n")
    assert index.asked == []


def test_the_runtime_that_is_missing_is_part_of_what_is_shown(machine, setup, monkeypatch):
    machine.commands["ldconfig -p"] = ""
    monkeypatch.setattr("sys.stdin", Person("\n"))
    monkeypatch.setattr("sys.stderr", Person())
    assert "'nvidia-cuda-runtime-cu12==12.4.*' 'nvidia-cublas-cu12==12.4.*'" in setup()[1]


def test_without_anybody_to_ask_it_wants_yes(index, setup, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, _, complaint = setup("--index-url", index.address)
    assert code == 2
    assert "--yes" in complaint
    assert index.asked == []


def test_where_the_card_is_used_already_there_is_nothing_to_do(machine, setup, index):
    machine.commands.update(loads(answer((("NVIDIA GeForce RTX 3090", "gpu"),), ("CUDA", "CPU"))))
    code, said, _ = setup("--yes", "--index-url", index.address)
    assert code == 0
    assert "already computes on NVIDIA GeForce RTX 3090" in said
    assert index.asked == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rollback", "--yes"), "there is nothing to roll back"),
        (("--tag", "cu999"), "it must be one of sm75, sm86, sm89, sm120, cu132"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(setup, arguments, words):
    code, _, complaint = setup(*arguments)
    assert code == 2
    assert words in complaint


def test_two_at_a_time_do_not_get_into_each_others_way(setup):
    rollback = Rollback(state_dir(), PythonEnvironment.of().prefix)
    rollback.folder.mkdir(parents=True)
    with FileLock(rollback.folder / "lock"):
        code, _, complaint = setup("--yes")
    assert code == 2
    assert "another laguna-tui setup is running" in complaint


def test_the_source_build_is_a_command_on_stdout_and_its_needs_on_stderr(setup):
    code, said, needs = setup("--source")
    assert code == 0
    assert said.startswith(
        "CMAKE_ARGS='-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=86' /app/bin/python -E -P -m pip install"
    )
    assert "CUDA toolkit" in needs
