"""Needles in code and the words that ask for them, for training and measurement alike.

Deals in text. A needle is a line that gives a key a value; a question names the key as it stands, in plain words, or in
other words (`CONCEPTS`). Some wordings and some concepts are only measured with, never trained on.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from enum import StrEnum

CONCEPTS = """
timeout|wait_seconds|max_wait: how long it waits; how long before it gives up; the time after which it stops waiting
retries|max_attempts|retry_limit: how often it tries again; how many times a failed attempt is repeated
cache_size|cache_entries|max_cached: how much is remembered; how many results are held for later
buffer_size|chunk_bytes|block_size: how much is read at once; how large one piece of data is
port|listen_port|bind_port: where the server can be reached; the number that clients connect to
host|hostname|server_name: which machine it talks to; the address of the other side
debug|verbose|trace: whether it says more than usual; whether extra messages are printed
log_level|verbosity|log_threshold: how chatty the output is; which messages are left out
user_agent|client_name|agent_string: how it introduces itself; what it tells others that it is
encoding|charset|text_codec: how characters become bytes; the way text is stored
delimiter|separator|field_sep: what stands between two fields; the character that splits a line
indent|indent_width|tab_size: how far nested lines are moved in; how many blanks a level gets
max_depth|recursion_limit|nesting_limit: how deep it may go; how many levels are followed
pool_size|max_workers|num_threads: how many run at the same time; how much is done in parallel
password|secret|auth_token: what proves who one is; what must never be shown
username|login|account: who signs in; under what name one is known
database_url|dsn|connection_string: where the records are kept; how to reach the tables
ttl|expires_in|lifetime: how long an entry stays valid; when something becomes stale
batch_size|items_per_batch|group_size: how many are handled together; how much goes into one step
page_size|per_page|items_per_page: how many rows are shown at once; how long one listing is
tolerance|epsilon|precision: how close is close enough; what difference is ignored
seed|random_state|rng_seed: what makes runs repeatable; where chance starts from
version|api_version|schema_version: which edition is spoken; which revision of the format is meant
theme|color_scheme|palette: how things look; which tints are used
locale|language|lang_code: which tongue messages are in; where the reader lives
width|columns|line_length: how wide it is; how many letters fit beside each other
height|rows|num_lines: how tall it is; how many fit below each other
prefix|leading|name_start: what names begin with; what is put in front
suffix|extension|file_ending: what names end with; what is added behind
output_dir|target_folder|dest_path: where results are put; the place that files are written to
input_path|source_file|data_file: what is read from; where the data comes from
interval|poll_seconds|refresh_rate: how often it looks again; the pause between two checks
threshold|cutoff|min_score: from when on something counts; the least that is accepted
limit|maximum|upper_bound: the most that is allowed; where it ends
default_value|fallback|placeholder: what is taken when nothing is given; what fills the gap
strict|validate|check_types: whether mistakes are refused; whether wrong input is an error
overwrite|replace_existing|force: whether what is there is lost; whether old files may be destroyed
compress|gzip|deflate: whether data is made smaller; whether bytes are packed
headers|http_headers|extra_headers: what is sent along with a request; what goes before the body
status_code|http_status|response_code: how the server says that it worked; the number of the answer
queue|queue_name|channel: where messages line up; through what jobs travel
backoff|delay_factor|wait_growth: how pauses get longer; by what the waiting grows
enabled|active|is_on: whether it works at all; whether it is switched on
title|heading|caption: what stands at the top; what it is called for readers
""".strip()
HELD_CONCEPTS = 8  # the last ones are measured with only

SUBJECTS = (
    "http client server worker parser session request upload download image user mail socket table report job task "
    "config index search render event stream token cookie form schema plugin shell widget graph node tree route "
    "archive backup sensor metric alert payment order cart invoice profile avatar video audio frame sprite camera "
    "editor console proxy gateway broker kernel driver device printer scanner monitor window panel menu button"
).split()

ASK_VALUE = (
    "What is the value of {key}?", "Which value does {key} have?", "What is {key} set to?", "{key} is set to what?",
    "Find the value of {key}.", "Tell me {key}.", "What does {key} hold?", "Show me what {key} is.", "{key}?",
)  # fmt: skip
HELD_ASK_VALUE = ("Please look up {key} and report it.", "I need to know {key}, which value is it?")
ASK_OTHER = (
    "For the {subject}: {other}?", "{other}, in the {subject}?", "Please say {other} for the {subject}.",
    "I want to change {other} of the {subject}. Where is that?", "What decides {other} when the {subject} runs?",
)  # fmt: skip
HELD_ASK_OTHER = ("In the {subject}, what says {other}?", "Somebody asked about the {subject}: {other}. Which line?")
ASK_WHERE = (
    "Where is {name} defined?", "Find the definition of {name}.", "Show me {name}.", "Which lines define {name}?",
    "How does {name} work?", "There is a bug in {name}, can you fix it?", "Add a parameter to {name}.",
)  # fmt: skip
HELD_ASK_WHERE = ("Explain what happens in {name}.", "I would like to see the code of {name}.")
ASK_RETURNS = ("What does {name} return?", "What comes back from {name}?", "What is the result of {name}?")
HELD_ASK_RETURNS = ("Which value does a caller of {name} get?",)
ASK_WHICH = (
    "Which function does this: {doc}?", "{doc}.", "Where do we {doc}?", "Find the code for this: {doc}.",
    "I want to change this: {doc}. Where is it?", "{doc} - how is that done?", "Fix this: {doc} does not work.",
)  # fmt: skip
HELD_ASK_WHICH = ("Our users say that this is broken: {doc}. Look at the code.", "Write a test for: {doc}.")
SPLIT = re.compile(r"_+|(?<=[a-z])(?=[A-Z])")


class Style(StrEnum):
    """How a question names the key of a needle."""

    EXACT = "as written"
    WORDS = "in plain words"
    OTHER = "in other words"
    NEW = "in other words, never trained on"


@dataclass(frozen=True, slots=True)
class Needle:
    """A key with a value: `line` as it stands in code, `decoys` of the same look, the question and its answer."""

    line: str
    decoys: tuple[str, ...]
    question: str
    value: str


def plain(name: str) -> str:
    """An identifier as one would say it: `HTTP_retryLimit` -> "http retry limit"."""
    return " ".join(part.lower() for part in SPLIT.split(name) if part)


def concepts(*, held: bool) -> list[tuple[list[str], list[str]]]:
    """Names in code and other words for them; `held`: those that are only measured with."""
    rows = [line.split(": ", 1) for line in CONCEPTS.split("\n")]
    chosen = rows[-HELD_CONCEPTS:] if held else rows[:-HELD_CONCEPTS]
    return [(names.split("|"), others.split("; ")) for names, others in chosen]


def value(rng: random.Random, words: list[str]) -> str:
    """A literal as code gives it."""
    digits = "".join(rng.choices("0123456789", k=rng.randint(1, 3)))
    text = "_".join(rng.sample(words, rng.randint(1, 2)))
    return rng.choice((
        f"{rng.randint(1, 9)}{digits}", f"0.{digits}5", f'"{text}"', f"'{text}-{digits}'", "True", "False",
        f'"/{rng.choice(words)}/{rng.choice(words)}"', f"{rng.randint(2, 99)} * 1024",
    ))  # fmt: skip


def spelled(rng: random.Random, name: str, given: str) -> str:
    """A line that gives `name` the value `given`, in one of the ways of code; never indented."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    return rng.choice((
        f"{name.upper()} = {given}", f"{name.upper()}: Final = {given}", f'"{name}": {given},', f"{name} = {given}",
        f"self.{name} = {given}", f"{name}={given},", f"'{name.replace('_', '-')}': {given},", f"{name}: {given}",
        f'config["{name}"] = {given}', f'set{camel}({given})', f'os.environ.setdefault("{name.upper()}", {given})',
    ))  # fmt: skip


