"""Everything that is not a look-up: greetings, questions about the model, and the work it must decline.

Small lists crossed with each other, because a model this small tells "beyond me" from "look it up" only by having
seen many of both. `{n}` stands for a name, `{f}` for a file: declining must work with names in sight.
"""

from __future__ import annotations

from itertools import product

from questions import wordings

ACTIONS = wordings("""
    fix
    refactor
    rewrite
    rename
    delete
    optimise
    improve
    explain
    review
    debug
    simplify
    shorten
    extend
    improve the tests of
    add comments about
    add error handling to
    document
    translate
    port
    benchmark
    clean up
    write a test for
    write tests for
    write a docstring for
    add a docstring to
    add logging to
    add type hints to
    write documentation for
    make a diagram of
    find the bug in
    speed up
    remove
""")
OBJECTS = wordings("""
    {n}
    {n}
    {n}
    {f}
    the function {n}
    the class {n}
    the file {f}
    this
    this code
    this function
    the tests
    my code
    the bug
    it
""")
LEADS = ("", "", "Please ", "Can you ", "Could you ", "I want you to ", "Now ")

OTHER = wordings("""
    What is the capital of Spain?
    what is the capital of Japan
    write a limerick
    Write a song.
    Implement quicksort.
    implement a cache for {n}
    How do I learn to program?
    how do I write a loop?
    I want to change {n}.
    I want to delete {f}
    make {n} simpler
    make {n} longer
    Make {f} easier to read.
    split {f} into two files
    merge {n} and {n}
    Please format {f}.
    fix all failing tests
    the tests fail, fix them
    what does {n} do?
    Explain what {n} does.
    why does {n} return a list?
    Write a function that sorts a list.
    write a web server in python
    Write a poem about the sea.
    write me a script that renames files
    Create a new file called notes.txt
    make a commit with my changes
    Run the tests.
    run pytest
    install the dependencies
    What is the capital of France?
    what is 2 + 2?
    How old is the universe?
    What time is it?
    what day is it today
    Tell me a joke.
    tell me a story
    What is the weather like?
    How does {n} work?
    how does {n} work
    Why does {n} fail?
    why does {n} raise an error?
    Why is {n} so slow?
    What is the difference between {n} and {n}?
    Why do the tests fail?
    Why is the build broken?
    Is this code any good?
    What should I do next?
    What do you think about {n}?
    How do I install this?
    how do I run this project?
    Give me a summary of this project.
    what is this project about?
    Which design pattern is this?
    Is {n} thread safe?
    Is there a bug in {n}?
    Should I use {n}?
    Change {n} so that it returns None.
    Replace {n} with {n}.
    Move {n} to {f}.
    Add a parameter to {n}.
    Make {n} faster.
    Commit this.
    Explain how async works.
    what is a closure?
    What is a decorator in python?
    How do I reverse a string?
    Solve this equation for me.
    Draw a picture of a cat.
    I have a problem.
    it does not work
    nothing works
    I am tired.
    What is the meaning of life?
    Do you like music?
    Who won the world cup?
    translate this sentence into French
    Can you browse the web?
    search the web for laguna
    Do my homework.
    Plan my day.
    Generate a random number.
    ok
    yes
    no
    hmm
    why?
    really?
    asdf
    test
    continue
    go on
""")

TALK = {
    "hello": wordings("""
        Hello
        hello
        Hello!
        Hello there
        Hi
        hi
        Hi!
        hi there
        Hey
        hey
        hey there
        Good morning
        good morning!
        good evening
        Good afternoon
        How are you?
        hi, how are you?
        hello, how is it going?
        what's up?
        greetings
        hello, good day
        Hello Laguna!
        hi, nice to meet you
        Hey, good morning
        yo
    """),
    "who": wordings("""
        Who are you?
        who are you
        What are you?
        what are you
        Which model are you?
        what model is this?
        What is your name?
        what's your name?
        Are you Laguna?
        are you laguna nano?
        Are you a large language model?
        Are you an AI?
        are you a bot
        Tell me about yourself.
        Introduce yourself.
        What is Laguna Nano?
        Who made you?
        How big are you?
        Are you ChatGPT?
        Is this the real Laguna?
        who is this?
        Which kind of assistant are you?
        Who am I speaking with?
        what sort of model is this
        And who are you?
        Who is Laguna?
    """),
    "can": wordings("""
        What can you do?
        what can you do
        what can you do for me?
        Help
        help
        help me
        Can you help me?
        How can you help me?
        What do you do?
        what are you able to do?
        What can I ask you?
        what should I ask?
        What are your skills?
        How do I use you?
        What do you know?
        which questions can you answer?
        Which tools do you have?
        what tools can you use?
        How does this work?
        show me what you can do
        what are you for?
        What can you help me with?
        Can you do anything?
        could you help me?
        please help
        What is possible here?
    """),
    "thanks": wordings("""
        Thanks
        thanks
        thanks!
        Thank you
        thank you!
        Thank you very much.
        many thanks
        great, thanks
        thx
        perfect, thank you
        nice
        great
        good job
        cool
        awesome
        Thanks for your help!
        thanks so much
        thank you, that helped
        ok, thank you
        ok thanks
        Well done!
        That was great.
    """),
    "bye": wordings("""
        Bye
        bye
        bye!
        Goodbye
        goodbye!
        see you
        See you later
        good night
        that is all, bye
        ok bye
        Bye, see you tomorrow
        bye bye
        I am done for today
    """),
    "other": OTHER,
}

TALK_HELD_OUT = {
    "hello": ("Hello, nice to see you", "hello, good morning"),
    "who": ("So who are you?", "What kind of model are you?", "who am I talking to?"),
    "can": ("What are you good at?", "what can I do with you?", "can you help?"),
    "thanks": ("Thanks a lot!", "great work, thank you"),
    "bye": ("ok, bye", "Bye for now"),
    "other": (
        "Write unit tests for {n}.", "Could you refactor {n} for me?", "What is the capital of Italy?",
        "Please add comments to {n}", "why does {n} return None?", "write a haiku", "Implement a binary search.",
        "I want to rename {n}", "make {f} shorter", "Throw away {f}.", "how do I learn python?",
        "fix the failing test",
    ),
}  # fmt: skip


def declined() -> tuple[str, ...]:
    """Every request for work that this model cannot do, from actions, objects and leads."""
    requests = (lead + action + " " + thing for lead, action, thing in product(LEADS, ACTIONS, OBJECTS))
    return (*OTHER, *(text[0].upper() + text[1:] if index % 2 else text for index, text in enumerate(requests)))
