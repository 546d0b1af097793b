"""The edit panel asks about an edit, and keys meant for something else never answer."""

import threading
from pathlib import Path

import pytest
from textual import events
from textual.widgets._toast import Toast

from laguna_tui.base.permission_request import (
    CallProposal,
    CommandProposal,
    Decision,
    Mode,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.approvals import approval_panel
from laguna_tui.tui.approvals.approval_panel import ApprovalPanel
from laguna_tui.tui.approvals.text_editor import EditorArea, MessageInput, TextEditor
from laguna_tui.tui.controllers import approval_controller
from laguna_tui.tui.session_controller import SessionState
from laguna_tui.tui.transcript.export import chat_text
from tests.tui.changes import CART, Project
from tests.tui.pilot import ask, ready, running, screen, transcript, until
from tests.tui.scripted import PlayedSession, answer
from tests.tui.test_screen_safety import BRACKETS, HOSTILE, assert_harmless


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def quick(monkeypatch) -> None:
    """Nobody has to wait until the panel listens."""
    monkeypatch.setattr(approval_panel, "REACTION_S", 0.0)
    monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)


def session(*steps, text: str = "Done.", folder: Path = Path("/project")) -> PlayedSession:
    return PlayedSession(answer(text, before=steps), folder=folder)


def a_command(project: Project, command: str = "make test", *, network: bool = False) -> PermissionRequest:
    return PermissionRequest("shell", CommandProposal(command, project.root, 60.0), network=network)


async def editing(app: LagunaApp, pilot) -> None:
    """Send a question and open the editor of what is asked about."""
    await asked(app, pilot)
    await pilot.press("e")
    await until(pilot, lambda: isinstance(app.screen, TextEditor))


async def asked(app: LagunaApp, pilot, *, focused: bool = True) -> None:
    """Send a question and wait until its edit is asked about."""
    await ready(app, pilot)
    app.prompt.replace_text("rename it")
    await pilot.press("enter")
    await until(pilot, lambda: app.approval_panel.display and (app.approval_panel.has_focus or not focused))


