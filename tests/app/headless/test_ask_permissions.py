"""What `ask` lets a model do: the mode and the rules of the command line, from there to the file."""

import io
import json

import pytest

from laguna_tui.base.exit_codes import ExitCode
from tests.scripted_model import call, say
from tests.scripted_model.ask import run

RENAME = [say(call("edit", path="cart.py", old="total", new="amount")), say("Over.")]


@pytest.fixture
def cart(tmp_path, monkeypatch):
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text("total = 1\n")
    return tmp_path / "shop/cart.py"


@pytest.fixture
def ask(cart, tmp_path, capsys):
    def asked(*flags):
        arguments = ["ask", "--json", "--folder", str(cart.parent), *flags, "Rename it."]
        code = run(RENAME, arguments, tmp_path)
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else err

    return asked


@pytest.mark.parametrize(
    "flags",
    [("--mode", "accept-edits"), ("--mode", "auto"), ("--allow", "edit(*.py)"), ("--allow", "edit")],
)
def test_an_edit_is_made_where_a_mode_or_a_rule_allows_it(ask, cart, flags):
    code, told = ask(*flags)
    assert code == 0
    assert [edit["path"] for edit in told["edits"]] == ["cart.py"]
    assert cart.read_text() == "amount = 1\n"


@pytest.mark.parametrize(
    ("flags", "sentence", "exit_code"),
    [
        ((), "--allow 'edit(cart.py)'", ExitCode.DENIED),
        (("--allow", "edit(*.md)"), "--allow 'edit(cart.py)'", ExitCode.DENIED),
        (("--mode", "plan", "--allow", "edit"), "plan mode", ExitCode.ANSWERED),
        (("--mode", "auto", "--deny", "edit(cart.py)"), "the rule edit(cart.py) forbids it", ExitCode.ANSWERED),
    ],
)
def test_an_edit_is_refused_with_a_reason_where_nothing_allows_it_or_something_forbids_it(
    ask, cart, flags, sentence, exit_code
):
    code, told = ask(*flags)
    assert code == exit_code
    assert not told["edits"]
    (tool,) = told["tools"]
    assert (tool["ok"], sentence in tool["output"]) == (False, True)
    assert cart.read_text() == "total = 1\n"


def test_an_invalid_rule_is_a_sentence_and_nothing_is_asked(ask, cart):
    code, told = ask("--allow", "edit(cart.py")
    assert code == 2
    assert told.startswith("laguna-tui: --allow ")
    assert cart.read_text() == "total = 1\n"


def test_a_rule_in_the_users_file_allows_and_one_of_the_repository_still_forbids(ask, cart, tmp_path):
    rules = tmp_path / "xdg_config_home/laguna-tui/permissions.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[rules]\nallow = ["edit(*.py)"]\n')
    assert ask()[1]["edits"]
    cart.write_text("total = 1\n")
    (cart.parent / ".laguna-tui.toml").write_text('[rules]\ndeny = ["edit(cart.py)"]\n')
    assert not ask()[1]["edits"]
    assert cart.read_text() == "total = 1\n"


def test_an_allow_rule_of_a_repository_is_reported_to_the_user(cart, tmp_path, capsys):
    (cart.parent / ".laguna-tui.toml").write_text('[rules]\nallow = ["edit"]\n')
    assert run(RENAME, ["ask", "--folder", str(cart.parent), "Rename it."], tmp_path) == ExitCode.DENIED
    assert "a repository cannot allow anything" in capsys.readouterr().err
    assert cart.read_text() == "total = 1\n"


def test_a_rule_of_the_repository_keeps_a_file_from_being_read(cart, tmp_path, capsys):
    (cart.parent / ".laguna-tui.toml").write_text('[rules]\ndeny = ["read(cart.py)"]\n')
    script = [say(call("read", path="cart.py")), say("Over.")]
    assert run(script, ["ask", "--json", "--folder", str(cart.parent), "Read it."], tmp_path) == 0
    (tool,) = json.loads(capsys.readouterr().out)["tools"]
    assert not tool["ok"]
    assert "total = 1" not in tool["output"]
