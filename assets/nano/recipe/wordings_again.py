"""Trained follow-ups: `it` is the name that the question before was about."""

from __future__ import annotations

from wording import wordings

WHERE = wordings("""
    And where is it defined?
    and where is it defined?
    where is it defined?
    where is it defined
    Where is it?
    where is it
    and where is it
    where's it defined?
    And where is that defined?
    where is that
    where is that one defined?
    Where does it live?
    where does it come from
    Which file is it in?
    which file has it?
    and which file is that in?
    what file is it in
    in which file?
    in what file is that?
    which module defines it?
    and which line?
    at what line is it?
    show me where it is defined
    show it to me
    show me its definition
    show me the definition
    And its definition?
    and the definition?
    find its definition
    find it
    now find it
    go to it
    go to its definition
    take me to it
    jump to its definition
    Ok, where is it defined?
    ok and where is it
    Can you tell me where it is?
    can you find where it is defined?
    Could you show me where it is defined?
    please show me where it is
    tell me where it is defined
    I want to see where it is defined
    where can I find it?
    where do I find that
    where is it implemented?
    and where is that declared
    look it up
    where did we define it?
    give me its location
    whereabouts is it?
    track it down
    navigate to it please
    open it
    pull it up
    where is it located?
    and where is that located
    what is its location?
    what is its file?
    its file and line?
    the file?
    and the path?
    which source file is it in?
    where would I find it?
    let me look at it
""")

TAKES = wordings("""
    And what does it take?
    what does it take?
    what does it take
    and what does that take
    What are its arguments?
    what are the arguments of it
    and its arguments?
    And the arguments?
    and its parameters?
    and the parameters
    What parameters does it have?
    what arguments does it have?
    which arguments does it need
    What is its signature?
    what's its signature
    and its signature?
    And the signature?
    and the signature of that?
    how do I call it?
    and how do I call it
    how do I call that?
    How is it called with arguments?
    what can I pass to it?
    what do I pass to it
    what should I pass to it?
    which arguments does it accept?
    what does it accept?
    what does it expect
    show me its signature
    show me the signature
    show me its arguments
    give me its signature
    list its parameters
    list its arguments
    tell me what it takes
    tell me its arguments
    can you show me its signature?
    could you tell me its parameters?
    please show its signature
    I need its signature
    I want to see its arguments
    And what does it return?
    what does it return?
    and what does that return
    what is its return type?
    and the return type?
    which type does it return?
    what do I get back from it?
    how many arguments does it take?
    does it take arguments?
    Ok, and what does it take?
    now its arguments
    its args?
    what args does it have?
    number of its arguments?
    which arguments are required?
    which of them are optional?
    and its optional arguments?
    what does it want?
    what does it need as input?
    and the type of its result?
    what kind of thing does it return?
    what value does it return
    its keyword arguments?
    what can I feed to it?
    how does one call it?
    let me see its arguments
""")

USES = wordings("""
    And who calls it?
    and who calls it
    who calls it?
    who calls it
    Who uses it?
    who uses it
    and who uses it?
    Where is it used?
    where is it used
    and where is it used
    And where is it called?
    where is it called?
    where is it called from
    who calls that?
    and who calls that one
    And who uses that?
    what calls it?
    what uses it
    and what uses that?
    And its callers?
    and the callers?
    and its uses?
    and the usages?
    show me its callers
    show me the callers
    show me who calls it
    show me where it is used
    where do we use it?
    where do we call it
    Is it used anywhere?
    is it used
    is it still used?
    is that called anywhere?
    does anyone use it?
    find its uses
    find its callers
    find all callers of it
    list its callers
    list all uses of it
    which functions call it?
    which functions use it
    which files use it?
    which files import it
    which code depends on it?
    and who depends on it?
    tell me who calls it
    can you find who calls it?
    could you show me where it is used?
    please list its callers
    I want to see its callers
    Ok, and who calls it?
    now find its callers
    references to it?
    and the references?
    its call sites, please
    and the call sites?
    all occurrences of it
    has it any users?
    are we using it?
    are we still using that?
    is it dead code?
    is it unused?
    who makes use of it?
    which modules rely on it?
    what touches it?
    everything that uses it
    is anyone using that?
    and who needs it?
    by whom is it called?
""")

