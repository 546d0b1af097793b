"""What rules look like, and which requests they match: narrowly where they allow, widely where they do not."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.agent.permissions.command_patterns import Match
from laguna_tui.agent.permissions.modes import RequestKind
from laguna_tui.agent.permissions.rules import (
    RuleError,
    Subject,
    allows,
    names_secrets,
    parse_rule,
    restricts,
    subject_of,
)
from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.path_globs import glob_matches
from tests.app.agent.permissions.requests import call, change, command

ROOT = Path("/home/me/shop")


def allowed(rule: str, request) -> bool:
    return allows(parse_rule(rule), subject_of(request, ROOT))


def restricted(rule: str, request) -> bool:
    return restricts(parse_rule(rule), subject_of(request, ROOT)) is Match.YES


def test_a_rule_reads_as_it_is_written():
    for text in (
        "edit",
        "edit(src/**)",
        "shell(pytest …)",
        "shell(git status)",
        "tickets__close",
        "shell(go test ...)",
    ):
        assert parse_rule(text).text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a rule"),
        ("edit(", "is not a rule"),
        ("(src)", "is not a rule"),
        ("edit()", "nothing in its brackets"),
        ("shell( )", "nothing in its brackets"),
        ("Edit(src/**)", "the tool's name is edit"),
        ("SHELL", "the tool's name is shell"),
        ("shel(rm …)", "only read, edit, .* take brackets"),
        ("search(src/**)", "rules for read hold for search too"),
        ("find", "rules for read hold for find too"),
        ("shell(rm; ls)", "only a simple command"),
        ("shell(echo $HOME)", "only a simple command"),
        ("shell(npm run *)", "for any further arguments end it in …"),
        ("shell(… rm)", "only a simple command"),
        ("shell(…)", "only a simple command"),
        ("shell(a … b)", "only a simple command"),
        ("shell('a)", "only a simple command"),
        ("shell(A=1 make)", "only a simple command"),
        ("edit(a\nb)", "control characters"),
        ("edit(a\u202eb)", "control characters"),
        ("edit(" + "a" * 2000 + ")", "too long"),
    ],
)
def test_what_is_no_rule_is_refused_with_the_reason(text: str, reason: str):
    with pytest.raises(RuleError, match=reason):
        parse_rule(text)


@given(st.text())
def test_any_text_is_a_rule_or_is_refused(text: str):
    try:
        rule = parse_rule(text)
    except RuleError:
        return
    assert parse_rule(rule.text) == rule


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a.py", "a.py", True),
        ("a.py", "src/a.py", False),
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("src/*", "src/a.py", True),
        ("src/*", "src/b/a.py", False),
        ("src/**", "src/b/a.py", True),
        ("src/**", "srcs/a.py", False),
        ("**/a.py", "a.py", True),
        ("**/a.py", "x/y/a.py", True),
        ("src/**/a.py", "src/a.py", True),
        ("src/**/a.py", "src/x/y/a.py", True),
        ("src/**/a.py", "lib/a.py", False),
        ("**", "x/y/z", True),
        ("a?.py", "ab.py", True),
        ("a?.py", "a.py", False),
        ("a?b", "a/b", False),
        ("[ab].py", "a.py", False),
        ("[ab].py", "[ab].py", True),
        ("a.py", "axpy", False),
    ],
)
def test_a_glob_matches_whole_paths_part_by_part(pattern: str, path: str, matches: bool):
    assert glob_matches(pattern, path) is matches


def test_a_glob_made_to_take_long_does_not():
    begun = time.process_time()
    assert not glob_matches("/".join(["**", "*a*a*a*a*b"] * 100), "/".join(["a" * 200] * 100))
    assert time.process_time() - begun < 20


def test_a_rule_that_allows_is_for_the_tool_that_it_names_only():
    assert allowed("edit(src/**)", change("src/a.py"))
    assert not allowed("edit(src/**)", change("src/a.py", tool="write"))
    assert not allowed("write(src/**)", change("src/a.py", ChangeKind.DELETE))
    assert not allowed("edit", call("edit")), "somebody else's tool of that name"
    assert not allowed("shell", call("shell"))


@pytest.mark.parametrize(
    "path", ["../src/a.py", "/home/me/shop/src/a.py", "src/../src/a.py", "./src/a.py", "src//a.py", ""]
)
def test_a_path_that_is_not_plainly_in_the_folder_is_never_allowed(path: str):
    assert not allowed("edit", change(path))
    assert not allowed("edit(**)", change(path))


def test_a_rule_that_allows_minds_case_where_files_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert not allowed("edit(src/**)", change("SRC/a.py"))
    monkeypatch.setattr("sys.platform", "darwin")
    assert allowed("edit(src/**)", change("SRC/a.py"))


@pytest.mark.parametrize(("written", "path"), [("caf\u00e9.py", "cafe\u0301.py"), ("cafe\u0301.py", "caf\u00e9.py")])
def test_a_rule_holds_for_a_name_in_another_normal_form(written: str, path: str):
    assert allowed(f"edit({written})", change(path))
    assert restricted(f"edit({written})", change(path))


def test_a_restriction_holds_behind_a_link_that_is_named_in_another_normal_form(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "cafe\u0301").symlink_to("real")
    subject = subject_of(change("real/a.py"), tmp_path)
    assert restricts(parse_rule("edit(caf\u00e9/**)"), subject) is Match.YES


@pytest.mark.parametrize("tool", ["edit", "write", "replace_symbol", "read"])
@pytest.mark.parametrize("kind", ChangeKind)
def test_a_restriction_of_a_file_holds_for_every_way_to_change_it(tool: str, kind: ChangeKind):
    assert restricted(f"{tool}(src/**)", change("src/a.py", kind, target="b.py"))
    assert restricted(f"{tool}(src/**)", change("src/a.py", kind, tool="something_new", target="b.py"))


def test_a_restriction_of_deleting_or_moving_is_for_that_only():
    assert restricted("delete(src/**)", change("src/a.py", ChangeKind.DELETE))
    assert not restricted("delete(src/**)", change("src/a.py"))
    assert restricted("move(src/**)", change("a.py", ChangeKind.MOVE, target="src/a.py"))


def test_reading_is_restricted_by_rules_for_reading_only():
    reading = Subject("read", RequestKind.READ, ROOT, ("src/a.py",))
    assert restricts(parse_rule("read(src/**)"), reading) is Match.YES
    assert restricts(parse_rule("edit(src/**)"), reading) is Match.NO


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("edit(src/**)", "SRC/a.py"),
        ("edit(src)", "src/x/a.py"),
        ("edit(src/)", "src/x/a.py"),
        ("edit(./src)", "src/a.py"),
        ("edit(*.lock)", "x/y/uv.lock"),
        ("edit(vendor)", "x/vendor/a.py"),
        ("edit(src/**)", "lib/../src/a.py"),
        ("edit(src/**)", "/home/me/shop/src/a.py"),
        ("edit(/home/me/shop/src/**)", "src/a.py"),
        ("edit(/etc/**)", "../../../etc/hosts"),
        ("edit(src/a.py)", "src/a.py."),
        ("edit(src/a.py)", "src/a\u200b.py"),
        ("edit(src/a.py)", "src/ａ.py"),
    ],
)
def test_a_restriction_holds_however_the_path_is_written(rule: str, path: str):
    assert restricted(rule, change(path))


def test_a_restriction_below_the_home_folder_may_begin_with_a_tilde(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert restricted("edit(~/shop/src/**)", change("src/a.py"))


def test_other_paths_are_not_restricted():
    for rule in ("edit(src/**)", "edit(a.py)", "edit(*.js)", "edit(rc)"):
        assert not restricted(rule, change("lib/b.py"))


def test_a_command_rule_without_the_ellipsis_is_that_command():
    assert allowed("shell(git status)", command("git status"))
    assert allowed("shell(git status)", command("git   'status'"))
    assert not allowed("shell(git status)", command("git status -s"))
    assert not allowed("shell(git status)", command("git"))
    assert allowed("shell(git status …)", command("git status"))
    assert allowed("shell(git status ...)", command("git status -s"))
    assert not allowed("shell(git status …)", command("git stash"))
    assert allowed("shell", command("git status"))


@pytest.mark.parametrize(
    ("rule", "text", "holds"),
    [
        ("shell(git diff …)", "git diff --stat HEAD", True),
        ("shell(git diff …)", "git diff --output=x", False),
        ("shell(git diff …)", "git diff --ext-diff", False),
        ("shell(git …)", "git -c core.pager=x log", False),
        ("shell(git …)", "git log -c", True),
        ("shell(git grep …)", "git grep -Oless x", False),
        ("shell(rg …)", "rg -n x src", True),
        ("shell(rg …)", "rg --pre ./x a", False),
        ("shell(rg --pre ./x …)", "rg --pre ./x a", True),
        ("shell(find …)", "find . -name x", True),
        ("shell(find …)", "find . -delete", False),
        ("shell(find …)", "find . -exec ls", False),
        ("shell(sort …)", "sort -o x x", False),
        ("shell(tree …)", "tree -o x", False),
        ("shell(gofmt …)", "gofmt -w .", False),
        ("shell(ruff check …)", "ruff check --fix", False),
        # What they run is the project's own in any case.
        ("shell(npm run lint …)", "npm run lint -- --fix", True),
        ("shell(pytest …)", "pytest -p x", True),
        ("shell(eslint …)", "eslint --fix .", True),
        # Exactly this was allowed, or everything.
        ("shell(git diff --output=x)", "git diff --output=x", True),
        ("shell", "git diff --output=x", True),
    ],
)
def test_any_arguments_are_none_that_run_another_program_or_write_a_file(rule: str, text: str, holds: bool):
    assert allowed(rule, command(text)) is holds


def test_a_program_is_allowed_by_the_name_that_the_rule_has():
    assert not allowed("shell(pytest …)", command("./pytest -q"))
    assert not allowed("shell(pytest …)", command("/usr/bin/pytest -q"))
    assert not allowed("shell(pytest …)", command("pytestx -q"))
    assert not allowed("shell(pytest …)", command("Pytest -q"))
    assert not allowed("shell(pytest …)", command("\u0440ytest -q")), "a Cyrillic letter"


def test_a_rule_that_restricts_a_command_is_for_any_arguments():
    assert restricted("shell(git push)", command("git push origin main"))


def test_a_rule_of_a_folder_allows_there_only_and_restricts_below_it_too():
    here, below = Path("/home/me"), subject_of(change("src/a.py"), ROOT)
    assert not allows(parse_rule("edit", str(here)), below)
    assert allows(parse_rule("edit", str(ROOT)), below)
    assert restricts(parse_rule("edit", str(here)), below) is Match.YES
    assert restricts(parse_rule("edit(shop/src/**)", str(here)), below) is Match.YES
    assert restricts(parse_rule("edit", "/home/you"), below) is Match.NO


@pytest.mark.parametrize(
    "rule", ["read(.env)", "read(**/.env.*)", "edit(keys/*.pem)", "read(.ssh/**)", "read(config/.env)"]
)
def test_a_glob_for_secrets_names_them(rule: str):
    assert names_secrets(parse_rule(rule))


@pytest.mark.parametrize(
    "rule", ["read", "read(**)", "read(*)", "read(config/**)", "read(.*)", "edit(*.json)", "read(.env.example)"]
)
def test_any_other_glob_does_not_name_secrets(rule: str):
    assert not names_secrets(parse_rule(rule))
