"""Lists that are crossed with each other into requests for work and questions about code: all beyond this model.

A model this small tells "beyond me" from "look it up" only by having seen very many of both, with names in sight.
`CROSSED` has lists of parts; one of each, in order, with spaces between, is a request.
"""

from __future__ import annotations

from wording import wordings
from wordings_asked import ASKS, GETS

LEADS = ("", "", "", *wordings("""
    please
    please
    can you
    can you please
    could you
    would you
    will you
    I want you to
    I need you to
    I would like you to
    you should
    you must
    now
    then
    next,
    let's
    help me
    help me to
    go ahead and
    try to
    ok,
    hey,
    it is time to
    we have to
    we should
    I want to
    I have to
    I am trying to
    how do I
    how can I
    how would you
    show me how to
    tell me how to
    is it possible to
    what is the best way to
    should I
    who can
    when should we
    don't
    open the editor and
    find a way to
"""))  # fmt: skip

VERBS = wordings("""
    fix
    fix
    refactor
    refactor
    rewrite
    rename
    delete
    remove
    optimise
    optimize
    improve
    explain
    explain
    review
    debug
    simplify
    shorten
    extend
    change
    update
    edit
    modify
    move
    copy
    split up
    break up
    clean up
    speed up
    shut down
    set up
    translate
    port
    benchmark
    format
    reformat
    lint
    type check
    implement
    reimplement
    finish
    complete
    generate
    deprecate
    disable
    enable
    compile
    build
    deploy
    publish
    package
    run
    execute
    start
    stop
    revert
    undo
    commit
    merge
    rebase
    convert
    adapt
    replace
    comment out
    get rid of
    make sense of
    understand
    judge
    compare
    rate
    measure
    draw
    sort
    cache
    encrypt
    override
    subclass
    export
    download
    save
    improve the tests of
    fix the tests of
    fix the bug in
    find the bug in
    find the mistake in
    fix the types in
    fix the indentation of
    reduce the complexity of
    change the return value of
    change the signature of
    change the arguments of
    rename the arguments of
    rename the variables in
    reorder the arguments of
    remove the last argument of
    handle the errors in
    catch the exceptions in
    add comments about
    add comments to
    add error handling to
    add logging to
    add type hints to
    add types to
    add tests for
    write a test for
    write tests for
    write unit tests for
    write a benchmark for
    write documentation for
    write an article about
    write a wrapper around
    make a diagram of
    make a copy of
    make a class out of
    create a subclass of
    run the tests of
    remove the docstring of
    translate the docstring of
    shorten the docstring of
    use a dataclass for
    turn off
    throw out
""")

OBJECTS = wordings("""
    {n}
    {n}
    {n}
    {n}
    {n}
    {n}
    {n}
    {n}
    {f}
    {f}
    {f}
    the function {n}
    the method {n}
    the class {n}
    the class {n}
    the file {f}
    the module {f}
    {n} in {f}
    {n} in {f}
    {n} and {n}
    {f} and {f}
    the code of {n}
    the body of {n}
    the loop in {n}
    the first line of {n}
    the end of {f}
    the tests of {n}
    everything in {f}
    all functions in {f}
    the imports in {f}
    the arguments of {n}
    every caller of {n}
    this
    it
    that
    this code
    this function
    this file
    the tests
    my code
    the bug
    the whole project
    all of it
""")

TAILS = ("", "", "", "", "", "", "", "", *wordings("""
    please
    for me
    now
    today
    right away
    again
    properly
    a bit
    completely
    as soon as possible
    if you can
    step by step
    from scratch
    so that it is faster
    so that it returns None
    so that it works with None
    so that it takes two arguments
    so that the tests pass
    because it is too slow
    because it fails
    because nobody needs it
    before the release
    before I commit
    without breaking anything
    without changing {n}
    with numpy
    with a loop
    with a list comprehension
    to use async
    for python 3.13
    on windows
    in rust
    in one line
    like in {n}
    like {n} does
    in {f}
    and commit it
    and run the tests
    and push it
    and move it to {f}
    and explain what you did
    and tell me why
    and write a test
    , it is ugly
    , it is broken
    , it is too long
    , thanks
"""))  # fmt: skip

