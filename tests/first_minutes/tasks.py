"""The 34 tasks: what a newcomer wants, and the keys that somebody would press who reads only the screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.first_minutes.terminal import Terminal

Step = Callable[[Terminal], None]

READY = r"For example"
"""The empty chat shows examples as soon as the folder is indexed."""
SCRIPTED = r"scripted answers questions"


def types(text: str) -> Step:
    return lambda terminal: terminal.type(text)


def pastes(text: str) -> Step:
    return lambda terminal: terminal.paste(text)


def presses(*keys: str) -> Step:
    def press(terminal: Terminal) -> None:
        for key in keys:
            terminal.press(key)
            terminal.settle()

    return press


def asks(text: str) -> Step:
    """Type a message and send it, and wait until nothing moves any more."""

    def ask(terminal: Terminal) -> None:
        terminal.type(text)
        terminal.settle()
        terminal.press("Enter")
        terminal.settle()

    return ask


def sees(pattern: str) -> Step:
    return lambda terminal: terminal.wait(pattern)


def drags(start: tuple[int, int], end: tuple[int, int]) -> Step:
    """Drag the left button; places are shares of the screen in percent."""

    def drag(terminal: Terminal) -> None:
        (x, y), (u, v) = (
            (1 + column * (terminal.width - 1) // 100, 1 + row * (terminal.height - 1) // 100)
            for column, row in (start, end)
        )
        terminal.mouse(0, x, y)
        for part in range(1, 5):
            terminal.mouse(32, x + (u - x) * part // 4, y + (v - y) * part // 4)
        terminal.mouse(0, u, v, up=True)

    return drag


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Attributes:
        name: of its pictures.
        want: what the newcomer wants.
        steps: how.
        script: of the scripted model (`agent.py`) for what the bundled model cannot do; empty for the real app.
    """

    name: str
    want: str
    steps: Sequence[Step]
    script: str = ""


LONG = "\n".join(f"line {number}: the import takes {number} ms too long" for number in range(120))
ABSENT = "".join(("Payment", "Gateway"))
"""A name that no file has, this one included."""
RENAME = "rename injection_size to injection_bytes in engine/laguna_engine/draft/dflash_graph.py"

TASKS = (
    Task("start", "start it in a project and see what it is", [sees(READY)]),
    Task("example", "try something without knowing what to type", [sees(READY), presses("Down", "Enter")]),
    Task("definition", "find where something is defined", [sees(READY), asks("where's StreamParser defined")]),
    Task("uses", "find who uses it", [sees(READY), asks("who calls sanitize_line?")]),
    Task("tests", "find its tests", [sees(READY), asks("is there any test for safe_context")]),
    Task("contents", "see what is in a file", [sees(READY), asks("what's in laguna_tui/context/frame.py?")]),
    Task("concept", "find code by what it does", [sees(READY), asks("where do we retry a download?")]),
    Task("language", "ask in German", [sees(READY), asks("wo ist StreamParser definiert?")]),
    Task("typo", "ask with a slip in the name", [sees(READY), asks("where is StreamPaser defined?")]),
    Task("absent", "ask for something that is not there", [sees(READY), asks(f"where is {ABSENT} defined?")]),
    Task("follow-up", "ask on about the same thing",
         [sees(READY), asks("where is sanitize_line defined?"), asks("and its tests?")]),
    Task("too-much", "ask what the demo model cannot do", [sees(READY), asks("why is StreamParser so slow?")]),
    Task("help", "find out what can be asked", [sees(READY), presses("F1")]),
    Task("commands", "find a command", [sees(READY), types("/")]),
    Task("slip", "mistype a command", [sees(READY), asks("/exprot")]),
    Task("mention", "name a file in the question", [sees(READY), types("explain @frame")]),
    Task("paste", "paste a long log", [sees(READY), pastes(LONG)]),
    Task("editor", "write the message in the editor", [sees(READY), types("a long message"), presses("C-g")]),
    Task("cost", "see what a message costs before sending it",
         [sees(READY), types("explain @laguna_tui/context/frame.py "), presses("Escape")]),
    Task("change", "have a small change made", [sees(READY), asks(RENAME), presses("y")]),
    Task("decline", "decline a change", [sees(READY), asks(RENAME), presses("n")]),
    Task("undo", "take the change back", [sees(READY), asks(RENAME), presses("y"), asks("/undo")]),
    Task("diff", "see what has changed", [sees(READY), asks(RENAME), presses("y"), asks("/diff")]),
    Task("hunks", "accept a part of a change",
         [sees(SCRIPTED), asks("tidy up"), presses("h", "y", "n", "y")], script="hunks"),
    Task("command", "let it run the tests", [sees(SCRIPTED), asks("run the tests"), presses("y")], script="tests"),
    Task("danger", "notice a dangerous command", [sees(SCRIPTED), asks("clean up")], script="danger"),
    Task("plan", "have it plan first",
         [sees(SCRIPTED), presses("BTab", "BTab"), asks("plan the change")], script="plan"),
    Task("commit", "commit the change", [sees(READY), asks(RENAME), presses("y"), asks("/commit")]),
    Task("open", "open a place from an answer",
         [sees(READY), asks("who calls sanitize_line?"), presses("C-Up", "C-Up", "o")]),
    Task("select", "copy words with the mouse",
         [sees(READY), asks("who calls sanitize_line?"), drags((8, 30), (60, 60))]),
    Task("rewind", "go back to an earlier message",
         [sees(READY), asks("where is StreamParser defined?"), asks("who calls sanitize_line?"),
          asks("/rewind"), sees("Going back")]),
    Task("resume", "find an earlier session", [sees(READY), asks("where is StreamParser defined?"), presses("C-s")]),
    Task("model", "choose a better model", [sees(READY), presses("F8"), sees("Licence")]),
    Task("speed", "see how fast it is", [sees(READY), asks(RENAME), presses("y", "F4", "Escape", "F2")]),
)  # fmt: skip
