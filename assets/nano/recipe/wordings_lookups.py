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
""")
