"""The bundled model's guard: lets through what follows from the question and from what its tools said.

Laguna Nano copies names and lists, and now and then it copies wrongly, takes a name from an earlier question, or makes
an edit of something that was no request for one. So the name that it looks up has to stand in the question, its answer
has to be what the tool said, and its edit has to be the rename or the docstring that was asked for. All of that is
judged by the words alone; nothing here reads a file.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import permutations

from laguna_engine.chat.call_constraint import Choices, ValueRules
from laguna_engine.chat.messages import Malformed, ToolCall
from laguna_tui.agent.tools.base import edit
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.nano import find, search
from laguna_tui.agent.tools.nano.question import IN_FILE, JOINT, NAME, REFERS, WORD, UserMessage, stands
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.repo.syntax.python_syntax import documented, has_docstring

REFUSED = (
    "I was about to change something else than you asked for, so I changed nothing. Say it as `rename OLD to NEW in"
    " FILE`, or as `add a docstring to NAME`."
)
HAS_DOCSTRING = "`{name}` has a docstring already, so I changed nothing."
_DOCSTRING = re.compile(r'\n[ \t]+"""(?P<text>[^"\\\n]+)"""')
_TO_DO = "TODO: describe "
"""How a docstring begins for which no text was given."""
_DEFINITION = re.compile(r"(?:async +)?(?:def|class) +(?P<name>\w+)")
_PATTERN = re.compile(r"<tool_call>search\b.*?<arg_key>pattern</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_BEGUN = re.compile(
    r"\s*<tool_call>\s*(?P<name>find|search)\s*"
    r"(?:<arg_key>list</arg_key>\s*<arg_value>(?P<list>defined|used|tested)</arg_value>)?"
)
_LISTED = re.compile(r"^\d\. `\S+ (?P<path>\S+):\d+` `(?P<code>.*)`$", re.MULTILINE)

_RENAMES = re.compile(
    r"renam|replac|chang|\bname|\bcall(?:ed)?\b|swap|substitut|switch|\bturns?\b|convert|becom|instead|in place"
    r"|rather|->|=>|→|<-|\bs/|\b(?:should|must|shall|has to|have to|ought to|needs to|is to|to|could)"
    r" (?:be|read|say|go)\b|is now|\bwill be\b"
    r"|\b(?:use|put|write|give|make|say|drop|take|let|set|pick|choose|adopt|new)\b|\bexchang|\btrad"
    r"|\bmov|\bprefer|\bfrom now\b|\bno more\b|better|clearer|nicer|\bbeats\b|known as|adapt|refer to|update"
    r"|alter|modif|transform|rebrand|retitle|relabel|refactor|spell|\bcorrect|\bdub|supersed|formerly|used to",
    re.IGNORECASE,
)
_RENAME_VERB = re.compile(
    r"renam|benenn|重命名|\b(?:replac|chang|swap|substitut|convert|refactor|rebrand|relabel|retitl)|\bturn\b|\bcall\b|->|=>|→|\bs/",
    re.IGNORECASE,
)
"""Words of a request for a rename that is made without the model."""
_PHRASED = re.compile(
    r"(?:(?:Defined|Used|Tested) here:|`[^`\n]+` defines:|Several files match:)(?:\n\d\. .*)+(?:\nand (?:\d+ )?more\.)?"
)
"""The results of look-ups that the model was trained to repeat."""
_CALLS = re.compile(r"\b(?:to|we) call\b|\bcall (?:it|them|that)\b", re.IGNORECASE)
_BACKWARD = re.compile(
    r"\binstead of\b|\bin place of\b|\brather than\b|\b(?:and|but) not\b|, not\b|\bno longer\b|\bwhere it says\b"
    r"|\bnames? (?:of|for)\b|\bthan\b|\breplaces?\b(?! (?:it|them|that|this|by|with))|\btakes? the place\b"
    r"|\bstands? for\b|\bsupersedes\b|\bused to be\b|\bformerly\b|\bwas (?:wrongly )?called\b|<-|\bbeats\b"
    r"|\bto call\b|\bwe call\b|\bfrom\b(?! now)|\bover\b(?! to)|\bold\b|\bthing called\b|\bwherever\b",
    re.IGNORECASE,
)
"""Between the two names of a rename: the new one comes first."""
_TURNED_BY_FOR = re.compile(r"\b(?:swap|exchange|trade|replace|change|rename)\w*(?: out)?\b", re.IGNORECASE)


class NanoGuard(Guard):
    """Holds one turn of the bundled model to its question and to what its tools said."""

    calls_come_last = True

    def __init__(self, asked: str, before: Callable[[], str]) -> None:
        """Begin a turn.

        Args:
            asked: The question.
            before: Returns the turns before it in the prompt, as one text; a pronoun may mean a name of theirs.
        """
        self._asked = UserMessage(asked)
        self._earlier = before
        self._expected: str | None = None
        self._results: list[str] = []
        self._last = ""
        self._shown = False
        self._edits = 0
        self._edited = ""
        self._rename_rules = RenameRules(self._renamed_in)
        self._listed: set[tuple[str, str]] = set()

    @cached_property
    def _before(self) -> str:
        """The turns before, if the question may refer to them."""
        return self._earlier() if self._asked.refers else ""

    @property
    def _looked_up(self) -> list[str]:
        """The pattern of the newest search in them."""
        return _PATTERN.findall(self._before)[-1:]

    @property
    def rules(self) -> tuple[ValueRules, ...]:
        """See `Guard`: a rename's names are in the question."""
        return (self._rename_rules,)

    @property
    def quotable(self) -> tuple[str, ...]:
        """See `Guard`: this turn's results."""
        return tuple(self._results)

    def _renamed_in(self) -> str:
        return "" if self._asked.documents else f"{self._asked.text}\n{self._before}"

    def resolved(self, call: ToolCall) -> ToolCall:
        """Return a search or find for what the question is about, if the model garbled a name or took another."""
        pattern = call.arguments.get("pattern")
        if call.name not in (search.SEARCH.name, find.FIND.name) or not isinstance(pattern, str):
            return call
        named = self._asked.files if call.name == find.FIND.name else self._asked.names
        if call.arguments.get("list") == "defined" and self._asked.files and not named:
            # The question is what a file defines, not where the folder's name is defined.
            return ToolCall(find.FIND.name, {"pattern": self._asked.files[0]})
        if self._asked.holds(pattern) or (not named and [pattern] == self._looked_up):
            return call
        meant = max(
            named or self._asked.words or self._looked_up,
            key=lambda name: SequenceMatcher(None, name, pattern).ratio(),
            default=pattern,
        )
        return ToolCall(call.name, {**call.arguments, "pattern": meant})

    def repaired(self, call: Malformed) -> ToolCall | None:
        """Return a search or find that the model began well and then derailed, for what the question is about."""
        begun = _BEGUN.match(call.raw)
        if begun is None:
            return None
        arguments = {"list": begun["list"]} if begun["list"] else {}
        meant = self.resolved(ToolCall(begun["name"], {**arguments, "pattern": ""}))
        return meant if meant.arguments["pattern"] else None

    def refusal(self, call: ToolCall) -> str:
        """Return why an edit is rejected at once: its texts do not follow from the question."""
        if call.name != edit.NAME:
            return ""
        path, old, new = (str(call.arguments.get(name, "")) for name in ("path", "old", "new"))
        if self._asked.documents:
            return "" if self._is_docstring(path, old, new) else REFUSED
        return "" if call.arguments.get("all") is True and self._is_rename(path, old, new) else REFUSED

    def objection(self, call: ToolCall, proposal: ChangeProposal) -> str:
        """Return why an edit is not made: it is for a docstring, and does more than add a missing one."""
        if not self._asked.documents:
            return ""
        defined = _DEFINITION.match(str(call.arguments.get("old")))
        name, files = defined["name"] if defined else "", self._asked.files
        meant = stands(name, self._asked.text) or stands(name, self._before)
        there = not files or any(f"/{proposal.path}".endswith("/" + path.removeprefix("./")) for path in files)
        if not meant or not there or not proposal.path.endswith((".py", ".pyi")):
            return REFUSED
        if has_docstring(proposal.before, name):
            return HAS_DOCSTRING.format(name=name)
        return "" if documented(proposal.before, proposal.after) == name else REFUSED

    def take(self, call: ToolCall, result: ToolResult) -> None:
        """Expect a tool's result as the answer, if no other call follows."""
        self._results.append(result.output)
        self._listed.update((each["path"], each["code"]) for each in _LISTED.finditer(result.output))
        # It was trained to repeat only the sentence that an edit was made, without its notes.
        self._expected = result.output.partition("\n")[0] if call.name == edit.NAME else result.output
        self._last = call.name
        if not result.ok:
            lead = "I changed nothing" if call.name == edit.NAME else "That did not work"
            self._expected = f"{lead}: {result.output.removeprefix('error: ').partition(';')[0]}."
            if result.shown:
                # The result's own words are for the model, which was trained to repeat them.
                self._shown = True
                self._expected = result.shown
        if call.name == edit.NAME:
            self._edits += 1
            self._edited = f"{self._edited}\n{self._expected}".strip()
            self._expected = self._edited

    @property
    def looked_up(self) -> bool:
        """See `Guard`."""
        return self._last in (search.SEARCH.name, find.FIND.name)

    @property
    def final(self) -> bool:
        """See `Guard`: the model was trained to repeat one list, what a file defines, and that an edit was made."""
        return (
            self._shown
            or self._edits > 1
            or (self.looked_up and not self._asked.documents and not _PHRASED.fullmatch(self._results[-1]))
        )

    @property
    def expected(self) -> str | None:
        """The last tool's result, in the words that the model was trained to repeat."""
        return self._expected

    def _is_docstring(self, path: str, old: str, new: str) -> bool:
        """Return whether an edit adds the requested docstring below a definition that a search found."""
        added = _DOCSTRING.fullmatch(new.removeprefix(old)) if new.startswith(old) else None
        if added is None or (path, old) not in self._listed:
            return False
        text, name = added["text"], added["text"].removeprefix(_TO_DO).removesuffix(".")
        if text == f"{_TO_DO}{name}.":
            return stands(name, self._asked.text) or stands(name, self._before)
        return text in self._asked.quoted or (" " in text and stands(text, self._asked.text))

    def _is_rename(self, path: str, old: str, new: str) -> bool:
        """Return whether the question asks for `new` in the place of `old` in this file."""
        asked = self._asked
        if old == new or not stands(path, asked.text) or not _RENAMES.search(asked.text):
            return False
        text = asked.without(path)
        olds, news = asked.places(old, text), asked.places(new, text)
        if not olds and asked.refers and stands(old, self._before):
            olds = [match.span() for match in REFERS.finditer(text)]
        return any(_is_pair(text, a, b) for a in olds for b in news)


@dataclass(frozen=True, slots=True)
class RenameRules:
    """A `ValueRules`: the texts of an edit are names of a text; anything else may be any text.

    The model never means a name that is not in front of it, so it is held to those however little it likes them.

    Attributes:
        text: Returns the text that names are taken from; empty if the edit is not a rename.
    """

    text: Callable[[], str]

    def rule(self, tool: str, key: str, _given: Mapping[str, str]) -> Choices | None:
        if tool != edit.NAME or key not in ("old", "new"):
            return None
        names = NAME.findall(self.text())
        return Choices.of([*names, *(part for name in names for part in name.split("."))], least=0.0)


def renamed(message: UserMessage) -> tuple[str, str] | None:
    """Return the old and the new name of a request for a rename; None if it is none, or is not clear."""
    text = message.text if _RENAME_VERB.search(message.text) else ""
    for path in message.files:
        text = re.sub(IN_FILE.format(re.escape(path)), " ", text)
    names = dict.fromkeys((*message.quoted, *NAME.findall(text)))
    for old, new in permutations(filter(NAME.fullmatch, names), 2):
        if any(_is_pair(text, a, b) for a in message.places(old, text) for b in message.places(new, text)):
            return old, new
    return None


def _is_pair(text: str, old: tuple[int, int], new: tuple[int, int]) -> bool:
    """Return whether a request asks for the new name in the place of the old one, given where they are."""
    first, second = sorted((old, new))
    lead, between = text[: first[0]], text[first[1] : second[0]]
    if first[1] > second[0] or not {word.lower() for word in WORD.findall(_CALLS.sub(" ", between))} <= JOINT:
        return False
    swapped = re.search(r"\bfor\b", between) and not _TURNED_BY_FOR.search(lead)
    preferred = re.search(r"\bprefer\b", lead, re.IGNORECASE) and re.search(r"\bto\b", between)
    return bool(_BACKWARD.search(between) or swapped or preferred) == (first == new)
