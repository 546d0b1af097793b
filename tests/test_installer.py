"""`install.sh`: checked against its list, one sentence where it cannot go on, nothing left behind.

The list and the wheels are of a project that weighs nothing; a whole release is installed by `tests/install`.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.machine.setup_gpu.fake_builds import wheel
from tests.test_manual import TOP, script

SCRIPT = TOP / "packaging/install.sh"
installer = script(TOP / "packaging/installer.py")
PROGRAMS = "sh uname mkdir rm cp ln cat cut date dirname readlink mktemp sha256sum".split()
LIBC = ".".join(platform.libc_ver()[1].split(".")[:2]) or "2.17"
HERE = f"manylinux_{LIBC.replace('.', '_')}_{platform.machine()}"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its folder of programs has those of Linux")


class Release:
    """A release of a program that says its version, and a home folder to install it into."""

    def __init__(self, folder: Path, *, llama: str = HERE, compiler: bool = False) -> None:
        self.dist, self.home, self.bin = folder / "dist", folder / "home", folder / "bin"
        for made in (self.dist / "wheels", self.home, self.bin):
            made.mkdir(parents=True)
        (self.bin / "python3").symlink_to(Path(sys.executable).resolve())
        for name in PROGRAMS:
            (self.bin / name).symlink_to(str(shutil.which(name)))
        if compiler:
            (self.bin / "c++").symlink_to("/bin/true")
        program = wheel(self.dist, "pass", name="laguna_tui", package="laguna_tui", version="1.0")
        made = wheel(self.dist / "wheels", "pass")
        if llama:
            made.rename(made.with_name(made.name.replace("any", llama)))
        else:
            made.unlink()
        shutil.copy(program, self.dist / "wheels")
        self.list = self.dist / "requirements.txt"
        llamas = sorted((self.dist / "wheels").glob("llama_cpp_python-*.whl"))
        self.list.write_text(installer.package_list(LOCKED, program, llamas), encoding="utf-8")

    def install(self, *options: str, folder: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script, filled in for this release. folder: the current one."""
        text = SCRIPT.read_text(encoding="utf-8").replace("@VERSION@", "1.0")
        filled = self.dist / "install.sh"
        filled.write_text(text.replace("@LIST_SHA256@", self.digest), encoding="utf-8")
        own = {"HOME": str(self.home), "PATH": str(self.bin), "PIP_CONFIG_FILE": os.devnull}
        command = ["sh", str(filled), *options]
        return subprocess.run(command, cwd=folder, env=variables | own, capture_output=True, text=True, check=False)

    @property
    def digest(self) -> str:
        return installer._sha256(self.list)


def left(folder: Path) -> list[Path]:
    """The files and links below a folder."""
    return [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]


def hostile_folder(parent: Path) -> tuple[Path, Path]:
    """A folder with a module of every name that is imported anywhere, and where each that runs leaves its name."""
    folder, marks = parent / "hostile", parent / "marks"
    folder.mkdir()
    marks.mkdir()
    for name in {*sys.stdlib_module_names, "pip", "build", "sitecustomize", "usercustomize"} - {"__main__"}:
        (folder / f"{name}.py").write_text(f"open({str(marks)!r} + '/' + __name__, 'w').close()\n")
    return folder, marks


LOCKED = f"llama-cpp-python==0.3.36 \\\n    --hash=sha256:{'0' * 64}\n"


def test_shellcheck_finds_nothing():
    program = Path(sys.executable).with_name("shellcheck")
    run = subprocess.run([program, SCRIPT], capture_output=True, text=True, check=False)
    assert run.stdout == ""
    assert run.returncode == 0


def test_the_steps_are_shown_and_with_dry_run_nothing_is_done(tmp_path: Path):
    release = Release(tmp_path)
    run = release.install("--dry-run")
    assert run.returncode == 0, run.stderr
    assert "-m venv" in run.stdout
    assert "--require-hashes" in run.stdout
    assert list(release.home.iterdir()) == []


def test_a_program_that_does_not_start_is_not_linked_and_leaves_nothing_behind(tmp_path: Path):
    release = Release(tmp_path)
    run = release.install()
    assert run.returncode == 1
    assert "does not start; nothing was changed" in run.stderr
    assert left(release.home) == []


@pytest.mark.parametrize("variables", [{}, {"PYTHONPATH": ":"}, {"PYTHONPATH": "."}], ids=str)
def test_nothing_of_the_current_folder_is_run(tmp_path: Path, variables: dict[str, str]):
    release, (folder, marks) = Release(tmp_path), hostile_folder(tmp_path)
    run = release.install(folder=folder, **variables)
    # It has come to the last step.
    assert "the installed program does not start" in run.stderr
    assert list(marks.iterdir()) == []
    assert not list(folder.rglob("__pycache__"))


