"""`compress` as a user meets it: the text on stdout, the account on stderr, JSON, and what is refused."""

import json
import shutil

import numpy as np
import pytest

from laguna_tui.cli.main import main
from tests.app.repo.conftest import git, write
from tests.engine import scorers

CODE = "".join(f"def make_{n}(value):\n    return other_{n}(value) * {n}\n\n\n" for n in range(40))


@pytest.fixture
def code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.py").write_text("def last():\n    return 1\n")
    (tmp_path / "sub/c.bin").write_bytes(b"\0\1")
    (tmp_path / "empty").mkdir()
    return tmp_path


def run(capsys, *arguments):
    code = main(["compress", *arguments, "--scorer", "none"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_text_goes_to_stdout_and_the_account_to_stderr(code, capsys):
    status, out, err = run(capsys, "a.py", "--query", "what does make_7 do?", "--keep", "0.2")
    assert status == 0
    assert "def make_7(value):\n    return other_7(value) * 7\n" in out
    assert "read path=a.py start=" in out
    assert "(make_7): defines a name of the question" in err
    assert "ranked by words in" in err


def test_the_named_function_of_a_minified_line_is_kept(code, capsys):
    functions = [f"function f{n}(a,b){{return a*{n}+b.call(x{n})}};" for n in range(2000)]
    (code / "min.js").write_text("".join(functions))
    _, out, _ = run(capsys, "min.js", "--query", "What does f77 do?", "--keep", "0.01")
    assert functions[77] in out


def test_a_share_is_a_share_of_the_tokens(code, capsys):
    _, out, _ = run(capsys, "a.py", "--query", "make_7", "--keep", "0.2", "--json")
    found = json.loads(out)
    assert found["tokens_after"] <= found["budget"] == int(0.2 * found["tokens_before"])


def test_json_has_the_reason_of_every_kept_and_dropped_line(code, capsys):
    _, out, _ = run(capsys, "a.py", "--query", "make_7", "--tokens", "120", "--json")
    part = json.loads(out)["parts"][0]
    kept = [span for span in part["kept"] if span["name"] == "make_7"]
    assert {(span["line"], span["end"], span["why"]) for span in kept} == {(29, 29, "named"), (30, 30, "named")}
    assert {span["why"] for span in part["dropped"]} == {"budget"}
    assert len(part["kept"]) + len(part["dropped"]) == 80


def test_folders_give_their_text_files(code, capsys):
    _, out, _ = run(capsys, "sub", "a.py", "a.py", "--query", "last", "--keep", "1")
    assert [line for line in out.split("\n") if line.startswith("==>")] == ["==> sub/b.py <==", "==> a.py <=="]
    assert out.endswith(CODE)


def test_a_folder_that_is_named_by_a_link_is_read_and_what_links_in_it_lead_to_is_not(code, capsys):
    (code / "named").symlink_to("sub")
    git(code / "sub", "init")
    write(code / "sub", {"lib/keys.py": "def inside(): pass\n"})
    git(code / "sub", "add", "-A")
    shutil.rmtree(code / "sub/lib")
    write(code / "elsewhere", {"keys.py": "def outside(): pass\n"})
    (code / "sub/lib").symlink_to(code / "elsewhere")
    _, out, _ = run(capsys, "named", "--query", "last", "--keep", "1")
    assert "def last()" in out
    assert "outside" not in out


def test_nothing_that_a_terminal_would_obey_is_printed(code, capsys):
    (code / "a.py").write_text("\x1b[31mred = 1\n")
    _, out, err = run(capsys, "a.py", "--query", "red", "--keep", "1")
    assert "\x1b" not in out + err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.py"], "missing.py: No such file"),
        (["sub/c.bin"], "binary"),
        (["/dev/zero"], "more than"),
        (["empty"], "empty: no text files"),
        (["a.py", "--model", "missing"], "missing"),
    ],
)
def test_what_cannot_be_done_is_reported(code, capsys, arguments, words):
    status, out, err = run(capsys, *arguments, "--query", "x")
    assert (status, out) == (2, "")
    assert words in err


def test_a_scorer_whose_weights_give_no_numbers_is_left_out_with_a_warning(code, capsys, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(code / "state"))
    file = scorers.make(scorers.Variant())
    file.tensors["blk.1.attn_v.weight"][:] = np.nan
    path = file.write(code / "nan.gguf")
    status = main(["compress", "a.py", "--query", "what does make_7 do?", "--keep", "0.2", "--scorer", str(path)])
    captured = capsys.readouterr()
    assert status == 0
    assert f"ranked by words alone: {path}: its weights are not finite numbers; download it again\n" in captured.err
    assert "def make_7(value):\n    return other_7(value) * 7\n" in captured.out
