"""The SQLite file of one folder's index: its path, its tables, and its errors.

A file that is damaged, older or of another version is deleted and built again: everything in it can be read from the
folder once more. Where no file can be written, the index lives in memory and says so.
"""

import os
import shutil
import sqlite3
from hashlib import blake2b
from pathlib import Path

import platformdirs

_APP = "laguna-tui"
FOLDER_VARIABLE = "LAGUNA_TUI_INDEX"
"""Environment variable that moves the folder of the indexes."""
VERSION = 8
"""Version of the tables and their content; an index of another one is built again. Grammars and their queries have
versions of their own (`tag_queries.fingerprints`): when one changes, its files are parsed again."""
_APPLICATION_ID = 0x4C61_6758
# An index is about as large as the source it covers.
MAX_BYTES = 2 * 1024**3
_PAGE_BYTES = 8192
# Another process may be writing one batch of files, which takes far less.
_BUSY_S = 10.0
# A reader waits only while the log of a killed process is recovered.
_READ_S = 2.0
# Total of all folders' indexes; the least recently used ones are deleted.
KEPT_BYTES = 4 * 1024**3
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_COMPANIONS = ("", "-wal", "-shm")

_SCHEMA = """
create table meta (key text primary key, value) without rowid;
create table files (
    id integer primary key, path blob unique not null, size integer not null, mtime_ns integer not null,
    digest blob, language text not null, exact integer not null, text integer not null
);
create table names (id integer primary key, name text unique not null);
create table symbols (
    id integer primary key, file integer not null, name integer not null, qualified text not null, kind text not null,
    start integer not null, stop integer not null, body integer not null, line integer not null, end integer not null,
    signature text not null
);
create index symbols_by_file on symbols (file);
create index symbols_by_name on symbols (name);
create table units (
    id integer primary key, file integer not null, symbol integer, title text not null, line integer not null,
    end integer not null, spans text not null
);
create index units_by_file on units (file);
create index units_by_symbol on units (symbol);
create table refs (file integer, name integer, count integer not null, primary key (file, name)) without rowid;
create index refs_by_name on refs (name);
create table imports (file integer, path text, primary key (file, path)) without rowid;
create table graph (file integer primary key, rank real not null, targets blob not null, weights blob not null);
create table blocks (id integer primary key, units integer not null, words integer not null, lengths blob not null);
create table postings (
    block integer, word text, places blob not null, weights blob not null, primary key (block, word)
) without rowid;
"""


# With less free space, a disk that refuses to write is full, whatever error it reports (quotas, copy on write).
_NO_ROOM_BYTES = 1024 * 1024
# Extended result codes contain the plain one in their lowest byte.
_PLAIN_CODE = 0xFF

DISK_FULL = "the disk is full, so the index {path} cannot be written; free some disk space"
IN_USE = "another program is using the index {path} ({error}); try again when it has ended"
NOT_WRITTEN = "the index {path} cannot be written ({error}); make its folder writable, or set {variable} to another one"
UNUSABLE = "the index cannot be used ({error}); run: laguna-tui index --rebuild"
_REFUSED_CODES = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


class IndexFault(Exception):
    """The file cannot be used; the message says why."""


def is_full(error: sqlite3.Error, path: Path | None) -> bool:
    """Return whether there is no room for the index: on the disk, or below its own size limit."""
    code = getattr(error, "sqlite_errorcode", 0) & _PLAIN_CODE
    if code == sqlite3.SQLITE_IOERR and path is not None:
        return shutil.disk_usage(path.parent).free < _NO_ROOM_BYTES
    return code == sqlite3.SQLITE_FULL


def explained(error: sqlite3.Error, path: Path | None) -> str:
    """Return why the index cannot be used now, and what to do, as a sentence."""
    code = getattr(error, "sqlite_errorcode", 0) & _PLAIN_CODE
    if is_full(error, path):
        sentence = DISK_FULL
    elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        sentence = IN_USE
    else:
        sentence = NOT_WRITTEN if code in _REFUSED_CODES else UNUSABLE
    return sentence.format(path=path or "in memory", error=error, variable=FOLDER_VARIABLE)


def path_of(connection: sqlite3.Connection) -> Path | None:
    """Return the file of an open index; None for one in memory."""
    path = connection.execute("pragma database_list").fetchone()[2]
    return Path(path) if path else None


def max_pages() -> int:
    return MAX_BYTES // _PAGE_BYTES


def index_folder() -> Path:
    """Return the folder of the indexes: in the cache, because every index can be built again."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path(_APP) / "index"


def index_path(root: Path, folder: Path | None = None) -> Path:
    """Return the index file of a folder, by the folder's real path."""
    digest = blake2b(os.fsencode(root.resolve()), digest_size=12).hexdigest()
    return (folder or index_folder()) / f"{digest}.sqlite"


def connect(path: Path | None) -> sqlite3.Connection:
    """Open an index with all its tables; None opens one in memory.

    Raises:
        IndexFault: The file is damaged, or of another version.
        OSError, sqlite3.OperationalError: The file or its folder cannot be written.
    """
    if path is not None:
        _prepare(path)
    connection = sqlite3.connect(
        ":memory:" if path is None else path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        _set_up(connection)
    except sqlite3.OperationalError:
        connection.close()
        raise
    except sqlite3.DatabaseError as error:
        connection.close()
        raise IndexFault(str(error)) from error
    except IndexFault:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open an existing index for reading only; the connection may move from thread to thread.

    Raises:
        IndexFault: It is of another version.
        sqlite3.Error: There is none, or it is damaged.
    """
    address = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=_READ_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("pragma query_only = on")
        _tune(connection)
        if (found := _marks(connection)) != (_APPLICATION_ID, VERSION):
            raise IndexFault(f"it has version {found[1]}, not {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def remove(path: Path) -> None:
    for ending in _COMPANIONS:
        Path(f"{path}{ending}").unlink(missing_ok=True)


def prune(kept: Path) -> None:
    """Delete the least recently used indexes until the others fit into `KEPT_BYTES`."""
    try:
        found = [(file.stat().st_mtime, file.stat().st_size, file) for file in kept.parent.glob("*.sqlite")]
        room = KEPT_BYTES
        for _, size, file in sorted(found, reverse=True):
            room -= size
            if room < 0 and file != kept:
                remove(file)
    except OSError:
        return  # another process prunes too, or may not; there is nothing to do about it


def _prepare(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    # Created here, so that nobody else can read it from its first byte on.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _PRIVATE_FILE))
    os.utime(path)


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute(f"pragma page_size = {_PAGE_BYTES}")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    connection.execute(f"pragma max_page_count = {max_pages()}")
    _tune(connection)
    if _marks(connection) == (_APPLICATION_ID, VERSION):
        return
    # Another process may be creating the same tables right now: the second one finds them.
    connection.execute("begin immediate")
    try:
        _make_tables(connection)
    finally:
        connection.execute("commit")


def _tune(connection: sqlite3.Connection) -> None:
    connection.execute("pragma mmap_size = 268435456")
    connection.execute("pragma temp_store = memory")


def _make_tables(connection: sqlite3.Connection) -> None:
    found = _marks(connection)
    if found == (_APPLICATION_ID, VERSION):
        return
    if connection.execute("select count(*) from sqlite_master").fetchone()[0]:
        raise IndexFault(f"it has version {found[1]}, not {VERSION}")
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement)
    connection.execute(f"pragma application_id = {_APPLICATION_ID}")
    connection.execute(f"pragma user_version = {VERSION}")


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the application id and version of the file."""
    return tuple(connection.execute(f"pragma {name}").fetchone()[0] for name in ("application_id", "user_version"))