@pytest.mark.usefixtures("quick")
class TestAnswers:
    async def test_an_edit_is_made_when_the_user_says_yes(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            assert "+             amount += item.price" in transcript(app)
            assert project.cart.read_text() == CART
            await pilot.press("y")
            await ready(app, pilot)
            assert project.cart.read_text() == CART.replace("total", "amount")
            assert "shop/cart.py  +4 −4  in 4 places" in transcript(app)
            assert not app.approval_panel.display
            assert app.prompt.has_focus

    async def test_an_edit_is_not_made_when_the_user_says_no_and_the_answer_goes_on(self, project: Project) -> None:
        async with running(session(project.rename(), text="Then not.")) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("n")
            await ready(app, pilot)
            assert project.cart.read_text() == CART
            assert "not made" in transcript(app)
            assert "amount" not in transcript(app)
            assert "Then not." in transcript(app)

    async def test_hunks_are_accepted_one_by_one(self, project: Project) -> None:
        """Of one the user thinks again, and the file gets exactly what is accepted."""
        cart = "".join(f"total_{number}\n" + "\n" * 9 for number in range(4))
        project.cart.write_text(cart)
        chat = session(project.edit(cart, cart.replace("total", "amount")))
        async with running(chat) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("h")
            await until(pilot, lambda: "Accept hunk 1 of 4 of shop/cart.py?" in screen(app))
            assert "+1 −1   0 accepted, 0 declined, 4 left" in screen(app)
            await pilot.press("y", "n", "left", "left", "n", "right", "y", "a")
            await until(pilot, lambda: "Write 2 of 4 hunks to shop/cart.py?" in screen(app))
            assert "The model sees which hunks you declined." in screen(app)
            assert [row.strip() for row in transcript(app).splitlines() if " of 4  " in row] == [
                "hunk 1 of 4  ✕ declined",
                "hunk 2 of 4  ✕ declined",
                "hunk 3 of 4  ✓ accepted",
                "hunk 4 of 4  ✓ accepted",
            ]
            assert project.cart.read_text() == cart
            await pilot.press("y")
            await ready(app, pilot)
            assert project.cart.read_text() == cart.replace("total_2", "amount_2").replace("total_3", "amount_3")
            assert "shop/cart.py  +2 −2  2 of 4 hunks" in transcript(app)

    async def test_declining_all_hunks_declines_the_edit(self, project: Project) -> None:
        chat = session(project.edit(CART, CART.replace("What", "All").replace("cents", "euros")))
        async with running(chat) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("h", "d")
            await until(pilot, lambda: "Decline all hunks of shop/cart.py?" in screen(app))
            await pilot.press("y")
            await ready(app, pilot)
            assert project.cart.read_text() == CART
            assert "not made" in transcript(app)

    async def test_escape_goes_back_from_the_hunks_to_the_question(self, project: Project) -> None:
        chat = session(project.edit(CART, CART.replace("What", "All").replace("cents", "euros")))
        async with running(chat) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("h", "escape")
            await until(pilot, lambda: "Change shop/cart.py?" in screen(app))
            assert "hunk 1 of 2" not in transcript(app)
            await pilot.press("y")
            await ready(app, pilot)
            assert "euros" in project.cart.read_text()

    async def test_always_makes_later_edits_of_the_same_file_without_asking(self, project: Project) -> None:
        one = project.edit("PRICE_1 =", "COST_1 =", "shop/prices.py")
        project.prices.write_text(one.after)
        two = project.edit("PRICE_2 =", "COST_2 =", "shop/prices.py")
        project.prices.write_text(one.before)
        async with running(session(one, two, project.rename(), folder=project.root)) as (app, pilot):
            await asked(app, pilot)
            assert "a adds the rule edit(shop/prices.py) for this folder" in screen(app)
            await pilot.press("a")
            await until(pilot, lambda: "edit(shop/prices.py) is" in screen(app))
            await until(pilot, lambda: "Change shop/cart.py?" in screen(app) and app.approval_panel.has_focus)
            await pilot.press("n")
            await ready(app, pilot)
            assert project.prices.read_text() == two.after
            assert project.cart.read_text() == CART

    async def test_always_is_not_offered_where_no_rule_would_allow_it_again(self, project: Project) -> None:
        (project.root / "AGENTS.md").write_text("A=1\n")
        obeyed = project.edit("A=1", "A=2", "AGENTS.md")
        async with running(session(obeyed, folder=project.root)) as (app, pilot):
            await asked(app, pilot)
            assert "a always" not in app.approval_panel.render().plain
            assert " ".join(app.approval_panel.render().plain.split()).count("coding assistants follow it") == 1
            await pilot.press("a")
            assert app.approval_panel.display
            await pilot.press("n")
            await ready(app, pilot)
            assert "A=1" in (project.root / "AGENTS.md").read_text()

    async def test_a_command_is_asked_about_with_all_there_is_to_know(self, project: Project) -> None:
        command = CommandProposal("make test\necho done", Path("/src/shop"), 90.0)
        request = PermissionRequest("shell", command, why="No rule allows it.", sandbox="It has no network.")
        opened = session(request)
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            assert "Run this command?" in screen(app)
            assert app.approval_panel.render().plain.split("\n")[:5] == [
                "$ make test",
                "  echo done",
                "in /src/shop, for at most 1 min 30 s",
                "No rule allows it.",
                "It has no network.",
            ]
            assert "$ make test echo done  waiting for you" in transcript(app)
            await pilot.press("y")
            await ready(app, pilot)
            assert [answer.decision for answer in opened.chat.answers] == [Decision.YES]

    async def test_a_long_command_can_be_read_whole_in_the_transcript(self, project: Project) -> None:
        command = "\n".join(f"echo {number}" for number in range(30))
        async with running(session(a_command(project, command)), size=(40, 24)) as (app, pilot):
            await asked(app, pilot)
            assert "… 26 more rows, shown above" in screen(app)
            assert "  echo 29" in app.approval_panel.render().plain
            await until(pilot, lambda: "│ echo 0" in screen(app))
            await pilot.press("ctrl+end")
            await until(pilot, lambda: "│ echo 29" in screen(app))
            await pilot.press("n")
            await ready(app, pilot)
            assert "echo 29" not in transcript(app).split("\n")[-3]

    async def test_network_is_allowed_by_its_own_key_and_only_where_it_can_be(self, project: Project) -> None:
        opened = session(a_command(project, network=False), a_command(project, network=True))
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            assert "network" not in app.approval_panel.render().plain.split("\n")[-1]
            await pilot.press("y")
            await until(pilot, lambda: "w network" in screen(app) and app.approval_panel.has_focus)
            await pilot.press("w")
            await ready(app, pilot)
            assert [answer.decision for answer in opened.chat.answers] == [Decision.YES, Decision.YES_WITH_NETWORK]

    async def test_another_tools_call_is_asked_about_with_its_arguments(self, project: Project) -> None:
        call = CallProposal("fetch(https://example.org)", ("depth: 2", "follow: true"))
        async with running(session(PermissionRequest("fetch", call, why="It is not ours."))) as (app, pilot):
            await asked(app, pilot)
            assert "Call fetch(https://example.org)?" in screen(app)
            assert app.approval_panel.render().plain.startswith("depth: 2\nfollow: true\nIt is not ours.")
            await pilot.press("n")
            await ready(app, pilot)

    async def test_a_message_goes_with_the_no(self, project: Project) -> None:
        opened = session(a_command(project))
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("m")
            await until(pilot, lambda: isinstance(app.screen, MessageInput))
            await pilot.press("enter")
            assert isinstance(app.screen, MessageInput), "there is nothing to send yet"
            await pilot.press(*"use", "space", *"make", "ctrl+j", *"then", "enter")
            await ready(app, pilot)
            assert opened.chat.answers == [PermissionAnswer(Decision.NO, message="use make\nthen")]

    async def test_who_leaves_the_message_is_asked_on(self, project: Project) -> None:
        opened = session(a_command(project))
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("m")
            await until(pilot, lambda: isinstance(app.screen, MessageInput))
            await pilot.press(*"no", "escape")
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert not opened.chat.answers
            await pilot.press("y")
            await ready(app, pilot)
            assert opened.chat.answers == [PermissionAnswer(Decision.YES)]

    async def test_stopping_closes_what_was_opened_for_the_question(self, project: Project) -> None:
        opened = session(a_command(project))
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, TextEditor))
            await pilot.press("ctrl+c")
            await ready(app, pilot)
            assert len(app.screen_stack) == 1
            assert "stopped" in transcript(app)


