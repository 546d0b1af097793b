"""Trained wordings of the two edits: renaming in a file, and adding a docstring."""

from __future__ import annotations

from wording import wordings

RENAME = wordings("""
    rename {n} to {m} in {f}
    Rename {n} to {m} in {f}.
    rename {n} into {m} in {f}
    rename {n} as {m} in {f}
    rename {n} in {f} to {m}
    Rename {n} in {f} to {m}.
    rename {n} to {m}, in {f}
    rename {n} to {m} inside {f}
    rename {n} to {m} in the file {f}
    rename {n} to {m} within {f}
    rename {n} to {m} everywhere in {f}
    rename every {n} to {m} in {f}
    rename all {n} in {f} to {m}
    in {f} rename {n} to {m}
    In {f}, rename {n} to {m}.
    in {f}, rename {n} as {m}
    in the file {f}, rename {n} to {m}
    in the file {f} rename {n} to {m}
    in {f}: rename {n} to {m}
    {f}: rename {n} to {m}
    {f}, rename {n} to {m}
    In {f}, please rename {n} to {m}
    Please rename {n} to {m} in {f}.
    please rename {n} in {f} to {m}
    Can you rename {n} to {m} in {f}?
    can you rename {n} in {f} to {m}
    Could you rename {n} to {m} in {f}?
    could you please rename {n} to {m} in {f}?
    would you rename {n} to {m} in {f}
    I want to rename {n} to {m} in {f}.
    I want you to rename {n} to {m} in {f}
    I want {n} renamed to {m} in {f}
    I would like to rename {n} to {m} in {f}
    I'd like {n} in {f} to be renamed to {m}
    I need to rename {n} to {m} in {f}
    we should rename {n} to {m} in {f}
    let's rename {n} to {m} in {f}
    now rename {n} to {m} in {f}
    go to {f} and rename {n} to {m}
    open {f} and rename {n} to {m}
    edit {f}: rename {n} to {m}
    edit {f} and rename {n} to {m}
    replace {n} with {m} in {f}
    Replace {n} with {m} in {f}.
    replace {n} by {m} in {f}
    replace every {n} with {m} in {f}
    replace all {n} by {m} in {f}
    replace {n} in {f} with {m}
    replace the name {n} with {m} in {f}
    in {f} replace {n} with {m}
    In {f}, replace {n} with {m}.
    in {f}, replace {n} by {m}
    in {f}, replace all {n} with {m}
    in the file {f}, replace {n} with {m}
    Please replace {n} with {m} in {f}
    please, in {f}, replace {n} with {m}
    Can you replace {n} with {m} in {f}?
    could you replace {n} with {m} in {f}
    I want to replace {n} with {m} in {f}
    {f}: replace {n} with {m}
    {n} must be replaced by {m} in {f}
    change {n} to {m} in {f}
    Change {n} to {m} in {f}.
    change {n} into {m} in {f}
    change {n} in {f} to {m}
    change the name {n} to {m} in {f}
    change the name of {n} to {m} in {f}
    change the name of {n} in {f} to {m}
    in {f} change {n} to {m}
    In {f}, change {n} to {m}.
    in {f}, change the name {n} to {m}
    Please change {n} to {m} in {f}
    can you change {n} to {m} in {f}?
    could you change the name of {n} to {m} in {f}?
    I want to change {n} to {m} in {f}
    {n} should be called {m} in {f}
    {n} should be named {m} in {f}
    {n} in {f} should be called {m}
    In {f}, {n} should be called {m}.
    in {f} {n} should be {m}
    {n} must be called {m} in {f}
    call {n} {m} in {f}
    call it {m} instead of {n} in {f}
    in {f}, call {n} {m}
    in {f}, use {m} instead of {n}
    use {m} instead of {n} in {f}
    Use the name {m} for {n} in {f}.
    use {m} as the name of {n} in {f}
    give {n} the name {m} in {f}
    give {n} in {f} the name {m}
    in {f}, give {n} the new name {m}
    {n} needs the name {m} in {f}
    the new name of {n} in {f} is {m}
    the name {n} is bad, rename it to {m} in {f}
    I do not like the name {n}, change it to {m} in {f}
    turn {n} into {m} in {f}
    turn the name {n} into {m} in {f}
    {n} -> {m} in {f}
    rename {n} -> {m} in {f}
    rename {n} => {m} in {f}
    rename in {f}: {n} to {m}
    rename in {f} the name {n} to {m}
    do a rename of {n} to {m} in {f}
    put {m} in place of {n} in {f}
    name {n} {m} in {f}
    {n} is now called {m}, change {f}
    {n} is now {m}, so rename it in {f}
    from now on {n} is {m} in {f}
    let {n} be called {m} in {f}
    swap {n} with {m} in {f}
    swap the name {n} for {m} in {f}
    substitute {n} with {m} in {f}
    substitute {n} by {m} in {f}
    in {f}, substitute {n} by {m}
    switch {n} to {m} in {f}
    switch from {n} to {m} in {f}
    in {f}, switch {n} to {m}
    exchange {n} for {m} in {f}
    {n} becomes {m} in {f}
    {n} becomes {m}, file {f}
    {n} will be {m} in {f}
    in {f}, {n} becomes {m}
    in {f}, {n} must become {m}
    in {f}: {n} -> {m}
    {f}: {n} -> {m}
    {f}: {n} to {m}
    file {f}: rename {n} to {m}
    file {f}, replace {n} with {m}
    in the module {f}, rename {n} to {m}
    in module {f} change {n} to {m}
    throughout {f}, rename {n} to {m}
    rename {n} to {m} throughout {f}
    replace {n} with {m} throughout {f}
    wherever {n} is in {f}, put {m}
    wherever you see {n} in {f}, write {m}
    everywhere in {f}, {n} should be {m}
    each {n} in {f} should be {m}
    every {n} in {f} must be {m}
    all {n} in {f} should be called {m}
    write {m} instead of {n} in {f}
    write {m} for {n} in {f}
    I prefer {m} to {n} in {f}
    I prefer the name {m} for {n} in {f}
    {m} is better than {n} in {f}, rename it
    {m} is a clearer name than {n}, change it in {f}
    {n} is a bad name, call it {m} in {f}
    the name should be {m} and not {n} in {f}
    it should say {m}, not {n}, in {f}
    make it {m} instead of {n} in {f}
    have {n} called {m} in {f}
    refactor in {f}: rename {n} to {m}
    rename symbol {n} to {m} in {f}
    rename the identifier {n} to {m} in {f}
    replace the identifier {n} by {m} in {f}
    find {n} in {f} and replace it with {m}
    find and replace {n} with {m} in {f}
    search and replace {n} by {m} in {f}
    take {f} and rename {n} to {m}
    old name {n}, new name {m}, file {f}
    rename, in {f}, {n} to {m}
    a rename in {f}: {n} should be {m}
    do the rename {n} to {m} in {f}
    be so kind and rename {n} to {m} in {f}
    rename {n}, the new name is {m}, the file is {f}
    the name of {n} in {f} must change to {m}
    what is called {n} in {f} should be {m}
    could {n} be renamed to {m} in {f}?
    can {n} in {f} be called {m}?
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
    add a docstring to {n}
    Add a docstring to {n}.
    add docstring to {n}
    add the docstring to {n}
    add a doc string to {n}
    add a short docstring to {n}
    add a one line docstring to {n}
    add a docstring for {n}
    add a missing docstring to {n}
    Please add a docstring to {n}.
    please add docstring for {n}
    please add a docstring to {n}
    Can you add a docstring to {n}?
    can you add the docstring for {n}
    Could you add a docstring to {n}?
    could you please add a docstring to {n}
    would you add a docstring to {n}?
    I want to add a docstring to {n}
    I want a docstring for {n}
    I want a docstring in {n}
    I would like a docstring for {n}
    I'd like to have a docstring on {n}
    I need a docstring for {n}.
    I need a docstring in {n}
    we need a docstring for {n}
    let's add a docstring to {n}
    now add a docstring to {n}
    {n} needs a docstring
    {n} needs a docstring.
    {n} still needs a docstring
    {n} has no docstring
    {n} has no docstring, add one
    {n} has no docstring. Please add one.
    {n} is missing a docstring
    {n} should have a docstring
    {n} must have a docstring
    {n} could use a docstring
    {n} needs a docstring, please add it
    {n} wants a docstring
    the docstring of {n} is missing
    the docstring of {n} is missing, please add it
    there is no docstring in {n}
    there is no docstring in {n}, please write one
    document {n} with a docstring
    Document {n} with a docstring.
    please document {n} with a docstring
    can you document {n} with a docstring?
    document {n}
    Document {n}.
    please document {n}
    could you document {n}
    write a docstring for {n}
    Write a docstring for {n}.
    write the docstring of {n}
    write docstring for {n}
    write a short docstring for {n}
    please write a docstring for {n}
    Can you write a docstring for {n}?
    could you write the docstring of {n}
    I want you to write a docstring for {n}
    put a docstring into {n}
    put a docstring in {n}
    put a docstring on {n}
    put a short docstring in {n}
    please put a docstring into {n}
    give {n} a docstring
    Give {n} a docstring.
    please give {n} a docstring
    can you give {n} a docstring?
    give a docstring to {n}
    insert a docstring in {n}
    insert a docstring into {n}
    make a docstring for {n}
    make a docstring in {n}
    create a docstring for {n}
    please create a docstring for {n}
    docstring for {n}
    docstring for {n}, please
    a docstring for {n} please
    {n} docstring please
    {n}: add a docstring
    {n}, add a docstring
    find {n} and add a docstring
    go to {n} and add a docstring
    look up {n} and add a docstring to it
    the function has no docstring: {n}
    add documentation to {n} as a docstring
    describe {n} in a docstring
    please describe {n} in its docstring
    add the docstring {t} to {n}
    Add the docstring {t} to {n}.
    add {t} as the docstring of {n}
    add {t} as a docstring to {n}
    add a docstring to {n}: {t}
    add a docstring {t} to {n}
    add a docstring to {n} that says {t}
    add a docstring to {n} with the text {t}
    add this docstring to {n}: {t}
    please add the docstring {t} to {n}
    can you add the docstring {t} to {n}?
    could you add {t} as the docstring of {n}
    I want the docstring {t} in {n}
    give {n} the docstring {t}
    Give {n} the docstring {t}.
    give {n} a docstring: {t}
    put the docstring {t} into {n}
    put {t} in the docstring of {n}
    put {t} as docstring into {n}
    write the docstring {t} for {n}
    write {t} as the docstring of {n}
    {n} needs the docstring {t}
    {n} should have the docstring {t}
    {n} gets the docstring {t}
    the docstring of {n} should be {t}
    the docstring of {n} should say {t}
    set the docstring of {n} to {t}
    document {n} with {t}
    document {n} with the docstring {t}
    document {n}: {t}
    use {t} as the docstring of {n}
    {n}: docstring {t}
    docstring for {n}: {t}
    insert the docstring {t} in {n}
    supply a docstring to {n}
    provide a docstring for {n}
    please provide a docstring for {n}
    attach a docstring to {n} please
    include a docstring in {n}
    equip {n} with docstring
    fill in the docstring of {n}
    fill in a docstring for {n}
    let {n} get a docstring
    have a docstring added to {n}
    {n} is without a docstring
    {n} comes without a docstring
    {n} does not have a docstring
    {n} doesn't have a docstring yet
    {n} has not got a docstring
    {n} needs documentation, add a docstring
    {n} is not documented, add a docstring
    {n} is undocumented, give it a docstring
    nobody documented {n}, add a docstring
    somebody forgot the docstring of {n}
    I forgot the docstring of {n}
    we forgot to add a docstring to {n}
    the linter wants a docstring in {n}
    where is the docstring of {n}? add one
    why has {n} no docstring? add one
    what about a docstring for {n}?
    is it possible to add a docstring to {n}?
    mind adding a docstring to {n}?
    a docstring would be good for {n}
    make sure {n} has a docstring
    docstring {n}
    add doc to {n}
    add docs to {n}
    doc string for {n}
    the docstring for {n} is {t}
    the docstring of {n} is {t}, add it
    take {t} as the docstring for {n}
    have {t} as docstring in {n}
    {t} is the docstring of {n}
    {t} should be the docstring of {n}
    add {t} under {n} as its docstring
    under {n} add the docstring {t}
    in {n}, add the docstring {t}
    let {n} say {t} in its docstring
    kindly furnish {n} with a docstring
    {n} lacks a docstring
    {n} lacks its docstring, do add one
    {n} deserves a docstring
    {n} cries out for a docstring
    {n} has gone too long without a docstring
    {n} is crying for docs, give it a docstring
    {n} looks naked without a docstring
    {n} stands there with no docstring at all
    {n} ought to carry a docstring
    {n} is supposed to have a docstring but has none
    {n} would profit from a docstring
    {n} would benefit from a one-line docstring
    {n} would be nicer with a docstring
    {n} -- docstring missing
    {n} - add doc string pls
    {n} = no docstring. add.
    {n} no docstring, fix that
    {n}? no docstring. Add it.
    {n} please docstring
    {n} needs docs in its body, a docstring I mean
    {n} is new and has no docstring yet
    docstring missing on {n}
    docstring absent in {n}, add
    docstring wanted: {n}
    docstring needed at {n}
    docstring, {n}, now
    docstring onto {n}
    docstring pls {n}
    one docstring for {n}, thank you
    a brief docstring on {n}, if you would
    a docstring is missing in {n}
    a docstring ought to go into {n}
    a docstring for {n} is what I need
    missing docstring in {n}
    missing docstring: {n}
    no docstring in {n} yet
    no docstring at {n}, can you put one there
    D103 Missing docstring in public function {n}
    pydocstyle complains that {n} has no docstring
    ruff says {n} misses a docstring, please add
    the reviewer asked for a docstring in {n}
    my reviewer insists that {n} gets a docstring
    our style guide demands a docstring on {n}
    CI is red because {n} lacks a docstring, add it
    compose a docstring for {n}
    draft a docstring for {n}
    formulate a docstring for {n}
    come up with a docstring for {n}
    think of a docstring for {n} and add it
    invent a docstring for {n}
    generate docstring for {n}
    generate a docstring for {n}
    produce a docstring for {n}
    prepare a docstring for {n}
    author a docstring for {n}
    craft a concise docstring for {n}
    stick a docstring in {n}
    drop a docstring into {n}
    slap a docstring on {n}
    pop a docstring in {n}
    throw a docstring at {n}
    place a docstring beneath {n}
    place docstring in {n}
    append a docstring to {n}
    tack a docstring on to {n}
    bestow a docstring upon {n}
    grant {n} a docstring
    endow {n} with a docstring
    enrich {n} with a docstring
    extend {n} with a docstring
    decorate {n} with a little docstring
    complete {n} with a docstring
    annotate {n} with a docstring
    adorn {n} with a docstring
    get {n} a docstring
    get a docstring into {n}
    see to it that {n} gets a docstring
    ensure {n} carries a docstring
    docstringify {n}
    do the docstring for {n}
    do the docs of {n}, one docstring is enough
    take care of the missing docstring of {n}
    sort out the missing docstring on {n}
    time to document {n}
    it is time that somebody documents {n}
    somebody should document {n}
    {n} ought to be documented
    {n} wants documenting
    I'd be happy if {n} had a docstring
    I wish {n} had a docstring
    I miss a docstring in {n}
    how about giving {n} a docstring?
    may I have a docstring on {n}?
    might you add a docstring to {n}
    shall we add a docstring to {n}? yes, do it
    when you have a second: docstring for {n}
    before we merge, {n} must get its docstring
    next job: a docstring for {n}
    todo: docstring of {n}
    quick one, docstring for {n}
    Good morning, could you put a docstring on {n}?
    hey can u add docstring 2 {n}
    plz add docstring {n}
    pls write docstring to {n}
    you must to add docstring in {n}
    me need docstring for function {n}
    add at {n} a docstring
    to {n}, add a docstring
    to {n} please add a docstring
    for {n} a docstring, please
    for {n} write a docstring
    into {n} goes a docstring
    inside {n} there should be a docstring, add it
    on {n} I want a docstring
    with {n}, the docstring is missing, so add it
    add a triple quoted docstring to {n}
    add a single sentence docstring to {n}
    add the usual docstring to {n}
    {t} -> docstring of {n}
    {t} as docstring for {n}
    {t}: this goes into the docstring of {n}
    {t} belongs in the docstring of {n}
    {t} would make a good docstring for {n}
    {t} is what the docstring of {n} must say
    {t}, please add that as the docstring of {n}
    {t}. Make it the docstring of {n}.
    {t} please, as a docstring on {n}
    {t} shall become the docstring of {n}
    {n} lacks a docstring, make it {t}
    {n} has no docstring, use {t}
    {n} is undocumented. Its docstring should read {t}
    {n} must be documented as {t}
    {n} shall carry the docstring {t}
    {n} wants the docstring {t}, please
    {n} could do with the docstring {t}
    attach {t} as docstring to {n}
    attach the docstring {t} to {n}
    append {t} to {n} as docstring
    assign {t} as the docstring of {n}
    docstring {t} for {n}
    docstring {t} -> {n}
    docstring = {t}, function = {n}
    docstring of {n} := {t}
    describe {n} as {t} in its docstring
    document {n} by saying {t}
    document {n} like this: {t}
    drop {t} into {n} as the docstring
    enter {t} as docstring of {n}
    fill the docstring of {n} with {t}
    for {n}, the docstring is {t}
    furnish {n} with the docstring {t}
    I'd like {n} to have {t} for a docstring
    I want {t} written as the docstring of {n}
    I wrote a docstring for {n}, it is {t}, put it in
    insert {t} as a docstring below {n}
    kindly let the docstring of {n} be {t}
    make {t} the docstring of {n}
    my text for the docstring of {n}: {t}
    paste {t} into the docstring of {n}
    place the text {t} in {n} as docstring
    stick {t} in {n} as a docstring
    the text {t} should stand in the docstring of {n}
    with {t} as its docstring, {n} would be clear, so add it
    text: {t}, target: {n}, add as docstring
    There's no docstring on {n}, can you fix that?
    {n} lacks its docstring.
    Supply a docstring for {n}.
    provide {n} with a docstring
    How about a docstring for {n}?
    Equip {n} with a docstring, please.
    Would you mind adding a docstring to {n}?
    stick a docstring on {n}
    Get the docstring of {n} written, please.
    let {n} have a docstring
    Nobody wrote a docstring for {n}. Do it.
    Time to document {n} with a docstring.
    all that {n} is missing is a docstring
    Let the docstring of {n} read {t}.
    {t} would be a good docstring for {n}, add it
    Under the def of {n}, put the docstring {t}
    {t} - that goes into {n} as its docstring
""")
