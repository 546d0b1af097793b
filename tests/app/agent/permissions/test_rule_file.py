"""The user's file of rules and a repository's: what counts, what is written, and what a broken one means."""

import os
import threading
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.agent.permissions.modes import Effect
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.permissions.rule_file import (
    REPOSITORY_FILE,
    append_rule,
    read_repository_rules,
    read_user_rules,
    write_check,
)
from laguna_tui.agent.permissions.rules import NO_RULES
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import Mode
from tests.app.agent.permissions.requests import change, command

ELSEWHERE = Path("/home/me/shop")
ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return tmp_path / "config" / "permissions.toml"


def written(rules: Path, text: str) -> Path:
    rules.parent.mkdir(exist_ok=True)
    rules.write_text(text)
    rules.chmod(0o600)
    return rules


def test_without_a_file_there_are_no_rules(rules: Path):
    assert read_user_rules(rules, ELSEWHERE).rules == NO_RULES
    assert read_user_rules(rules, ELSEWHERE).notes == ()


def test_rules_hold_everywhere_or_in_their_folder(rules: Path, shop: Path, tmp_path: Path):
    written(
        rules,
        f'[rules]\nallow = ["shell(ls …)"]\n[[folder]]\npath = "{shop}"\nallow = ["shell(pytest …)"]\n'
        'deny = ["edit(vendor/**)"]\n',
    )
    here, elsewhere = (Permissions(root, rules_path=rules, sandboxed=lambda: True) for root in (shop, tmp_path / "x"))
    assert here.decide(command("ls")).effect is elsewhere.decide(command("ls")).effect is ALLOW
    assert here.decide(command("pytest")).effect is ALLOW
    assert elsewhere.decide(command("pytest")).effect is ASK
    assert here.decide(change("vendor/a.py")).effect is DENY
    assert elsewhere.decide(change("vendor/a.py")).effect is ASK


