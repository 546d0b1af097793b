"""Short forms of words that are common in code: who asks for a configuration finds `cfg`, and the other way.

A fixed table of what programmers in general write. A short form that as often stands for another word (res: response,
result) is not in it.
"""

from laguna_tui.repo.search.identifiers import stem

# A word and its short forms on each line.
_TABLE = """
    argument arg args
    parameter param params
    attribute attr attrs
    authentication auth
    buffer buf
    button btn
    calculate calc
    callback cb
    character char chr
    command cmd
    column col
    configuration config cfg conf
    connection conn
    context ctx
    current cur curr
    database db
    destination dest dst
    dictionary dict
    directory dir
    document doc
    element elem
    environment env
    error err
    exception exc
    execute exec
    expression expr
    extension ext
    function func fn
    generate gen
    header hdr
    image img
    implementation impl
    index idx
    information info
    initialize init
    instance inst
    integer int
    iterator iter
    language lang
    length len
    library lib
    manager mgr
    maximum max
    memory mem
    message msg
    minimum min
    number num
    object obj
    package pkg
    password passwd pwd
    pointer ptr
    position pos
    previous prev
    private priv
    process proc
    property prop props
    public pub
    random rand
    receive recv
    reference ref
    repository repo
    request req
    response resp
    separator sep
    sequence seq
    server srv
    signature sig
    source src
    specification spec
    standard std
    statistics stats
    string str
    structure struct
    symbol sym
    synchronize sync
    system sys
    table tbl
    template tmpl tpl
    temporary tmp temp
    text txt
    token tok
    transaction txn
    user usr
    utility util utils
    value val
    variable var
    vector vec
    ssl tls
    version ver
    window win
    declaration decl
    definition def
    description desc
    allocate alloc
    boolean bool
    delete del
    application app
    administrator admin
    binary bin
"""
_GROUPS = tuple(tuple(dict.fromkeys(map(stem, line.split()))) for line in _TABLE.split("\n") if line)
_FULL = {form: forms[0] for forms in _GROUPS for form in forms}
_OTHERS = {form: tuple(other for other in forms if other != form) for forms in _GROUPS for form in forms}


def in_full(stemmed: str) -> str:
    """Return the stem of the word that a stem is a short form of, else the stem itself."""
    return _FULL.get(stemmed, stemmed)


def other_forms(stemmed: str) -> tuple[str, ...]:
    return _OTHERS.get(stemmed, ())
