"""How much context a model can really use, when its metadata does not agree with itself.

YaRN stretches `original_context_length` by `factor`; the product is what the weights were adapted to. Conversions of
Laguna XS.2 from its 128K time declare 131,072 while a later configuration asks for 262,144, and running such a file at
256K is badly wrong (perplexity 21 against 12.8) without any error. So the smaller of the two lengths counts.
"""

from laguna_engine.gguf.header import Header

_ROUNDING = 0.01
"""Relative difference that a factor stored as float32 or rounded in a configuration may cause."""


def safe_context(header: Header) -> int:
    """The most tokens the file supports by every number it gives."""
    declared, stretched = _declared(header), _stretched(header)
    return declared if stretched is None or _agree(declared, stretched) else min(declared, stretched)


def header_warnings(header: Header) -> list[str]:
    """What the user should know about the file before trusting it with a long context; one sentence each."""
    declared, stretched = _declared(header), _stretched(header)
    if stretched is None or _agree(declared, stretched):
        return []
    return [
        f"the file declares a context of {declared} tokens but its YaRN scaling covers {stretched}; "
        f"at most {safe_context(header)} are used: download a current conversion for the full length"
    ]


def _declared(header: Header) -> int:
    value = header.metadata.get(f"{header.architecture}.context_length")
    assert type(value) is int  # checked with the header
    return value


def _stretched(header: Header) -> int | None:
    """Original length times factor, in tokens; None without YaRN or when a number is left out."""
    prefix = f"{header.architecture}.rope.scaling."
    factor, original = header.metadata.get(prefix + "factor"), header.metadata.get(prefix + "original_context_length")
    if header.metadata.get(prefix + "type") != "yarn" or not isinstance(factor, float) or type(original) is not int:
        return None
    return round(factor * original) or None


def _agree(declared: int, stretched: int) -> bool:
    return abs(declared - stretched) <= _ROUNDING * declared
