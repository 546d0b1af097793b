"""Files that the user names with an option: what is not a small regular file is refused at once, in one sentence."""

import io

import pytest

from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.cli.main import main
from tests.app.odd_files import odd

OPTIONS = {
    "--schema": ("ask", "--model", "nano", "--schema", "{file}", "why?"),
    "bench --prompts": ("bench", "ab", "--model", "nano", "--quiet", "--prompts", "{file}"),
    "eval --compare": ("eval", "--compare", "{file}", "{file}"),
    "--issue": ("search", "--issue", "{file}"),
    "--model": ("ask", "--model", "{file}", "why?"),
    "--token-file": ("serve", "--model", "nano", "--token-file", "{file}"),
}


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / "home"))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setattr("sys.stdin", io.StringIO())


def refusal(words, tmp_path, capsys, file) -> str:
    assert main([word.format(file=file) for word in words]) in (
        ExitCode.USAGE,
        ExitCode.MODEL,
    )
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.timeout(60)
@pytest.mark.parametrize("option", OPTIONS)
@odd
def test_what_would_be_waited_for_or_read_without_end_is_refused(option, make, tmp_path, capsys):
    make(tmp_path / "odd")
    assert str(tmp_path / "odd") in refusal(OPTIONS[option], tmp_path, capsys, tmp_path / "odd")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("file", ["/proc/self/mem", "/proc/kmsg", "/dev/tty", "/", "/nowhere"])
def test_a_file_of_the_system_a_folder_and_a_missing_file_are_refused(option, file, tmp_path, capsys):
    assert file in refusal(OPTIONS[option], tmp_path, capsys, file)


def test_a_schema_that_is_nested_without_end_is_refused(tmp_path, capsys):
    (tmp_path / "deep.json").write_text('{"items":' * 20_000 + "{}" + "}" * 20_000)
    said = refusal(OPTIONS["--schema"], tmp_path, capsys, tmp_path / "deep.json")
    assert said.endswith("is nested too deeply; give a simpler JSON schema\n")


def test_the_sentence_names_the_option_the_reason_and_the_remedy(tmp_path, capsys):
    said = refusal(OPTIONS["--schema"], tmp_path, capsys, "/dev/zero")
    assert said == "laguna-tui: --schema /dev/zero: it is not a regular file; give a file with a JSON schema\n"
    (tmp_path / "large").write_bytes(b" " * ((1 << 20) + 1))
    said = refusal(OPTIONS["--schema"], tmp_path, capsys, tmp_path / "large")
    assert "it is larger than 1,048,576 bytes; give a file with a JSON schema" in said
    (tmp_path / "latin").write_bytes(b'"\xe9"')
    said = refusal(OPTIONS["--schema"], tmp_path, capsys, tmp_path / "latin")
    assert "it is not text in UTF-8; give a file with a JSON schema" in said


class Endless(io.RawIOBase):
    """A stdin that never ends."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        buffer[:] = b"\0" * len(buffer)
        return len(buffer)


@pytest.mark.timeout(60)
def test_a_question_from_a_stdin_without_end_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    said = refusal(("ask", "--model", "nano"), tmp_path, capsys, "")
    assert said == "laguna-tui: stdin is not text; pipe text in, or nothing: < /dev/null\n"
