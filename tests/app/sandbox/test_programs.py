"""What a command can run although it is in a folder that the sandbox replaces as a whole, such as /tmp."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from laguna_tui.sandbox.programs import readable_programs, why_unreadable
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from tests.app.sandbox.world import PYTHON, run_inside

SECRET = "the-secret-of-this-test"


@pytest.fixture
def shared(monkeypatch):
    """A folder of the user's below /tmp, and a PATH that names none."""
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    folder = Path(tempfile.mkdtemp(prefix="programs-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def program(path, code='cat "$(dirname "$0")/../lib/text"'):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return path


def text(path, contents):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(contents)


def output(status, folder, *words, **policy):
    return run_inside(status, words, folder, policy=SandboxPolicy(folder, **policy))[0]


def test_an_environment_that_the_app_runs_in_is_readable(repository, status, shared, monkeypatch):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", shared / "venv"], check=True)
    monkeypatch.setattr(sys, "prefix", str(shared / "venv"))
    code = "import sys, json; print(sys.prefix)"
    assert output(status, repository, str(shared / "venv/bin/python"), "-c", code) == f"{shared}/venv\n"


def test_programs_of_the_path_run_with_what_is_beside_them(repository, status, shared, monkeypatch):
    program(shared / "tools/bin/hello")
    text(shared / "tools/lib/text", "hello")
    text(shared / "tools/notes", SECRET)
    monkeypatch.setenv("PATH", f"{shared}/tools/bin", prepend=":")
    assert output(status, repository, "hello") == "hello"
    assert SECRET not in output(status, repository, "/bin/cat", str(shared / "tools/notes"))


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "JAVA_HOME", "GOROOT"])
def test_a_toolchain_is_readable_as_a_whole(repository, status, shared, monkeypatch, variable):
    text(shared / "toolchain/conf/settings", "hello")
    monkeypatch.setenv(variable, str(shared / "toolchain"))
    assert output(status, repository, "/bin/cat", f"{shared}/toolchain/conf/settings") == "hello"


def test_programs_cannot_be_changed(repository, status, shared, monkeypatch):
    program(shared / "bin/hello", "echo hello")
    monkeypatch.setenv("PATH", f"{shared}/bin", prepend=":")
    output(status, repository, "/bin/sh", "-c", f"echo changed > {shared}/bin/hello; rm {shared}/bin/hello")
    assert (shared / "bin/hello").read_text().endswith("echo hello\n")


def test_what_holds_secrets_beside_programs_stays_hidden(repository, status, shared, monkeypatch):
    program(shared / ".local/bin/hello", "echo hello")
    text(shared / ".local/share/keyrings/login", SECRET)
    text(shared / "cargo/credentials.toml", SECRET)
    monkeypatch.setenv("CARGO_HOME", str(shared / "cargo"))
    monkeypatch.setenv("PATH", f"{shared}/.local/bin", prepend=":")
    code = f"hello; cat {shared}/.local/share/keyrings/login {shared}/cargo/credentials.toml 2>&1"
    said = output(status, repository, "/bin/sh", "-c", code, homes=(shared,))
    assert said.startswith("hello\n")
    assert SECRET not in said


@pytest.mark.parametrize("name", ["bin", "credentials/bin"])
def test_a_program_in_a_hidden_folder_stays_hidden(repository, status, shared, monkeypatch, name):
    program(shared / "credentials/bin/hello", "echo hello")
    (shared / "bin").symlink_to("credentials/bin")
    monkeypatch.setenv("PATH", str(shared / name), prepend=":")
    assert "hello\n" not in output(status, repository, "/bin/sh", "-c", "hello", hidden=(shared / "credentials",))


def test_a_link_to_a_home_shows_nothing_hidden_at_another_place(repository, status, place, shared, monkeypatch):
    text(place / "home/.ssh/id", SECRET)
    program(place / "home/bin/hello", "echo hello")
    (shared / "home").symlink_to(place / "home")
    monkeypatch.setenv("JAVA_HOME", str(shared / "home"))
    said = output(status, repository, "/bin/sh", "-c", f"cat {shared}/home/.ssh/id; cat {place}/home/.ssh/id")
    assert SECRET not in said


