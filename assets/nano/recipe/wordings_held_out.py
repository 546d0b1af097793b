"""Wordings of every skill that are never trained on: other words or another build than any trained one."""

from __future__ import annotations

from wording import wordings

WHERE = wordings("""
    Hey, which file has the definition of {n}?
    where does {n} reside
    Which corner of the code base is {n} in?
    Any idea where {n} is hiding?
    Of all these files, which one defines {n}?
    Sniff out {n} for me.
    steer me to {n}
    I can't seem to find {n} anywhere.
    Where did whoever wrote {n} put it?
    Name the file in which I can read {n}.
    I keep reading about {n}, so where is its definition?
    Might I see the definition of {n}?
    Got to look at {n} - which file is that?
    where on earth is {n}
    Which file should I open if I want to see {n}?
    Remind me where {n} is located.
    the place where {n} is defined?
    {n} is in what module?
""")

TAKES = wordings("""
    May I have the signature of {n}?
    How long is the list of arguments of {n}?
    What has to go into a call of {n}?
    With which arguments is {n} supposed to be called?
    Read me the parameter list of {n}.
    Remind me what arguments {n} wants.
    Before I call {n}, what are its arguments?
    Can I call {n} without arguments?
    Spell out the signature of {n}
    If I call {n}, which type do I get?
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
    Who might be relying upon {n}?
    Make me a list of all that call {n}.
    the functions calling {n}
    Every line with a call to {n}, please.
    I'd like a list of whoever calls {n}.
    From which functions do we reach {n}?
    Is there anybody left who uses {n}?
    What else would change if I changed {n}? Show its callers.
    where does {n} get called
    I believe {n} is no longer called, or is it?
    how many callers does {n} have and where?
    Round up the callers of {n}.
    {n} gets used in which files?
    May I see the usages of {n}
""")

TESTS = wordings("""
    So {n} has how many tests, and which?
    Which of the tests go through {n}?
    Did whoever wrote {n} also write tests for it?
    How well is {n} tested? List the tests.
    name the tests that deal with {n}
    May I see the tests around {n}?
    What do we have in the way of tests for {n}?
    Enumerate whatever tests {n}
    I hope there are tests for {n}?
    Round up the tests of {n}.
    I wonder which tests involve {n}.
    is there test code for {n} somewhere?
    Which tests would notice if {n} broke?
    Was there ever a test for {n}?
    {n} has tests, right? Which ones?
    I am looking for a test with {n} in it
    which specs or tests mention {n}
    Got tests for {n}?
""")

OUTLINE = wordings("""
    What things are in {f}?
    What do we have in {f}?
    Walk me through the contents of {f}.
    Which top-level names live in {f}?
    May I see what {f} consists of?
    Which classes would I meet in {f}?
    What would I see if I opened {f}?
    recite the functions of {f}
    Break {f} down into its functions and classes.
    a list of what {f} has to offer
    Which useful functions might {f} have?
    what all did they cram into {f}
    Picture {f} as a list of its functions.
    Brief me on what {f} contains.
    which declarations does {f} hold?
    what kind of functions live in {f}?
    flip {f} open for me
    Got {f} here - what's in there?
""")

RENAME = wordings("""
    In {f} I'd prefer {m} over {n}.
    in {f} trade {n} for {m}
    Within {f}, substitute {m} for {n}.
    please let {n} go by the name {m} in {f}
    {m} sounds better than {n}, please rename it in {f}
    In the module {f}, every {n} has to become {m}.
    rename: {n} to {m}, file {f}
    Have {n} renamed to {m} throughout {f}, would you?
    Job for {f}: every {n} has to be called {m}
    do me a favour and rename {n} in {f}, the new name is {m}
    {n} in {f} ought to read {m}
    move from the name {n} to the name {m} in {f}
    Could {n} be called {m} in {f}, please?
    Mind changing {n} to {m} in {f}?
    what I call {n} in {f} should from now on be {m}
    Replace the identifier {n} throughout {f}: it is {m} now.
    whenever {f} says {n} it should say {m}
    s/{n}/{m}/ in {f}
""")

DOCSTRING = wordings("""
    There's no docstring on {n}, can you fix that?
    {n} lacks its docstring.
    Supply a docstring for {n}.
    provide {n} with a docstring
    {n} deserves a docstring
    How about a docstring for {n}?
    Equip {n} with a docstring, please.
    Would you mind adding a docstring to {n}?
    stick a docstring on {n}
    Get the docstring of {n} written, please.
    let {n} have a docstring
    Nobody wrote a docstring for {n}. Do it.
    Time to document {n} with a docstring.
    all that {n} is missing is a docstring
    attach the docstring {t} to {n}
    Let the docstring of {n} read {t}.
    {t} would be a good docstring for {n}, add it
    Under the def of {n}, put the docstring {t}
    {t} - that goes into {n} as its docstring
""")

AGAIN_WHERE = wordings("""
    and which source file holds it?
    Ok, and where does it live?
    Which corner of the code base is that in?
    and the file it is in?
    Let me see where that is defined.
    So where did they put it?
    Right. Its location, please.
    and on what line is it?
    steer me to it
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
    who might be relying upon it?
    the functions calling it?
    Is that still being used somewhere?
    and where does it get called
    Which parts of the project rely on it?
    how many callers does it have and where?
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
