"""The process that an answer runs in: it calls the answer's function as it is asked to, and reports plain values.

It gets this file's source by `python -c`, and needs nothing of laguna-tui. The answer may change all of it, so a report
is no more than what the answer claims to return. Whoever reads it takes only `decode` from here.

A request and a report are a line of JSON each. A value is null, true, false, or a pair of its type and its content.
"""

import builtins
import importlib
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from numbers import Rational, Real
from typing import Any, BinaryIO

SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "bytes": bytes.fromhex,
    "float": float.fromhex,
    "int": lambda digits: int(digits, 16),
}
SEQUENCES: dict[str, type[Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def encode(value: object) -> object:
    """Return the JSON form of a value, or of the plain value that it stands for: a named tuple is a tuple.

    Raises:
        TypeError: it stands for none.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return ["str", str.__str__(value)]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, Rational) and value.denominator == 1:
        return ["int", format(int(value.numerator), "x")]
    if isinstance(value, Real | Decimal):
        return ["float", float.hex(float(value))]
    if isinstance(value, dict):
        return ["dict", [[encode(key), encode(each)] for key, each in value.items()]]
    for name, kind in SEQUENCES.items():
        if isinstance(value, kind):
            return [name, [encode(each) for each in value]]
    raise TypeError(f"the function returned or changed an argument into a {type(value).__name__}, not a plain value")


def decode(form: object) -> Any:
    """Return the value of a JSON form; it is of the builtin types only, and so is all that is in it.

    Raises:
        ValueError: it is not such a form.
    """
    if form is None or form is True or form is False:
        return form
    if type(form) is not list or len(form) != 2:
        raise ValueError("it is not a pair of a type and a content")
    kind, content = form
    try:
        if type(content) is str:
            return SCALARS[kind](content)
        if type(content) is list and kind == "dict":
            return {decode(key): decode(value) for key, value in content}
        if type(content) is list:
            return SEQUENCES[kind](decode(each) for each in content)
    except (TypeError, KeyError, OverflowError) as error:
        raise ValueError("it is not a type, or its content is not of that type") from error
    raise ValueError("its content is neither a text nor a list")


def call(function: Any, request: bytes) -> dict[str, object]:
    """Call a function with the arguments of a request, and return what to report."""
    arguments, named = decode(json.loads(request))
    try:
        result = function(*arguments, **named)
    except Exception as error:
        known = (kind for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)
        return {"raised": next(known).__name__, "text": str(error), "arguments": [arguments, named]}
    same = [place for place, each in enumerate(arguments) if each is result]
    return {"returned": result, "same": same[0] if same else None, "arguments": [arguments, named]}


def serve(name: str, requests: BinaryIO, reports: BinaryIO) -> None:
    """Import the answer and call its function of this name until there are no more requests."""
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    function = getattr(importlib.import_module("solution"), name)
    for request in requests:
        reports.write(json.dumps(encode(call(function, request))).encode() + b"\n")
        reports.flush()


if __name__ == "__main__":
    name, *pipes = sys.argv[1:]
    requests, reports = (os.open(pipe, mode) for pipe, mode in zip(pipes, (os.O_RDONLY, os.O_WRONLY), strict=True))
    for pipe in pipes:
        os.unlink(pipe)  # noqa: PTH108
    serve(name, os.fdopen(requests, "rb"), os.fdopen(reports, "wb"))