TESTS = wordings("""
    And its tests?
    and its tests
    and the tests?
    and the tests for it
    Is it tested?
    is it tested?
    is it tested
    and is it tested?
    is that tested anywhere?
    is it covered by tests
    which tests cover it?
    which tests cover that
    And which tests cover it?
    where is it tested?
    where is it tested
    where is that tested
    where do we test it?
    where are its tests?
    where are the tests for it
    does it have tests?
    does it have a test
    and does it have tests?
    does any test cover it?
    list its tests
    list the tests for it
    list all tests of it
    show me its tests
    show me the tests
    show me the tests for it
    find its tests
    find the tests for it
    now find its tests
    are there tests for it?
    are there any tests for that
    is there a test for it?
    and who tests it?
    who tests that
    what tests it?
    which tests call it?
    which tests use that?
    which test files use it
    tell me which tests cover it
    can you list its tests?
    could you show me its tests
    please list its tests
    please find the tests of it
    I want to see its tests
    I need the tests for it
    Ok, and its tests?
    tests for it?
    has it been tested?
    has it got tests
    has anyone tested it?
    have we tested that?
    did we ever test it?
    do we test it?
    any test for it
    which tests deal with it?
    which tests mention it?
    which tests would fail without it?
    which part of the test suite covers it?
    and the test file?
    its test cases?
    get its tests
    let me see which tests cover it
""")

DOCSTRING = wordings("""
    and add a docstring to it
    And add a docstring to it.
    add a docstring to it
    Add a docstring to it.
    now add a docstring to it
    then add a docstring to it
    Ok, add a docstring to it
    ok now add a docstring
    add a docstring to that
    add a docstring to that one
    add a docstring
    add docstring to it
    add the docstring to it
    add a short docstring to it
    please add a docstring to it
    Please add a docstring
    can you add a docstring to it?
    could you add a docstring to it
    I want a docstring for it
    I need a docstring in it
    it needs a docstring
    It needs a docstring.
    it has no docstring
    it has no docstring, add one
    it is missing a docstring
    it should have a docstring
    its docstring is missing
    document it
    document it with a docstring
    please document it
    write a docstring for it
    write its docstring
    please write a docstring for it
    give it a docstring
    Give it a docstring.
    put a docstring in it
    put a docstring into it
    create a docstring for it
    describe it in a docstring
    and a docstring for it
    add the docstring {t} to it
    and add the docstring {t} to it
    add {t} as its docstring
    add a docstring to it: {t}
    add a docstring to it that says {t}
    give it the docstring {t}
    now give it the docstring {t}
    put the docstring {t} into it
    its docstring should be {t}
    set its docstring to {t}
    document it with {t}
    please add the docstring {t} to it
    it is not documented, add a docstring
    it is undocumented
    nobody documented it, add a docstring
    it does not have a docstring
    it comes without a docstring
    and its docstring? add one
    what about a docstring for it?
    include a docstring in it
    add docs to it
    add a doc string to it
    make sure it has a docstring
    the docstring of it is {t}
    {t} is its docstring
    take {t} as its docstring
    let it say {t} in its docstring
""")

RENAME = wordings("""
    rename it to {m} in {f}
    Rename it to {m} in {f}.
    and rename it to {m} in {f}
    now rename it to {m} in {f}
    then rename it to {m} in {f}
    Ok, rename it to {m} in {f}.
    rename it in {f} to {m}
    rename that to {m} in {f}
    rename it as {m} in {f}
    rename it into {m} in {f}
    in {f} rename it to {m}
    In {f}, rename it to {m}.
    and in {f}, rename it to {m}
    please rename it to {m} in {f}
    Please rename it in {f} to {m}
    can you rename it to {m} in {f}?
    could you rename it to {m} in {f}
    I want to rename it to {m} in {f}
    I want it renamed to {m} in {f}
    let's rename it to {m} in {f}
    replace it with {m} in {f}
    and replace it by {m} in {f}
    in {f}, replace it with {m}
    please replace it with {m} in {f}
    change it to {m} in {f}
    change its name to {m} in {f}
    in {f}, change its name to {m}
    please change it to {m} in {f}
    it should be called {m} in {f}
    it should be named {m} in {f}
    in {f} it should be called {m}
    call it {m} in {f}
    in {f}, call it {m}
    name it {m} in {f}
    give it the name {m} in {f}
    use {m} instead of it in {f}
    open {f} and rename it to {m}
    edit {f} and rename it to {m}
    {f}: rename it to {m}
    that should be {m} in {f}
    swap it with {m} in {f}
    substitute it by {m} in {f}
    switch it to {m} in {f}
    in {f} it becomes {m}
    it becomes {m} in {f}
    file {f}: rename it to {m}
    wherever it is in {f}, put {m}
    write {m} instead of it in {f}
    I prefer {m} in {f}, rename it
    {m} is a clearer name, change it in {f}
    the name should be {m} in {f}
    find it in {f} and replace it with {m}
    rename it, the new name is {m}, the file is {f}
    its new name in {f} is {m}
    could it be renamed to {m} in {f}?
""")