THINGS = wordings("""
    a parameter
    another parameter
    a keyword argument
    a timeout
    logging
    a log line
    type hints
    annotations
    comments
    a comment
    error handling
    a try block
    a cache
    caching
    a test
    tests
    unit tests
    more tests
    a default value
    retries
    validation
    input checks
    a deprecation warning
    an example
    a lock
    a progress bar
    a decorator
    a new method
    a new function
    an assert
    print statements
    an early return
    a licence header
    a benchmark
    an async version
    a command line option
    a subclass
    a better name
    a return type
    a loop
    an if
    a changelog entry
    a page of documentation
    a breakpoint
    a feature
    a bug fix
""")

GIVE = wordings("""
    add
    add
    add
    please add
    can you add
    could you add
    would you add
    I want to add
    I want you to add
    now add
    then add
    we should add
    we need to add
    try to add
    how do I add
    how can I add
    is it hard to add
    I forgot to add
    do not add
""")

TO = wordings("""
    to {n}
    to {n}
    to {n}
    for {n}
    for {n}
    in {n}
    into {n}
    to {f}
    to {f}
    in {f}
    for {f}
    to the class {n}
    to the function {n}
    to {n} in {f}
    to it
    to every function in {f}
    to all callers of {n}
""")

LACKS = wordings("""
    needs
    needs
    is missing
    should have
    should get
    must have
    could use
    wants
    still needs
""")

HAS_NO = wordings("""
    has no
    has no
    has no
    still has no
    should not have
    has too many
    has two
    does not have
""")

BARE = wordings("""
    type hints
    types
    comments
    error handlers
    unit tests, write some
    tests, add some
    parameters
    checks
    log lines
    default values
    retries
    branches
    loops
    side effects
    print statements
    asserts
    nested ifs
    responsibilities
""")

ADJECTIVES = wordings("""
    faster
    shorter
    longer
    simpler
    safer
    nicer
    better
    smaller
    private
    public
    async
    generic
    abstract
    final
    readable
    easier to read
    easier to test
    more robust
    less complicated
    thread safe
    a class
    a function
    a property
    a coroutine
    a generator
    a static method
    work
    work on windows
    work with None
    return a list
    return nothing
    raise an error
    accept a string
    stop
    print less
    use less memory
""")

MAKE = wordings("""
    make
    make
    make
    please make
    can you make
    could you make
    I want to make
    how do I make
    how can I make
    we must make
    now make
    help me make
""")

SUBJECTS = wordings("""
    {n}
    {n}
    {n}
    {n}
    {n}
    {n}
    {f}
    {f}
    the function {n}
    the class {n}
    the method {n}
    the file {f}
    the code in {f}
    the loop in {n}
    a call of {n}
    it
    this
    this code
""")

DOES = wordings("""
    why does
    why does
    why doesn't
    when does
    does
    does
    why would
    could
    will
    how often does
    since when does
    must
    should
""")

FAILINGS = wordings("""
    fail
    fail
    crash
    hang
    work
    not work
    stop
    block
    print nothing
    return None
    return the wrong value
    return a list
    return too early
    raise an error
    raise an exception
    raise a KeyError
    leak memory
    use so much memory
    take so long
    need a lock
    need so many arguments
    break the tests
    lose data
    exist at all
    ignore its argument
    run twice
    change its argument
    fail on windows
    fail in production
    fail when the list is empty
    differ from {n}
    depend on the order
    look so complicated
""")

WHEN = wordings("""
    what happens when
    what should I do when
    what if
    do you know why
    explain why
    explain to me why
    can you tell me why
    tell me why
    I wonder why
    I want to know why
    I do not understand why
    find out why
    is it true that
    is it bad that
    it is strange that
    the problem is that
    I think that
    my tests say that
    please check if
    how do I see that
""")

FAILS = wordings("""
    fails
    fails
    crashes
    hangs
    does not work
    does nothing
    stops
    blocks
    prints nothing
    returns None
    returns the wrong value
    returns a list
    returns too early
    raises an error
    raises an exception
    raises a KeyError
    leaks memory
    uses so much memory
    takes so long
    needs a lock
    needs so many arguments
    breaks the tests
    loses data
    exists at all
    ignores its argument
    runs twice
    changes its argument
    fails on windows
    fails in production
    fails when the list is empty
    differs from {n}
    depends on the order
    looks so complicated
    is slow
    is broken
    is not thread safe
""")