def test_a_link_that_leads_out_of_such_a_folder_is_followed(repository, status, place, shared, monkeypatch):
    program(place / "version-1/bin/hello")
    text(place / "version-1/lib/text", "hello")
    (shared / "current").symlink_to(place / "version-1")
    monkeypatch.setenv("PATH", f"{shared}/current/bin", prepend=":")
    assert output(status, repository, "hello") == "hello"


def test_a_link_that_stays_in_such_a_folder_is_followed(repository, status, shared, monkeypatch):
    program(shared / "envs/version-1/bin/hello")
    text(shared / "envs/version-1/lib/text", "hello")
    (shared / "envs/current").symlink_to("version-1")
    monkeypatch.setenv("PATH", f"{shared}/envs/current/bin", prepend=":")
    monkeypatch.setenv("PYENV_ROOT", str(shared / "envs"))
    assert output(status, repository, "hello") == "hello"


def test_an_environment_in_the_workspace_can_be_changed(status, repository, shared, monkeypatch):
    folder = shared / "project"
    program(folder / ".venv/bin/hello", "echo hello")
    monkeypatch.setenv("VIRTUAL_ENV", str(folder / ".venv"))
    monkeypatch.setenv("PATH", f"{folder}/.venv/bin", prepend=":")
    code = "echo 'echo changed' > .venv/bin/hello; hello"
    assert output(status, folder, "/bin/sh", "-c", code) == "changed\n"


def test_a_workspace_in_an_environment_can_be_changed(status, repository, shared, monkeypatch):
    folder = shared / "env/src/project"
    folder.mkdir(parents=True)
    text(shared / "env/lib/text", "hello")
    monkeypatch.setenv("VIRTUAL_ENV", str(shared / "env"))
    assert output(status, folder, "/bin/sh", "-c", "cat ../../lib/text > a; cat a") == "hello"


def test_what_the_users_command_line_names_is_readable_and_nothing_else(repository, status, shared):
    program(shared / "server/main", 'cat "$(dirname "$0")/text" "$1"/*')
    text(shared / "server/text", "hello ")
    text(shared / "data/text", "world")
    text(shared / "other/text", SECRET)
    words = (f"{shared}/server/main", f"{shared}/data")
    assert output(status, repository, *words, programs=words) == "hello world"
    assert SECRET not in output(status, repository, "/bin/cat", f"{shared}/other/text", programs=words)
    assert "hello" not in output(status, repository, *words)


def test_a_program_that_is_linked_to_from_the_path_is_readable(repository, status, place, shared, monkeypatch):
    program(shared / "venvs/hello/bin/hello", "echo hello")
    (place / "bin").mkdir()
    (place / "bin/hello").symlink_to(shared / "venvs/hello/bin/hello")
    monkeypatch.setenv("PATH", f"{place}/bin", prepend=":")
    assert output(status, repository, "hello", programs=("hello",)) == "hello\n"


def test_a_file_directly_in_such_a_folder_is_readable_alone(shared, tmp_path):
    own = SandboxPolicy(tmp_path, programs=("cat", f"{shared}.txt"))
    Path(f"{shared}.txt").touch()
    try:
        assert [str(each.place) for each in readable_programs(own, {}, ()) if "programs-" in each.place.name] == [
            f"{shared}.txt"
        ]
    finally:
        Path(f"{shared}.txt").unlink()


def test_a_sentence_names_the_folder_that_hides_a_program(tmp_path):
    text(tmp_path / ".claude/local/server", "")
    policy = SandboxPolicy(tmp_path / "project", homes=(tmp_path,))
    assert why_unreadable(policy, ("node", "server", f"{tmp_path}/elsewhere")) == ""
    assert why_unreadable(policy, ("node", f"{tmp_path}/.claude/local/server")) == (
        f"commands cannot read {tmp_path}/.claude/local/server, because {tmp_path}/.claude is hidden from them; move it"
        " to another folder"
    )
