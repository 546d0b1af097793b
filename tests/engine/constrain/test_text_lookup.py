"""What is looked up for many texts at once is what each token alone is allowed by."""

import random

import numpy as np
import pytest

from laguna_engine.constrain.automaton import Enclosed, End
from laguna_engine.constrain.sorted_texts import HEAD, Prefix, Strings, Suffixes, heads_of
from laguna_engine.constrain.text_lookup import TextLookup
from laguna_engine.constrain.texts import Occurring, OneOf, Text

PARTS = ["a", "b", "ab", " ", "  ", "\n", "ä", "漢", "<", "</", "</a>"]
CLOSING = b"</a>"


def text_of(chosen: random.Random, most: int) -> bytes:
    return "".join(chosen.choice(PARTS) for _ in range(chosen.randint(1, most))).encode()


def vocabulary(chosen: random.Random, document: bytes) -> list[bytes]:
    """Every byte, words that are not in the document, and some that are, also twice and longer than a head."""
    pieces = [bytes((byte,)) for byte in range(255)] + [b""]
    pieces += [text_of(chosen, 14) for _ in range(200)]
    pieces += [document[place : place + chosen.randint(1, 13)] for place in range(0, len(document), 3)]
    chosen.shuffle(pieces)
    return pieces


def beginnings(chosen: random.Random, document: bytes) -> list[Text]:
    """A text of the document, and one of some of its parts."""
    ends = [(place, place + chosen.randint(1, 20)) for place in range(0, len(document), 2)]
    parts = {document[begin:end].decode("utf-8", "ignore").encode() for begin, end in ends} - {b""}
    suffixes = Suffixes(document)
    once, often = (Occurring(suffixes, Prefix.of(suffixes), once=once) for once in (True, False))
    return [once, often, OneOf(Prefix.of(Strings(parts)))]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", [3, 30, 300])
def test_the_same_tokens_are_allowed_as_one_by_one(size, seed):
    chosen = random.Random(seed)
    document = text_of(chosen, size)
    pieces = vocabulary(chosen, document)
    lookup = TextLookup(pieces)
    every = np.arange(len(pieces), dtype=np.int32)
    for text in beginnings(chosen, document):
        state: Text | None = text
        for _ in range(4):
            part = Enclosed(state, [(CLOSING, lambda said: (End(),))])
            allowed = [token for token in every.tolist() if pieces[token] and part.allows(pieces[token])]
            assert np.flatnonzero(lookup.passing(part, every)).tolist() == allowed
            assert sorted(lookup.every(part).tolist()) == allowed
            state = state.after(pieces[chosen.choice(allowed)]) if allowed else None
            if state is None:
                break


def test_what_a_text_begins_with_is_kept_for_each_way_to_end_it():
    document = Suffixes(b"total(total)")
    pieces = [b"total", b"otal", b"t</a>", b"(</a>", b")"]
    lookup = TextLookup(pieces)
    kept = {}
    for once in (True, False, True):
        part = Enclosed(Occurring(document, Prefix.of(document), once), [(CLOSING, lambda said: (End(),))])
        found = lookup.few(part)
        assert found is not None
        assert kept.setdefault(once, found) is found
    assert sorted(kept[True].tolist()) == [0, 1, 3, 4]
    assert sorted(kept[False].tolist()) == [0, 1, 3, 4]


def test_heads_sort_like_the_bytes_they_are_of():
    data = "größe = größer\n".encode()
    heads = heads_of(data)
    assert np.argsort(heads[:-1], kind="stable").tolist() == sorted(
        range(len(data)), key=lambda place: data[place : place + HEAD]
    )
    assert heads[-1] == 0


def test_the_head_of_a_string_ends_with_it():
    strings = Strings([b"a", b"ab", b"abcdefghij"])
    assert strings.heads(0, 3, 1).tolist() == [0, ord("b") << 56, int.from_bytes(b"bcdefghi")]
    assert strings.heads(0, 3, 2).tolist() == [0, 0, int.from_bytes(b"cdefghij")]
