"""The user's message to the bundled model, and what in it may be a name or a file: judged by the words alone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from laguna_tui.repo.search.identifiers import STOP_WORDS, looks_like_code

QUOTED = re.compile(r"`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)|\"([^\"\n]+)\"")
WORD = re.compile(r"(?<!['’\w.])[^\W\d]\w*(?!['’\w])")
NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SUFFIXES = "py|pyi|pyx|c|h|cc|cpp|hpp|js|jsx|mjs|ts|tsx|go|rs|java|md|rst|txt|toml|cfg|ini|json|ya?ml|html?|css|sh|sql"
PATH = re.compile(rf"(?<![\w.@+-])(?:[\w.@+-]*/[\w./@+-]*\w|[\w-]+(?:\.[\w-]+)*\.(?:{_SUFFIXES})\b(?!\())")
SUBJECT = re.compile(
    r"\b(?:where(?:s| is|'s| are)|who (?:calls|uses|subclasses|extends)|what (?:does|calls|uses)"
    r"|tests? (?:cover|covers|for|of)|pass (?:to|into)|(?:definition|signature|callers|users|arguments|parameters|use"
    r"|subclasses|methods|members) of)\s+([^\W\d]\w*)",
    re.IGNORECASE,
)
"""What a question asks about, if that is a word like any other."""
REFERS = re.compile(r"\b(?:it|its|it's|that|this|there|them|those|one|same)\b", re.IGNORECASE)
_DOCUMENTS = re.compile(r"\bdoc(?:s|string\w*|ument\w*)?\b|\bdoc string|\bD10\d\b", re.IGNORECASE)

ASKING = STOP_WORDS | frozenset(
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

JOINT = frozenset(
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
IN_FILE = (
    r"(?i:\b(?:in|of|from|inside|within|throughout|across|for)\s+)?(?i:(?:the|our)\s+)?(?i:(?:file|module)\s+)?"
    r"`?(?<!\w){}(?!\w)`?"
)
"""A file's path, and the words that say that one comes."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The user's message, and what in it may be a name.

    Attributes:
        text: All of it.
    """

    text: str

    @property
    def quoted(self) -> list[str]:
        """What is in quotes or backticks."""
        return ["".join(filter(None, match.groups())) for match in QUOTED.finditer(self.text)]

    @property
    def files(self) -> list[str]:
        """What looks like a file's path."""
        return PATH.findall(self.text)

    @property
    def names(self) -> list[str]:
        """What is in quotes, or written as only names of code are."""
        return [name for name in (*self.quoted, *names_in(self._plain)) if NAME.fullmatch(name)]

    @property
    def words(self) -> list[str]:
        """Words that are not typical of questions, and may be names."""
        words = [word for word in WORD.findall(self._plain) if word.lower() not in ASKING]
        return words or [word for word in SUBJECT.findall(self._plain) if word.lower() not in STOP_WORDS]

    @property
    def refers(self) -> bool:
        """Whether it may refer to earlier turns."""
        return REFERS.search(self._plain) is not None or not (self.names or self.words or self.files)

    @property
    def documents(self) -> bool:
        """Whether it is about a docstring."""
        return _DOCUMENTS.search(self._plain) is not None

    def holds(self, name: str) -> bool:
        """Return whether a name is in it, and is not a word that questions are made of."""
        return name in self.quoted or (stands(name, self.text) and name.lower() not in ASKING)

    def places(self, name: str, text: str) -> list[tuple[int, int]]:
        """Return where a name is in this part of it; nowhere if it is a word that questions are made of."""
        if name not in self.quoted and name.lower() in ASKING | JOINT:
            return []
        return [match.span() for match in standing(name).finditer(text)]

    def without(self, path: str) -> str:
        """Return it without a file's path and the words that introduce it."""
        return re.sub(IN_FILE.format(re.escape(path)), " ", self.text)

    @property
    def _plain(self) -> str:
        return PATH.sub(" ", QUOTED.sub(" ", self.text))


def names_in(text: str) -> Iterator[str]:
    """Yield words written as only names of code are: with an underscore, a capital or a letter beyond ASCII."""
    for match in NAME.finditer(text):
        name, before, after = match.group(), text[: match.start()].rstrip(), text[match.end() : match.end() + 1]
        capital = name[0].isupper() and name != "I" and before[-1:] not in ("", *".?!:")
        if capital or after == "(" or "." in name or "_" in name or not name.isascii() or looks_like_code(name):
            yield name


def standing(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def stands(name: str, text: str) -> bool:
    """Return whether a text has this as a whole word, or several."""
    return bool(name) and standing(name).search(text) is not None
