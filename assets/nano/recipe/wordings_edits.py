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
""")
