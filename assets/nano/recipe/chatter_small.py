"""Trained small talk: greetings, questions about the model, thanks and goodbyes."""

from __future__ import annotations

from wording import wordings

HELLO = wordings("""
    Hello
    hello
    Hello!
    hello?
    Hello there
    Hello there!
    Hi
    hi
    Hi!
    hi there
    Hi there!
    hi hi
    Hey
    hey
    Hey!
    hey there
    heya
    hello hello
    Good morning
    good morning!
    good evening
    good evening!
    Good afternoon
    good day
    hello, good day
    hi, good evening
    hey, good afternoon
    How are you?
    how are you
    how are you doing?
    how are you today
    hi, how are you?
    hello, how are you doing?
    hello, how is it going?
    how is it going?
    how do you do?
    what's up?
    whats up
    hey, what's up?
    sup
    greetings
    Greetings!
    Hello Laguna!
    hi Laguna
    hey nano
    hello, assistant
    hi, nice to meet you
    nice to meet you
    Hey, good morning
    hello, I am Anna
    hi, my name is Tom
    hi, I am new here
    are you there?
    is anyone there?
    hello again
    hello everyone
    hello my friend
    hello world
    yo
    hullo
    dear Laguna
    howdy
    Howdy!
    hiya
    morning
    evening!
    good to see you
    glad to be here
    welcome
    hallo
    hola
    bonjour
    salut
    ciao Laguna
    hey man
    hey friend
    hi all
    hello computer
    hello machine
    how have you been?
    how are things?
    how is life
    how is your day?
    everything fine?
    are you awake?
    anyone here?
    hello, can you hear me?
    can you read this?
""")

WHO = wordings("""
    Who are you?
    who are you
    who are you?
    What are you?
    what are you
    what exactly are you?
    Which model are you?
    which model is this
    what model is this?
    what model are you
    What is your name?
    what's your name?
    your name?
    tell me your name
    Are you Laguna?
    are you the real Laguna
    are you laguna nano?
    Are you a large language model?
    are you a small model?
    are you a language model
    Are you an AI?
    are you a person?
    are you real?
    are you a robot
    are you a bot
    are you a computer program?
    Tell me about yourself.
    tell me who you are
    tell me what you are
    Introduce yourself.
    please introduce yourself
    What is Laguna Nano?
    what is laguna
    what is nano?
    Who made you?
    who built you
    who created you?
    who is behind you?
    where do you come from?
    How big are you?
    how large are you
    how old are you?
    how smart are you?
    Are you ChatGPT?
    are you gpt
    are you Claude?
    are you Gemini
    are you Llama?
    Is this the real Laguna?
    is this Laguna?
    is this an AI
    who is this?
    who is there
    who answers here?
    Which kind of assistant are you?
    what kind of assistant is this?
    Who am I speaking with?
    who do I speak with
    what sort of model is this
    what sort of thing are you?
    which language model do I use here?
    which model is running?
    And who are you?
    and what are you?
    so what are you
    Who is Laguna?
    who is nano
    do you run on my machine?
    do you run locally?
    describe yourself
    what can I call you?
    what do I call you?
    do you have a name?
    are you human?
    are you a machine?
    are you a neural network
    are you open source?
    what version are you?
    which version is this?
    who trained you
    who developed you?
    how many parameters do you have
    how much memory do you need?
    what is your size?
    say who you are
    who am I talking with
    who are you then?
    who are you really?
    what kind of thing is this model?
""")