IS = wordings("""
    why is
    why is
    why isn't
    is
    is
    is
    isn't
    since when is
    was
    when is
""")

STATES = wordings("""
    so slow
    too slow
    slow
    thread safe
    correct
    wrong
    good
    bad
    any good
    well written
    pythonic
    fast enough
    too long
    too complicated
    so complicated
    safe
    secure
    async
    deprecated
    pure
    private
    broken
    not working
    necessary
    a good name
    better than {n}
    faster than {n}
    the same as {n}
    a singleton
    recursive
    ready for production
    documented
    empty
    O(n)
    up to date
    clean
    easy to test
    bad style
    a hack
""")

CLAUSES = wordings("""
    what {n} does
    what {n} is good for
    what {n} calls
    what {n} depends on
    what {n} does with {n}
    what is wrong with {n}
    what is wrong in {f}
    what has changed in {f}
    what happens in {n}
    what happens if {n} fails
    what to do with {n}
    what to change in {f}
    what you think of {n}
    what the docstring of {n} says
    how {n} works
    how {n} and {n} differ
    how to fix {n}
    how to test {n}
    how to improve {f}
    how to make {n} faster
    how to run {f}
    how to rename {n}
    how to get rid of {n}
    how to write a test for {n}
    how fast {n} is
    how I can avoid {n}
    how long {f} is
    how good the tests of {n} are
    why {n} fails
    why {n} is slow
    why {n} is so long
    why {n} takes so long
    why {n} needs {n}
    why {n} calls {n}
    why {n} is in {f}
    why {n} is tested so badly
    why {f} does not work
    why the tests of {n} fail
    why we need {n}
    who wrote {n}
    who wrote {f}
    who broke {n}
    when {n} fails
    when {f} was written
    when to use {n}
    if {n} is correct
    if {n} is thread safe
    if {n} works on windows
    if {f} has bugs
    whether I should use {n} or {n}
    whether {n} can be removed
    which of {n} and {n} is better
    which name would be better for {n}
    where the bug in {n} is
    where I made a mistake in {f}
    what this does
    what it does
    how it works
    how this works
    why it fails
    why it is slow
    how to fix it
    how to run the tests
    how to install this
    what this project does
    what to do next
    what the time is
    what recursion is
    how git works
    how to cook rice
    who you voted for
""")

NOUNS = wordings("""
    the bug in {n}
    the bugs in {f}
    the bug
    the problem with {n}
    the mistake in {f}
    the error in {n}
    the reason for {n}
    the reason why {n} fails
    the purpose of {n}
    the meaning of {n}
    the history of {f}
    the diff of {f}
    the author of {n}
    the size of {f}
    the last change of {n}
    the complexity of {n}
    the side effects of {n}
    the value of {n}
    the output of {n}
    the speed of {n}
    the advantages of {n}
    the documentation of {n}
    an explanation of {n}
    an explanation of {f}
    a better name for {n}
    a new name for {n}
    a faster version of {n}
    a simpler {n}
    a test for {n}
    a new test for {n}
    a fix for {n}
    a review of {f}
    a patch for {f}
    a refactoring of {n}
    a diagram of {f}
    a replacement for {n}
    a way to test {n}
    a way to speed up {n}
    a way to split {f}
    a way around {n}
    an example for {n} and {n}
    an alternative to {n}
    some ideas for {n}
    the difference between {n} and {n}
    the functions that {n} calls
    the slow part of {n}
    the unused code in {f}
    the failing tests
    the last commit
    the logs
    the weather
    the news
    a joke
    a recipe
    a job
    a new computer
""")

CROSSED = (
    (8, (LEADS, VERBS, OBJECTS, TAILS)),
    (3, (ASKS, CLAUSES)),
    (2, (GETS, NOUNS)),
    (2, (GIVE, THINGS, TO)),
    (2, (SUBJECTS, LACKS, THINGS)),
    (1, (SUBJECTS, HAS_NO, BARE)),
    (2, (MAKE, SUBJECTS, ADJECTIVES)),
    (2, (DOES, SUBJECTS, FAILINGS)),
    (2, (WHEN, SUBJECTS, FAILS)),
    (2, (IS, SUBJECTS, STATES)),
)
"""How often each, and its parts."""
