"""What holds for all rules, requests and modes: restrictions only restrict, and nothing in a request changes policy."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from laguna_tui.agent.permissions.modes import Effect
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.permissions.rule_file import REPOSITORY_FILE
from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.permission_request import CommandProposal, Mode, PermissionRequest
from tests.app.agent.permissions.requests import call, change, command

STRICTNESS = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}

PARTS = st.sampled_from(["src", "lib", "a.py", "b.py", ".env", "x.pem", "..", "SRC", ".vscode", "é", ""])
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
WORDS = st.sampled_from(
    [
        "pytest",
        "rm",
        "git",
        "push",
        "status",
        "-rf",
        "-q",
        "x",
        "sh",
        "-c",
        "'rm x'",
        ";",
        "|",
        "$X",
        "&&",
        ".env",
        "*",
        "sudo",
    ]
)
COMMANDS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join) | st.text(max_size=20)
CHANGES = st.builds(
    change,
    PATHS,
    st.sampled_from(ChangeKind),
    tool=st.sampled_from(["", "edit", "write", "move", "delete", "replace_symbol"]),
    target=PATHS,
    approval_reason=st.sampled_from(["", "", "editors run commands from it"]),
    reason_of_the_request=st.sampled_from(["", "", "the sandbox cannot hold it"]),
)
COMMAND_REQUESTS = st.builds(command, COMMANDS, approval_reason=st.sampled_from(["", "", "the sandbox cannot hold it"]))
NOT_SIMPLE = st.builds("{}{}{}".format, COMMANDS, st.sampled_from(sorted(";|&$`<>()\\\n")), COMMANDS)
SECRETS = st.builds(
    "{}{}".format, st.sampled_from(["", "src/", ".ssh/"]), st.sampled_from([".env", "x.pem", ".ENV.local"])
)
REQUESTS = CHANGES | COMMAND_REQUESTS | st.builds(call, st.sampled_from(["tickets__close", "edit", "shell", "mail"]))
GLOB_PARTS = st.sampled_from(["src", "lib", "*", "**", "*.py", "a.py", ".env", "*.pem", "?", "SRC"])
GLOBS = st.lists(GLOB_PARTS, min_size=1, max_size=3).map("/".join)
PATH_TOOLS = st.sampled_from(["read", "edit", "write", "move", "delete", "replace_symbol"])
PLAIN_WORDS = st.sampled_from(["pytest", "rm", "git", "push", "status", "-rf", "-q", "x"])
SHELL_RULES = st.builds(
    lambda words, more: f"shell({' '.join(words)}{more})",
    st.lists(PLAIN_WORDS, min_size=1, max_size=3),
    st.sampled_from(["", " …"]),
)
RULES = (
    st.builds("{}({})".format, PATH_TOOLS, GLOBS)
    | SHELL_RULES
    | st.sampled_from(["shell", "edit", "read", "write", "tickets__close", "mail"])
)
RULE_LISTS = st.lists(RULES, max_size=4)
MODES = st.sampled_from(Mode)


def permissions(mode: Mode, allow: list[str], deny: list[str], sandboxed: bool, headless: bool = False) -> Permissions:
    return Permissions(
        Path("/home/me/shop"), mode=mode, allow=allow, deny=deny, sandboxed=lambda: sandboxed, headless=headless
    )


SESSIONS = st.tuples(MODES, RULE_LISTS, RULE_LISTS, st.booleans(), st.booleans())


def strictness(session, request: PermissionRequest) -> int:
    return STRICTNESS[permissions(*session).decide(request).effect]


@given(SESSIONS, RULES, REQUESTS)
def test_another_rule_that_denies_never_grants(session, rule: str, request_: PermissionRequest):
    mode, allow, deny, sandboxed, headless = session
    tighter = (mode, allow, [*deny, rule], sandboxed, headless)
    assert strictness(tighter, request_) >= strictness(session, request_)


@given(SESSIONS, RULES, PATHS)
def test_another_rule_that_denies_makes_nothing_readable(session, rule: str, path: str):
    mode, allow, deny, sandboxed, _ = session
    if permissions(mode, allow, deny, sandboxed).readable(path):
        assert permissions(mode, allow, [*deny, rule], sandboxed).readable(path)


@given(SESSIONS, RULES, REQUESTS)
def test_another_rule_that_allows_never_denies(session, rule: str, request_: PermissionRequest):
    mode, allow, deny, sandboxed, headless = session
    looser = (mode, [*allow, rule], deny, sandboxed, headless)
    assert strictness(looser, request_) <= strictness(session, request_)


@given(SESSIONS, REQUESTS, st.randoms())
def test_the_order_of_rules_makes_no_difference(session, request_: PermissionRequest, random):
    mode, allow, deny, sandboxed, headless = session
    allow_shuffled, deny_shuffled = random.sample(allow, len(allow)), random.sample(deny, len(deny))
    shuffled = (mode, allow_shuffled, deny_shuffled, sandboxed, headless)
    assert permissions(*session).decide(request_) == permissions(*shuffled).decide(request_)


@given(
    SESSIONS,
    REQUESTS,
    st.dictionaries(st.sampled_from(["allow", "ask", "deny"]), RULE_LISTS) | st.dictionaries(st.text(), st.text()),
)
def test_a_repositorys_file_never_grants(tmp_path_factory, session, request_: PermissionRequest, lists):
    mode, allow, deny, sandboxed, headless = session
    shop = tmp_path_factory.mktemp("shop")
    given_ = {"allow": allow, "deny": deny, "sandboxed": lambda: sandboxed, "headless": headless}
    # The file may make a mode impossible, so the mode that is always possible is compared.
    without = Permissions(shop, **given_).decide(request_)
    lines = "\n".join(f"{json.dumps(name)} = {json.dumps(rules, ensure_ascii=False)}" for name, rules in lists.items())
    (shop / REPOSITORY_FILE).write_text(f"[rules]\n{lines}\n", errors="replace")
    here = Permissions(shop, **given_)
    assert STRICTNESS[here.decide(request_).effect] >= STRICTNESS[without.effect]
    if not here.notes:
        here.mode = mode
        before = permissions(mode, allow, deny, sandboxed, headless).decide(request_)
        assert STRICTNESS[here.decide(request_).effect] >= STRICTNESS[before.effect]


@given(SESSIONS, REQUESTS, REQUESTS)
def test_a_request_changes_nothing_for_the_next_one(session, first: PermissionRequest, second: PermissionRequest):
    here = permissions(*session)
    expected, mode = here.decide(second), here.mode
    here.decide(first)
    here.suggest(first)
    assert (here.decide(second), here.mode) == (expected, mode)


@given(SESSIONS, COMMANDS, st.sampled_from(["why", "sandbox", "rule"]), st.text())
def test_what_a_tool_says_about_its_request_changes_nothing(session, text: str, field: str, said: str):
    proposal = CommandProposal(text, Path("/home/me/shop"), 10.0)
    plain = permissions(*session).decide(PermissionRequest("shell", proposal))
    assert permissions(*session).decide(PermissionRequest("shell", proposal, **{field: said})) == plain


@given(RULE_LISTS, NOT_SIMPLE)
def test_a_command_that_is_not_simple_is_never_allowed_by_a_rule(allow: list[str], text: str):
    assert permissions(Mode.ASK, [*allow, "shell"], [], True).decide(command(text)).effect is not Effect.ALLOW


@given(SESSIONS, CHANGES, SECRETS, st.booleans())
def test_no_mode_allows_a_change_of_a_file_with_secrets(
    session, request_: PermissionRequest, path: str, is_target: bool
):
    mode, _, deny, sandboxed, headless = session
    proposal = request_.proposal
    if is_target and proposal.kind is ChangeKind.MOVE:
        request_ = replace(request_, proposal=structs.replace(proposal, target=path))
    else:
        request_ = replace(request_, proposal=structs.replace(proposal, path=path))
    unopened = ["edit", "write", "move(**)", "delete(*)", "read(**)"]
    assert permissions(mode, unopened, deny, sandboxed, headless).decide(request_).effect is Effect.DENY


@given(SESSIONS, SECRETS)
def test_no_mode_makes_a_file_with_secrets_readable(session, path: str):
    mode, _, deny, sandboxed, _ = session
    assert permissions(mode, ["read", "read(**)", "edit(.env)"], deny, sandboxed).readable(path)


@given(SESSIONS, REQUESTS)
def test_what_is_always_asked_about_is_never_allowed(session, request_: PermissionRequest):
    always = replace(request_, approval_reason="the sandbox cannot hold it")
    assert permissions(*session).decide(always).effect is not Effect.ALLOW


@given(SESSIONS, COMMAND_REQUESTS)
def test_without_a_sandbox_no_command_is_allowed(session, request_: PermissionRequest):
    mode, allow, deny, _, headless = session
    assert permissions(mode, allow, deny, False, headless).decide(request_).effect is not Effect.ALLOW


@given(SESSIONS, REQUESTS)
def test_headless_nothing_is_asked_and_nothing_more_is_allowed(session, request_: PermissionRequest):
    mode, allow, deny, sandboxed, _ = session
    asked = permissions(mode, allow, deny, sandboxed).decide(request_).effect
    alone = permissions(mode, allow, deny, sandboxed, True).decide(request_).effect
    assert alone is (Effect.DENY if asked is Effect.ASK else asked)


@given(SESSIONS, REQUESTS)
def test_plan_mode_allows_nothing(session, request_: PermissionRequest):
    _, allow, deny, sandboxed, headless = session
    assert permissions(Mode.PLAN, allow, deny, sandboxed, headless).decide(request_).effect is Effect.DENY


@given(SESSIONS, REQUESTS)
def test_a_mode_that_allows_more_allows_no_less(session, request_: PermissionRequest):
    _, *rest = session
    order = (Mode.PLAN, Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO)
    found = [strictness((mode, *rest), request_) for mode in order]
    assert all(stricter >= looser for stricter, looser in itertools.pairwise(found))


@given(SESSIONS, REQUESTS)
def test_a_suggested_rule_turns_a_question_into_a_permission(session, request_: PermissionRequest):
    mode, allow, deny, sandboxed, _ = session
    here = permissions(mode, allow, deny, sandboxed)
    rule = here.suggest(request_)
    if rule:
        assert here.decide(request_).effect is Effect.ASK
        assert permissions(mode, [*allow, rule], deny, sandboxed).decide(request_).effect is Effect.ALLOW
