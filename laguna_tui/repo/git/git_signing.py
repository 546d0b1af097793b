"""Signs the newest commit outside of the sandbox, which hides the user's keys and their agent.

A repository's configuration is hostile: which program signs, in which format, and the command that names a key come
from the user's global or the system's configuration alone.
"""

import os
import re
from pathlib import Path

from laguna_engine.native.child import find_program
from laguna_tui.repo.git import repository

_PROGRAMS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}
"""Git's own, by format."""

_SHORT_FOR = {"gpg.program": "gpg.openpgp.program"}
_OWN_SCOPES = ("system", "global")
_HEADERS = ("tree", "parent", "author", "committer", "encoding")
_PERSON = re.compile(r"(.*?) ?<(.*)> (\d+ [+-]\d{4})")
_SIGNATURES = ("gpgsig", "gpgsig-sha256")


class CannotSignError(Exception):
    """The commit could not be signed; why, as a clause."""


def is_wanted(folder: Path) -> bool:
    """Return whether the configuration asks for signed commits."""
    return (repository.query(folder, ("config", "--type=bool", "--get", "commit.gpgSign")) or b"").strip() == b"true"


def sign_head(folder: Path) -> None:
    """Replace the newest commit by the same one with a signature.

    Raises:
        CannotSignError: it was not signed, and nothing was changed.
    """
    head = os.fsdecode(repository.query(folder, ("rev-parse", "--verify", "HEAD")) or b"").strip()
    commit = os.fsdecode(repository.query(folder, ("cat-file", "commit", head)) or b"")
    lines, _, message = commit.partition("\n\n")
    headers = [(name, value) for name, _, value in (line.partition(" ") for line in lines.split("\n"))]
    if any(name in _SIGNATURES for name, _ in headers):
        return
    if not head or not all(name in _HEADERS for name, _ in headers):
        raise CannotSignError("the commit cannot be read, or is a merge of a signed tag")
    fields = dict(headers)
    settings = {**_own_settings(folder), "i18n.commitEncoding": fields.get("encoding", "UTF-8")}
    variables = {**_person(fields["author"], "AUTHOR"), **_person(fields["committer"], "COMMITTER")}
    parents = [word for name, value in headers if name == "parent" for word in ("-p", value)]
    command = ("commit-tree", "-S", *parents, "-F", "-", fields["tree"])
    signed, errors = repository.run_with_keys(folder, command, settings, variables, os.fsencode(message))
    if signed is None:
        raise CannotSignError(" ".join(errors.split()) or "git gives no reason")
    if (
        repository.query(folder, ("update-ref", "-m", "commit: signed", "HEAD", os.fsdecode(signed).strip(), head))
        is None
    ):
        raise CannotSignError("the branch could not be moved to the signed commit")


def take_back(folder: Path, before: str) -> bool:
    """Move the branch back to the commit before the newest one; empty for none. Files and index stay as they are."""
    command = ("update-ref", "-m", "commit: not signed", "HEAD", before) if before else ("update-ref", "-d", "HEAD")
    return repository.query(folder, command) is not None


def _own_settings(folder: Path) -> dict[str, str]:
    """Return the settings with which git signs, as the user or the system has them."""
    listed = repository.query(folder, ("config", "--list", "--show-scope", "-z"))
    if listed is None:
        raise CannotSignError("git does not say where its settings are from; version 2.26 or newer does")
    words = os.fsdecode(listed).split("\0")
    own = dict[str, str]()
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope in _OWN_SCOPES:
            own[_SHORT_FOR.get(key.lower(), key.lower())] = value
    kind = own.get("gpg.format", "openpgp").lower()
    if kind not in _PROGRAMS:
        raise CannotSignError(f"gpg.format {kind} is unknown")
    name = os.path.expanduser(own.get(f"gpg.{kind}.program", _PROGRAMS[kind]))  # noqa: PTH111, "./x" stays relative
    # A relative path would be one in the repository.
    program = find_program(name) if Path(name).is_absolute() or os.sep not in name else None
    if program is None:
        raise CannotSignError(f"the program {name} of your git configuration was not found")
    return {
        "gpg.format": kind,
        "gpg.program": program,
        f"gpg.{kind}.program": program,
        "gpg.ssh.defaultKeyCommand": own.get("gpg.ssh.defaultkeycommand", ""),
    }


def _person(written: str, role: str) -> dict[str, str]:
    found = _PERSON.fullmatch(written)
    if found is None:
        raise CannotSignError(f"the commit's {role.lower()} cannot be read")
    name, email, date = found.groups()
    return {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email, f"GIT_{role}_DATE": f"@{date}"}
