"""Names that the languages' own libraries define: a call of `join` says nothing about a file that defines a `join`."""

import builtins
import collections.abc
import pathlib
import typing

_TYPES = (str, bytes, list, dict, set, tuple, int, float, object, type, Exception, pathlib.Path)
_ELSEWHERE = """
    assert bool byte char console double error float interface long nil null option result self short string super this
    void Array Boolean Buffer Date Document Double Err Error Event Float Integer Iterator Long Map Math Node Number None
    Object Ok Option Promise Record RegExp Result Rc Arc Self Set Some String StringBuilder Symbol Vec Void
    addEventListener append apply assign bind call catch charAt clone concat contains containsKey default equals every
    fetch filter find findIndex first flat flatMap forEach from fromEntries get getOrDefault getClass has hashCode
    includes indexOf init insert into isEmpty iter iterator join keys last len length log main make map match max min
    new next now parse push print println printf Printf Println Sprintf Errorf reduce remove replace require resolve
    reject run set setTimeout shift size slice some sort splice split start stop stringify substring test then toFixed
    toLowerCase toString toUpperCase trim unwrap unshift update use value values with write read close open
    malloc free memcpy memset sizeof strlen strcmp size_t uint8_t uint32_t uint64_t int32_t int64_t vector begin end
""".split()

COMMON_NAMES = frozenset(
    [
        *dir(builtins),
        *(name for kind in _TYPES for name in dir(kind)),
        *typing.__all__,
        *collections.abc.__all__,
        *_ELSEWHERE,
    ]
)
"""Of Python by what this one has; of the others those that are met most."""
