"""What Laguna Nano is asked and says: question wordings per skill, the call each needs, and small talk.

Deals in plain text. Wordings in HELD_OUT are never trained on; evaluation asks only those.
`{n}` stands for a name, `{f}` for a file.
"""

from __future__ import annotations

from enum import Enum


class Skill(Enum):
    """The few things this model can do."""

    WHERE = "where is X defined"
    TAKES = "what does f take"
    USES = "who calls g"
    OUTLINE = "what is in file F"
    TALK = "small talk and the rest"


TOOL = {Skill.WHERE: "search", Skill.TAKES: "search", Skill.USES: "search", Skill.OUTLINE: "find"}


def wordings(text: str) -> tuple[str, ...]:
    """One wording a line."""
    return tuple(line.strip() for line in text.strip().splitlines())


TRAINED = {
    Skill.WHERE: wordings("""
        Where is {n} defined?
        where is {n} defined
        where's {n} defined?
        Where is {n}?
        where is {n}
        where's {n}
        Which file defines {n}?
        which file has {n}
        Which module defines {n}?
        Find the definition of {n}.
        find {n}
        Find {n} for me.
        find where {n} is declared
        Where can I find {n}?
        Show me where {n} is defined.
        show me {n}
        Locate {n}.
        locate the definition of {n}
        I need the definition of {n}.
        I am looking for {n}.
        I'm looking for the definition of {n}
        In which file is {n}?
        In which file is {n} defined?
        What file is {n} in?
        What file defines {n}?
        Can you find where {n} is defined?
        Can you tell me where {n} is?
        Please find the definition of {n}
        Please tell me where {n} is defined.
        where does {n} live?
        Where does {n} come from?
        Tell me where {n} is defined
        Look up {n} for me.
        look up {n}
        Could you tell me where {n} is implemented?
        Where is {n} implemented?
        Where is {n} declared?
        which module has {n}?
        Search for the definition of {n}.
        search for {n}
        definition of {n}?
        the definition of {n}, please
        Hi, where is {n} defined in this project?
        Where in the code is {n} defined?
        Where in this repository is {n}?
        What line is {n} defined on?
        jump to {n}
        go to {n}
        go to the definition of {n}
        take me to {n}
        {n} is defined where?
        {n} - where is it defined?
        Where did we define {n}?
        Where do we define {n}?
        Do you know where {n} is defined?
        Help me find {n}.
        Give me the location of {n}.
        What is the location of {n}?
        open the definition of {n}
        {n}?
        {n}
        Can you locate {n}?
        could you find {n}?
        Could you show me where {n} is?
        I want to find {n}.
        I want to see the definition of {n}.
        Where do I find {n}?
        where can I see {n}
        Please show me {n}.
        In what file is {n}?
        what is the file of {n}?
        Where was {n} declared?
        point me to {n}
        Which line defines {n}?
    """),
    Skill.TAKES: wordings("""
        What does {n} take?
        what does {n} take
        What arguments does {n} take?
        what arguments does {n} accept?
        What are the arguments of {n}?
        what are the arguments to {n}
        What are the parameters of {n}?
        What parameters does {n} have?
        which parameters does {n} accept?
        Which arguments does {n} need?
        What is the signature of {n}?
        what's the signature of {n}?
        signature of {n}
        the signature of {n}, please
        Show me the signature of {n}.
        show the arguments of {n}
        arguments of {n}?
        parameters of {n}
        {n} arguments?
        How do I call {n}?
        how is {n} called with arguments?
        How do I use the arguments of {n}?
        What can I pass to {n}?
        what do I pass to {n}?
        What should I pass to {n}?
        Tell me the arguments of {n}.
        Give me the signature of {n}
        List the parameters of {n}.
        List the arguments that {n} takes.
        Can you show me the parameters of {n}?
        What inputs does {n} take?
        Which keyword arguments does {n} have?
        Could you tell me the arguments of {n}?
        Tell me what {n} takes.
        tell me the parameters of {n}
        What are the inputs of {n}?
        Which parameters does {n} have?
        I need the signature of {n}.
        please show the signature of {n}
        What is the argument list of {n}?
        how do I call {n}
        Can I see the arguments of {n}?
        What does the function {n} accept?
        what does {n} accept?
        find the signature of {n}
    """),
    Skill.USES: wordings("""
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
        What calls {n}?
        what uses {n}?
        What code uses {n}?
        Which functions call {n}?
        which functions use {n}?
        Which code calls {n}?
        Find the callers of {n}.
        find all callers of {n}
        find uses of {n}
        Find the usages of {n}.
        Show me the callers of {n}.
        show me where {n} is used
        Show me where {n} is called.
        callers of {n}
        usages of {n}?
        uses of {n}
        references to {n}
        Find references to {n}.
        List the callers of {n}.
        Where do we use {n}?
        Where do we call {n}?
        Is {n} used anywhere?
        Is {n} called anywhere?
        Can you find who calls {n}?
        Tell me where {n} is used.
        Please show me the uses of {n}.
        who is using {n}?
        What invokes {n}?
        who invokes {n}
        Where are the calls to {n}?
        calls to {n}
        find calls of {n}
        Which modules use {n}?
        which files use {n}
        Which lines call {n}?
        which methods are calling {n}?
        Where does the code use {n}?
        Where does the code call {n}?
        In which places is {n} used?
        Who depends on {n}?
        what depends on {n}
        Are there any callers of {n}?
        Can you find the uses of {n}?
        Could you show me where {n} is called?
        I want to see the callers of {n}.
        Please find who uses {n}.
        Look for uses of {n}.
        search for callers of {n}
    """),
    Skill.OUTLINE: wordings("""
        What is in {f}?
        what is in {f}
        what's in {f}?
        What's in the file {f}?
        What is inside {f}?
        what's inside {f}
        What does {f} define?
        what does {f} contain?
        What does the file {f} define?
        What is defined in {f}?
        what's defined in {f}
        Which functions are in {f}?
        which classes are in {f}?
        Which names does {f} define?
        List the functions in {f}.
        list what {f} defines
        List the classes in {f}.
        Outline of {f}
        outline {f}
        Give me an outline of {f}.
        Show me the outline of {f}.
        show the contents of {f}
        Show me what is in {f}.
        Show me {f}.
        Describe the file {f}.
        Tell me what is in {f}.
        Summarise {f}.
        summarize {f}
        What can I find in {f}?
        Contents of {f}?
        What functions does {f} have?
        what are the functions in {f}?
        Can you list what is in {f}?
        Can you show me what is in {f}?
        Could you list what {f} defines?
        please outline {f}
        What classes does {f} have?
        Which definitions are in {f}?
        what are the contents of {f}?
        What is the file {f} about?
        Tell me what {f} defines.
        what do I find in {f}?
        Please list the functions of {f}.
        I want to know what is in {f}.
        look into {f}
        open {f}
    """),
}

