"""Trained wordings of the five look-ups: where, takes, uses, tests and outline."""

from __future__ import annotations

from wording import wordings

WHERE = wordings("""
    Where is {n} defined?
    where is {n} defined
    where's {n} defined?
    Where is {n}?
    where is {n}
    where's {n}
    Which file defines {n}?
    which file has {n}
    Which module defines {n}?
    which module has {n}?
    Find the definition of {n}.
    find {n}
    Find {n} for me.
    find where {n} is declared
    Where can I find {n}?
    where could I find {n}
    Show me where {n} is defined.
    show me {n}
    show {n}
    Please show me {n}.
    Locate {n}.
    locate the definition of {n}
    I need the definition of {n}.
    I need to find {n}
    I am looking for {n}.
    I'm looking for the definition of {n}
    im looking for {n}
    In which file is {n}?
    In which file is {n} defined?
    In what file is {n}?
    What file is {n} in?
    What file defines {n}?
    what is the file of {n}?
    Can you find where {n} is defined?
    Can you tell me where {n} is?
    Please find the definition of {n}
    Please tell me where {n} is defined.
    where does {n} live?
    Where does {n} come from?
    Tell me where {n} is defined
    tell me the file of {n}
    Look up {n} for me.
    look up {n}
    Could you tell me where {n} is implemented?
    Where is {n} implemented?
    Where is {n} declared?
    Where was {n} declared?
    where was {n} implemented
    Search for the definition of {n}.
    search for {n}
    search {n}
    definition of {n}?
    the definition of {n}, please
    definition {n}
    {n} definition
    Where in the code is {n} defined?
    Where in this repository is {n}?
    where in the code base is {n}
    What line is {n} defined on?
    Which line defines {n}?
    on which line is {n} defined?
    at what line does {n} start?
    Which file and line define {n}?
    jump to {n}
    go to {n}
    go to the definition of {n}
    goto {n}
    take me to {n}
    bring me to the definition of {n}
    point me to {n}
    {n} is defined where?
    {n} - where is it defined?
    {n}: where is it?
    {n}, where is that
    Where did we define {n}?
    Where do we define {n}?
    where do they define {n}
    where have we put {n}?
    Do you know where {n} is defined?
    do you see where {n} is declared?
    Help me find {n}.
    help me to locate {n}
    Give me the location of {n}.
    What is the location of {n}?
    location of {n}
    open the definition of {n}
    {n}?
    {n}
    Can you locate {n}?
    could you find {n}?
    Could you show me where {n} is?
    I want to find {n}.
    I want to see the definition of {n}.
    I would like to see where {n} is
    i want to read {n}, where is it?
    Where do I find {n}?
    where can I see {n}
    where should I look for {n}?
    Where can the definition of {n} be found?
    Where is the definition of {n}?
    where is the implementation of {n}
    where is the source of {n}?
    where is the code of {n}
    show me the code for {n}
    show the source of {n}
    Who defines {n}?
    what defines {n}
    Is {n} defined here, and where?
    Is there a definition of {n} somewhere?
    Do we have {n} in this project?
    does {n} exist here?
    Is there something called {n}?
    From which module can I import {n}?
    where do I import {n} from?
    which module do I import for {n}
    I forgot where {n} is.
    I cannot find {n}, where is it?
    i lost {n}, please find it
    what is the path of {n}
    which folder has {n}?
    please where is {n}
    whereabouts is {n}?
    track down {n}
    hunt down {n} for me
    navigate to {n}
    navigate to the definition of {n}
    open {n}
    fetch {n}
    get me {n}
    pull up {n}
    pull up the definition of {n}
    dig up {n}
    where is {n} located?
    where is {n} written?
    in which part of the code is {n}?
    in what part of the project do I find {n}
    where is {n} kept?
    where is {n} set up?
    where is {n} created
    where is {n} coded
    where is {n} introduced?
    where is {n} hiding
    where does {n} sit?
    where did someone put {n}?
    where did they put {n}
    where would I find {n}?
    where might {n} be?
    where has {n} gone?
    which source file contains {n}?
    which source file is {n} in
    which .py file defines {n}
    which package has {n}?
    what package is {n} in?
    the file that has {n}?
    the file and line of {n}, please
    file and line of {n}
    path to {n}?
    line number of {n}
    origin of {n}?
    home of {n}
    I was told there is a {n} here
    there should be a {n}, where?
    I need to look at {n}.
    I have to look at {n}, which file?
    I want to jump to {n}
    let me look at {n}
    let us see {n}
    {n} is in which file?
    {n} lives where
    {n} - which file?
    def {n}
    where def {n}
    class or function {n}, where is it?
    I lost track of {n}.
    I can't for the life of me remember where {n} lives.
    {n} must be defined somewhere, but I do not see it
    Somewhere there is a {n}; which file is that?
    I keep seeing {n} in the traceback, which file is it from?
    the stack trace mentions {n}. Where is that one defined?
    A colleague mentioned {n}. In which module would that be?
    Before I touch {n}, where is it?
    I am about to edit {n}; which file do I have to open?
    Suppose I want to patch {n} - which file would that be in?
    If I wanted to read {n}, where would I look?
    if one wants to see {n}, which file should one open?
    When I go looking for {n}, where do I end up?
    Pinpoint {n}.
    pinpoint the line on which {n} begins
    spot {n} for me, would you
    Retrieve the definition of {n}
    grep for the definition of {n}
    grep def {n}
    grep class {n}
    print the path of the file with {n}
    print where {n} is defined
    dump the location of {n}
    output file and line for {n}
    report the position of {n}
    Trace {n} back to its definition.
    chase down {n}
    resolve {n} to a file
    resolve the symbol {n}
    identify the module in which {n} is defined
    Identify the home of {n}.
    determine where {n} is declared
    Disclose the whereabouts of {n}.
    reveal where {n} is hidden
    Recall for me where {n} is.
    remind me where {n} is
    remind me which file {n} was in
    kindly let me know the location of {n}
    Kindly point out where {n} is residing.
    Would you be so kind as to point me to {n}?
    would you mind telling me where {n} is?
    Might I ask where {n} is defined?
    May I know where {n} is?
    I was wondering which file {n} is in.
    I wonder where {n} went
    I'd be grateful if you could dig out the definition of {n} for me.
    If it is not too much trouble, could you say in which file {n} is to be found?
    it would help me a lot to know where {n} has its definition
    Any idea where {n} is?
    any clue where {n} lives
    any chance you know the file of {n}?
    Got a path for {n}?
    Got any idea which module {n} belongs to?
    {n} belongs to which module?
    To which module does {n} belong?
    to what file does {n} belong
    {n} is part of which file?
    what is {n} part of, which module?
    Under which directory is {n}?
    under src or under lib, where is {n}?
    is {n} in the core or in the utils, which file?
    {n}, which file is that again?
    {n}... where was that again?
    where was {n} again?
    Where on earth is {n}?
    where the heck is {n}
    where in the world did {n} end up
    Whereabouts in the tree does {n} sit?
    {n}: file?
    {n}: file and line
    {n}, line?
    {n} location
    {n} path pls
    {n} where
    {n} where defined
    {n} source file?
    {n} source
    {n} declaration?
    {n} def
    declaration {n}
    location: {n}
    Definition wanted: {n}
    find this: {n}
    where is this defined: {n}
    where is this one? {n}
    One name to look up: {n}
    this name, {n}, where is it from?
    The name is {n}. Where is it defined?
    The symbol {n} is declared in which file?
    something named {n} - where is it?
    There is this thing called {n}, where do I find it?
    a function or class with the name {n}, where is it?
    the thing (it is called {n}) is defined where?
    that helper ({n}), where is it?
    the thing we call {n} - in what file is it?
    what we named {n}, where did it go?
    I see {n} imported, but where is it defined?
    {n} is imported here. From where?
    the import of {n} leads to which file?
    from where does one import {n}?
    where can {n} be imported from?
    Which import do I need to get {n}?
    how do I import {n}, from which module?
    which module exports {n}?
    Which module is the home of {n}?
    which module holds {n}?
    which file holds the definition of {n}
    which file should I open to see {n}?
    Which file must I edit if I want to change {n}?
    Which of the files contains {n}?
    which of our modules defines {n}
    in which of these modules does {n} live
    In which directory and file do I find {n}?
    On what line of what file does {n} start?
    from which line on is {n} defined?
    {n} starts on which line?
    {n} is declared at which line of which file?
    {n} was written down in which module?
    What's the line number where {n} begins?
    what's the filename for {n}?
    what is the name of the file that has {n} in it
    What is the name of the module {n} is from?
    what place is {n} defined at
    The definition of {n} is where exactly?
    the file where {n} is to be found, please
    The place of definition of {n}?
    the line that starts with def {n}
    the line with class {n}, where is it?
    {n}'s definition
    {n}'s file
    {n}'s location, please
    where's {n}'s definition?
    where is {n}'s source code
    what's {n}'s module?
    Isn't {n} defined somewhere?
    Is {n} not defined in this project? Where then?
    isn't there a {n} in this repo?
    don't we have a {n} somewhere?
    Didn't we have {n} in some file?
    wasn't {n} moved, where is it now?
    where is {n} now?
    Where is {n} nowadays, which file?
    {n} got moved. Where to?
    someone moved {n}, where is it these days?
    {n} is in this repo, isn't it? Where?
    {n} is not where I expected it. Which file has it?
    {n} seems to be missing. Can you find it?
    {n} has vanished, find it please
    I bet {n} is well hidden. Find it.
    my editor does not jump to {n}, where is it
    my IDE cannot resolve {n}; where is it defined
    ctags has no {n}. Which file is it?
    How do I get to {n}?
    how do I navigate to {n}
    how do I find {n}?
    how can one locate {n}?
    Are you able to find {n}?
    are you able to say which file {n} is in?
    does any file define {n}?
    does one of the modules have {n}
    Do you happen to know in which file {n} is?
    Do tell me where I find {n}.
    you know {n}? where is it?
    have you seen {n} anywhere?
    has anyone seen {n}?
    is {n} ours? where is it defined?
    {n} shall be shown to me
    Shall we look up {n}?
    let's find {n}
    let's locate {n} first
    let's have a look where {n} is
    we need to find {n}
    I should look at {n}, which file is it?
    I ought to know where {n} is, but I do not.
    I have no idea where {n} is
    no idea where {n} is defined
    not sure where {n} is
    not sure which file {n} is in
    I never found {n}
    I searched for {n} and found nothing, where is it?
    I have been searching {n} since an hour, where is it?
    I search the file where {n} stands.
    in which file stands {n}?
    Where stands {n}?
    where I can find {n}?
    where we have defined {n}
    where exactly {n} is defined
    where all is {n} defined?
    please to tell where is {n}
    please be telling me the file of {n}
    Kindly share the path for {n}.
    What be the file of {n}
    could please somebody point to {n}
    need definition of {n}
    need file for {n}
    want file of {n}
    looking for {n}
    searching {n}
    trying to find {n}
    trying to locate {n}, no luck
    show definition: {n}
    show where {n} lives
    display the definition of {n}
    bring up {n}
    head over to {n}
    lead me to {n}
    guide me to the definition of {n}
    direct me to {n}
    send me to the line where {n} is defined
    move the view to {n}
    open the file that contains {n}
    open the file in which {n} is written
    check in which file {n} is defined
    check where {n} is
    Quick: where is {n}?
    Quick one, where does {n} sit?
    New here. Looking for {n}. Which file?
    I need to fix something in {n}. Which file is it in?
    There is a bug, probably in {n}. Which file do I open?
    For the review I need the file and line of {n}.
    I want to set a breakpoint in {n}; which file and line is it?
    I want to put a link to {n} into the docs, what is its path?
    Two things: file and line of {n}.
    just the file name for {n}
    just tell me the file: {n}
    only the path of {n}, nothing else
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
    Which file should I open if I want to see {n}?
    Remind me where {n} is located.
    the place where {n} is defined?
    {n} is in what module?
""")