def test_a_folder_may_begin_with_a_tilde_and_be_a_link(rules: Path, tmp_path: Path, shop: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(shop)
    written(rules, '[[folder]]\npath = "~/link"\nallow = ["edit"]\n')
    assert Permissions(shop, rules_path=rules).decide(change("a.py")).effect is ALLOW


def test_always_is_written_for_this_folder_and_holds_at_once_and_next_time(rules: Path, shop: Path, tmp_path: Path):
    here = Permissions(shop, rules_path=rules, sandboxed=lambda: True)
    assert here.decide(command("pytest -q")).effect is ASK
    here.allow_always(here.suggest(command("pytest -q")))
    assert here.decide(command("pytest -x")).effect is ALLOW
    assert Permissions(shop, rules_path=rules, sandboxed=lambda: True).decide(command("pytest")).effect is ALLOW
    other = tmp_path / "other"
    assert Permissions(other, rules_path=rules, sandboxed=lambda: True).decide(command("pytest")).effect is ASK
    assert rules.read_text() == f'[[folder]]\npath = "{shop}"\nallow = ["shell(pytest …)"]\n'


def test_the_file_is_the_users_alone(rules: Path, shop: Path):
    Permissions(shop, rules_path=rules).allow_always("edit(src/**)")
    assert rules.stat().st_mode & 0o777 == 0o600
    assert rules.parent.stat().st_mode & 0o777 == 0o700


def test_what_stands_in_the_file_stays_comments_too(rules: Path, shop: Path):
    before = '# mine\n[rules]\ndeny = ["shell(rm …)"]  # never'
    written(rules, before)
    append_rule(rules, shop, "shell(ls …)")
    assert rules.read_text().startswith(before + "\n")
    assert read_user_rules(rules, ELSEWHERE).broken == ""


def test_a_rule_is_written_once(rules: Path, shop: Path):
    append_rule(rules, shop, "edit(a.py)")
    append_rule(rules, shop, "edit(a.py)")
    assert rules.read_text().count("edit(a.py)") == 1


def test_a_file_that_is_a_link_stays_one(rules: Path, shop: Path, tmp_path: Path):
    kept = tmp_path / "dotfiles.toml"
    written(kept, "# kept elsewhere\n")
    rules.parent.mkdir()
    rules.symlink_to(kept)
    append_rule(rules, shop, "edit(a.py)")
    assert rules.is_symlink()
    assert "edit(a.py)" in kept.read_text()


def test_rules_written_at_the_same_time_are_all_there(rules: Path, shop: Path):
    threads = [threading.Thread(target=append_rule, args=(rules, shop, f"edit({n}.py)")) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {rule.pattern for rule in read_user_rules(rules, ELSEWHERE).rules.allow} == {f"{n}.py" for n in range(12)}


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_a_folder_of_any_name_can_stand_in_the_file_or_is_refused(tmp_path_factory, name: str):
    folder = tmp_path_factory.mktemp("x") / name.replace("/", "_")
    rules = folder.parent / "permissions.toml"
    try:
        append_rule(rules, folder, "edit(a.py)")
    except UserError:
        assert not rules.exists()
        return
    assert [rule.base for rule in read_user_rules(rules, ELSEWHERE).rules.allow] == [os.path.realpath(folder)]


def test_a_rule_that_cannot_be_written_holds_for_the_session_and_that_is_said(rules: Path, shop: Path):
    (rules.parent / "permissions.toml.lock").mkdir(parents=True)
    here = Permissions(shop, rules_path=rules)
    with pytest.raises(UserError) as error:
        here.allow_always("edit(a.py)")
    assert str(error.value) == (
        f"the rule edit(a.py) cannot be written to {rules} (it cannot be read (Is a directory)), so it applies "
        "to this session only"
    )
    assert here.decide(change("a.py")).effect is ALLOW
    assert not rules.exists()


def test_a_file_that_commands_could_change_only_tightens(shop: Path):
    text = '[rules]\nallow = ["edit", "read(.env)"]\ndeny = ["edit(gen/**)"]\n'
    rules = written(shop / "config" / "permissions.toml", text)
    here = Permissions(shop, rules_path=rules)
    assert here.decide(change("a.py")).effect is ASK
    assert here.decide(change("gen/a.py")).effect is DENY
    assert here.readable(".env")
    assert "lies in this folder" in here.notes[0]
    with pytest.raises(UserError) as error:
        here.allow_always("edit(a.py)")
    assert str(error.value) == (
        f"the rule edit(a.py) cannot be written to {rules} (commands could change it there), so it applies to "
        "this session only"
    )
    assert rules.read_text() == text
    assert here.decide(change("a.py")).effect is ALLOW


def test_a_link_to_a_file_that_commands_could_change_only_tightens_too(shop: Path, rules: Path):
    written(shop / "kept.toml", '[rules]\nallow = ["edit"]\n')
    rules.parent.mkdir()
    rules.symlink_to(shop / "kept.toml")
    assert Permissions(shop, rules_path=rules).decide(change("a.py")).effect is ASK


def test_the_check_of_a_folder_is_its_own_and_the_last_one_counts(rules: Path, shop: Path):
    written(
        rules,
        f'[[folder]]\npath = "{shop}"\ncheck = "make"\n[[folder]]\npath = "{shop.parent / "other"}"\ncheck = "tox"\n'
        f'[[folder]]\npath = "{shop}"\ncheck = "make test"\n[[folder]]\npath = "{shop}"\ndeny = ["delete"]\n',
    )
    assert read_user_rules(rules, shop).check == "make test"
    assert read_user_rules(rules, shop.parent / "other").check == "tox"
    assert read_user_rules(rules, shop / "sub").check is None
    assert len(read_user_rules(rules, shop).rules.deny) == 1


def test_a_check_is_written_behind_what_stands_in_the_file(rules: Path, shop: Path):
    written(rules, "# mine\n")
    append_rule(rules, shop, "edit(a.py)")
    before = rules.read_text()
    for check in ("make test", "", 'sh -c "x\\ty" && echo ü'):
        write_check(rules, shop, check)
        assert read_user_rules(rules, shop).check == check
    assert rules.read_text().startswith(before)
    written_once = rules.read_text()
    write_check(rules, shop, 'sh -c "x\\ty" && echo ü')
    assert rules.read_text() == written_once
    assert len(read_user_rules(rules, shop).rules.allow) == 1


def test_a_check_in_a_file_that_commands_could_change_does_not_count(shop: Path):
    rules = written(shop / "config" / "permissions.toml", f'[[folder]]\npath = "{shop}"\ncheck = "./evil"\n')
    read = read_user_rules(rules, shop)
    assert read.check is None
    assert "lies in this folder" in read.notes[0]
    with pytest.raises(UserError) as error:
        write_check(rules, shop, "make test")
    assert str(error.value) == (
        f"the check make test cannot be written to {rules} (commands could change it there), so it applies to "
        "this session only"
    )


@pytest.mark.parametrize(
    "text", ['check = "./evil"\n', '[rules]\ncheck = "./evil"\n', '[[folder]]\ncheck = "./evil"\n']
)
def test_a_repository_cannot_name_the_check(shop: Path, text: str):
    (shop / REPOSITORY_FILE).write_text(text)
    assert read_repository_rules(shop).check is None
    assert Permissions(shop).check is None
    assert "unknown key" in read_repository_rules(shop).broken


def test_a_chosen_check_is_in_force_at_once_and_in_later_sessions(rules: Path, shop: Path, tmp_path: Path):
    here, there = (Permissions(root, rules_path=rules) for root in (shop, tmp_path))
    assert here.check is None
    here.choose_check("make test")
    assert here.check == Permissions(shop, rules_path=rules).check == "make test"
    assert there.check is None
    written(rules, f'[[folder]]\npath = "{shop}"\ncheck = "by hand"\n')
    assert here.check == "by hand"


def test_a_check_that_cannot_be_written_holds_for_the_session_and_that_is_said(rules: Path, shop: Path):
    (rules.parent / "permissions.toml.lock").mkdir(parents=True)
    here = Permissions(shop, rules_path=rules)
    with pytest.raises(UserError) as error:
        here.choose_check("make test")
    assert str(error.value) == (
        f"the check make test cannot be written to {rules} (it cannot be read (Is a directory)), so it applies "
        "to this session only"
    )
    assert here.check == "make test"


@pytest.mark.parametrize("check", ["a\nb", "\x1b[2Jmake", "x" * 301, " make"])
def test_a_check_is_one_line_that_can_be_shown(rules: Path, shop: Path, check: str):
    here = Permissions(shop, rules_path=rules)
    with pytest.raises(UserError) as error:
        here.choose_check(check)
    assert str(error.value) == 'check is a command on one line of at most 300 characters, like check = "make test"'
    assert here.check is None
    assert not rules.exists()


BROKEN = {
    '[[folder]]\npath = "/x"\ncheck = 3': "check is a command on one line",
    '[[folder]]\npath = "/x"\ncheck = "a\\nb"': "check is a command on one line",
    '[[folder]]\npath = "/x"\nchek = "a"': "did you mean check?",
    "allow = [": "",
    "[rules]\nalow = []": "did you mean allow?",
    "[rule]\ndeny = []": "did you mean rules?",
    '[rules]\ndeny = "shell"': "deny is a list of rules",
    "[rules]\ndeny = [1]": "deny is a list of rules",
    '[rules]\ndeny = ["shel(rm …)"]': "take brackets",
    '[rules]\nallow = ["shell(a; b)"]': "only a simple command",
    "rules = 3": "is a table",
    "folder = 3": "a folder begins with",
    "[folder]\nx = 1": "a folder begins with",
    "[[folder]]\nallow = []": "needs a line like path",
    '[[folder]]\npath = "code/shop"': "needs a line like path",
    "[[folder]]\npath = 3": "needs a line like path",
    f"[rules]\nallow = {['edit'] * 600}": "more than 500 rules",
    "#" * 300_000: "larger than",
}


@pytest.mark.parametrize(("text", "reason"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_broken_file_says_what_is_wrong_and_everything_is_asked_about(
    rules: Path, shop: Path, text: str, reason: str
):
    written(rules, text)
    here = Permissions(shop, rules_path=rules, allow=["edit", "shell(ls)"], sandboxed=lambda: True)
    assert len(here.notes) == 1
    assert str(rules) in here.notes[0]
    assert reason in here.notes[0]
    for request in (change("a.py"), command("ls")):
        verdict = here.decide(request)
        assert (verdict.effect, verdict.why) == (ASK, here.notes[0])
        assert here.suggest(request) == ""


def test_modes_that_allow_more_are_refused_while_the_file_is_broken(rules: Path, shop: Path):
    written(rules, "[rules]\nalow = []")
    for mode in (Mode.ACCEPT_EDITS, Mode.AUTO):
        with pytest.raises(UserError, match="did you mean allow"):
            Permissions(shop, mode=mode, rules_path=rules)
    here = Permissions(shop, rules_path=rules)
    with pytest.raises(UserError) as error:
        here.mode = Mode.AUTO
    assert str(error.value) == (
        f"the mode auto is not available now: {rules}: unknown key 'alow' (did you mean allow?); laguna-tui asks "
        "about everything until you correct it"
    )
    here.mode = Mode.PLAN
    assert here.mode is Mode.PLAN


def test_nothing_is_written_to_a_broken_file(rules: Path, shop: Path):
    written(rules, "[rules]\nalow = []")
    with pytest.raises(UserError):
        Permissions(shop, rules_path=rules).allow_always("edit(a.py)")
    assert rules.read_text() == "[rules]\nalow = []"


def test_a_file_that_breaks_or_is_corrected_meanwhile_counts_at_once(rules: Path, shop: Path):
    written(rules, '[rules]\nallow = ["edit"]')
    here = Permissions(shop, mode=Mode.AUTO, rules_path=rules)
    assert here.decide(change("a.py")).effect is ALLOW
    written(rules, '[rules]\nallow = ["edit"')
    assert here.decide(change("a.py")).effect is ASK
    written(rules, '[rules]\ndeny = ["edit"]')
    assert here.decide(change("a.py")).effect is DENY
    rules.unlink()
    assert here.decide(change("a.py")).effect is ALLOW


def test_a_file_that_others_can_write_is_broken(rules: Path, shop: Path):
    written(rules, '[rules]\nallow = ["edit"]').chmod(0o666)
    here = Permissions(shop, rules_path=rules)
    assert here.decide(change("a.py")).effect is ASK
    assert "others can write it" in here.notes[0]


def test_a_repository_may_deny_and_ask(shop: Path):
    (shop / REPOSITORY_FILE).write_text('[rules]\ndeny = ["edit(gen/**)"]\nask = ["shell(make …)"]\n')
    here = Permissions(shop, mode=Mode.AUTO, allow=["edit", "shell(make …)"], sandboxed=lambda: True)
    assert here.notes == ()
    assert here.decide(change("gen/a.py")).effect is DENY
    assert here.decide(change("src/a.py")).effect is ALLOW
    assert here.decide(command("make")).effect is ASK
    assert here.readable("gen/a.py") == ""


def test_a_repository_cannot_allow_anything_and_that_is_said(shop: Path):
    (shop / REPOSITORY_FILE).write_text('[rules]\nallow = ["edit", "shell", "read(.env)"]\n')
    here = Permissions(shop, sandboxed=lambda: True)
    assert len(here.notes) == 1
    assert "its allow list is ignored" in here.notes[0]
    assert here.decide(change("a.py")).effect is ASK
    assert here.decide(command("ls")).effect is ASK
    assert here.readable(".env")


def test_a_repositorys_file_counts_as_it_was_at_the_beginning(shop: Path):
    (shop / REPOSITORY_FILE).write_text('[rules]\ndeny = ["edit(gen/**)"]\n')
    here = Permissions(shop, mode=Mode.AUTO)
    (shop / REPOSITORY_FILE).unlink()
    assert here.decide(change("gen/a.py")).effect is DENY


def link(path: Path) -> None:
    (path.parent.parent / "outside.toml").write_text("[rules]\n")
    path.symlink_to(path.parent.parent / "outside.toml")


HOSTILE = {
    "a link out": link,
    "a dead link": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a large file": lambda path: path.write_bytes(b"#" * 10_000_000),
    "no UTF-8": lambda path: path.write_bytes(b'[rules]\ndeny = ["\xff"]'),
    "NUL": lambda path: path.write_bytes(b"\0" * 100),
    "no TOML": lambda path: path.write_text("{"),
    "deep nesting": lambda path: path.write_text("a = " + "[" * 100_000),
    "unknown keys": lambda path: path.write_text("[settings]\nmode = 'auto'\n"),
    "folders": lambda path: path.write_text("[[folder]]\npath = '/'\nallow = ['edit']\n"),
    "many rules": lambda path: path.write_text(f"[rules]\ndeny = {['edit(x)'] * 501}\n"),
    "terminal escapes": lambda path: path.write_text('[rules]\n"\\u001b]52;c;aGk=\\u0007" = 1\n'),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_of_a_repository_only_makes_everything_be_asked_about(shop: Path, make):
    make(shop / REPOSITORY_FILE)
    here = Permissions(shop, allow=["edit"], sandboxed=lambda: True)
    assert here.decide(change("a.py")).effect is ASK
    assert REPOSITORY_FILE in here.notes[0]
    assert "\x1b" not in here.notes[0]
    with pytest.raises(UserError):
        here.mode = Mode.AUTO


@given(st.binary(max_size=300))
def test_any_bytes_in_a_repositorys_file_grant_nothing(tmp_path_factory, data: bytes):
    shop = tmp_path_factory.mktemp("shop")
    (shop / REPOSITORY_FILE).write_bytes(data)
    assert read_repository_rules(shop).rules.allow == frozenset()


def test_the_example_in_the_module_is_a_file_of_rules(rules: Path):
    from laguna_tui.agent.permissions import rule_file

    example = rule_file.__doc__.split("```toml\n")[1].split("```")[0]
    assert tomllib.loads(example)
    assert read_user_rules(written(rules, example), ELSEWHERE).broken == ""
