"""The profile for sandbox-exec, as text; the regular expressions are tried with Python's."""

import re
from pathlib import Path

import pytest

from laguna_tui.sandbox.protected import ProtectedFiles, protected_files
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy
from laguna_tui.sandbox.seatbelt import PROGRAM, seatbelt_command, seatbelt_profile


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work (1)+"
    (folder / ".git/hooks").mkdir(parents=True)
    return folder.resolve()


def profile(workspace, **policy):
    hidden = (Path("/Users/me/.ssh"),)
    return seatbelt_profile(SandboxPolicy(workspace, **policy), protected_files(workspace), hidden, Path("/private/x"))


def denied(text, path):
    """Whether a rule that denies writing matches a path, as the last rule of those that match."""
    verdict = False
    for rule in re.findall(r"^\((allow|deny) file-write\*\n((?:  .*\n?)*)", text, re.MULTILINE):
        patterns = [re.compile(found) for found in re.findall(r'\(regex #"(.*?)"\)', rule[1])]
        places = re.findall(r'\(subpath "(.*?)"\)', rule[1])
        if any(pattern.search(path) for pattern in patterns) or any(Path(path).is_relative_to(each) for each in places):
            verdict = rule[0] == "deny"
    return verdict


def test_everything_is_denied_first(workspace):
    assert profile(workspace).startswith("(version 1)\n(deny default)\n")


def test_parentheses_are_balanced(workspace):
    text = re.sub(r'"(?:[^"\\]|\\.)*"', "", profile(workspace))
    assert text.count("(") == text.count(")")


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git/config",
            ".git/hooks/pre-commit",
            ".vscode/tasks.json",
            "deep/down/.vscode",
            "AGENTS.md",
            "x/agents.MD",
        ),
        *(".github/workflows/new.yml", "my.code-workspace", "vendor/.git/hooks/x", ".envrc"),
    ],
)
def test_protected_files_are_denied_at_any_depth_whether_there_or_not(workspace, path):
    assert denied(profile(workspace), f"{workspace}/{path}")


@pytest.mark.parametrize("path", ["a.txt", ".git/index", ".git/objects/x", "xenvrc", ".envrcs", "src/config"])
def test_other_files_of_the_workspace_are_not_denied(workspace, path):
    text = profile(workspace)
    assert f'(subpath "{workspace}")' in text
    assert not denied(text, f"{workspace}/{path}")


def test_credentials_are_neither_read_nor_written(workspace):
    assert '(deny file-read* file-write*\n  (subpath "/Users/me/.ssh"))' in profile(workspace)


def test_no_file_is_made_to_run_as_its_owner_or_group(workspace):
    text = profile(workspace)
    assert text.index("(allow file-write*") < text.index("(deny file-write-setugid)")


def test_there_is_no_network_unless_it_is_given(workspace):
    assert "(deny network*)" in profile(workspace)
    assert "(allow network-outbound (remote ip))" in profile(workspace, network=True)


def test_a_quote_in_a_path_does_not_end_a_string():
    folder = Path('/tmp/a"b')
    text = seatbelt_profile(SandboxPolicy(folder), ProtectedFiles(folder), (Path('/x"y'),), Path("/t"))
    assert '(subpath "/x\\"y")' in text
    assert '(subpath "/tmp/a\\"b")' in text or '/private/tmp/a\\"b' in text


def test_sandbox_exec_is_called_by_its_full_path():
    assert seatbelt_command("(version 1)", ("true",)) == (PROGRAM, "-p", "(version 1)", "--", "true")
    assert PROGRAM == "/usr/bin/sandbox-exec"