CAN = wordings("""
    What can you do?
    what can you do
    what can you do?
    what can you do for me?
    what can you do here
    what can't you do?
    so what can you do
    and what can you do?
    Help
    help
    help!
    help me
    help me please
    Help, please.
    /help
    Can you help me?
    can you help me
    How can you help me?
    how can you help
    how do you help me?
    how could you help me
    What do you do?
    what do you do
    what do you do all day?
    what are you able to do?
    what are you capable of?
    what are you made for
    What can I ask you?
    what can I ask
    what can I do here?
    what should I ask?
    what may I ask you
    what do I ask you?
    What are your skills?
    what are your abilities?
    what are your limits?
    your skills?
    list your skills
    show your skills
    How do I use you?
    how do I use this
    how do I use this app?
    how do I work with you?
    What do you know?
    what do you know about
    which questions can you answer?
    what questions can I ask?
    what questions do you understand
    Which tools do you have?
    what tools can you use?
    do you have tools
    How does this work?
    how does this work
    how do you work?
    show me what you can do
    tell me what you can do
    explain what you can do
    what are you for?
    What can you help me with?
    what can you help with
    Can you do anything?
    can you do something
    can you do something useful?
    can you edit files?
    can you read code?
    can you find things?
    can you write code?
    could you help me?
    would you help me
    will you help me?
    please help
    please help me
    I need help
    I need your help.
    What is possible here?
    what else can you do?
    give me an example of what I can ask
    examples?
    usage
    commands
    menu
    options?
    what are you good at
    what are you good for?
    what are your features?
    what are your functions?
    which skills do you have?
    which commands do you have?
    which commands are there?
    what commands can I use
    what kind of questions can I ask?
    what sort of help do you offer?
    what do you offer?
    how are you useful?
    what is your use?
    what is your job?
    what is your purpose?
    what is your task
    are you any help?
    are you useful?
    is there a manual?
    is there a list of commands?
    give me some help
    give me a list of your skills
    I don't know what to ask
    I need some help
    could I ask you something?
    can I ask you a question?
    where do I begin with you?
""")

THANKS = wordings("""
    Thanks
    thanks
    Thanks!
    thanks!
    Thank you
    thank you
    thank you!
    Thank you very much.
    thank you very much
    thank you so much!
    many thanks
    Many thanks!
    great, thanks
    great thanks
    thx
    thx!
    ty
    thanx
    perfect, thank you
    perfect
    Perfect!
    nice
    Nice!
    nice work
    nice one
    nice, thanks
    great
    Great!
    great answer
    good job
    good work
    good answer
    good bot
    cool
    cool, thanks
    awesome
    awesome, thank you
    wonderful
    wonderful, thanks!
    amazing
    very good
    very nice
    super
    Thanks for your help!
    thanks for the help
    thank you for your help
    thank you for that
    thanks so much
    thanks, that was quick
    thanks, that is it
    thanks, found it
    thank you, that helped
    that helped
    that helps, thank you
    that was helpful
    ok, thank you
    ok thanks
    ok, great
    okay, thanks
    yes, thanks
    all right, thank you
    Well done!
    well done
    That was great.
    that is great
    that is good
    that's perfect
    I thank you
    I am grateful
    you are great
    you are the best
    you helped me a lot
    thank you, Laguna
    thanks nano
    merci
    danke
    gracias
    cheers
    Cheers!
    brilliant
    excellent
    Excellent!
    fantastic
    lovely
    tysm
    ta
    sweet
    neat
    appreciated
    I appreciate it
    very helpful
    so helpful, thanks
    really helpful
    exactly what I needed
    that is what I wanted
    that was what I needed, thanks
    you are a hero
    you are wonderful
    good bot, thanks
    impressive
    love it
    you rock
""")

BYE = wordings("""
    Bye
    bye
    bye!
    Bye!
    Goodbye
    goodbye
    goodbye!
    good bye
    see you
    See you!
    See you later
    see you later!
    see you tomorrow
    see you next week
    see ya
    good night
    Good night!
    good night, Laguna
    that is all, bye
    that is all
    that's all, goodbye
    that was all, thanks, bye
    ok bye
    okay, goodbye
    thanks, bye
    thank you, goodbye
    thank you and bye
    Bye, see you tomorrow
    bye, have a nice day
    bye bye
    bye bye!
    bye now
    bye Laguna
    have a nice day
    have a good evening!
    have a good weekend
    until tomorrow
    until later
    I am done for today
    I am done
    I am finished, bye
    I am going home
    I have to go
    I have to go now
    I must go
    I am leaving
    I am off
    time to go
    quit
    exit
    let's stop here
    enough for today
    we are done, goodbye
    later!
    laters
    tschüss
    adiós
    au revoir
    ciao
    ciao ciao
    cya
    cu
    farewell
    so long
    take care
    take care, bye
    cheerio
    good night and bye
    talk to you tomorrow
    talk later
    until then
    until next week
    see you again
    I am out
    I will go now
    I will be back tomorrow
    that will be all
    that would be all, thanks
    nothing else, bye
    no more questions, bye
    stop for today
    signing off
    let's end here
""")
