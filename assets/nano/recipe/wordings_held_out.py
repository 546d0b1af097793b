"""Wordings of every skill that are never trained on: other words or another build than any trained one."""

from __future__ import annotations

from wording import wordings

WHERE = wordings("""
    Hey, which file has the definition of {n}?
    where does {n} reside
    Whereabouts is {n}?
    Any idea where {n} is hiding?
    Which source file holds {n}?
    Track down {n} for me.
    navigate to {n}
    I can't seem to find {n} anywhere.
    Where did the author put {n}?
    What's the file and line of {n}?
    In what part of the project is {n} written?
    Let me see the definition of {n}, please.
    Got to look at {n} - which file is that?
    where on earth is {n}
    Which .py file should I open to see {n}?
    Remind me where {n} is located.
    the place where {n} is defined?
    {n} is in what module?
""")

TAKES = wordings("""
    May I have the signature of {n}?
    how many args do I hand to {n}?
    What has to be handed over to {n}?
    With which arguments is {n} supposed to be called?
    Let me see the parameter list of {n}.
    Remind me what arguments {n} wants.
    What's the calling convention of {n}?
    is there an optional parameter in {n}?
    Spell out the signature of {n}
    what kind of value does {n} return?
    I'm about to call {n}. Which arguments?
    Type of the value returned by {n}?
    {n}(...) - what goes between the brackets?
    what would {n} like to be given?
    Which inputs are required by {n}?
    what do i feed into {n}
    Say I call {n}, what will it give me?
    the args {n} takes?
""")

USES = wordings("""
    Which places call {n}?
    Where in the code is {n} used?
    Any callers of {n}?
    Which parts of the project rely on {n}?
    Who else makes use of {n}?
    List all call sites of {n}.
    call sites for {n}
    Everything that touches {n}, please.
    I'd like a list of whoever calls {n}.
    From which functions do we reach {n}?
    is {n} dead code or does somebody use it?
    What else would change if I changed {n}? Show its callers.
    where does {n} get called
    Are we still using {n} somewhere?
    has {n} got any users?
    Track down the callers of {n}.
    {n} gets used in which files?
    Let me see the usages of {n}
""")

TESTS = wordings("""
    Have we got tests for {n}?
    Which of the tests go through {n}?
    Has anybody written tests for {n}?
    How well is {n} tested? List the tests.
    name the tests that deal with {n}
    Let me see the tests around {n}.
    What do we have in the way of tests for {n}?
    Enumerate whatever tests {n}
    Any tests for {n}?
    Track down the tests of {n}.
    I wonder which tests involve {n}.
    is there test code for {n} somewhere?
    Which tests would notice if {n} broke?
    was {n} ever tested?
    {n} has tests, right? Which ones?
    Where would I find a test of {n}?
    which specs or tests mention {n}
    Got tests for {n}?
""")

OUTLINE = wordings("""
    What things are in {f}?
    What do we have in {f}?
    Walk me through the contents of {f}.
    Which top-level names live in {f}?
    Let me see what {f} is made of.
    {f} consists of what?
    What would I see if I opened {f}?
    enumerate the functions of {f}
    Break {f} down into its functions and classes.
    table of contents for {f}
    Anything useful in {f}?
    what all did they cram into {f}
    Sketch the file {f} for me.
    Quick overview of the module {f}, please.
    which declarations does {f} hold?
    what kind of functions live in {f}?
    peek into {f}
    Got {f} here - what's in there?
""")

RENAME = wordings("""
    In {f} I'd prefer {m} over {n}.
    swap {n} for {m} in {f}
    Within {f}, substitute {m} for {n}.
    please let {n} go by the name {m} in {f}
    {m} is a better name than {n}, so rename it in {f}
    In the module {f}, every {n} has to become {m}.
    rename: {n} to {m}, file {f}
    Have {n} renamed to {m} throughout {f}, would you?
    file {f}: {n} becomes {m}
    do me a favour and rename {n} in {f}, the new name is {m}
    {n} in {f} ought to read {m}
    switch the name {n} over to {m} in {f}
    Could {n} be called {m} in {f}, please?
    Mind changing {n} to {m} in {f}?
    what I call {n} in {f} should from now on be {m}
    Replace the identifier {n} throughout {f}: it is {m} now.
    wherever {f} says {n}, write {m}
    s/{n}/{m}/ in {f}
""")

DOCSTRING = wordings("""
    There's no docstring on {n}, can you fix that?
    {n} lacks a docstring.
    Supply a docstring for {n}.
    provide {n} with a docstring
    {n} deserves a docstring
    How about a docstring for {n}?
    Equip {n} with a docstring, please.
    Would you mind adding a docstring to {n}?
    attach a docstring to {n}
    Fill in the missing docstring of {n}
    let {n} have a docstring
    Nobody wrote a docstring for {n}. Do it.
    Time to document {n} with a docstring.
    all that {n} is missing is a docstring
    attach the docstring {t} to {n}
    Let the docstring of {n} read {t}.
    {t} would be a good docstring for {n}, add it
    Under the def of {n}, put the docstring {t}
    As docstring for {n} take {t}
""")

AGAIN_WHERE = wordings("""
    and which source file holds it?
    Ok, and where does it live?
    Whereabouts is that?
    and the file it is in?
    Let me see where that is defined.
    So where did they put it?
    Right. Its location, please.
    and on what line is it?
    navigate to it
    Remind me where it is.
""")

AGAIN_TAKES = wordings("""
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

AGAIN_USES = wordings("""
    Any callers of it?
    and which places call it?
    who else makes use of it?
    its call sites?
    Is that still being used somewhere?
    and where does it get called
    Which parts of the project rely on it?
    Ok, but has it got any users?
    Let me see its usages.
    does it get called at all?
""")

AGAIN_TESTS = wordings("""
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

AGAIN_DOCSTRING = wordings("""
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

AGAIN_RENAME = wordings("""
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
