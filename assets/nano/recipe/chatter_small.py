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
    Hello, Nano!
    Hi, Laguna Nano
    hello dear assistant
    hello little one
    hello from Norway
    hello, stranger
    hello, old friend
    hello, it's me
    hello, I'm back
    hello, me again
    hello and good morning to you
    helloooo
    hellooo?
    helo
    heeey
    hey hey hey
    heyyy
    hey you
    hey buddy
    hey, you there?
    hey, long time no see
    hi friend
    hi everybody
    hi from Berlin
    hi, it is Maria
    hi, Priya here
    hi it's Sam again
    hi, I am back
    hi, just saying hello
    just wanted to say hi
    only saying hello
    hiii
    hi, good to meet you
    hi, how do you feel today?
    hi, how was your night?
    hi, what's new?
    what's new?
    what's going on?
    whassup
    wassup
    wazzup
    how goes it
    how are you feeling?
    how are you keeping?
    how was your weekend?
    how's everything?
    how's it hanging
    how's tricks
    how you doing
    are you well?
    are you doing well today?
    are you okay today?
    you alright?
    alright?
    you there?
    you up?
    anybody home?
    anybody around?
    is anybody listening?
    knock knock, anyone in?
    can anyone hear me?
    good morrow
    good morning, sunshine
    good morning dear machine
    good morning, how did you sleep?
    good evening, sir
    good evening, how do you do
    good afternoon to you
    a very good morning
    a good day to you
    gm
    g'day
    g'day mate
    top of the morning
    afternoon!
    morning, all
    mornin
    evenin
    top of the day to you
    salutations
    well hello
    well, hello there
    why hello
    oh hi
    oh, hello
    ah, there you are
    there you are
    ahoy
    ahoy there
    oi
    hey ho
    hullo there
    howdy partner
    how do
    pleased to meet you
    lovely to meet you
    delighted to meet you
    good to meet you, I'm Ahmed
    nice to see you again
    great to see you
    so we meet again
    long time no see
    peace
    namaste
    salaam
    shalom
    aloha
    konnichiwa
    ni hao
    merhaba
    ahoj
    hej
    hei
    moin
    servus
    guten Tag
    guten Morgen
    buenos días
    buongiorno
    olá
    bonsoir
    dzień dobry
    goedemorgen
    god morgon
    selam
    terve
    szia
    privet
    grüß dich
    warm greetings
    greetings from Spain
    greetings, machine
    kind regards to you
    my name is Olga, hello
    I am Pedro, nice to meet you
    let me introduce myself, I am Kim
    I just arrived, hello
    first time here, hi
    wave
    *waves*
    o/
    Hello, nice to see you
    hello, good morning
    Ahoy Laguna
    hi, nice morning today
    Hi again!
    Good day to you.
    Morning, Laguna!
    Hello, anybody there?
    welcome back
    hello from Berlin
    Hi, long time no see
    hey, all well with you?
    Hello, I just installed this
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
    what do people call you?
    what are you called?
    what should I call you
    how do I address you?
    by what name do you go?
    do you go by a name
    may I know your name?
    may I ask who you are?
    might I ask what you are
    could you introduce yourself?
    could you tell me who you are?
    would you tell me something about yourself
    I'd like to know who you are
    I want to know what you are
    I wonder what you are
    I don't know who you are
    I have no idea what you are
    state your name
    identify yourself
    present yourself
    name?
    model?
    model name
    which model
    version?
    your version
    your model name please
    who r u
    who r you
    what r u
    who u
    who dis
    who you are?
    you are who?
    you are what exactly?
    what you are
    who or what are you?
    who might you be?
    who would you be
    and you are?
    and your name is?
    and who is this?
    whom am I talking to?
    who am I chatting with?
    who is on the other side?
    who is replying to me?
    who is answering me
    who writes these answers?
    with whom am I speaking
    what am I talking to?
    what program is this
    what software is this?
    what is this thing
    what is this chatbot
    what sort of AI is this?
    what kind of bot are you
    what type of model are you?
    what family of models do you belong to?
    what model runs behind this?
    what model powers this?
    what is running here?
    what's under the bonnet here?
    what are you built on
    what architecture do you have?
    what were you trained on
    what data were you trained on?
    when were you trained?
    when were you made
    when were you born?
    where were you made
    where were you trained?
    where do you run?
    where do you live?
    on which machine do you run
    are you running on my laptop?
    are you in the cloud?
    are you online or local?
    are you offline?
    do you need the internet?
    do you send my code anywhere?
    who is your maker?
    who is your creator
    who owns you?
    who wrote you?
    who programmed you
    who designed you?
    who do you belong to
    which company made you?
    which company is behind this
    which team built you?
    are you made by Poolside?
    are you from OpenAI?
    are you from Google
    did OpenAI make you
    did Anthropic build you?
    are you Mistral?
    are you DeepSeek?
    are you Qwen
    are you Copilot?
    are you Siri?
    are you Alexa
    are you based on Llama?
    is this ChatGPT?
    is that you, Laguna?
    is this the nano model?
    is this the small Laguna?
    is it Laguna I am talking to?
    so you are Laguna?
    you are not the big Laguna, are you?
    are you the tiny one
    are you the little brother of Laguna?
    are you as good as the big Laguna?
    how do you differ from the real Laguna?
    why are you called nano?
    why are you so small?
    why is your name Laguna
    what does your name mean
    how tiny are you?
    how heavy are you?
    how many layers do you have?
    how many weights do you have
    how many megabytes are you?
    how big is this model?
    how powerful are you?
    what is your parameter count?
    what is your context length?
    are you intelligent?
    are you a chatbot?
    are you a machine or a human
    are you some kind of program?
    are you a transformer?
    are you an assistant?
    are you an LLM
    are you a toy?
    are you a person or a program?
    is there a human behind this?
    is a real person answering?
    am I talking to a machine?
    am I talking to a person
    am I speaking to a robot?
    human or bot?
    a few words about yourself, please
    say a few words about you
    something about yourself?
    tell me more about you
    tell me about Laguna Nano
    tell me your name please
    tell me which model you are
    tell me what model this is
    what can you tell me about yourself?
    what is there to know about you?
    who exactly are you, nano?
    your origin?
    your maker?
    your story?
    Hm, and who might you be?
    What kind of model are you?
    who am I talking to?
    Would you introduce yourself?
    are you human or a machine?
    In one sentence, who are you?
    Am I chatting with a person?
    Which version of Laguna is this?
    Have you got a name?
    you are what size of model?
    With whom do I have the pleasure?
    Are you some sort of chatbot?
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
    what all can you do
    what can I use you for?
    what can this do?
    what can this thing do
    what can this model do?
    what can nano do?
    what can Laguna Nano do for me
    what could you do for me?
    what could I ask?
    what could you help me with
    what would you be able to do for me
    what might I ask you?
    what are you there for
    what are you here for?
    what are you meant for
    what are you designed to do?
    what are you trained to do?
    what are you best at?
    what are your strengths
    what are your weaknesses?
    what are your capabilities?
    what are your talents
    what are your powers?
    what are you useful for
    what is it that you do?
    what is it you can do
    what is your role?
    what is your speciality?
    what is your function here
    what is this good for
    what is this app for?
    what is this assistant for
    what is supported?
    what is not supported?
    what's on the menu?
    what's in your toolbox?
    what do you support?
    what do you specialise in?
    what do you understand?
    what do I do with you
    what do I type here
    what do I write here?
    what am I supposed to ask
    what am I allowed to ask?
    what kinds of requests work?
    what kinds of things can you do
    what sorts of questions do you answer?
    what types of tasks can you handle?
    which tasks can you do?
    which things can you do for me?
    which requests do you understand?
    which jobs do you take?
    which actions are possible
    which features do you have?
    which questions make sense here
    what works and what doesn't?
    what doesn't work?
    what can you not do
    what is beyond you?
    where are your limits
    where do your abilities end?
    how far do your skills go?
    how may you be of service?
    how may I use you
    how can I use you?
    how can I make use of you?
    how can you be useful to me
    how can you assist me?
    how could you assist
    how would you help me?
    how will you help me
    how should I talk to you?
    how should I phrase my questions?
    how must I ask?
    how do I ask you something
    how do I get help?
    how do I start
    how do I get started with you?
    how do I give you a task?
    how do I talk to you?
    how do you do what you do?
    how does one use this?
    how does this assistant work?
    how is this used?
    how to use
    how to use this?
    can you assist me?
    can you be of help?
    can you do things?
    can you do more?
    can you do more than that?
    can you help out?
    can you help me a bit
    can you help with code?
    can you help me with my project?
    can you give me a hand?
    can you give me a tour?
    can you give me an overview of your skills
    can you answer questions
    can you answer questions about my code?
    can you look at code?
    can you look things up
    can you search my project?
    can you work with files?
    can you change files?
    could you assist me
    could you lend me a hand?
    could you tell me what you can do?
    could you show me what you can do
    would you show me how to use this?
    would you list your abilities?
    would you kindly help me
    do you have any skills?
    do you have any features?
    do you have a help page?
    do you have a manual
    do you have commands?
    do you have limits?
    do you know how to code?
    do you know anything useful
    do you do anything else?
    do you offer anything else
    are you able to help me?
    are you able to edit code?
    are you capable of anything?
    are you good at anything?
    is there any help?
    is there a help page?
    is there a guide?
    is there a tutorial?
    is there documentation for you?
    is there anything you can do?
    is that all you can do?
    is that everything you can do
    I need assistance
    I need a hand
    I need help, please
    I need to know what you can do
    I want help
    I want to know what you can do
    I would like some help
    I would like to know your skills
    I'd like to see your features
    I don't know how to use you
    I don't know how to use this
    I do not know what you can do
    I have no idea how to use this
    I have no clue what to type
    I am not sure what to ask you
    I wonder what you can do
    I'm lost, what can I ask?
    first time here, what can you do?
    show me your features
    show me your commands
    show me the commands
    show me the options
    show me the ropes
    show help
    show all commands
    show me some examples
    some examples please
    list commands
    list all your commands
    list what you can do
    list your features
    list your abilities please
    enumerate your skills
    name your skills
    describe your abilities
    describe what you can do
    explain how to use you
    explain how I can use this
    give me an overview of what you can do
    give me examples of questions
    give me a hand
    give me a hint what to ask
    tell me your skills
    tell me your limits
    tell me how to use you
    tell me how you can help
    tell me what I can ask you
    tell me what you are good at
    let me know what you can do
    let me see your skills
    help needed
    help wanted
    help plz
    pls help
    help pls
    halp
    help, I am new
    help, how does this work?
    help menu
    -h
    man nano
    manual
    instructions?
    tutorial
    guide
    guide me
    skills
    abilities
    capabilities
    features
    possibilities?
    assist me
    assist me please
    SOS
    be of help
    your abilities?
    your features?
    your purpose?
    your limits?
    so, how can you help me?
    ok, and what can you do?
    well, what can you do?
    hi, what can you do?
    hello, can you help me?
    hey, what can I ask you?
    So what is it you can do for us?
    what can I do with you?
    Which commands do you understand?
    List your abilities.
    What kinds of questions do you answer?
    How may you be of use to me?
    give me an idea of what you can do
    Are there things you can do for me?
    Which skills have you got?
    Before I ask, what can you do at all?
    Which things can you help with?
    how can I use this assistant?
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
    thank you kindly
    thank you ever so much
    thank you a lot
    thank you a thousand times
    thank you again
    thank you indeed
    thank you, dear
    thank you, that is perfect
    thank you, it works
    thank you, it works now
    thank you, well done
    thank you, nano
    thank you, you saved me
    thank you for your time
    thank you for your patience
    thank you for the answer
    thank you for the quick answer
    thank you for explaining
    thank you for looking
    thank you all
    thank u
    thank yu
    thankx
    thnx
    thks
    thnks
    tnx
    tks
    tq
    tyvm
    kthx
    thanks a lot
    thanks a bunch
    thanks a million
    thanks a ton
    thanks again
    thanks again for that
    thanks heaps
    thanks loads
    thanks ever so much
    thanks very much
    thanks indeed
    thanks mate
    thanks buddy
    thanks friend
    thanks pal
    thanks, Laguna
    thanks, all good
    thanks, great job
    thanks, got it
    thanks, good to know
    thanks, that fixed it
    thanks, that works
    thanks, that does it
    thanks, that was what I was looking for
    thanks, just what I wanted
    thanks, you are kind
    thanks, you're a star
    thanks for everything
    thanks for that
    thanks for this
    thanks for answering
    thanks for finding it
    thanks for the quick reply
    thanks for the info
    thanks for being there
    my thanks
    my sincere thanks
    with thanks
    warm thanks
    heartfelt thanks
    a big thank you
    a thousand thanks
    big thanks
    huge thanks
    so many thanks
    no end of thanks
    much obliged
    much appreciated
    I'm obliged to you
    I am much obliged
    I am very grateful
    I'm so thankful
    I am in your debt
    I owe you one
    I owe you a beer
    I can't thank you enough
    I really appreciate it
    I appreciate your help
    I appreciate that
    I like your answer
    I am impressed
    I am happy with that
    I found it thanks to you
    really appreciate that
    deeply appreciated
    grateful!
    bless you
    you are a star
    you're a star
    you are a gem
    you are a treasure
    you are a lifesaver
    you are a genius
    you are awesome
    you're amazing
    you're brilliant
    you are very kind
    you are so kind
    you are so fast
    you are quick!
    you did well
    you did a great job
    you saved my day
    you made my day
    you were a great help
    you have been very helpful
    you have been a great help
    you nailed it
    that did it
    that did the trick
    that solved it
    that works, thank you
    that worked, thanks
    that will do nicely
    that is very kind of you
    that is exactly it
    that was fast
    that was quick!
    that was easy, thanks
    that was very kind
    that was spot on
    that was most helpful
    that saved me an hour
    how kind of you
    how nice of you
    how helpful!
    what a help
    what a great answer
    what a relief, thanks
    spot on
    spot on, thanks
    top notch
    tip top
    first class
    ace
    smashing
    splendid
    superb
    marvellous
    magnificent
    terrific
    outstanding
    stunning
    beautiful
    beautiful, thank you
    stellar
    fabulous
    phenomenal
    great stuff
    great help
    great work, thanks
    good stuff
    good lad
    good boy
    nice job
    nicely done
    nice answer, thank you
    well played
    hats off
    kudos
    props
    respect
    chapeau
    bravo, thank you
    hurray
    hooray, thanks
    yay
    yay thanks
    yes! thank you
    yes, that is it, thanks
    works like a charm, thanks
    works perfectly, thank you
    it works, thanks
    it helped, thanks
    got it, thanks
    got it, thank you
    found it, thank you
    ok cool thanks
    oh great, thank you
    oh, thanks
    ah, thank you
    ah perfect
    aha, thanks
    alright, thanks
    fine, thank you
    very well, thank you
    very kind
    very much appreciated
    so kind, thank you
    all good, thanks
    all clear, thank you
    no worries, thanks
    five stars
    10/10
    ten out of ten
    A+
    +1
    thumbs up
    (y)
    merci beaucoup
    vielen Dank
    danke schön
    danke dir
    muchas gracias
    mil gracias
    grazie
    grazie mille
    obrigado
    obrigada
    dank je wel
    bedankt
    dziękuję
    tack
    tack så mycket
    takk
    tak
    teşekkürler
    kiitos
    děkuji
    köszönöm
    mulțumesc
    spasibo
    arigato
    great work, thank you
    well, thanks anyway
    That helped a lot, thanks
    wow, good one
    Excellent, that was fast.
    thank you, you are very kind
    That is just what I was looking for, thanks.
    oh, lovely
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
    goodbye, Laguna
    goodbye, nano
    goodbye for now
    goodbye and thank you
    goodbye my friend
    goodbye then
    good-bye, assistant
    well, goodbye
    bye for now
    bye then
    bye, nano
    bye, friend
    bye everybody
    bye all
    bye, thanks
    bye, thanks for all
    bye, till tomorrow
    bye, until next time
    bye, talk soon
    bye, take care
    bye, I'm off
    byee
    byeee
    bb
    bbl
    brb
    g2g
    gtg
    gotta go
    gotta run
    gotta dash
    got to go
    got to catch my train
    ttyl
    ttfn
    ta-ta
    toodle-oo
    toodle pip
    toodles
    pip pip
    cheers, bye
    cheerio then
    ok, see you
    ok, good night
    ok, that's it, bye
    ok I'm done, bye
    okay, I'm leaving
    okay bye now
    alright, bye
    right, I'm off
    right, that's me done
    well, I'm off
    so, bye
    see you soon
    see you on Monday
    see you around
    see you next time
    see you then
    see you in the morning
    see you next year
    see you after lunch
    see you, nano
    see you at the next bug
    see u
    see u later
    c u later
    cya later
    catch you later
    catch ya later
    later, alligator
    in a while, crocodile
    until next time
    until we meet again
    until Monday
    until the morning
    till later
    till next time
    till tomorrow
    so long, friend
    farewell, my friend
    fare thee well
    fare you well
    have a good night
    have a good day
    have a good one
    have a great day
    have a great weekend!
    have a lovely evening
    have a lovely day
    have a pleasant evening
    have a nice weekend
    have a nice evening
    have a restful night
    have fun, bye
    enjoy your evening
    enjoy the weekend
    enjoy your day, bye
    sleep well
    sleep tight
    sweet dreams
    night
    night night
    nighty night
    nite
    good night, sleep well
    good night everyone
    wishing you a good night
    take it easy, bye
    stay safe
    stay well
    be well
    keep well
    godspeed
    peace out
    over and out
    out
    I'm out of here
    I'm done, bye
    I'm done for the day
    I'm done here
    I'm finished for today
    I'm heading home
    I'm heading off
    I'm going to bed
    I'm going now
    I'm going to lunch
    I'm leaving now
    I am leaving now, bye
    I am going to sleep
    I am going to bed now
    I am logging off
    I am closing the window now
    I am shutting down now
    I am away for a week, bye
    I have to leave
    I have to run
    I have to catch a bus, bye
    I need to go
    I need to leave now
    I must be off
    I must leave you now
    I must dash
    I should go
    I should be going
    I should get some sleep, bye
    I'd better go
    I'd better be going
    I will leave now
    I will stop here
    I will see you later
    I will call it a day
    I'll be off then
    I'll be going
    I'll go to bed now
    I'll come back later
    I'll be back
    I'll see you tomorrow
    I'll stop here for today
    I'll talk to you later
    I quit for today
    calling it a day
    calling it a night
    let's call it a day
    let us finish here
    let's finish for today
    let's say goodbye
    let's wrap it up here
    let's leave it there
    time for bed
    time to leave
    time to go home
    time to say goodbye
    it's late, good night
    it is time to go
    it's time for me to leave
    home time
    bedtime, bye
    lunch time, see you
    my train is here, bye
    my day is over, bye
    work is over, goodbye
    the day is done, good night
    that's it
    that's it for today
    that's it from me
    that's everything, bye
    that's all for today
    that's all for now
    that's all from me, thanks
    that is it for now
    that is everything, thank you, bye
    that was everything, goodbye
    that was it for today
    that'll be all
    all done, bye
    all done for today
    done for today
    done, bye
    finished, goodbye
    nothing more, thanks, bye
    nothing more for today
    no further questions
    no further questions, goodbye
    no more for today
    enough, bye
    enough work for today
    end of work, bye
    end the chat
    end this conversation
    end of session
    close the chat
    close the session
    leave
    leave now
    log out
    log off
    logging off
    shutting down, bye
    :q
    :wq
    goodbye world
    was nice talking to you, bye
    it was nice talking to you
    it was a pleasure, goodbye
    nice chatting with you, bye
    it was fun, see you
    off I go
    off to bed
    off to lunch, bye
    off home
    away now
    heading home, bye
    heading out
    leaving now
    parting now, farewell
    we are done here
    we're done for today
    we're finished, bye
    we will meet again
    we'll talk tomorrow
    we'll meet again, goodbye
    speak soon
    speak tomorrow
    talk soon
    talk to you later
    talk to you next week
    till we speak again
    auf Wiedersehen
    bis bald
    bis morgen
    bis später
    gute Nacht
    hasta luego
    hasta mañana
    hasta la vista
    buenas noches
    à bientôt
    à demain
    à plus
    bonne nuit
    bonne journée
    arrivederci
    a domani
    buona notte
    até logo
    até amanhã
    tchau
    tot ziens
    doei
    do widzenia
    hej då
    ha det
    farvel
    hoşça kal
    güle güle
    näkemiin
    na shledanou
    viszlát
    la revedere
    do svidaniya
    sayonara
    adieu
    adios amigo
    Farewell, Laguna
    I am done with this, see you
    well, goodbye then
    Have a nice evening, bye
    I have to leave, bye
    Enough now, see you on Monday.
    good night and goodbye
    it is late, good night
""")