@pytest.mark.usefixtures("quick")
class TestEditing:
    async def test_a_command_is_edited_shown_as_a_diff_and_only_then_run(self, project: Project) -> None:
        opened = session(a_command(project, "make test"))
        async with running(opened) as (app, pilot):
            await editing(app, pilot)
            await pilot.press("end", *" -k", "ctrl+s")
            await until(pilot, lambda: "+ make test -k" in screen(app))
            assert "− make test" in screen(app)
            assert not opened.chat.answers
            await pilot.press("enter")
            assert not opened.chat.answers, "Enter approves nothing"
            await pilot.press("ctrl+s")
            await ready(app, pilot)
            assert opened.chat.answers == [PermissionAnswer(Decision.YES, edited="make test -k")]

    async def test_a_change_is_edited_before_it_is_made(self, project: Project) -> None:
        opened = session(project.rename())
        async with running(opened) as (app, pilot):
            await editing(app, pilot)
            assert "return amount" in screen(app)
            await pilot.press(*"# new", "enter", "ctrl+s")
            await until(pilot, lambda: "+ # new" in screen(app))
            await pilot.press("ctrl+s")
            await ready(app, pilot)
            assert project.cart.read_text() == "# new\n" + CART.replace("total", "amount")
            assert "+ # new" in transcript(app)

    async def test_escape_goes_back_to_the_text_and_then_to_the_question(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await editing(app, pilot)
            await pilot.press("x", "ctrl+s")
            await until(pilot, lambda: "Esc keep editing" in screen(app))
            await pilot.press("escape")
            await until(pilot, lambda: "Ctrl+S shows the change" in screen(app))
            await pilot.press("escape")
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert project.cart.read_text() == CART
            await pilot.press("n")
            await ready(app, pilot)
            assert project.cart.read_text() == CART

    async def test_nothing_is_applied_unedited_or_without_effect(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await editing(app, pilot)
            await pilot.press("ctrl+s")
            await until(pilot, lambda: "You have not changed anything yet." in screen(app))
            app.screen.query_one(EditorArea).load_text(CART)
            await pilot.press("ctrl+s")
            await until(pilot, lambda: "This changes nothing." in screen(app))
            assert "Ctrl+S shows the change" in screen(app)
            await pilot.press("escape", "n")

    async def test_a_text_that_an_editor_would_not_give_back_is_not_edited(self, project: Project) -> None:
        async with running(session(a_command(project, "printf '\x1b[31m'"))) as (app, pilot):
            await asked(app, pilot)
            assert "edit" not in app.approval_panel.render().plain.split("\n")[-1]
            await pilot.press("n")
            await ready(app, pilot)

    async def test_what_is_pasted_into_the_editor_is_only_text(self, project: Project) -> None:
        async with running(session(a_command(project, "make"))) as (app, pilot):
            await editing(app, pilot)
            app.screen.query_one(EditorArea).post_message(events.Paste("\x1b]0;x\x07"))
            await until(pilot, lambda: "␛]0;x␇" in screen(app))
            await pilot.press("escape", "n")

    async def test_shift_tab_goes_through_the_modes(self) -> None:
        opened = session()
        async with running(opened) as (app, pilot):
            await ready(app, pilot)
            seen = []
            for _ in range(4):
                before = opened.permissions.mode
                await pilot.press("shift+tab")
                await until(pilot, lambda before=before: opened.permissions.mode is not before)
                seen.append(opened.permissions.mode)
            assert seen == [Mode.ACCEPT_EDITS, Mode.PLAN, Mode.AUTO, Mode.ASK]
            assert app.prompt.has_focus

    async def test_only_what_the_present_mode_means_is_said(self) -> None:
        opened = session()
        async with running(opened) as (app, pilot):
            await ready(app, pilot)
            for mode in (Mode.ACCEPT_EDITS, Mode.PLAN):
                await pilot.press("shift+tab")
                await until(pilot, lambda mode=mode: opened.permissions.mode is mode)
            await until(
                pilot,
                lambda: "Nothing is changed or run, and the answer ends in a plan." in " ".join(screen(app).split()),
            )
            assert "Files are changed without asking" not in " ".join(screen(app).split())

    async def test_a_command_is_edited_from_its_end_on(self, project: Project) -> None:
        async with running(session(a_command(project, "pytest"))) as (app, pilot):
            await editing(app, pilot)
            await pilot.press("space", "minus", "q")
            assert app.screen.query_one(EditorArea).text == "pytest -q"
            await pilot.press("escape", "n")

    async def test_every_edit_is_asked_about(self, project: Project) -> None:
        opened = session(project.rename(), project.edit("PRICE_1 =", "COST_1 =", "shop/prices.py"))
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("y")
            await until(pilot, lambda: "Change shop/prices.py?" in screen(app) and app.approval_panel.has_focus)
            await pilot.press("n")
            await ready(app, pilot)
            assert "amount" in project.cart.read_text()
            assert "COST_1" not in project.prices.read_text()

    async def test_escape_means_no_and_stops_the_answer(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("escape")
            assert not app.approval_panel.display
            await ready(app, pilot)
            assert project.cart.read_text() == CART
            assert "stopped" in transcript(app)
            assert "Done." not in transcript(app)
            assert app.prompt.has_focus

    async def test_a_choice_can_be_clicked(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.click(ApprovalPanel, offset=(3, app.approval_panel.outer_size.height - 2))
            await ready(app, pilot)
            assert "amount" in project.cart.read_text()

    async def test_why_an_edit_could_not_be_made_is_said(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            project.cart.write_text("something else")
            await pilot.press("y")
            await ready(app, pilot)
            assert project.cart.read_text() == "something else"
            assert "│ Nothing was changed: shop/cart.py changed since" in transcript(app)

    async def test_a_new_chat_declines(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("ctrl+n")
            await ready(app, pilot)
            assert project.cart.read_text() == CART
            assert not app.approval_panel.display
            assert "shop/cart.py" not in transcript(app)

    async def test_quitting_declines(self, project: Project) -> None:
        opened = session(project.rename())
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            assert app.state is SessionState.BUSY
            await pilot.press("ctrl+q")
            assert app.return_code == 0
        assert opened.chat.ended.wait(60)
        assert project.cart.read_text() == CART

    async def test_the_input_keeps_its_text(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("tab", *"and", "tab")
            await until(pilot, lambda: app.approval_panel.has_focus)
            await pilot.press("y")
            await ready(app, pilot)
            assert app.prompt.text == "and"
            assert app.prompt.has_focus
            assert "amount" in project.cart.read_text()

    async def test_the_status_says_who_is_waited_for(self, project: Project) -> None:
        async with running(session(project.rename()), size=(40, 24)) as (app, pilot):
            await asked(app, pilot)
            assert "waiting for you" in screen(app)
            await pilot.press("y")
            await ready(app, pilot)
            assert "waiting for you" not in screen(app)

    async def test_a_warning_is_shown(self, project: Project) -> None:
        async with running(session(project.edit("def total(self):", "def total(self:"))) as (app, pilot):
            await asked(app, pilot)
            assert "! After this edit the file is no longer valid Python" in screen(app)


def panel(app: LagunaApp) -> list[str]:
    return app.approval_panel.render().plain.split("\n")


@pytest.mark.usefixtures("quick")
class TestNothingIsHidden:
    @pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
    async def test_the_end_of_a_command_shows_behind_any_number_of_blank_lines(
        self, project: Project, size: tuple[int, int]
    ) -> None:
        async with running(session(a_command(project, "ls" + "\n" * 301 + "rm -rf ~")), size=size) as (app, pilot):
            await asked(app, pilot)
            assert panel(app)[:3] == ["$ ls", "  [300 blank lines]", "  rm -rf ~"]
            assert "  rm -rf ~" in screen(app)
            await pilot.press("escape")

    @pytest.mark.parametrize("size", [(80, 24), (40, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
    async def test_head_and_tail_show_with_the_number_of_rows_between_them(
        self, project: Project, size: tuple[int, int]
    ) -> None:
        command = "\n".join(f"echo {number}" for number in range(300))
        async with running(session(a_command(project, command)), size=size) as (app, pilot):
            await asked(app, pilot)
            assert panel(app)[:5] == [
                "$ echo 0",
                "  echo 1",
                "  … 296 more rows, shown above",
                "  echo 298",
                "  echo 299",
            ]
            await pilot.press("escape")

    async def test_the_end_of_a_long_line_shows_behind_any_number_of_spaces(self, project: Project) -> None:
        async with running(session(a_command(project, "ls" + " " * 5000 + "; rm -rf ~"))) as (app, pilot):
            await asked(app, pilot)
            assert panel(app)[0] == "$ ls <5,000 spaces> ; rm -rf ~"
            await pilot.press("escape")

    async def test_hidden_and_look_alike_characters_are_named(self, project: Project) -> None:
        async with running(session(a_command(project, "p\u0443test a\u200bb\u202e"))) as (app, pilot):
            await asked(app, pilot)
            assert panel(app)[0] == "$ p\u0443<U+0443>test a<U+200B>b<U+202E>"
            assert " ".join(panel(app)[1:4]).startswith(
                "! It contains hidden or look-alike characters, marked where they are: "
                "U+200B ZERO WIDTH SPACE, U+202E RIGHT-TO-LEFT OVERRIDE, U+0443 CYRILLIC SMALL LETTER U."
            )
            await pilot.press("escape")

    async def test_a_path_that_looks_like_another_is_marked(self, project: Project) -> None:
        (project.root / "shop" / "c\u0430rt.py").write_text("a = 1\n")
        change = project.edit("a = 1", "a = 2\u200b", "shop/c\u0430rt.py")
        async with running(session(change)) as (app, pilot):
            await asked(app, pilot)
            assert "Change shop/c\u0430<U+0430>rt.py?" in screen(app)
            assert "+ a = 2<U+200B>" in transcript(app)
            assert "U+0430 CYRILLIC SMALL LETTER A" in " ".join(panel(app))
            await pilot.press("escape")

    async def test_arguments_of_another_tool_show_their_end(self, project: Project) -> None:
        call = CallProposal("run of the MCP server shell", (f"script: {'true; ' * 2000}rm -rf ~", "a\u200bb: 1"))
        async with running(session(PermissionRequest("mcp__run", call))) as (app, pilot):
            await asked(app, pilot)
            assert panel(app)[4] == "a<U+200B>b: 1"
            assert panel(app)[3].endswith("true; rm -rf ~")
            assert "more rows, shown above" in panel(app)[2]
            await pilot.press("escape")

    async def test_what_is_destructive_is_said_in_a_word_and_framed_differently(self, project: Project) -> None:
        opened = session(a_command(project, "make"), a_command(project, "git reset --hard"))
        async with running(opened) as (app, pilot):
            await asked(app, pilot)
            assert "╭─ Run this command? ─" in screen(app)
            await pilot.press("y")
            await until(pilot, lambda: "┏━ Destructive: run this command? ━" in screen(app))
            assert panel(app)[1] == "! git reset --hard discards uncommitted changes."
            await until(pilot, lambda: app.approval_panel.has_focus)
            await pilot.press("n")
            await ready(app, pilot)
            assert [each.decision for each in opened.chat.answers] == [Decision.YES, Decision.NO]

    @pytest.mark.parametrize("size", [(80, 6), (12, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
    async def test_a_command_is_not_allowed_while_its_end_is_out_of_sight(
        self, project: Project, size: tuple[int, int]
    ) -> None:
        opened = session(a_command(project, "make\nmake test\nmake install\nmake clean\nrm -rf ~", network=True))
        async with running(opened, size=size) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("y", "w")
            assert app.approval_panel.display
            assert opened.chat.answers == []
            notes = {note.message for note in app._notifications}
            assert notes == {"The terminal is too small to show the whole question. Enlarge it, or press n to decline."}
            await pilot.resize_terminal(80, 24)
            await until(pilot, lambda: "rm -rf ~" in screen(app))
            await pilot.press("y")
            await ready(app, pilot)
            assert [each.decision for each in opened.chat.answers] == [Decision.YES]


class TestWhoMeantToAnswer:
    async def test_who_is_typing_does_not_answer(self, project: Project, monkeypatch) -> None:
        monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
        gate = threading.Event()
        async with running(session(gate, project.rename())) as (app, pilot):
            await ready(app, pilot)
            await pilot.press(*"go", "enter", *"ma")
            gate.set()
            await until(pilot, lambda: app.approval_panel.display)
            await pilot.press(*"y")
            await pilot.pause(0.2)
            await pilot.press(*"n")
            assert app.prompt.text == "mayn"
            assert app.approval_panel.display
            assert "Tab to answer" in screen(app)
            await pilot.press("escape")

    async def test_who_has_typed_a_moment_ago_keeps_the_keys(self, project: Project, monkeypatch) -> None:
        monkeypatch.setattr(approval_controller, "TYPING_S", 60.0)
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot, focused=False)
            await pilot.pause(0.2)
            assert app.prompt.has_focus
            await pilot.press("y")
            assert app.prompt.text == "y"
            assert app.approval_panel.display
            await pilot.press("escape")

    async def test_a_key_that_came_too_soon_to_be_an_answer_is_typed(self, project: Project, monkeypatch) -> None:
        monkeypatch.setattr(approval_controller, "TYPING_S", 0.0)
        monkeypatch.setattr(approval_panel, "REACTION_S", 60.0)
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press(*"yay")
            await until(pilot, lambda: app.prompt.text == "yay")
            assert app.prompt.has_focus
            assert project.cart.read_text() == CART
            assert app.approval_panel.display
            await pilot.press("escape")

    @pytest.mark.usefixtures("quick")
    async def test_a_key_that_waited_since_before_the_question_is_typed(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await ready(app, pilot)
            key = events.Key("y", "y")
            await asked(app, pilot)
            app.approval_panel.post_message(key)
            await until(pilot, lambda: app.prompt.text == "y")
            assert app.approval_panel.display
            await pilot.press("escape")

    @pytest.mark.usefixtures("quick")
    async def test_letters_that_are_no_answer_are_typed(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("h")
            await until(pilot, lambda: app.prompt.has_focus)
            await pilot.press(*"ey")
            assert app.prompt.text == "hey"
            assert app.approval_panel.display
            await pilot.press("escape")

    @pytest.mark.usefixtures("quick")
    async def test_a_word_that_comes_in_one_read_answers_with_none_of_its_letters(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            for letter in "delay any":
                app.approval_panel.post_message(events.Key("space" if letter == " " else letter, letter))
            await until(pilot, lambda: app.prompt.text == "delay any")
            assert project.cart.read_text() == CART
            assert app.approval_panel.display
            await pilot.press("escape")

    @pytest.mark.usefixtures("quick")
    async def test_what_is_pasted_does_not_answer(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            app.approval_panel.post_message(events.Paste("yes\r\n\x1b[2J"))
            await until(pilot, lambda: app.prompt.text)
            assert app.prompt.text == "yes\n␛[2J"
            assert project.cart.read_text() == CART
            await pilot.press("escape")

    @pytest.mark.usefixtures("quick")
    async def test_enter_answers_nothing(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("enter")
            await pilot.pause(0.1)
            assert app.approval_panel.display
            assert project.cart.read_text() == CART
            await pilot.press("escape")

    @pytest.mark.usefixtures("quick")
    async def test_a_question_behind_another_screen_waits_until_that_is_closed(self, project: Project) -> None:
        gate = threading.Event()
        async with running(session(gate, project.rename())) as (app, pilot):
            await ready(app, pilot)
            await pilot.press(*"go", "enter", "f1")
            gate.set()
            await until(pilot, lambda: app.approval_panel.display)
            await pilot.press("y", "n")
            assert not app.approval_panel.has_focus
            await pilot.press("escape")
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert project.cart.read_text() == CART
            await pilot.press("escape")

    async def test_a_click_that_brings_the_focus_answers_nothing(self, project: Project, monkeypatch) -> None:
        monkeypatch.setattr(approval_controller, "TYPING_S", 60.0)
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot, focused=False)
            await pilot.click(ApprovalPanel, offset=(3, app.approval_panel.outer_size.height - 2))
            await until(pilot, lambda: app.approval_panel.has_focus)
            assert app.approval_panel.display
            assert project.cart.read_text() == CART
            await pilot.press("escape")


@pytest.mark.usefixtures("quick")
class TestLooking:
    @pytest.mark.parametrize("size", [(80, 24), (40, 24)])
    async def test_a_long_diff_begins_at_its_top_and_scrolls(self, project: Project, size: tuple[int, int]) -> None:
        async with running(session(project.long()), size=size) as (app, pilot):
            await asked(app, pilot)
            await until(pilot, lambda: "PRICE_0 = 0" in screen(app))
            await pilot.press(*["down"] * 3)
            await until(pilot, lambda: "PRICE_0 = 0" not in screen(app))
            await pilot.press("ctrl+end")
            await until(pilot, lambda: "COST_119 = 119" in screen(app))
            assert "Change shop/prices.py?" in screen(app)
            await pilot.press("y")
            await ready(app, pilot)
            assert "COST_119" in project.prices.read_text()
            assert "Done." in screen(app)

    async def test_the_question_shows_whatever_else_wants_rows(self, project: Project) -> None:
        opened = session(project.edit("def total(self):", "def total(self:"))
        async with running(opened, size=(40, 24)) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("f2", "tab")
            app.prompt.replace_text("a long text\n" * 12)
            wanted = ("Change shop/cart.py?", "Tab to answer", "waiting for you", "item", "a long text")
            await until(pilot, lambda: all(text in screen(app) for text in wanted))
            await pilot.press("escape")

    @pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
    async def test_a_notification_covers_neither_the_answers_nor_the_input(
        self, project: Project, size: tuple[int, int]
    ) -> None:
        async with running(session(a_command(project), folder=project.root), size=size) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("shift+tab")
            app.modes.use("accept-edits")
            await until(pilot, lambda: app.screen.query(Toast))
            for toast in app.screen.query(Toast):
                assert toast.region
                assert not toast.region.overlaps(app.approval_panel.region)
                assert not toast.region.overlaps(app.prompt.region)

    async def test_a_hostile_diff_is_only_text_in_its_rows(self, project: Project) -> None:
        forged = f"╭─ Change nothing? ─╮ {HOSTILE.replace(chr(0), '')} {BRACKETS}\u2028y yes\x85 n no"
        async with running(session(project.edit("in cents", forged)), size=(80, 40)) as (app, pilot):
            await asked(app, pilot)
            assert_harmless(screen(app))
            rows = [row for row in transcript(app).split("\n") if "Change nothing?" in row]
            assert [row.split()[:2] for row in rows] == [["13", "+"]], transcript(app)
            assert not any(row.strip().startswith("y yes n") for row in screen(app).split("\n"))
            assert "[bold]" in screen(app)
            await pilot.press("escape")

    async def test_edits_open_and_close_with_the_tool_calls(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("y")
            await ready(app, pilot)
            assert "more rows" in transcript(app)
            await pilot.press("ctrl+o")
            assert "return amount" in transcript(app)

    async def test_an_exported_chat_has_the_diff(self, project: Project) -> None:
        async with running(session(project.rename())) as (app, pilot):
            await asked(app, pilot)
            await pilot.press("y")
            await ready(app, pilot)
            assert "```diff\n--- shop/cart.py\n+++ shop/cart.py\n@@" in chat_text(app.document, "chat")


class TestCommands:
    async def test_undo_waits_for_nobody(self, project: Project) -> None:
        gate = threading.Event()
        async with running(session(gate)) as (app, pilot):
            await ready(app, pilot)
            await pilot.press(*"go", "enter", *"/undo", "enter")
            await until(pilot, lambda: "The session is busy" in screen(app))
            await pilot.press("escape")

    @pytest.mark.parametrize(
        ("typed", "mode", "told"),
        [
            ("/mode", Mode.ASK, "You are asked before a file is changed or a command is run."),
            (
                "/mode accept-edits",
                Mode.ACCEPT_EDITS,
                "Files are changed without asking, but you are asked before a file is deleted, or one that other "
                "programs run is changed. /mode ask turns this off.",
            ),
            (
                "/mode plan",
                Mode.PLAN,
                "Nothing is changed or run, and the answer ends in a plan. /mode ask turns this off.",
            ),
            (
                "/mode auto",
                Mode.AUTO,
                "Files are changed and sandboxed commands are run without asking. You are asked about files that other "
                "programs run, and about commands that the sandbox cannot contain. /mode ask turns this off.",
            ),
            ("/mode maybe", Mode.ASK, "There is no /mode maybe. There are: ask, accept-edits, plan, auto."),
        ],
    )
    async def test_the_mode_can_be_changed(self, typed: str, mode: Mode, told: str) -> None:
        opened = session()
        async with running(opened) as (app, pilot):
            await ready(app, pilot)
            app.prompt.replace_text(typed)
            await pilot.press("enter")
            await until(pilot, lambda: [each.message for each in app._notifications] == [told])
            assert opened.permissions.mode is mode
            await until(pilot, lambda: app.status_bar.status.permissions is mode)

    async def test_without_asking_an_edit_is_made_and_shown(self, project: Project) -> None:
        opened = session(project.rename())
        opened.permissions.mode = Mode.ACCEPT_EDITS
        async with running(opened) as (app, pilot):
            await ask(app, pilot, "rename it")
            assert "shop/cart.py  +4 −4" in transcript(app)
            assert "amount" in project.cart.read_text()
