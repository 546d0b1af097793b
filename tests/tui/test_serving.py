"""Other programs use the model: it is started and stopped by hand, and shows who does."""

from dataclasses import dataclass, field

from laguna_tui.base.errors import UserError
from laguna_tui.session.values import ClientUse
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.serve_screen import CLOSED, NOBODY, ServeScreen
from laguna_tui.tui.tui_settings import TuiSettings
from tests.tui.pilot import ready, screen, until
from tests.tui.scripted import PlayedSession
from tests.tui.test_screen_safety import assert_harmless


@dataclass
class RecordedServer:
    """A server that opens no socket."""

    problem: str = ""
    running: bool = False
    url: str = "http://127.0.0.1:8093"
    token: str = "the-token-of-this-server"
    waiting: int = 0
    stopped: int = 0
    users: list[ClientUse] = field(default_factory=list)

    def start(self) -> None:
        if self.problem:
            raise UserError(self.problem)
        self.running = True

    def stop(self) -> None:
        self.running = False
        self.stopped += 1

    def clients(self) -> list[ClientUse]:
        return self.users


def app_with(server: RecordedServer) -> LagunaApp:
    return LagunaApp(PlayedSession(), TuiSettings(theme="laguna-dark", make_server=lambda: server))


async def shown(app: LagunaApp, pilot) -> None:
    await ready(app, pilot)
    app.prompt.replace_text("/serve")
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, ServeScreen))


async def test_nothing_listens_before_the_user_says_so_and_nothing_afterwards() -> None:
    server = RecordedServer()
    app = app_with(server)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(app, pilot)
        assert CLOSED[:40] in screen(app)
        assert not server.running
        await pilot.press("s")
        await until(pilot, lambda: "http://127.0.0.1:8093/v1" in screen(app))
        assert NOBODY in screen(app)
        assert server.token not in screen(app)
        await pilot.press("s")
        await until(pilot, lambda: CLOSED[:40] in screen(app))
        assert server.stopped == 1


async def test_who_uses_it_is_shown_with_what_they_had() -> None:
    server = RecordedServer(waiting=2)
    server.users = [
        ClientUse("127.0.0.1 aider\x1b[2J", 3, 1234, True, 0.0),
        ClientUse("127.0.0.1 OpenAI/Python", 1, 20, False, 65.0),
    ]
    app = app_with(server)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(app, pilot)
        await pilot.press("s")
        await until(pilot, lambda: "1,234 tokens, now" in screen(app))
        text = screen(app)
        assert "3 answers" in text
        assert "1 min 5 s ago" in text
        assert "2 requests waiting" in text
        assert_harmless(text)


async def test_the_token_and_the_address_are_copied() -> None:
    server = RecordedServer()
    app = app_with(server)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(app, pilot)
        await pilot.press("s", "t")
        await until(pilot, lambda: app.clipboard == server.token)
        await pilot.press("u")
        await until(pilot, lambda: app.clipboard == f"{server.url}/v1")


async def test_what_cannot_be_started_is_said() -> None:
    app = app_with(RecordedServer(problem="the server's packages are missing"))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await shown(app, pilot)
        await pilot.press("s")
        await until(pilot, lambda: "packages are missing" in screen(app))
        assert CLOSED[:40] in screen(app)


async def test_leaving_the_app_stops_it() -> None:
    server = RecordedServer()
    app = app_with(server)
    async with app.run_test(size=(100, 30)) as pilot:
        await shown(app, pilot)
        await pilot.press("s")
        await until(pilot, lambda: server.running)
        await pilot.press("escape")
        app.prompt.replace_text("/quit")
        await pilot.press("enter")
        await until(pilot, lambda: server.stopped == 1)
