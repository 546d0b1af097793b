"""Tasks in which the user has a say while the model works."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pexpect

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import ReasoningDelta, TextDelta
from laguna_tui.base.permission_request import Decision, PermissionAnswer, PermissionRequest
from laguna_tui.session.session import Session
from tests.agent_tasks.repositories import PYTHON
from tests.agent_tasks.trouble import DECLINED
from tests.scripted_model import Lines, Script, call, said, say, scripted_session, think
from tests.scripted_model.ask import TOP, command

READ = call("read", path="shop/cart.py")
YES = PermissionAnswer(Decision.YES)


class User:
    """Answers what is asked, in this order."""

    def __init__(self, *answers: PermissionAnswer) -> None:
        self.asked: list[PermissionRequest] = []
        self._answers = iter(answers)

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        self.asked.append(request)
        return next(self._answers)


@contextmanager
def opened(folder: Path, script: Script | Lines, user: User) -> Iterator[Session]:
    # Without the Makefile there is no check to be reminded of.
    for path, content in ((path, text) for path, text in PYTHON.items() if path != "Makefile"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    with closing(scripted_session(folder, script)) as session:
        session.permissions.use_approver(user)
        session.open(lambda progress: None)
        yield session


def test_the_model_does_what_the_user_says_instead_of_an_edit(tmp_path: Path):
    def model(seen):
        seen = yield call("edit", path="shop/cart.py", old="def is_empty(", new="def has_nothing(")
        assert "keep the name, add a docstring" in seen.result, seen.result
        old = "def is_empty(items):\n"
        seen = yield call("edit", path="shop/cart.py", old=old, new=f'{old}    """Whether nothing was bought."""\n')
        yield "The name is kept."

    user = User(PermissionAnswer(Decision.NO, message="keep the name, add a docstring"), YES)
    with opened(tmp_path, model, user) as session:
        assert said(list(session.chat.ask("rename is_empty"))) == "The name is kept."
    text = (tmp_path / "shop/cart.py").read_text()
    assert 'def is_empty(items):\n    """Whether nothing was bought."""\n' in text
    assert "has_nothing" not in text
    assert [each.proposal.path for each in user.asked if isinstance(each.proposal, ChangeProposal)] == [
        "shop/cart.py"
    ] * 2


def test_the_model_sees_what_the_user_made_of_its_edit(tmp_path: Path):
    mine = PYTHON["shop/cart.py"].replace("is_empty(items)", "is_empty(items=())")

    def model(seen):
        seen = yield call("edit", path="shop/cart.py", old="def is_empty(items)", new="def is_empty(items=[])")
        assert "edited" in seen.result, seen.result
        seen = yield call("read", path="shop/cart.py")
        yield "You took a tuple." if "items=()" in seen.result else "?"

    with opened(tmp_path, model, User(PermissionAnswer(Decision.YES, edited=mine))) as session:
        assert said(list(session.chat.ask("give it a default"))) == "You took a tuple."
    assert (tmp_path / "shop/cart.py").read_text() == mine


def test_what_the_user_says_meanwhile_goes_in_behind_the_tools_and_nothing_is_cut(tmp_path: Path):
    def model(seen):
        seen = yield say(think("I look at both files. " * 20), READ, call("read", path="shop/money.py"))
        assert len(seen.results) == 2, seen.new
        assert seen.user == "call it has_nothing", seen.new
        seen = yield call("edit", path="shop/cart.py", old="def is_empty(", new="def has_nothing(")
        yield "It is called has_nothing."

    with opened(tmp_path, model, User(YES)) as session:
        events, accepted = [], False
        for event in session.chat.ask("rename is_empty to nothing_in"):
            events.append(event)
            if isinstance(event, ReasoningDelta) and not accepted:
                accepted = session.chat.steer("call it has_nothing")
    thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert accepted
    assert thoughts == ("I look at both files. " * 20).strip()
    assert "def has_nothing(items):" in (tmp_path / "shop/cart.py").read_text()
    assert said(events) == "It is called has_nothing."


def test_what_the_user_says_at_the_end_makes_the_work_go_on(tmp_path: Path):
    script = Script([READ, "It has two functions. " * 30, lambda seen: f"As you say: {seen.user}."])
    with opened(tmp_path, script, User()) as session:
        events, accepted = [], False
        for event in session.chat.ask("what is in it?"):
            events.append(event)
            if isinstance(event, TextDelta) and not accepted:
                accepted = session.chat.steer("shorter")
    assert accepted
    assert said(events).endswith("As you say: shorter.")
    assert said(events).count("It has two functions.") == 30
    assert script.asked[2].user == "shorter"


def test_what_the_user_declines_in_a_terminal_is_not_done(tmp_path: Path):
    folder = DECLINED.make(tmp_path / "repository")
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    env |= {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("CACHE", "CONFIG", "STATE")}
    program, *arguments = command("tests.agent_tasks.trouble:take_no", "ask", DECLINED.question)
    child = pexpect.spawn(program, arguments, cwd=str(folder), env=env, timeout=60, encoding="utf-8", echo=False)
    for question in ("Run this command", "Make this edit"):
        child.expect(rf"{question}\? [^\n]*: ")
        child.sendline("n")
    child.expect("Then I leave it.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (folder / "stack.c").read_text() == DECLINED.files["stack.c"]
    assert not (folder / "run_tests").exists()
