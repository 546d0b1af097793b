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
    I lost track of it.
    But where does it live?
    Which file do I open to see it?
    Before I touch it, where is it?
    I want to edit it; which file do I open?
    If I wanted to read it, where would I look?
    so which file would that be?
    so where is it
    Fine, and in which module?
    and which module is that from?
    in which directory?
    on which line does it start?
    which line does that begin on?
    from which line on?
    pinpoint it
    spot it for me
    grep for its definition
    retrieve its definition
    trace it to its definition
    print its path
    print file and line of it
    dump its location
    report its position
    reveal its location
    chase it down
    where is it now?
    where was that again?
    remind me where it is
    no idea where it is
    I cannot find it
    I can't see it anywhere, which file?
    it must be defined somewhere, no?
    isn't it defined somewhere?
    it is in this project, isn't it? Where?
    from where can I import it?
    where do I import that from?
    how do I import it, from which module?
    how do I get to it?
    how do I find it?
    any idea where that is?
    do you know its file?
    would you mind showing me where it is defined?
    May I know where it is?
    kindly point me to it
    which file should I edit to change it?
    who defines it?
    what is the name of its file?
    the module?
    the line?
    the location?
    path?
    line number?
    file and line please
    its source?
    its home?
    the place where it is defined
    the file that has it
    lead me there
    bring me there
    I need the place, file and line
    I want to set a breakpoint there, which line is it?
    only the file name please
    and which source file holds it?
    Ok, and where does it live?
    Which corner of the code base is that in?
    and the file it is in?
    Let me see where that is defined.
    So where did they put it?
    Right. Its location, please.
    and on what line is it?
    steer me to it
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
    Before I call it, which arguments does it want?
    I am about to call it; what goes in?
    If I call it, what do I get back?
    when I call it, what must I supply?
    and once it is done, what type comes out?
    what goes into it?
    what goes in, what comes out?
    what do I hand in?
    and what do I hand over to it
    what has to be supplied?
    what may I pass?
    shall I pass anything to it?
    must I pass every argument?
    with which arguments?
    with how many arguments do I call it?
    and how many of its arguments are optional?
    in which order do its arguments come?
    what is the first parameter of it
    what's its second argument?
    what are the defaults of its arguments?
    has it any default arguments?
    does it return anything?
    doesn't it return something?
    it returns a list, doesn't it?
    it takes one argument, right?
    it takes what?
    it returns what?
    it gives back what?
    it yields which type?
    what does it give back
    what does it produce, which type?
    what type does that have as a result?
    is there a return type on it?
    can I call it without arguments?
    can it be called with keywords?
    does it accept keyword arguments
    does that take a path or a string?
    are its parameters typed?
    are all of its arguments required?
    enumerate its parameters
    itemise its arguments
    print its signature
    dump its parameter list
    spell out its signature
    sum up its parameters
    collect its argument names
    remind me of its signature
    remind me what it returns
    retrieve the signature of it
    check its signature
    I keep forgetting its parameters.
    I have no idea what to pass to it
    not sure what it expects
    no idea what it returns
    I was wondering what it takes
    would you mind showing its signature?
    May I know its parameters?
    kindly list its inputs
    what does its signature look like?
    how does its signature look?
    how must I call it?
    how is that one called, with what?
    signature?
    parameters?
    arguments?
    args
    return type?
    its inputs?
    its type hints?
    inputs and result type?
    its def line please
    just the signature
    ok, and its signature?
    what do I hand to it?
    and which inputs are required?
    Remind me what it takes.
    What kind of value does it return?
    Let me see its parameter list.
    and with which arguments should I call that?
    so what would it like to be given
    And its args?
    does it want any arguments?
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
    Before I change it, who calls it?
    I am about to change it; which code depends on it?
    Suppose I delete it - who breaks?
    If it went away, who would notice?
    if I rename it, which places do I have to adapt?
    if I change it, what else is affected?
    when I change it, which callers must follow?
    I think nobody uses it.
    I bet nobody calls it
    I doubt anyone needs it, who does?
    nobody calls it, right?
    it is not used, is it?
    it is used a lot, isn't it? Where?
    it looks unused to me
    it seems to have no callers
    it gets called from where?
    it is used by whom?
    it has how many callers?
    how many callers does it have?
    how many places use that?
    how often is it used, and where?
    how many files import it?
    isn't it used anywhere?
    isn't anybody calling that?
    doesn't anything use it?
    does nobody call it?
    does nothing depend on that?
    do other modules depend on it?
    do we call that anywhere?
    is there at least one caller?
    is there any code that calls it?
    are there any callers?
    are there any uses of that left?
    has anyone ever used it?
    can anyone still be calling it?
    might something depend on it?
    enumerate its callers
    itemise its call sites
    print all its callers
    dump the references to it
    trace the calls to it
    collect the places where it is used
    gather its usages
    grep for its uses
    grep the callers
    spot its callers
    chase down its callers
    count its callers and show them
    retrieve its references
    check whether it is used
    check if anyone calls that
    who else calls it?
    who invokes it?
    who references that?
    who imports it?
    who consumes it?
    who would miss it?
    what invokes it
    what code needs it?
    what refers to that?
    which classes use it?
    which lines call it
    where is it invoked?
    where is it imported?
    where else is it used
    where does it get called
    from which functions is it called?
    in which places is it used?
    by how many functions is it used?
    I was wondering who uses it
    I wonder if it is used
    no idea who calls it
    would you mind listing its callers?
    May I know who is using it?
    kindly list its usages
    remind me who calls it
    callers?
    usages?
    call sites?
    references please
    its users?
    its clients?
    its consumers
    any callers?
    anyone using it?
    used anywhere?
    Any callers of it?
    and which places call it?
    who might be relying upon it?
    the functions calling it?
    Is that still being used somewhere?
    and where does it get called
    Which parts of the project rely on it?
    how many callers does it have and where?
    Let me see its usages.
    does it get called at all?
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
    Before I change it, which tests are there?
    I am about to change it; which tests watch over it?
    Suppose I break it - which tests go red?
    If I break it, which tests tell me?
    if it changed, which tests would notice?
    when it breaks, which tests fail?
    I bet nobody tests it.
    I bet there is no test for that
    I doubt it has tests
    I doubt that anyone tests it
    I think it is not tested
    I suspect it is untested
    I hope it is tested
    I see no tests for it
    I cannot find its tests
    no idea which tests cover it
    no idea if it is tested
    not sure whether it has tests
    it is tested, isn't it?
    it has tests, right? Which?
    it isn't tested, is it?
    it has no tests, has it?
    it must be tested somewhere
    it is covered by which tests?
    it looks untested
    it has how many tests?
    how many tests cover it?
    how many tests does that have?
    by which tests is it covered?
    in which test file is it tested?
    in which tests does it appear?
    isn't it tested?
    isn't there a test for it?
    aren't there any tests for that?
    doesn't it have a test?
    don't we test that?
    does nobody test it?
    does the test suite exercise it?
    does at least one test use it?
    is there at least one test of it?
    is there not a single test for it?
    is there a unit test for that?
    are there many tests of it, and which?
    do we check it in the test suite?
    have you seen any tests for it?
    could there be a test for it?
    enumerate its tests
    itemise its test cases
    print the tests that cover it
    dump the list of its tests
    trace which tests reach it
    collect its tests
    gather all tests that touch it
    grep the tests for it
    spot the tests that check it
    chase down its tests
    retrieve its tests
    pinpoint the tests that verify it
    identify the tests that exercise it
    name its tests
    sum up which tests cover it
    check whether it is tested
    check if a test covers that
    which tests exercise it?
    which tests verify it?
    which tests validate that
    which tests check it?
    which tests hit it
    which test file covers it?
    which test functions call it?
    what test covers it
    what verifies it in the tests?
    who verifies it in the test suite?
    where is the test for it?
    where in the tests is it used?
    where's that tested?
    I was wondering if it is tested
    I wonder which tests cover it
    would you mind listing its tests?
    May I know its test cases?
    kindly list the tests for it
    remind me which tests cover it
    point me to its tests
    take me to its tests
    tested?
    any tests?
    tests?
    test cases?
    unit tests for it?
    its unit tests
    its test file?
    its coverage in the tests?
    Do we have tests for it?
    Any tests for that?
    and has anybody tested it?
    Which of the tests go through it?
    Let me see its tests.
    so, which tests involve it?
    Was it ever tested?
    and the test code for it?
    which tests would notice if it broke?
    Got tests for it?
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
    Supply a docstring for it.
    It lacks a docstring.
    how about a docstring for it?
    fill in its missing docstring
    Would you mind adding a docstring to that?
    provide it with a docstring, please
    it deserves a docstring
    Ok, attach the docstring {t} to it.
    let its docstring read {t}
    and {t} as its docstring, please
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
    In {f} I'd prefer {m} as its name.
    swap it for {m} in {f}
    Ok, substitute {m} for it in {f}.
    {m} is a better name, so rename it in {f}
    let it go by the name {m} in {f}
    file {f}: it becomes {m}
    Could it be called {m} in {f}, please?
    switch its name over to {m} in {f}
    in {f} it ought to be {m}
    do me a favour and rename it in {f}, the new name is {m}
""")