def test_what_is_not_the_released_list_is_refused(tmp_path: Path):
    release = Release(tmp_path)
    release.install("--dry-run")
    filled = release.dist / "install.sh"
    release.list.write_text(release.list.read_text() + "evil==1.0\n")
    environment = {"HOME": str(release.home), "PATH": str(release.bin)}
    run = subprocess.run(["sh", filled], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "do not use it" in run.stderr
    assert list(release.home.iterdir()) == []


def test_a_wheel_that_is_not_the_listed_one_is_refused(tmp_path: Path):
    release = Release(tmp_path)
    (fitting,) = (release.dist / "wheels").glob("llama_cpp_python-*.whl")
    wheel(release.dist / "wheels", "print('evil')").rename(fitting)
    run = release.install()
    assert run.returncode == 1
    assert "DO NOT MATCH THE HASHES" in run.stderr
    assert left(release.home) == []


@pytest.mark.parametrize("llama", ["", "manylinux_2_999_" + platform.machine(), "manylinux_2_17_vax"])
def test_without_a_wheel_and_a_compiler_it_is_one_sentence_before_pip_starts(llama: str, tmp_path: Path):
    run = Release(tmp_path, llama=llama).install()
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1
    assert "no prebuilt llama.cpp" in run.stderr
    assert "install gcc and g++" in run.stderr
    assert run.stdout == ""


def test_with_a_compiler_it_goes_on(tmp_path: Path):
    assert Release(tmp_path, llama="", compiler=True).install("--dry-run").returncode == 0


def test_uninstalling_takes_out_what_was_installed_and_nothing_else(tmp_path: Path):
    release = Release(tmp_path)
    application = release.home / ".local/share/laguna-tui/app/1.0-1/bin/laguna-tui"
    session = release.home / ".local/share/laguna-tui/sessions/one"
    link = release.home / ".local/bin/laguna-tui"
    for path in (application, session):
        path.parent.mkdir(parents=True)
        path.touch()
    link.parent.mkdir(parents=True)
    link.symlink_to(application)
    run = release.install("--uninstall")
    assert run.returncode == 0, run.stderr
    assert left(release.home) == [session]
    assert "was not installed by this script" in release.install("--uninstall").stderr


def test_another_program_of_that_name_is_not_uninstalled(tmp_path: Path):
    release = Release(tmp_path)
    link = release.home / ".local/bin/laguna-tui"
    link.parent.mkdir(parents=True)
    link.symlink_to("/somewhere/else")
    (release.home / ".local/share/laguna-tui/app").mkdir(parents=True)
    release.install("--uninstall")
    assert link.is_symlink()


def test_a_mistake_is_one_sentence(tmp_path: Path):
    run = Release(tmp_path).install("--frm")
    assert run.returncode == 1
    assert run.stderr.startswith("install.sh: --frm: it must be one of")


def test_the_source_of_it_does_not_install(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    run = subprocess.run(["sh", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr == "install.sh: this is the template of a release's install.sh; use the one of a release\n"


def test_the_list_has_the_hash_of_every_wheel_of_ours(tmp_path: Path):
    release = Release(tmp_path)
    text = release.list.read_text(encoding="utf-8")
    for path in (release.dist / "wheels").glob("*.whl"):
        assert text.count(f"--hash=sha256:{installer._sha256(path)}") == 1
    assert text.startswith(f"# llama-cpp-python: Linux {platform.machine()} {LIBC}\n")


@pytest.mark.parametrize("python", installer.PYTHONS)
def test_the_bundle_has_what_each_python_needs_whichever_makes_it(python: str):
    packages = installer.needed(installer._requirements(), python)
    names = re.findall(r"^([\w.-]+)==", packages, re.MULTILINE)
    assert {"numpy", "textual", "llama-cpp-python"} <= set(names)
    assert len(names) == len(set(names))
    assert " ; " not in packages
    assert packages.count("--hash=sha256:") > len(names)


def test_what_an_older_python_needs_is_not_in_the_bundle_for_a_newer_one():
    old, new = (f"numpy=={version} ; {{}} \\\n    --hash=sha256:{version[-1] * 64}\n" for version in ("2.4.6", "2.5.5"))
    listed = "# heads\n" + old.format("python_full_version == '3.11.*'") + new.format("python_full_version >= '3.12'")
    assert installer.needed(listed, "3.11") == f"numpy==2.4.6 \\\n    --hash=sha256:{'6' * 64}\n"
    assert installer.needed(listed, "3.13") == f"numpy==2.5.5 \\\n    --hash=sha256:{'5' * 64}\n"
