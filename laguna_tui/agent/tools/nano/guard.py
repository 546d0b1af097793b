"""The bundled model's guard: lets through what follows from the question and from what its tools said.

Laguna Nano copies names and lists, and now and then it copies wrongly, takes a name from an earlier question, or makes
an edit of something that was no request for one. So the name that it looks up has to stand in the question, its answer
has to be what the tool said, and its edit has to be the rename or the docstring that was asked for. All of that is
judged by the words alone; nothing here reads a file.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from laguna_engine.chat.call_constraint import Choices, ValueRules
from laguna_engine.chat.messages import Malformed, ToolCall
from laguna_tui.agent.tools.base import edit
from laguna_tui.agent.tools.base.guard import Guard
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.nano import find, search
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.repo.search.identifiers import STOP_WORDS, looks_like_code
from laguna_tui.repo.syntax.python_syntax import documented, has_docstring

REFUSED = (
    "I was about to change something else than you asked for, so I changed nothing. Say it as `rename OLD to NEW in"
    " FILE`, or as `add a docstring to NAME`."
)
HAS_DOCSTRING = "`{name}` has a docstring already, so I changed nothing."
_QUOTED = re.compile(r"`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)|\"([^\"\n]+)\"")
_WORD = re.compile(r"(?<!['’\w.])[^\W\d]\w*(?!['’\w])")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SUFFIXES = "py|pyi|pyx|c|h|cc|cpp|hpp|js|jsx|mjs|ts|tsx|go|rs|java|md|rst|txt|toml|cfg|ini|json|ya?ml|html?|css|sh|sql"
_PATH = re.compile(rf"(?<![\w.@+-])(?:[\w.@+-]*/[\w./@+-]*\w|[\w-]+(?:\.[\w-]+)*\.(?:{_SUFFIXES})\b(?!\())")
_SUBJECT = re.compile(
    r"\b(?:where(?: is|'s| are)|who (?:calls|uses)|what does|tests? (?:cover|covers|for|of)|pass (?:to|into)"
    r"|(?:definition|signature|callers|users|arguments|parameters|use) of)\s+([^\W\d]\w*)",
    re.IGNORECASE,
)
"""What a question asks about, if that is a word like any other."""
_REFERS = re.compile(r"\b(?:it|its|it's|that|this|there|them|those|one|same)\b", re.IGNORECASE)
_DOCUMENTS = re.compile(r"\bdoc(?:s|string\w*|ument\w*)?\b|\bdoc string|\bD10\d\b", re.IGNORECASE)
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

_ASKING = STOP_WORDS | frozenset(
    "about accept accepts again all already also am any anybody anyone anything anywhere args argument arguments"
    " back been before body break breaks but call called caller callers calling calls cannot cases catch change"
    " changed check checking checks class classes code come comes constructor contain contains could cover"
    " coverage covered covers declaration declared default defaults define defined defines definition definitions"
    " depend depends did directory display docs down drop edit else ever every everything exactly example examples"
    " exercise exercises exist expect expects explain few file files find folder forgot found function functions"
    " gets give given gives go goes got grep hello help helper helpers her here hey hi hints holds home hope idea"
    " implementation implemented imported imports input inputs inside invoke invoked invokes jump just keyword"
    " keywords kind kindly know large least let like line lines list listing lists live lives locate located"
    " location look looking lost made make makes many may me mention mentioned mentions method methods might mind"
    " module modules more much must my name named names navigate need needs never new next no nobody none not"
    " nothing now number occurrences often ok old once one ones only open optional options order our out outline"
    " output outputs outside over overview package packages param parameter parameters params part parts pass path"
    " pinpoint place places please point print project pull put quick read reference referenced references relies"
    " rely remind repo report repository required result return returned returns right run runs say search"
    " searching see seems seen shall should show showing shows signature sites sits so some somebody someone"
    " something somewhere sort source spot stands still structure suite sure take takes tell test tested testing"
    " tests than thanks they thing things think through too touch touches trace track trying type types under unit"
    " untested up usage usages use used user users uses using value values verify very want wanted wants way"
    " whereabouts whether whoever whom whose without wonder wondering would write yes your".split()
)
"""Words that a question is made of, in lower case; as names of code they have to stand in quotes."""

_RENAMES = re.compile(
    r"renam|replac|chang|\bname|\bcall(?:ed)?\b|swap|substitut|switch|\bturns?\b|convert|becom|instead|in place"
    r"|rather|->|=>|→|<-|\bs/|\b(?:should|must|shall|has to|have to|ought to|needs to|is to|to|could)"
    r" (?:be|read|say|go)\b|is now|\bwill be\b"
    r"|\b(?:use|put|write|give|make|say|drop|take|let|set|pick|choose|adopt|new)\b|\bexchang|\btrad"
    r"|\bmov|\bprefer|\bfrom now\b|\bno more\b|better|clearer|nicer|\bbeats\b|known as|adapt|refer to|update"
    r"|alter|modif|transform|rebrand|retitle|relabel|refactor|spell|\bcorrect|\bdub|supersed|formerly|used to",
    re.IGNORECASE,
)
_JOINT = frozenset(
    "a adapt all alter an and another any as at b bad be beats become becomes better but by called can change"
    " cleaner clearer confusing correct could drop each every everywhere exchange favour file for formerly from"
    " give go goes good has have how i in insert inside instead into is it its let long longer make may might mine"
    " module more must name named naming needs new nicer no not now occurrence occurrences of old on ought out"
    " over pick place please prefer put rather read reads rename renamed replace replaced replaces right said say"
    " says set shall shorter should simpler simply so sounds spell stand stands supersedes swap take takes text"
    " than that the there thing this through throughout to too turn turns up use used wants was we what where"
    " wherever which will with within would write wrong wrongly you".split()
)
"""Words that may stand between the two names of a rename."""
_CALLS = re.compile(r"\b(?:to|we) call\b|\bcall (?:it|them|that)\b", re.IGNORECASE)
_BACKWARD = re.compile(
    r"\binstead of\b|\bin place of\b|\brather than\b|\b(?:and|but) not\b|, not\b|\bno longer\b|\bwhere it says\b"
    r"|\bnames? (?:of|for)\b|\bthan\b|\breplaces?\b(?! (?:it|them|that|this|by|with))|\btakes? the place\b"
    r"|\bstands? for\b|\bsupersedes\b|\bused to be\b|\bformerly\b|\bwas (?:wrongly )?called\b|<-|\bbeats\b"
    r"|\bto call\b|\bwe call\b|\bfrom\b(?! now)|\bover\b(?! to)|\bold\b|\bthing called\b|\bwherever\b",
    re.IGNORECASE,
)
"""Between the two names of a rename: the new one comes first."""
_IN_FILE = (
    r"(?i:\b(?:in|of|from|inside|within|throughout|across|for)\s+)?(?i:(?:the|our)\s+)?(?i:(?:file|module)\s+)?"
    r"`?(?<!\w){}(?!\w)`?"
)
"""A file's path, and the words that say that one comes."""
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
        self._asked = _UserMessage(asked)
        self._earlier = before
        self._expected: str | None = None
        self._results: list[str] = []
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
        meant = _stands(name, self._asked.text) or _stands(name, self._before)
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
        if not result.ok:
            lead = "I changed nothing" if call.name == edit.NAME else "That did not work"
            self._expected = f"{lead}: {result.output.removeprefix('error: ').partition(';')[0]}."

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
            return _stands(name, self._asked.text) or _stands(name, self._before)
        return text in self._asked.quoted or (" " in text and _stands(text, self._asked.text))

    def _is_rename(self, path: str, old: str, new: str) -> bool:
        """Return whether the question asks for `new` in the place of `old` in this file."""
        asked = self._asked
        if old == new or not _stands(path, asked.text) or not _RENAMES.search(asked.text):
            return False
        text = asked.without(path)
        olds, news = asked.places(old, text), asked.places(new, text)
        if not olds and asked.refers and _stands(old, self._before):
            olds = [match.span() for match in _REFERS.finditer(text)]
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
        names = _NAME.findall(self.text())
        return Choices.of([*names, *(part for name in names for part in name.split("."))], least=0.0)


