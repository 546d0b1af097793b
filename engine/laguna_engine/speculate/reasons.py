"""Why this drafter and this many tokens, or none: sentence fragments for a status bar, 40 characters at most."""

from typing import TYPE_CHECKING

from laguna_engine.events import Source

if TYPE_CHECKING:
    from laguna_engine.draft.drafter import Offer

NOTHING = "nothing to draft from"
BASELINE = "measuring plain speed"

_NAME_LENGTH = 14
"""Of a drafter's name, so that the whole stays readable."""


def fixed(length: int) -> str:
    """The user's length."""
    return f"fixed at {length}"


def off(speedup: float) -> str:
    """Plain decoding, because the best draft would be `speedup` times as fast; that may be less than 1."""
    cost = round(100 / speedup - 100) if speedup > 0 else 0
    return f"off: would cost {cost} % here" if cost > 0 else "off: would gain nothing here"


def drafting(offer: "Offer", length: int, speedup: float) -> str:
    """A draft that pays: `speedup` is against plain decoding."""
    return f"{_what(offer, length)}: {speedup:.1f}x expected"


def trying(offer: "Offer", length: int, again: bool = False) -> str:
    """A draft that may pay."""
    return f"trying {_name(offer)} again" if again else f"trying {_what(offer, length)}"


def _what(offer: "Offer", length: int) -> str:
    if offer.source is Source.SUFFIX:
        return f"copying {_tokens(length)}"
    if offer.source is Source.FILE:
        return f"copying {length} from a file"
    return f"{_name(offer)}, {_tokens(length)}"


def _name(offer: "Offer") -> str:
    if offer.source is Source.SUFFIX:
        return "to copy"
    if offer.source is Source.FILE:
        return "to copy files"
    return offer.kind[:_NAME_LENGTH]


def _tokens(count: int) -> str:
    return f"{count} token" if count == 1 else f"{count} tokens"