def needle(rng: random.Random, words: list[str], style: Style, *, held: bool) -> Needle:
    """A needle; its decoys share half of its key each. held: with wordings that are only measured with."""
    subject = rng.choice(SUBJECTS)
    asks = HELD_ASK_VALUE if held else ASK_VALUE
    given = value(rng, words)
    if style in (Style.EXACT, Style.WORDS):
        end = "_".join(rng.sample(words, rng.randint(1, 2)))
        name, others = f"{subject}_{end}", [f"{subject}_{rng.choice(words)}", f"{rng.choice(SUBJECTS)}_{end}"]
        line = spelled(rng, name, given)
        written = re.search(r"[A-Za-z_][\w-]*" + re.escape(end[-3:]), line, re.IGNORECASE)
        key = written[0] if style is Style.EXACT and written else "the " * (rng.random() < 0.5) + plain(name)
        question = rng.choice(asks).format(key=key)
    else:
        table = concepts(held=style is Style.NEW)
        index = rng.randrange(len(table))
        names, phrases = table[index]
        foreign = [rng.choice(row[0]) for number, row in enumerate(table) if number != index]
        name = f"{subject}_{rng.choice(names)}"
        others = [f"{subject}_{rng.choice(foreign)}", f"{rng.choice(SUBJECTS)}_{rng.choice(names)}"]
        line = spelled(rng, name, given)
        question = rng.choice(HELD_ASK_OTHER if held else ASK_OTHER).format(subject=subject, other=rng.choice(phrases))
    decoys = tuple(spelled(rng, other, value(rng, words)) for other in others)
    return Needle(line, decoys, question[0].upper() + question[1:] if style is not Style.EXACT else question, given)


def asked(rng: random.Random, doc: str, *, held: bool) -> str:
    """A docstring's first sentence as a question or a request."""
    said = doc[0].lower() + doc[1:].rstrip(". ") if not doc[:2].isupper() else doc.rstrip(". ")
    text = rng.choice(HELD_ASK_WHICH if held else ASK_WHICH).format(doc=said)
    return text[0].upper() + text[1:]