@dataclass(frozen=True, slots=True)
class _UserMessage:
    """The user's message, and what in it may be a name.

    Attributes:
        text: All of it.
    """

    text: str

    @property
    def quoted(self) -> list[str]:
        """What is in quotes or backticks."""
        return ["".join(filter(None, match.groups())) for match in _QUOTED.finditer(self.text)]

    @property
    def files(self) -> list[str]:
        """What looks like a file's path."""
        return _PATH.findall(self.text)

    @property
    def names(self) -> list[str]:
        """What is in quotes, or written as only names of code are."""
        return [name for name in (*self.quoted, *_names_in(self._plain)) if _NAME.fullmatch(name)]

    @property
    def words(self) -> list[str]:
        """Words that are not typical of questions, and may be names."""
        words = [word for word in _WORD.findall(self._plain) if word.lower() not in _ASKING]
        return words or [word for word in _SUBJECT.findall(self._plain) if word.lower() not in STOP_WORDS]

    @property
    def refers(self) -> bool:
        """Whether it may refer to earlier turns."""
        return _REFERS.search(self._plain) is not None or not (self.names or self.words or self.files)

    @property
    def documents(self) -> bool:
        """Whether it is about a docstring."""
        return _DOCUMENTS.search(self._plain) is not None

    def holds(self, name: str) -> bool:
        """Return whether a name is in it, and is not a word that questions are made of."""
        return name in self.quoted or (_stands(name, self.text) and name.lower() not in _ASKING)

    def places(self, name: str, text: str) -> list[tuple[int, int]]:
        """Return where a name is in this part of it; nowhere if it is a word that questions are made of."""
        if name not in self.quoted and name.lower() in _ASKING | _JOINT:
            return []
        return [match.span() for match in _standing(name).finditer(text)]

    def without(self, path: str) -> str:
        """Return it without a file's path and the words that introduce it."""
        return re.sub(_IN_FILE.format(re.escape(path)), " ", self.text)

    @property
    def _plain(self) -> str:
        return _PATH.sub(" ", _QUOTED.sub(" ", self.text))


