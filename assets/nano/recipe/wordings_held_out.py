"""Wordings of every skill that are never trained on, written without sight of those that are."""

from __future__ import annotations

from wording import wordings

WHERE = wordings("""
    which file has {n} in it, and on what line
    Can you point me to the definition of {n}?
    I'm looking for {n}, where does it live?
    {n} - which file and line?
    Show me where {n} is declared.
    whereabouts in the repo is {n}
    go to definition of {n}
    In which module do we define {n}?
    can't find {n} anywhere, which file is it in?
    Give me the path and line number for {n}
    locate the definition of {n} please
    What file should I open to see {n}?
    Where do I find {n} in this codebase?
    on which line does {n} start?
    {n} is defined where exactly
    Do you know where {n} comes from? I need the file.
    what's the location of {n}
    Tell me the file and line number where {n} is introduced.
    where did we put {n}
    hey, where's {n}?
    Which source file contains the definition of {n}?
    I want to jump to {n}, file and line?
""")

TAKES = wordings("""
    Which parameters do I have to pass to {n}?
    show me the signature for {n}
    how do I call {n}, what are its args
    What's the return type of {n}?
    does {n} accept any keyword arguments?
    I forgot what {n} expects as input
    Tell me what {n} takes and what it gives back.
    what are the default values of the arguments of {n}
    How many arguments does {n} have?
    what do i need to pass into {n}
    Could you print the full signature of {n}?
    inputs and outputs of {n} please
    which args are optional in {n}?
    What type of value comes back from {n}?
    give me the argument list for {n}
    {n}: which parameters, and in what order?
    What is the calling signature of {n}
    remind me of the arguments for {n}
    Need the parameter names and the return type of {n}.
""")

USES = wordings("""
    list every call site of {n}
    Which functions depend on {n}?
    What other code calls {n}?
    Show me all the places that use {n}.
    find usages {n}
    From where do we call {n}?
    who is using {n} in this project
    Is anyone still calling {n} or can it go?
    Give me the callers of {n}, please.
    what would be affected if I changed {n}, i.e. who calls it?
    In which files is {n} referenced?
    all the callers of {n}
    how many places is {n} called from
    Which parts of the code make use of {n}?
    does anything reference {n}
    I need to know everywhere {n} gets invoked
    Where else does {n} show up in the code?
    {n} is called by what?
""")

TESTS = wordings("""
    what tests exercise {n}
    Do we have any tests for {n}?
    Which test should I run after changing {n}?
    show me the test cases that touch {n}
    I changed {n}, what tests hit it?
    is there a unit test for {n}
    Find the tests that call {n}.
    What is the test coverage of {n}, which tests are there?
    which of our tests go through {n}
    Has {n} got any existing tests?
    name the tests that check {n}
    Are there existing tests that use {n}?
    what test functions cover {n}
    {n} - covered by which tests?
    Tell me which tests verify the behaviour of {n}
    If {n} breaks, which tests would catch it?
    any test exercising {n} already?
    Which test files have something about {n}?
    Give me all tests related to {n}
""")

OUTLINE = wordings("""
    Which classes and functions does {f} define?
    Can you list everything defined in {f}?
    I've never opened {f}, what is in there?
    Tell me what functions I can find in {f}.
    table of contents for {f}
    What are the top-level definitions of {f}?
    show symbols in {f}
    Quick summary of the contents of {f}?
    what methods and classes live in {f}
    Walk me through what {f} has, just names of classes and functions.
    Could I get a list of all the defs in {f}
    Print the outline for the file {f}
    what stuff is defined in {f}?
    Does {f} have any classes, and which functions?
""")

RENAME = wordings("""
    please change the name of {n} to {m} in {f}
    {f}: rename {n} -> {m}
    call {n} {m} instead in {f}
    I'd like {n} in {f} to be called {m}
    In {f} there's a {n}, it should be named {m}.
    {n} from {f} should be renamed {m}
    Give {n} in {f} the new name {m}
    {m} is a better name for {n} in {f}, please rename
    could you make it {m} instead of {n} in {f}
    Rename {n}, which is in {f}, to {m}.
    let's rename {n} to {m}, file is {f}
    I want to use {m} as the new name for {n} in {f}
    new name for {n} in {f}: {m}
    For the file {f}, do a rename from {n} to {m}.
    the name {n} in {f} is bad, make it {m}
    rename to {m} the thing called {n} in {f}
    Would you rename {n} as {m} inside {f}?
    do a rename in {f}, old name {n}, new name {m}
    please have {n} renamed to {m} throughout {f}
""")

DOCSTRING = wordings("""
    please add docs to {n}, just a docstring
    could you add a short docstring to {n}?
    {n} is missing its docstring, fill it in
    add a docstring to {n} saying {t}
    Would you write the missing docstring of {n}?
    linter complains that {n} lacks a docstring, add it
    make a one line docstring for {n}
    In {n}, add a docstring that reads {t}
    Let's give {n} a proper docstring
    add docstring {n}
""")

AGAIN_WHERE = wordings("""
    and which file is it in
    What line is that on?
    show me where it's declared
    Can you give me its file and line number?
    ok and where do I find it?
    location?
    take me to its definition
    in which module is that one defined
    Where exactly is it in the repo?
""")

AGAIN_TAKES = wordings("""
    what arguments does it take?
    Which parameters does it have?
    ok how do I call it, what args
    What do I have to pass to it?
    does it have any optional arguments
    what type does it give back?
    and the params?
    What's the return type of that one
""")

AGAIN_USES = wordings("""
    find all references to it
    Is it called anywhere?
    what else depends on it
    list the places where it's used
    from where is that called
    does anything still use it?
""")

AGAIN_TESTS = wordings("""
    and what tests exercise that?
    do we have any tests for it
    Are there tests that touch it?
    which test should I run for it
    what about existing tests, does it have any?
    list the tests that call it
    any unit tests covering that one
    Which tests would fail if it broke?
""")

AGAIN_DOCSTRING = wordings("""
    now write a docstring for it
    Can you give it a docstring?
    please document it with a docstring
    it needs a docstring, add one
    and add a docstring there
    Add {t} to it as a docstring
    put a short docstring on that one
    Could you add the missing docstring to it?
    use {t} as its docstring
""")

AGAIN_RENAME = wordings("""
    now rename that to {m} in {f}
    In {f}, call it {m} instead
    please change its name to {m} in {f}
    Can you rename it in {f} to {m}?
    ok, make its name {m} in {f}
    it should be called {m}, rename it in {f}
    I'd rather have it named {m} in {f}
    give it the new name {m} in {f}
    and then in {f} rename it {m}
    Let's rename this one to {m}, only in {f}.
""")