TAKES = wordings("""
    What does {n} take?
    what does {n} take
    What arguments does {n} take?
    what arguments does {n} accept?
    What are the arguments of {n}?
    what are the arguments to {n}
    what are the args of {n}
    What are the parameters of {n}?
    What parameters does {n} have?
    which parameters does {n} accept?
    Which arguments does {n} need?
    which args does {n} want
    What is the signature of {n}?
    what's the signature of {n}?
    signature of {n}
    signature {n}
    {n} signature
    the signature of {n}, please
    Show me the signature of {n}.
    show the arguments of {n}
    show the params of {n}
    show me how {n} is declared with its arguments
    arguments of {n}?
    parameters of {n}
    params of {n}
    args of {n}?
    {n} arguments?
    {n} parameters
    How do I call {n}?
    how do I call {n}
    how can I call {n}?
    how should I call {n}
    how is {n} called with arguments?
    how must {n} be called?
    How do I use the arguments of {n}?
    What can I pass to {n}?
    what do I pass to {n}?
    What should I pass to {n}?
    what must I pass to {n}
    what do I have to pass to {n}?
    what can be passed to {n}?
    What do I give {n}?
    Tell me the arguments of {n}.
    Give me the signature of {n}
    give me the arguments of {n}
    List the parameters of {n}.
    List the arguments that {n} takes.
    list arguments for {n}
    Can you show me the parameters of {n}?
    Can I see the arguments of {n}?
    can you give me the signature of {n}
    What inputs does {n} take?
    what input does {n} expect?
    what arguments are expected by {n}?
    What does {n} expect?
    Which keyword arguments does {n} have?
    which options does {n} take?
    which keywords can I give to {n}
    Could you tell me the arguments of {n}?
    could you look up the signature of {n}?
    Tell me what {n} takes.
    tell me the parameters of {n}
    tell me what to pass to {n}
    What are the inputs of {n}?
    Which parameters does {n} have?
    Which parameters are there in {n}?
    I need the signature of {n}.
    I need to know the arguments of {n}
    I want to call {n}, what does it take?
    I want to know what {n} takes.
    i want to see the signature of {n}
    I would like to know the parameters of {n}
    please show the signature of {n}
    please list the arguments of {n}
    What is the argument list of {n}?
    what is the parameter list of {n}
    what does {n} accept?
    what does {n} accept as arguments
    find the signature of {n}
    look up the parameters of {n}
    search the signature of {n}
    What does {n} return?
    what does {n} return
    What is the return type of {n}?
    what is returned by {n}?
    return type of {n}
    which type does {n} return?
    what type does {n} return
    what type is returned by {n}?
    What type does {n} give back?
    What do I get back from {n}?
    what comes back from {n}
    what do I get from {n}?
    tell me what {n} returns
    show me the return type of {n}
    give me the return type of {n}
    I need to know what {n} returns
    what is the type of the result of {n}?
    what is the result type of {n}
    what are the types of the arguments of {n}?
    what type hints does {n} have?
    which types does {n} take
    what does {n} take and return?
    what goes into {n} and what comes out?
    arguments and return type of {n}
    How many arguments does {n} take?
    how many parameters has {n}?
    Does {n} take any arguments?
    does {n} have parameters
    what are the defaults of the arguments of {n}?
    which arguments of {n} are optional?
    what is the first argument of {n}?
    I forgot what {n} takes
    I forgot the arguments of {n}.
    {n} takes what?
    {n}: which arguments?
    {n} returns what?
    What do I need to call {n}?
    what is needed to call {n}
    how many args does {n} have?
    number of arguments of {n}?
    which args go into {n}
    what goes in the brackets of {n}?
    what do I write between the parentheses of {n}?
    {n}(...) takes what?
    what is the prototype of {n}?
    function signature of {n}
    type signature of {n}?
    call signature of {n}
    what is the interface of {n}?
    how does one call {n}?
    how would I call {n}?
    how do you call {n} correctly?
    what is the right way to call {n}
    what arguments would I use with {n}?
    what arguments must be given to {n}?
    what arguments are required by {n}?
    which arguments are required for {n}
    required arguments of {n}
    optional arguments of {n}
    positional arguments of {n}?
    keyword arguments of {n}
    kwargs of {n}
    is there an argument for {n} that is optional?
    are there any optional parameters in {n}
    does {n} want an argument?
    does {n} need something?
    what does {n} want?
    what does {n} require?
    what does {n} need as input?
    what would {n} accept?
    what could I hand to {n}
    what do I hand over to {n}?
    what can I feed to {n}?
    what should be given to {n}?
    input and output of {n}
    inputs and outputs of {n}?
    what kind of thing does {n} return?
    what kind of arguments does {n} take
    what sort of object does {n} return?
    what value does {n} return?
    what will {n} return?
    what is the output type of {n}?
    type of {n}'s result
    the args for {n}, please
    {n}'s signature
    {n}'s arguments?
    what are {n}'s parameters
    let me see what {n} takes
    Before I call {n}, which arguments does it want?
    I am about to call {n}; what has to go in?
    Suppose I call {n} - what do I hand in?
    If I call {n}, what do I get back?
    if I were to invoke {n}, which parameters would I supply?
    When I call {n}, what must I supply?
    when calling {n}, which arguments are a must?
    when {n} is done, what does it hand back?
    once {n} has run, what type comes out?
    after calling {n} I have what in my hands, which type?
    I never remember the order of the arguments to {n}.
    I keep forgetting the parameters of {n}.
    I always mix up the arguments of {n}
    I don't recall what {n} gives back.
    I have no idea what to pass into {n}
    no idea which arguments {n} has
    not sure what {n} expects as parameters
    not sure about the return type of {n}
    not sure how many arguments go into {n}
    I got a TypeError from {n}: missing argument. Which ones are there?
    I pass the wrong arguments to {n}, I think. Which are the right ones?
    {n} complains about an unexpected keyword. Which keywords are allowed?
    {n} wants one more argument. Which?
    {n} needs which inputs?
    {n} gives back what?
    {n} yields what type?
    {n} produces which type of object?
    {n} hands back what?
    {n} accepts which keywords?
    {n} has how many parameters?
    {n} is called with what?
    {n} must be called with which arguments?
    {n} - params?
    {n} args
    {n} kwargs?
    {n} inputs?
    {n} inputs and result type
    {n} return type
    {n} returns?
    {n} takes?
    {n} sig
    {n}: signature please
    {n}, which parameters?
    {n}, what goes in and what comes out?
    {n}... what did that take again?
    {n} ( what goes here )
    params: {n}
    arguments, {n}
    return type, {n}
    parameter names {n}
    Wanted: the parameters of {n}
    Show the signature of this one: {n}
    the arguments of this function: {n}
    This function here, {n}, what does it take?
    the function called {n} takes which arguments?
    the function (I mean {n}) has which parameters?
    the helper {n} wants which arguments?
    For {n}, what are the arguments?
    For {n} I need the parameter list.
    for a call of {n}, what do I need?
    for {n}: argument names and types
    with which arguments do I call {n}?
    With what do I feed {n}?
    with how many arguments is {n} to be called?
    Into {n} goes what?
    out of {n} comes which type?
    From {n} I get back what?
    To {n} I may pass which arguments?
    by what signature is {n} declared
    Enumerate the parameters of {n}.
    enumerate the arguments that go into {n}
    Itemise the arguments of {n}.
    Print the signature of {n}.
    print the argument names of {n}
    dump the parameter list of {n}
    Spell out the signature of {n}.
    spell out what {n} accepts
    Recite the parameters of {n}
    recall the arguments for {n}
    remind me of the signature of {n}
    remind me what {n} returns
    Remind me which arguments {n} wants.
    sum up the parameters of {n}
    gather the argument names of {n}
    collect the parameters of {n} with their types
    retrieve the signature of {n}
    extract the argument list of {n}
    fetch the signature of {n}
    pull up the signature of {n}
    reveal the parameters of {n}
    disclose what {n} takes as arguments
    state the return type of {n}
    specify the arguments of {n}
    report the parameters of {n} and its return type
    identify the required parameters of {n}
    determine the return type of {n}
    check the signature of {n}
    check which keyword arguments {n} knows
    verify the number of arguments of {n}
    grep the signature of {n}
    quote the def line of {n}
    show the def line of {n}
    show me the head of {n}, with the arguments
    copy me the signature of {n}
    display the args of {n}
    I'd like the call signature of {n}, please.
    I'd love to know which parameters {n} accepts.
    I was wondering what {n} returns.
    I was wondering which arguments one passes to {n}
    I wonder what type {n} gives back
    Would you mind showing the signature of {n}?
    would you kindly list the parameters of {n}
    Would you be so kind as to tell me which arguments {n} expects?
    If it is no bother, could you give the parameters of {n}?
    it would be lovely to see the arguments of {n}
    Might I see the signature of {n}?
    May I know the input parameters of {n}?
    Kindly share the parameters of {n}.
    kindly tell what all arguments {n} is taking
    Which all parameters is {n} having?
    what {n} is taking?
    what {n} is returning?
    what gives {n} back?
    What becomes {n} as arguments?
    which arguments needs {n}
    how I must call {n}?
    please what are arguments for {n}
    which argument has {n}
    how many argument {n} take
    how looks the signature of {n}?
    How does the signature of {n} look?
    what does the signature of {n} look like
    What does the parameter list of {n} look like?
    what does the call of {n} have to look like?
    Does {n} return anything?
    Does {n} return something or just None?
    Doesn't {n} return a value?
    is {n} supposed to return something, which type?
    Does {n} have a return value?
    Is there a return type on {n}?
    Isn't there an optional parameter in {n}?
    Doesn't {n} want more than one argument?
    {n} takes one argument, doesn't it?
    {n} takes no arguments, right?
    {n} returns a list, doesn't it?
    {n} returns a string, or what type?
    I bet {n} takes at least three arguments.
    can {n} be called without arguments?
    may I call {n} with no arguments?
    May {n} be called with keywords only?
    shall I pass anything to {n}?
    Ought I to pass something to {n}?
    must I pass every argument to {n}?
    do I have to give {n} any argument?
    does {n} accept keyword arguments?
    does {n} accept None as an argument?
    does {n} take a path or a string?
    does {n} take *args?
    does {n} accept any **kwargs
    does {n} take a timeout
    has {n} any default arguments?
    has {n} got a return type
    has {n} more than two parameters?
    is any argument of {n} mandatory?
    are all arguments of {n} required?
    are the parameters of {n} typed?
    are there keyword only arguments in {n}?
    at least how many arguments does {n} need?
    at most how many arguments can I give {n}?
    the minimum number of arguments for {n}?
    In which order do the arguments of {n} come?
    what is the order of the parameters of {n}
    What's the second parameter of {n}?
    what is the last argument of {n} called?
    the names of the arguments of {n}?
    what are the names and types of the parameters of {n}
    which defaults do the parameters of {n} have
    default values of the parameters of {n}
    which of the arguments of {n} have a default?
    what is the annotated return type of {n}
    annotations of {n}
    type hints of {n}?
    which class does {n} return an instance of?
    does {n} return a list or a tuple?
    list, dict or what - which type does {n} return?
    What do I supply to {n}?
    what has to be supplied to {n}
    what should I hand in to {n}
    what may be handed to {n}?
    what am I supposed to pass to {n}?
    what am I to expect back from {n}, which type?
    what can I expect from {n} as a return value
    what is passed to {n} usually, which parameters?
    what constructor arguments does {n} have?
    which constructor arguments does {n} need
    how do I construct {n}, with which arguments?
    How do I create an instance of {n}, which arguments?
    how is {n} instantiated, what are the parameters
    what does the constructor of {n} take?
    what does the __init__ of {n} take?
    the contract of {n}: inputs and return type?
    API of {n}: arguments, return type
    {n}'s params
    {n}'s return type?
    {n}'s inputs, please
    {n}'s parameter list
    what's {n}'s return type
    what is {n}'s signature, please?
    tell me {n}'s arguments
    My call to {n} lacks an argument. Which one might it be?
    my editor shows no hints for {n}, what are its parameters
    I want to write a call to {n} and need its parameters
    I need to mock {n}; what are its arguments and return type?
    Calling {n} next. Arguments?
    One line is enough: signature of {n}
    just the signature of {n}, nothing else
    only the return type of {n} please
    New here. What do I pass to {n}?
    May I have the signature of {n}?
    How long is the list of arguments of {n}?
    What has to go into a call of {n}?
    With which arguments is {n} supposed to be called?
    Read me the parameter list of {n}.
    Remind me what arguments {n} wants.
    Before I call {n}, what are its arguments?
    Can I call {n} without arguments?
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
    Who calls {n}?
    who calls {n}
    Who uses {n}?
    who uses {n}
    Where is {n} used?
    where is {n} used
    where's {n} used?
    Where is {n} called?
    where is {n} called
    Where is {n} called from?
    from where is {n} called?
    What calls {n}?
    what uses {n}?
    What code uses {n}?
    what code calls {n}
    Which functions call {n}?
    which functions use {n}?
    which function calls {n}
    Which code calls {n}?
    Which classes use {n}?
    Find the callers of {n}.
    find all callers of {n}
    find every caller of {n}
    find uses of {n}
    find all uses of {n}
    Find the usages of {n}.
    find usage of {n}
    Show me the callers of {n}.
    show callers of {n}
    show me where {n} is used
    Show me where {n} is called.
    show me the code that uses {n}
    show all calls of {n}
    callers of {n}
    {n} callers
    {n} usages
    usages of {n}?
    usage of {n}
    uses of {n}
    references to {n}
    all references of {n}
    Find references to {n}.
    find all references to {n}
    show references to {n}
    List the callers of {n}.
    list all uses of {n}
    list every place that uses {n}
    list the functions that call {n}
    Where do we use {n}?
    Where do we call {n}?
    where do they use {n}
    where am I using {n}?
    where did I use {n}
    Is {n} used anywhere?
    Is {n} called anywhere?
    is {n} still used?
    is {n} ever called
    is {n} used at all?
    does anyone use {n}?
    does anything call {n}?
    does somebody call {n}
    Can you find who calls {n}?
    can you list the callers of {n}
    Tell me where {n} is used.
    tell me who calls {n}
    tell me what uses {n}
    Please show me the uses of {n}.
    please find all callers of {n}
    Please find who uses {n}.
    who is using {n}?
    What invokes {n}?
    who invokes {n}
    where is {n} invoked?
    Where are the calls to {n}?
    where are the callers of {n}
    where are the uses of {n}?
    calls to {n}
    find calls of {n}
    find calls to {n}
    Which modules use {n}?
    which files use {n}
    which files call {n}?
    which files import {n}?
    who imports {n}
    where is {n} imported?
    where is {n} referenced?
    what refers to {n}?
    who references {n}
    Which lines call {n}?
    which lines use {n}
    which methods are calling {n}?
    which methods use {n}?
    Where does the code use {n}?
    Where does the code call {n}?
    In which places is {n} used?
    in which files is {n} used?
    in which functions is {n} called
    at which places do we call {n}?
    Who depends on {n}?
    what depends on {n}
    which code depends on {n}?
    what code needs {n}?
    who needs {n}?
    Are there any callers of {n}?
    are there uses of {n}
    are there other places that use {n}?
    Can you find the uses of {n}?
    Could you show me where {n} is called?
    could you list where {n} is used
    I want to see the callers of {n}.
    I want to know who calls {n}
    I need all uses of {n}
    I am looking for the callers of {n}
    i would like to see where {n} is used
    Look for uses of {n}.
    look up the callers of {n}
    search for callers of {n}
    search for uses of {n}
    search all calls to {n}
    give me the callers of {n}
    give me every use of {n}
    {n} is used where?
    {n} is called by whom?
    {n}: who calls it?
    {n} - where is it used?
    what would break without {n}, who uses it?
    how often is {n} used, and where?
    if I change {n}, who is affected?
    examples of calls to {n}
    show me an example that uses {n}
    call sites of {n}
    all call sites of {n}
    call sites? I mean those of {n}
    incoming calls of {n}
    call hierarchy of {n}
    occurrences of {n}
    find all occurrences of {n}
    mentions of {n} in the code
    xrefs of {n}
    cross references of {n}
    users of {n}
    clients of {n}?
    consumers of {n}
    dependents of {n}
    everything that uses {n}
    everything that calls {n}
    all code that touches {n}
    what touches {n}?
    who touches {n}
    what relies on {n}?
    who relies on {n}
    which modules rely on {n}
    what leads to {n}?
    what triggers {n}?
    who triggers {n}
    how do we get to {n}, who calls it?
    has {n} any users?
    has {n} got callers
    is anyone using {n}?
    is anybody still calling {n}?
    is somebody using {n}
    are we using {n}?
    are we still calling {n} anywhere?
    do we use {n} at all
    do we still need {n}, who uses it?
    did anyone use {n}?
    does any code use {n}?
    is {n} dead code?
    is {n} unused?
    is {n} in use?
    is {n} imported anywhere?
    when is {n} called, and by whom?
    by whom is {n} called?
    by which functions is {n} used?
    which code makes use of {n}?
    who makes use of {n}
    where do calls to {n} happen?
    where do I see {n} being used?
    where else is {n} used?
    what else uses {n}?
    before I change {n}: who uses it?
    {n} is used by whom?
    {n}'s callers
    let me see who calls {n}
    I am about to change {n}; which code depends on it?
    Before I touch {n}, who calls it?
    before removing {n} I need to see its callers
    Suppose I delete {n} - who breaks?
    suppose {n} goes away, which callers are left behind?
    If {n} went away, which code would notice?
    If I rename {n}, which places do I have to adapt?
    if the signature of {n} changes, which callers must follow?
    if I drop {n}, what stops working?
    should I change {n}, which call sites are hit?
    In case I break {n}, which functions suffer?
    When I change {n}, what else do I have to change?
    unless nobody uses {n}, show me who does
    Changing {n} breaks what?
    removing {n} would affect whom?
    deprecating {n} means touching which callers?
    I want to deprecate {n}. Who still calls it?
    I plan to drop an argument of {n}, who passes it?
    I think {n} is dead. Does anyone call it?
    I think nobody uses {n}.
    I bet nobody calls {n}.
    I doubt that {n} is used
    I doubt anybody needs {n}, who does?
    I suspect {n} has no callers left.
    I guess {n} is called from all over the place. From where?
    I believe {n} is not needed any more, any callers?
    I have no idea who calls {n}
    no idea where {n} gets called
    not sure if anything uses {n}
    not sure who depends on {n}
    nobody calls {n}, right?
    nothing uses {n} any more, does it?
    {n} is not used, is it?
    {n} is used a lot, isn't it? Where?
    {n} looks unused to me
    {n} seems to have no callers
    {n} might be unused, can you check?
    {n} gets called from where?
    {n} is invoked by which functions?
    {n} is imported by which modules?
    {n} is consumed by what?
    {n} is referenced in which files?
    {n} has how many callers?
    {n} has which callers?
    {n} refs
    {n} call sites
    {n} xrefs
    {n} who uses
    {n} used by?
    {n} used where?
    {n}: all references, please
    {n}, who invokes that?
    {n}, where do we use that?
    {n}... does anybody use that?
    callers, {n}
    usages: {n}
    references: {n}
    used by: {n}?
    Wanted: all callers of {n}
    who calls this: {n}
    find everybody who calls this one: {n}
    This function, {n}, is called by whom?
    the helper ({n}), who needs it?
    the thing called {n}, where is it in use?
    the callers (of {n}), all of them
    the functions from which {n} is called
    the modules into which {n} is imported
    the lines on which {n} is called
    every line that has a call to {n}
    each place where {n} is invoked
    any place that still calls {n}
    any code at all that refers to {n}?
    anything that needs {n}?
    anybody using {n}?
    anyone calling {n}?
    who else calls {n}?
    who all is calling {n}?
    who on earth calls {n}
    who, if anyone, uses {n}?
    Who would miss {n}?
    who would be hurt if {n} changed its result?
    who might be calling {n}?
    whose code calls {n}?
    whom does {n} serve, who are its callers?
    By what is {n} used?
    by how many functions is {n} called?
    How many callers does {n} have?
    how many places call {n}?
    how many uses of {n} are there, and where?
    how many modules import {n}
    how many times do we call {n}?
    how widely is {n} used?
    How come {n} gets called, who does it?
    How is {n} reached, from which functions?
    At how many places do we invoke {n}?
    is {n} used more than once?
    is there at least one caller of {n}?
    is there anything that depends on {n}?
    is there any code left that calls {n}?
    is there no caller of {n}?
    are there few or many callers of {n}?
    are there really no uses of {n}?
    Isn't {n} used anywhere?
    Isn't anybody calling {n}?
    isn't {n} obsolete, who still uses it?
    aren't there any callers of {n}?
    Doesn't anything use {n}?
    Does nobody call {n}?
    does nothing depend on {n}?
    does none of our modules use {n}?
    does every module import {n}, or which ones?
    do other modules depend on {n}?
    do we ever call {n}?
    do any classes make use of {n}?
    Do you see any callers of {n}?
    has {n} any callers outside of its module?
    has anybody ever used {n}?
    have we got any references to {n}?
    was {n} ever called from anywhere?
    can anyone still be calling {n}?
    could something still depend on {n}?
    might {n} be called from somewhere?
    Enumerate the callers of {n}.
    enumerate every use of {n}
    Itemise the call sites of {n}.
    Print all callers of {n}.
    print every line that uses {n}
    dump the references to {n}
    Trace the calls to {n}.
    trace who calls {n}
    trace back from {n} to its callers
    Collect all places where {n} is used.
    collect the users of {n}
    gather the call sites of {n}
    Gather every reference to {n}.
    grep the uses of {n}
    grep for calls to {n}
    grep all files that use {n}
    Spot the callers of {n}.
    spot every place where {n} is called
    Chase down the callers of {n}.
    hunt for uses of {n}
    retrieve the references to {n}
    pinpoint where {n} gets called
    disclose who depends on {n}
    reveal the callers of {n}
    expose all users of {n}
    sum up where {n} is used
    count the callers of {n} and show them
    identify the consumers of {n}
    determine which code calls {n}
    report all usages of {n}
    report who is using {n}
    name the functions that invoke {n}
    name everyone who calls {n}
    Point out the places that call {n}.
    point me to the callers of {n}
    go to the callers of {n}
    open the call sites of {n}
    take me to the places where {n} is used
    highlight the uses of {n}
    check for callers of {n}
    check whether {n} is used
    check if someone depends on {n}
    verify that {n} is used somewhere
    make a list of all callers of {n}
    remind me where we use {n}
    remind me who calls {n}
    fetch all usages of {n}
    get me the call sites of {n}
    I'd like to know who depends on {n}.
    I'd be grateful for a list of the callers of {n}.
    I was wondering who calls {n}
    I wonder whether anybody uses {n}.
    I wonder who needs {n}
    Would you mind showing me who calls {n}?
    would you be so kind as to find the places where {n} is used
    If it is not too much trouble, could you list everything that depends on {n}?
    Might I have the callers of {n}?
    May I know where all {n} is being used?
    Kindly list who all are using {n}.
    kindly check the usages of {n}
    please to show who is calling {n}
    where all {n} is getting called?
    where becomes {n} called?
    who does call {n}?
    from who is {n} called
    who use {n}
    where {n} is used?
    where we are using {n}?
    where gets {n} used
    in which places stands {n}?
    need callers of {n}
    need usages {n}
    want all references to {n}
    looking for code that calls {n}
    looking for whoever uses {n}
    trying to find out who calls {n}
    trying to see what depends on {n}
    In what contexts is {n} invoked, by which code?
    From which function do we get into {n}?
    from which modules is {n} called?
    on which lines does {n} get called
    under which circumstances is {n} called, and from where?
    Through which functions is {n} reached?
    Is {n} an orphan?
    is {n} just lying around unused?
    is {n} only called once?
    is {n} called by other modules?
    is {n} referenced by anything?
    is {n} needed by anyone?
    is {n} subclassed or called anywhere?
    {n}'s users
    {n}'s call sites, please
    {n}'s references
    who are {n}'s callers?
    what are {n}'s usages?
    list {n}'s callers
    which are the callers of {n}?
    which code would break if {n} were gone?
    which places would I have to change along with {n}?
    which modules consume {n}?
    which functions have a call to {n} in them?
    which class invokes {n}?
    what code consumes {n}?
    what code references {n}
    what parts of the project depend on {n}
    what parts of the code make use of {n}?
    what breaks when {n} breaks?
    upstream of {n}: who calls it?
    impact of changing {n}: which callers?
    reverse dependencies of {n}
    I must know all the places where {n} appears.
    I want to be sure that nobody uses {n}
    My change is in {n}. Whose calls does it touch?
    New argument in {n}. Which callers have to be adapted?
    We may drop {n}. Any callers?
    It is about {n}. Who calls it?
    Just the callers of {n}, nothing else
    only the call sites: {n}
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
    List the tests for {n}.
    list the tests for {n}
    list the tests of {n}
    List all tests of {n}.
    list every test of {n}
    list tests for {n}
    list the tests that cover {n}
    Which tests cover {n}?
    which tests cover {n}
    which test covers {n}
    What tests are there for {n}?
    what tests cover {n}
    what tests does {n} have?
    which tests does {n} have
    which tests do we have for {n}?
    Show me the tests for {n}.
    show me the tests of {n}
    show me all tests for {n}
    show the tests of {n}
    Show the tests that use {n}.
    show the tests which call {n}
    Find the tests for {n}.
    find tests for {n}
    find the tests of {n}
    find all tests for {n}
    find every test that uses {n}
    find the test of {n}
    Where is {n} tested?
    where is {n} tested
    where's {n} tested?
    Where are the tests for {n}?
    where are the tests of {n}
    where is the test for {n}?
    where are tests for {n}
    Where do we test {n}?
    where do they test {n}
    where does the project test {n}?
    where can I find the tests for {n}?
    where do I find the tests of {n}
    Is {n} tested?
    is {n} tested
    is {n} tested anywhere?
    is {n} tested somewhere
    Is {n} covered by tests?
    is {n} covered by a test?
    Is there a test for {n}?
    is there any test of {n}
    is there a test that calls {n}?
    Does {n} have tests?
    does {n} have any tests?
    does {n} have a test
    does a test cover {n}?
    does any test use {n}?
    do any tests call {n}
    do the tests cover {n}?
    Are there tests for {n}?
    are there any tests of {n}?
    are there tests that use {n}
    tests for {n}
    tests for {n}?
    tests of {n}?
    all tests of {n}
    the tests for {n}, please
    the tests of {n}
    {n} tests
    {n} tests?
    tests that use {n}
    tests which call {n}
    tests that cover {n}?
    Who tests {n}?
    who tests {n}
    What tests {n}?
    which tests call {n}?
    Which tests use {n}?
    which tests are for {n}
    which tests check {n}?
    Which tests exercise {n}?
    which tests touch {n}
    which test functions use {n}?
    which test files use {n}?
    which test file covers {n}
    in which tests is {n} used?
    in which tests is {n} called
    in which test file is {n} tested?
    from which tests is {n} called?
    Tell me which tests cover {n}.
    tell me where {n} is tested
    tell me if {n} is tested
    tell me the tests of {n}
    Please list the tests for {n}.
    please show me the tests of {n}
    please find the tests of {n}
    Can you list the tests for {n}?
    Can you find the tests of {n}?
    can you show me the tests of {n}
    can you tell me which tests use {n}?
    Could you show me the tests for {n}?
    could you find tests for {n}
    could you list which tests cover {n}?
    I want to see the tests of {n}.
    I want to know which tests cover {n}
    I want the tests for {n}
    I need the tests for {n}.
    I need a list of the tests for {n}
    I am looking for the tests of {n}.
    i would like to see the tests for {n}
    give me the tests of {n}
    give me a list of tests for {n}
    search the tests for {n}
    search for tests of {n}
    search the tests that use {n}
    Look for tests of {n}.
    look up the tests for {n}
    look for {n} in the tests
    search {n} in the tests
    where in the tests is {n} used?
    where do the tests use {n}?
    where do the tests call {n}
    which tests would I run for {n}?
    which tests must I look at when I change {n}?
    I changed {n}, which tests cover it?
    how is {n} tested, and where?
    what covers {n} in the tests?
    test coverage of {n}
    test cases for {n}
    which test cases are there for {n}?
    {n}: which tests?
    {n} is tested where?
    unit tests of {n}?
    which unit tests cover {n}?
    has {n} been tested?
    has {n} got tests?
    has {n} any tests
    has anyone tested {n}?
    did anyone test {n}?
    did we ever test {n}
    was {n} tested?
    have we tested {n}?
    have we a test for {n}
    do we test {n}?
    do we test {n} anywhere
    do you see tests for {n}?
    do you find any tests of {n}
    any test for {n}
    a test for {n}, is there one?
    anything in the tests about {n}?
    what in the tests uses {n}?
    what do the tests say about {n}?
    what is tested about {n}
    what part of the tests deals with {n}?
    which tests deal with {n}?
    which tests are about {n}
    which tests contain {n}?
    which tests involve calls of {n}
    which tests mention {n}?
    which tests rely on {n}
    which tests need {n}?
    which tests would fail without {n}?
    which tests break when I change {n}?
    which part of the test suite covers {n}
    where in the test suite is {n}?
    where is the test code of {n}?
    where does a test call {n}?
    where would the tests of {n} be?
    test file for {n}
    test files of {n}?
    test functions of {n}
    the test of {n}?
    the test suite of {n}
    name all tests of {n}
    count me the tests of {n} and list them
    get the tests for {n}
    get me all tests of {n}
    track down the tests for {n}
    pull up the tests of {n}
    open the tests of {n}
    go to the tests of {n}
    jump to the test for {n}
    {n} in the tests
    {n} - is it tested?
    {n}'s tests
    let me see which tests cover {n}
    I am about to change {n}; which tests watch over it?
    Before I touch {n}, which tests are there?
    before I edit {n} I want to see its tests
    Suppose I break {n} - which tests go red?
    Suppose {n} returns rubbish, which test would notice?
    If I break {n}, which tests tell me?
    if {n} changed its behaviour, which tests would notice?
    if I delete {n}, which tests stop working?
    When {n} breaks, which tests fail?
    should I change {n}, which tests must I look at?
    in case {n} gets broken, is there a test that fails?
    I bet nobody tests {n}.
    I bet there is no test for {n}
    I doubt that {n} has a test
    I doubt anyone tests {n}, which tests are there?
    I suspect {n} is untested.
    I think {n} is not tested
    I hope {n} is tested
    I hope somebody has a test for {n}. Which one?
    I assume there are tests for {n}, where?
    I guess {n} has few tests; which?
    I see no tests for {n}
    I cannot find any test for {n}
    I could not find the tests for {n}, where are they?
    I don't know if {n} has tests
    no idea which tests cover {n}
    no idea whether {n} is tested
    not sure {n} is covered
    not sure which tests exercise {n}
    not sure if there are tests for {n}
    {n} is tested, isn't it?
    {n} has tests, right? Which?
    {n} has no tests, has it?
    {n} isn't tested, is it?
    {n} looks untested.
    {n} seems to be without tests
    {n} ought to have a test somewhere, where?
    {n} should be covered by some test, which one?
    {n} must be tested somewhere
    {n} might be covered by a test, which?
    {n} is covered by what tests?
    {n} is exercised by which tests?
    {n} is checked in which test files?
    {n} gets tested where?
    {n} has how many tests?
    {n} has which tests?
    {n} test
    {n} test file
    {n} test files?
    {n} test cases
    {n} unit tests
    {n} coverage
    {n} tested?
    {n} covered?
    {n} untested?
    {n}: tested or not?
    {n}: any tests?
    {n}, do we test that?
    {n}... is there any test of that?
    tests, {n}
    tested? {n}
    test list {n}
    coverage: {n}
    unit tests {n}
    Wanted: the tests of {n}
    which tests cover this: {n}
    is this tested: {n}?
    List the tests of this one: {n}
    This function, {n}, is it tested anywhere?
    the helper ({n}), does it have tests?
    the thing called {n}, which tests deal with it?
    that one ({n}) is tested in which file?
    the tests (for {n}), where are they?
    the test in which {n} is called
    the tests in which {n} appears
    the tests whose subject is {n}
    every test that has {n} in it
    each test that calls {n}
    any test at all for {n}?
    at least one test for {n}?
    is there at least one test that covers {n}?
    is there more than one test for {n}?
    is there not a single test for {n}?
    is there no test of {n}?
    is there some test that checks {n}?
    is there a unit test on {n}?
    is there test coverage for {n}?
    Are there really no tests for {n}?
    are there enough tests to list for {n}?
    are there many tests of {n} or just a few?
    Isn't there a test for {n}?
    Isn't {n} tested?
    isn't {n} covered by anything in the test suite?
    Aren't there any tests for {n}?
    Doesn't {n} have a test?
    Doesn't any test cover {n}?
    don't we test {n} anywhere?
    Didn't somebody add tests for {n}? Where are they?
    hasn't {n} got a test?
    Does nobody test {n}?
    does none of the tests touch {n}?
    does the test suite know {n}?
    does the test suite exercise {n}?
    does some test check {n}?
    does at least one test use {n}
    does every test use {n}, or which ones?
    do we verify {n} in a test?
    do we check {n} in the test suite?
    do we have any coverage of {n}?
    do we have unit tests for {n}?
    do unit tests exist for {n}?
    do tests exist that exercise {n}?
    do you know which tests check {n}?
    has {n} ever been tested?
    has anybody put {n} under test?
    has somebody already tested {n}, and in which file?
    have you seen any tests for {n}?
    can {n} be found in the tests?
    could there be a test for {n}?
    might there be tests for {n}?
    shall we see which tests cover {n}?
    How many tests cover {n}?
    how many tests does {n} have?
    how many tests call {n}, and which?
    how many test cases exercise {n}
    how well is {n} tested, which tests are there?
    how much of the test suite uses {n}, which tests?
    By which tests is {n} covered?
    by what tests is {n} exercised
    by how many tests is {n} covered?
    Under which tests does {n} fall?
    in what test is {n} checked?
    in which test case does {n} occur
    in which part of the tests do I find {n}?
    in which file do we test {n}?
    on which tests can I rely when I edit {n}?
    with which tests is {n} checked?
    From which test is {n} reached?
    Enumerate the tests for {n}.
    enumerate every test that exercises {n}
    Itemise the tests of {n}.
    Print the tests that cover {n}.
    print the names of all tests of {n}
    dump the list of tests for {n}
    Trace {n} into the tests.
    trace which tests reach {n}
    Collect the tests for {n}.
    collect all test functions that call {n}
    gather the tests of {n}
    gather every test that touches {n}
    grep the tests for {n}
    grep {n} in the tests folder
    Spot the tests that check {n}.
    chase down the tests of {n}
    hunt for tests of {n}
    retrieve all tests for {n}
    pinpoint the tests that verify {n}
    disclose which tests cover {n}
    reveal the tests of {n}
    sum up which tests cover {n}
    identify the tests that exercise {n}
    Identify the test file of {n}.
    determine which tests check {n}
    report which tests touch {n}
    report the test coverage of {n}
    name the tests that verify {n}
    name one test for {n}
    point me to the tests of {n}
    point out the tests which use {n}
    take me to the tests for {n}
    navigate to the tests of {n}
    locate the tests for {n}
    locate the test file of {n}
    display the tests of {n}
    fetch the tests of {n}
    check whether {n} is tested
    check if a test covers {n}
    check for tests of {n}
    verify that {n} is covered by a test
    make a list of the tests for {n}
    remind me which tests cover {n}
    remind me where {n} is tested
    I'd like a list of the tests that exercise {n}.
    I'd be grateful if you listed the tests of {n}.
    I was wondering whether {n} is tested.
    I was wondering which tests cover {n}
    I wonder if anyone has tested {n}
    I wonder which tests verify {n}
    I must know which tests check {n}
    Would you mind listing the tests for {n}?
    would you be so kind as to show me which tests exercise {n}
    If it is not too much trouble, could you find the tests that validate {n}?
    Might I see the tests of {n}?
    May I know which all tests are covering {n}?
    Kindly list the test cases for {n}.
    kindly tell if {n} is having tests
    please to list tests from {n}
    what all tests are there for {n}?
    which all test cases are using {n}
    where becomes {n} tested?
    where all {n} is tested?
    where {n} is tested?
    which test tests {n}
    which tests is there for {n}
    exists a test for {n}?
    exist there tests for {n}?
    gives it tests for {n}?
    {n} have tests?
    how is called the test of {n}?
    need tests of {n}
    need the test file for {n}
    want list of tests for {n}
    looking for tests of {n}
    looking for a test that covers {n}
    trying to find the tests for {n}
    which tests validate {n}?
    which tests verify {n}?
    which tests verify the behaviour of {n}
    Which tests hit {n}?
    which tests go through {n}
    which tests target {n}?
    which tests import {n}?
    which tests invoke {n}?
    which tests depend on {n}
    which tests protect {n}?
    which tests guard {n} against mistakes?
    which tests make sure that {n} works?
    which test makes use of {n}?
    which test module is about {n}?
    which test class covers {n}
    which of our tests cover {n}?
    which of the tests have to do with {n}?
    what test file belongs to {n}
    what tests exist for {n}?
    what test exercises {n}?
    what do we have in the way of tests for {n}?
    what checks {n} in the test suite?
    what kind of tests are there for {n}?
    Somebody must have tested {n}. Where?
    Nobody tests {n}, or do they?
    {n}'s test cases
    {n}'s unit tests, please
    {n}'s test coverage?
    {n}'s test file
    list {n}'s tests
    where are {n}'s tests?
    what are {n}'s tests
    integration tests for {n}?
    regression tests of {n}?
    pytest functions that cover {n}
    fixtures and tests that use {n}
    the names of the tests for {n}
    My change is in {n}. Which tests cover that?
    I touched {n}. Which tests concern it?
    It is about {n}. Is it tested?
    Reviewing {n}. Tests?
    The reviewer wants to know which tests cover {n}.
    Just the list of tests for {n}, nothing else
    only the names of the tests that use {n}
    So {n} has how many tests, and which?
    Which of the tests go through {n}?
    Did whoever wrote {n} also write tests for it?
    How well is {n} tested? List the tests.
    name the tests that deal with {n}
    May I see the tests around {n}?
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
    What is in {f}?
    what is in {f}
    what's in {f}?
    whats in {f}
    What's in the file {f}?
    what is in the file {f}
    What is inside {f}?
    what's inside {f}
    What does {f} define?
    what does {f} define
    what does {f} contain?
    what does {f} have
    What does the file {f} define?
    what does the module {f} contain?
    What is defined in {f}?
    what's defined in {f}
    what gets defined in {f}?
    Which functions are in {f}?
    which functions does {f} define?
    which functions and classes are in {f}
    which classes are in {f}?
    which classes does {f} have
    Which names does {f} define?
    which names are in {f}
    which methods are in {f}?
    List the functions in {f}.
    list functions of {f}
    list what {f} defines
    list everything in {f}
    list the names in {f}
    List the classes in {f}.
    list the classes and functions of {f}
    list {f}
    Outline of {f}
    outline {f}
    {f} outline
    Give me an outline of {f}.
    give me an overview of {f}
    give me the contents of {f}
    give me the functions of {f}
    Show me the outline of {f}.
    show the outline of {f}
    show an overview of {f}
    show the contents of {f}
    Show me what is in {f}.
    show me what's inside {f}
    Show me {f}.
    show {f}
    show me the functions in {f}
    show the classes of {f}
    Describe the file {f}.
    describe {f}
    Tell me what is in {f}.
    tell me what the file {f} contains
    tell me which functions are in {f}
    tell me about {f}
    Summarise {f}.
    summarize {f}
    summary of {f}
    overview of {f}
    What can I find in {f}?
    what can be found in {f}
    Contents of {f}?
    contents of {f}
    the contents of {f}, please
    the outline of {f} please
    What functions does {f} have?
    what functions are in {f}
    what functions are defined in {f}?
    what are the functions in {f}?
    what are the classes in {f}
    Can you list what is in {f}?
    can you list the functions of {f}
    Can you show me what is in {f}?
    can you outline {f}?
    can you open {f}
    Could you list what {f} defines?
    could you show me the outline of {f}?
    could you tell me what is in {f}
    please outline {f}
    please show me {f}
    please tell me what is in {f}
    please list the contents of {f}
    What classes does {f} have?
    what classes are defined in {f}
    Which definitions are in {f}?
    definitions in {f}
    functions in {f}
    functions of {f}?
    classes in {f}
    classes and functions in {f}?
    names in {f}
    what are the contents of {f}?
    what is the content of {f}
    What is the file {f} about?
    what is {f} about?
    Tell me what {f} defines.
    what do I find in {f}?
    what will I find in {f}
    Please list the functions of {f}.
    I want to know what is in {f}.
    I want to see {f}
    I want an outline of {f}
    I need the outline of {f}
    I need to know what {f} contains.
    i would like to see what is in {f}
    I am looking at {f}, what is in it?
    look into {f}
    look at {f}
    have a look into {f}
    take a look at {f}
    open {f}
    open the file {f}
    read {f}
    please read {f}
    cat {f}
    find the functions of {f}
    find what is in {f}
    {f}
    {f}?
    {f} contents
    {f}: what is in it?
    {f} - which functions?
    what is there in {f}?
    what is there inside of {f}
    what do they define in {f}?
    what did we put in {f}
    which things does {f} define?
    how is {f} structured?
    what is the structure of {f}?
    structure of {f}
    show me the structure of {f}
    what does {f} offer?
    what does {f} provide
    what does {f} export?
    what can I import from {f}?
    which symbols are in {f}?
    symbols in {f}
    peek into the file {f}
    skim {f}
    scan {f}
    look through {f}
    go through {f} and list what is there
    walk through {f}
    break down {f}
    breakdown of {f}
    sketch of {f}
    quick outline of {f}
    quick look at {f}
    short overview of {f}
    table of contents of {f}
    inventory of {f}
    map of {f}
    map out {f}
    members of {f}
    declarations in {f}
    top level names of {f}
    top level definitions in {f}
    top level functions in {f}?
    all functions and classes in {f}
    all functions of {f}
    everything in {f}
    is there a class in {f}?
    are there functions in {f}?
    are there any classes in {f}
    anything in {f}?
    what kind of file is {f}?
    what kind of code is in {f}?
    what kind of things are in {f}
    what sort of functions does {f} have
    what else is in {f}?
    what all does {f} contain
    what have we got in {f}?
    what have they put into {f}?
    what did someone write in {f}
    what do you see in {f}?
    what do you find in {f}
    what would I find in {f}?
    what is written in {f}?
    what is declared in {f}?
    what is implemented in {f}
    what is kept in {f}?
    what lives in {f}?
    which classes live in {f}
    what parts does {f} have?
    what does {f} consist of?
    what is {f} made of
    name the functions in {f}
    name everything that {f} defines
    display {f}
    pull up {f}
    go to {f}
    get me an outline of {f}
    {f} defines what?
    {f} - what is there?
    {f} has which functions?
    let me look at {f}
    let us look into {f}
    I lost track of what is in {f}.
    I keep forgetting what {f} defines
    I don't remember which functions are in {f}
    I have no idea what is in {f}
    no idea what {f} contains
    no idea which classes {f} has
    not sure what's in {f}
    not sure which functions live in {f}
    I have never opened {f}. What is in it?
    I never looked into {f}, which classes does it have?
    I just opened {f} and want to know which functions there are
    I am new to {f}, which functions and classes does it have?
    I am about to edit {f}; which functions are there?
    Before I touch {f}, what is defined there?
    before I open {f}: what is in it?
    Suppose I open {f} - what do I see?
    If I open {f}, which functions will I see?
    if I import {f}, which names do I get?
    if one looks into {f}, what is there?
    When I open {f}, what classes are there?
    should I look into {f}, what would I find?
    I bet {f} is full of functions. Which ones?
    I bet {f} has just one class
    I guess {f} holds a few helpers. Which?
    I think there is a class in {f}, which one?
    I suppose there are functions in {f}, list them
    {f} contains what?
    {f} holds what?
    {f} consists of what?
    {f} has what in it?
    {f} has how many functions?
    {f} has how many classes?
    {f} has which classes?
    {f} defines which names?
    {f} is made up of which functions?
    {f} offers which functions?
    {f} exports what?
    {f} has classes, doesn't it? Which?
    {f} is empty, isn't it?
    {f} is only functions, right?
    {f} toc
    {f} functions
    {f} classes
    {f} classes and functions
    {f} methods?
    {f} symbols
    {f} structure
    {f} overview
    {f} definitions
    {f} content?
    {f} list
    {f} members?
    {f}: outline please
    {f}: list what is there
    {f}, what's in there?
    {f}, which classes?
    {f}... what was in there again?
    functions: {f}
    contents: {f}
    classes: {f}
    file {f}, contents?
    file {f}: which functions and classes?
    module {f}, what does it define?
    Wanted: an outline of {f}
    What is in this file: {f}
    what does this one contain: {f}
    outline this file: {f}
    List the functions of this module: {f}
    This file, {f}, has which functions?
    this module ({f}) defines what?
    the module ({f}), which names does it have?
    the file called {f}, what is in it?
    the file at {f}, which classes does it have?
    the functions that {f} has
    the functions which are defined in {f}
    the classes that live in {f}
    the definitions that I find in {f}
    the names one can import from {f}
    each function in {f}
    every function of {f}
    every class in {f}
    every definition in {f}
    any functions in {f}?
    any classes in {f}?
    any class at all in {f}?
    at least one class in {f}?
    In {f}, what is there?
    in {f} there are which functions?
    In {f}, which classes do we have?
    in the file {f}, what functions are there?
    inside {f}: which functions, which classes?
    Inside of {f} there is what?
    From {f}, what can I import?
    from {f} I can import which functions?
    For {f}, list the functions.
    for {f} I need an outline
    of what does {f} consist?
    of which functions and classes is {f} made?
    Into {f} they have put what?
    How many functions are in {f}?
    how many classes does {f} define?
    how many functions and classes are there in {f}, and which
    how many things are defined in {f}?
    how many methods do the classes in {f} have, and which?
    how is {f} laid out?
    how is the file {f} organised?
    how is {f} organized, which classes and functions?
    how is {f} divided up?
    Is {f} empty?
    is {f} full of classes or full of functions?
    is there anything in {f}?
    is there more than one class in {f}?
    is there a function in {f} at all?
    are there several classes in {f}?
    are there just functions in {f}, or classes too?
    are there any methods in {f}?
    Isn't there a class in {f}?
    aren't there some functions in {f}?
    Doesn't {f} have any classes?
    doesn't {f} define something?
    does {f} contain classes?
    does {f} have functions?
    does {f} define anything?
    does {f} define classes or only functions?
    does {f} hold anything worth listing?
    do any classes live in {f}?
    do we define anything in {f}?
    do you know what is in {f}?
    do tell me what is in {f}
    has {f} got any classes?
    has {f} any functions?
    have you looked into {f}? What is there?
    may I see the functions in {f}?
    might I have an outline of {f}?
    May I know what all is there in {f}?
    shall we look at what {f} has?
    Enumerate the functions in {f}.
    enumerate everything {f} defines
    Itemise {f}.
    itemise the contents of {f}
    Print the outline of {f}.
    print the names of the functions in {f}
    print all classes of {f}
    dump the structure of {f}
    dump the names in {f}
    dump the symbols of {f}
    grep the def lines in {f}
    grep all classes and functions in {f}
    grep def in {f}
    Collect the functions of {f}.
    collect all names that {f} defines
    gather the classes in {f}
    gather what is defined in {f}
    Sum up what is in {f}.
    sum up the definitions of {f}
    spell out which functions {f} has
    spot the classes in {f}
    Retrieve the outline of {f}.
    retrieve the list of functions in {f}
    extract the function names from {f}
    extract an outline from {f}
    disclose what {f} contains
    reveal the contents of {f}
    unfold {f}
    unpack {f} for me: which functions, which classes?
    report the contents of {f}
    report which classes {f} has
    identify the functions in {f}
    identify the classes of {f}
    determine what is defined in {f}
    state what {f} defines
    catalogue {f}
    catalogue the functions in {f}
    index the definitions in {f}
    index of {f}
    tabulate the functions of {f}
    browse {f}
    browse the functions in {f}
    glance at {f}
    inspect {f}
    inspect {f} and list its classes
    examine {f}, what is in there?
    view the outline of {f}
    view {f}
    explore {f}
    survey {f}
    survey of {f}
    enter {f} and tell me what is there
    fetch the outline of {f}
    get the list of functions from {f}
    get the functions of {f}
    produce an outline of {f}
    draw up an outline of {f}
    draw up a list of the functions in {f}
    make a list of what is in {f}
    make me an outline of {f}
    create a list of the classes in {f}
    prepare an overview of {f}
    check which functions are in {f}
    check what is in {f}
    see what's in {f}
    run through the functions in {f}
    take me through the names in {f}
    remind me what is in {f}
    remind me which functions {f} has
    count the functions in {f} and name them
    I'd like an outline of {f}, please.
    I'd love to see which functions {f} has
    I was wondering what is in {f}.
    I wonder which classes are in {f}
    I wonder what {f} has to offer
    I should know what is in {f}, but I forgot
    Would you mind listing what is in {f}?
    would you be so kind as to outline {f} for me
    would you kindly show the contents of {f}
    If it is not too much trouble, could you list the functions and classes in {f}?
    Kindly list the contents of {f}.
    kindly share the functions of {f}
    please to show what is in {f}
    what all is there in {f}?
    what all functions are in {f}
    which all classes is {f} having?
    what {f} contains?
    what stands in {f}?
    What stays in {f}?
    what has {f}
    which functions has {f}?
    which classes has {f} got?
    what is inside from {f}
    need outline of {f}
    need list of functions in {f}
    want to see functions in {f}
    want overview of {f}
    looking for an outline of {f}
    looking at {f}, which functions are there?
    trying to get an overview of {f}
    which functions live in {f}
    which functions belong to {f}?
    which functions can be found in {f}?
    which functions sit in {f}?
    which classes and which methods are in {f}
    which definitions does {f} contain?
    which definitions make up {f}?
    what functions and classes live in {f}
    what is to be found in {f}?
    what is to be seen in {f}
    what has been put in {f}?
    what on earth is in {f}?
    what else does {f} define?
    what exactly is in {f}?
    what sits in {f}
    what is hiding in {f}
    what goes on the list of functions of {f}?
    what are the top level names in {f}?
    what are the members of {f}?
    what are the building blocks of {f}
    what's {f}'s structure?
    {f}'s contents
    {f}'s functions?
    {f}'s outline, please
    {f}'s classes and functions
    what are {f}'s classes?
    list {f}'s functions
    class list of {f}
    function list of {f}
    list of functions and classes, {f}
    skeleton of {f}
    the skeleton of {f}, please
    layout of {f}
    the bare outline of {f}
    New here. What is in {f}?
    There is a file {f}. What does it contain?
    We have {f} in this project. Which functions does it have?
    The pull request touches {f}. What is in it?
    It is about {f}. Which classes and functions?
    My next file is {f}. Outline?
    Just the functions in {f}, nothing else
    only the class names in {f}
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