def _is_pair(text: str, old: tuple[int, int], new: tuple[int, int]) -> bool:
    """Return whether a request asks for the new name in the place of the old one, given where they are."""
    first, second = sorted((old, new))
    lead, between = text[: first[0]], text[first[1] : second[0]]
    if first[1] > second[0] or not {word.lower() for word in _WORD.findall(_CALLS.sub(" ", between))} <= _JOINT:
        return False
    swapped = re.search(r"\bfor\b", between) and not _TURNED_BY_FOR.search(lead)
    preferred = re.search(r"\bprefer\b", lead, re.IGNORECASE) and re.search(r"\bto\b", between)
    return bool(_BACKWARD.search(between) or swapped or preferred) == (first == new)


def _names_in(text: str) -> Iterator[str]:
    """Yield words written as only names of code are: with an underscore, a capital or a letter beyond ASCII."""
    for match in _NAME.finditer(text):
        name, before, after = match.group(), text[: match.start()].rstrip(), text[match.end() : match.end() + 1]
        capital = name[0].isupper() and name != "I" and before[-1:] not in ("", *".?!:")
        if capital or after == "(" or "." in name or "_" in name or not name.isascii() or looks_like_code(name):
            yield name


def _standing(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _stands(name: str, text: str) -> bool:
    """Return whether a text has this as a whole word, or several."""
    return bool(name) and _standing(name).search(text) is not None
