"""Ways to ask that what this model can do and what it cannot have in common, so that they do not tell which it is.

The tables per skill are samples of these ways crossed with what the skill is about.
"""

from __future__ import annotations

import random
from itertools import product

from wording import wordings

ASKS = wordings("""
    tell me
    please tell me
    can you tell me
    can you please tell me
    could you tell me
    do you know
    I want to know
    I need to know
    I would like to know
    I do not know
    I forgot
    show me
    can you show me
    please show me
    find out
    can you find out
    please find out
    help me find out
    I am trying to find out
    can you check
    please check
    look up
    explain to me
    I have to know
    let me know
    say
""")

GETS = wordings("""
    show
    show me
    please show me
    find
    please find
    can you find
    could you find
    help me find
    find me
    get
    get me
    give me
    please give me
    could you give me
    can you show me
    I need
    I want
    I want to see
    I would like to see
    I would like
    I am looking for
    I am searching for
    look up
    can you look up
    search for
    display
    tell me
    what about
    do you have
    I cannot find
""")

DO = wordings("""
    please
    can you
    can you please
    could you
    could you please
    would you
    I want you to
    I need you to
    I would like you to
    you should
    now
    then
    next,
    let's
    we should
    we have to
    go ahead and
    ok,
    hey,
    I want to
    I have to
    help me to
    it is time to
""")

ENDS = ("", "", "", "", *wordings("""
    for me
    now
    please
    today
    because it is clearer
    before I commit
    and nothing else
    if you can
    right away
    , thanks
"""))  # fmt: skip

WHERE_THAT = wordings("""
    where {n} is
    where {n} is defined
    where {n} is declared
    where {n} is implemented
    where {n} was defined
    where we define {n}
    where I can find {n}
    where to find {n}
    which file defines {n}
    which file {n} is in
    in which file {n} is
    in which module {n} is defined
    which module has {n}
    which line defines {n}
""")
WHERE_IT = wordings("""
    the definition of {n}
    the place where {n} is defined
    the file of {n}
    the file with {n}
    the file that defines {n}
    the location of {n}
    the line of {n}
    the declaration of {n}
    the implementation of {n}
    the module of {n}
""")

TAKES_THAT = wordings("""
    what {n} takes
    what {n} accepts
    what {n} expects
    what {n} returns
    what I can pass to {n}
    what to pass to {n}
    what I have to give {n}
    how to call {n}
    how I call {n}
    how {n} is called with arguments
    which arguments {n} takes
    which arguments {n} needs
    which parameters {n} has
    which type {n} returns
    what type the result of {n} has
    what the signature of {n} is
""")
TAKES_IT = wordings("""
    the signature of {n}
    the arguments of {n}
    the arguments for {n}
    the parameters of {n}
    the parameter list of {n}
    the return type of {n}
    the inputs of {n}
    the keyword arguments of {n}
    the type of the result of {n}
    the argument types of {n}
""")

USES_THAT = wordings("""
    who calls {n}
    who uses {n}
    what calls {n}
    what uses {n}
    where {n} is used
    where {n} is called
    where {n} is called from
    where we use {n}
    where we call {n}
    which functions call {n}
    which code uses {n}
    which files use {n}
    if {n} is used anywhere
    if anybody calls {n}
    who imports {n}
""")
USES_IT = wordings("""
    the callers of {n}
    all callers of {n}
    the uses of {n}
    all uses of {n}
    the usages of {n}
    the calls to {n}
    all calls of {n}
    the references to {n}
    the places that use {n}
    the functions that call {n}
    the code that calls {n}
""")

TESTS_THAT = wordings("""
    which tests cover {n}
    which tests use {n}
    which tests call {n}
    which tests test {n}
    what tests there are for {n}
    where {n} is tested
    where we test {n}
    where the tests for {n} are
    where the tests of {n} are
    if {n} is tested
    whether {n} has tests
    if there are tests for {n}
    in which tests {n} is used
""")
TESTS_IT = wordings("""
    the tests for {n}
    the tests of {n}
    all tests for {n}
    all tests of {n}
    the list of tests for {n}
    the tests that cover {n}
    the tests that use {n}
    the tests that call {n}
    the test functions for {n}
    the test cases of {n}
    the unit tests for {n}
""")