HELD_OUT = {
    Skill.WHERE: wordings("""
        Hey, which file has the definition of {n}?
        Could you locate {n} for me?
        Where was {n} defined?
        please tell me where {n} lives
        I want to know where {n} is defined.
        Where do I find {n} in the code?
        what module is {n} defined in?
        show me the location of {n}
    """),
    Skill.TAKES: wordings("""
        Which arguments does {n} take?
        what parameters does {n} take?
        Can you tell me the signature of {n}?
        What arguments can I pass to {n}?
        show me the parameters of {n}
    """),
    Skill.USES: wordings("""
        Which places call {n}?
        Who is calling {n}?
        Where in the code is {n} used?
        Can you show me the callers of {n}?
        find where {n} is used
    """),
    Skill.OUTLINE: wordings("""
        What things are in {f}?
        Can you tell me what {f} contains?
        list the definitions in {f}
        What do we have in {f}?
        Show me what {f} defines.
    """),
}

ABOUT = "I am Laguna Nano, the tiny demo model that ships with this app."
REAL_WORK = "For real work, download Laguna itself."
TALK_ANSWERS = {
    "hello": f"Hello! {ABOUT} Ask me where something is defined.",
    "who": f"{ABOUT} I can look things up in code. {REAL_WORK}",
    "can": "I can find where a name is defined, what it takes, where it is used, and what a file defines. " + REAL_WORK,
    "thanks": "You are welcome.",
    "bye": "Goodbye!",
    "other": f"That is beyond me: I am only a tiny demo model that looks things up in code. {REAL_WORK}",
}


def all_prose() -> str:
    """Every sentence of this file once, for the tokenizer's merges."""
    from chatter import TALK

    asked = [text for table in (TRAINED, HELD_OUT) for texts in table.values() for text in texts]
    talk = [text for texts in TALK.values() for text in texts]
    said = [
        *TALK_ANSWERS.values(),
        "` is defined in `",
        "` takes `",
        "` is used in `",
        "I found no `",
        "` at `",
        "` here.",
    ]
    markup = "<tool_response>\n</tool_response>\n<arg_key>pattern</arg_key>\n<arg_value></arg_value>\n<user>\n</user>\n"
    return "\n".join([*asked, *talk, *said, markup])