OUTLINE_THAT = wordings("""
    what is in {f}
    what {f} contains
    what {f} defines
    what is inside {f}
    what is defined in {f}
    what I can find in {f}
    what the file {f} contains
    which functions are in {f}
    which functions {f} has
    which classes are in {f}
    which classes {f} defines
    which names {f} defines
    how {f} is structured
""")
OUTLINE_IT = wordings("""
    the outline of {f}
    an outline of {f}
    the contents of {f}
    the content of {f}
    the functions in {f}
    the functions of {f}
    the classes in {f}
    the classes and functions of {f}
    the names in {f}
    the definitions in {f}
    the structure of {f}
    an overview of {f}
""")

RENAME_DO = wordings("""
    rename {n} to {m} in {f}
    rename {n} in {f} to {m}
    rename {n} into {m} in {f}
    rename the name {n} to {m} in {f}
    replace {n} with {m} in {f}
    replace {n} by {m} in {f}
    replace all {n} with {m} in {f}
    change {n} to {m} in {f}
    change {n} in {f} to {m}
    change the name of {n} to {m} in {f}
    call {n} {m} in {f}
    use {m} instead of {n} in {f}
    give {n} the name {m} in {f}
    open {f} and rename {n} to {m}
    open {f} and replace {n} with {m}
    go to {f} and rename {n} to {m}
    edit {f} and change {n} to {m}
""")

DOCSTRING_DO = wordings("""
    add a docstring to {n}
    add a docstring for {n}
    add docstring to {n}
    add a short docstring to {n}
    add the missing docstring to {n}
    write a docstring for {n}
    write the docstring of {n}
    write a short docstring for {n}
    give {n} a docstring
    give {n} a short docstring
    put a docstring into {n}
    put a docstring in {n}
    document {n}
    document {n} with a docstring
    insert a docstring into {n}
    create a docstring for {n}
    describe {n} in a docstring
""")
DOCSTRING_SAY = wordings("""
    add the docstring {t} to {n}
    add {t} as the docstring of {n}
    add a docstring to {n}: {t}
    give {n} the docstring {t}
    put the docstring {t} into {n}
    document {n} with {t}
    set the docstring of {n} to {t}
""")

SAMPLE, SAMPLE_AGAIN = 75, 25


def crossed(number: int, *parts: tuple[str, ...]) -> tuple[str, ...]:
    """A sample of one of each, always the same one, some with a capital."""
    ways = sorted({" ".join(filter(None, way)).replace(" ,", ",") for way in product(*parts)})
    chosen = random.Random(" ".join(ways)).sample(ways, min(number, len(ways)))
    return tuple(way[0].upper() + way[1:] if index % 3 == 0 else way for index, way in enumerate(chosen))


def again(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The same about `it`."""
    return tuple(text.replace("{n}", word) for text in texts for word in ("it", "it", "that"))


def looked_up(that: tuple[str, ...], it: tuple[str, ...]) -> tuple[str, ...]:
    """Questions that ask for what `that` and `it` say."""
    return crossed(SAMPLE, ASKS, that) + crossed(SAMPLE, GETS, it)


def looked_up_again(that: tuple[str, ...], it: tuple[str, ...]) -> tuple[str, ...]:
    """Follow-ups that ask for what `that` and `it` say."""
    return crossed(SAMPLE_AGAIN, ("", "", "and", "now"), ASKS, again(that)) + crossed(SAMPLE_AGAIN, GETS, again(it))


WHERE = looked_up(WHERE_THAT, WHERE_IT)
TAKES = looked_up(TAKES_THAT, TAKES_IT)
USES = looked_up(USES_THAT, USES_IT)
TESTS = looked_up(TESTS_THAT, TESTS_IT)
OUTLINE = looked_up(OUTLINE_THAT, OUTLINE_IT)
RENAME = crossed(2 * SAMPLE, DO, RENAME_DO, ENDS)
DOCSTRING = crossed(SAMPLE + 25, DO, DOCSTRING_DO, ENDS) + crossed(SAMPLE, DO, DOCSTRING_SAY)

AGAIN_WHERE = looked_up_again(WHERE_THAT, WHERE_IT)
AGAIN_TAKES = looked_up_again(TAKES_THAT, TAKES_IT)
AGAIN_USES = looked_up_again(USES_THAT, USES_IT)
AGAIN_TESTS = looked_up_again(TESTS_THAT, TESTS_IT)
AGAIN_RENAME = crossed(2 * SAMPLE_AGAIN, DO, again(RENAME_DO), ENDS)
AGAIN_DOCSTRING = (
    crossed(SAMPLE_AGAIN, DO, again(DOCSTRING_DO), ENDS) + crossed(SAMPLE_AGAIN, DO, again(DOCSTRING_SAY))
)  # fmt: skip
