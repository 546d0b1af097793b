"""What a session may do without asking: the user's rules, the mode, and what neither of them can change.

The first of these that applies decides: a rule that denies, files with secrets, plan mode, what is always asked about,
a rule that asks, a missing sandbox, a rule that allows, the mode. How specific a rule is and where it stands makes no
difference. Only the user changes rules and mode, never the text of a request.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from threading import RLock

from laguna_tui.agent.permissions.command_patterns import Match, suggestion, words_in
from laguna_tui.agent.permissions.modes import NO_SANDBOX, PLAN_MODE, PLANNING, Effect, RequestKind, Verdict, by_mode
from laguna_tui.agent.permissions.rule_file import (
    RuleFile,
    append_rule,
    read_repository_rules,
    read_user_rules,
    write_check,
    wrong_check,
)
from laguna_tui.agent.permissions.rules import (
    PATH_TOOLS,
    READ,
    SHELL,
    Rule,
    RuleError,
    RuleSet,
    Subject,
    allows,
    command_path_rules,
    is_inside,
    names_secrets,
    parse_rule,
    reading_restricted,
    restricts,
    subject_of,
)
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.permission_request import CommandProposal, Mode, PermissionRequest
from laguna_tui.repo.files.sensitive_paths import sensitive_reason, unreadable_reason

# Names that a wildcard in a command is tried on; a word that begins with one mostly means other files.
_SECRETS = (".env", ".env.local", ".envrc", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "credentials.json")
_WILDCARDS = frozenset("*?")
_DENIED = "the rule {rule} forbids it"
_WITHOUT, _SAY = "; go on without it", "; go on without it, or say what you need it for"
_SECRET_NAMED = "the command names {path}, which {why}"
_OWN = "these are laguna-tui's own settings, which only the user changes"
_ALWAYS = "it always needs approval: {why}"
_OUTSIDE = "the path is outside the folder"
_ASKS = "the rule {rule} requires approval"
_MAYBE = "what it runs cannot be known in advance, and the rule {rule} restricts commands"
_ALLOWED = "the rule {rule} allows it"
_READ_ASKS = "the rule {rule} restricts reading it, and reading is never asked about; go on without it"
_NOT_ASKED = "{why}, and nobody can be asked here"
_NOT_ASKED_MODEL = "{why}{flag}; go on without it, and tell the user"
_FLAG = " (the user can allow it with {flag})"
_NO_FLAG = " (no flag allows it: the user has to start laguna-tui in a terminal)"
_MODE_REFUSED = "the mode {mode} is not available now: {broken}"
_UNUSABLE_RULE = "{flag} {error}"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a verdict depends on besides the request.

    Attributes:
        rules: All rules in force.
        mode: The session's mode.
        sandboxed: Whether a sandbox confines commands.
        broken: Why a rule file cannot be read, a sentence; nothing is allowed then. Empty if all can.
        settings: Laguna-tui's own settings, files and folders without links in their paths.
    """

    rules: RuleSet
    mode: Mode
    sandboxed: bool
    broken: str = ""
    settings: tuple[Path, ...] = ()


class Permissions:
    """The permissions of one session. Thread-safe.

    Attributes:
        headless: Whether the user cannot be asked, so that what would be asked about is denied.
    """

    def __init__(
        self,
        root: Path,
        *,
        mode: Mode = Mode.ASK,
        rules_path: Path | None = None,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        sandboxed: Callable[[], bool] = lambda: False,
        headless: bool = False,
        identity: FolderIdentity | None = None,
    ) -> None:
        """Read the rules.

        Args:
            root: The workspace's folder, without links in its path.
            mode: The mode to begin with.
            rules_path: The user's rule file; None for none.
            allow: Rules for this session only, as given on the command line.
            deny: Likewise.
            sandboxed: Returns whether a sandbox confines commands; called for each command.
            headless: Whether the user cannot be asked.
            identity: Tells the folder from another one that takes its place.

        Raises:
            UserError: A rule of the command line is invalid, or a broken rule file rules out the mode.
        """
        self.headless = headless
        self._root = root
        self._rules_path = rules_path
        self._sandboxed = sandboxed
        self._lock = RLock()
        self._settings = _settings(rules_path) if rules_path else ()
        self._session = RuleSet(_given("--allow", allow), frozenset(), _given("--deny", deny))
        # Read once, so that the model cannot loosen it by a later change.
        self._repository = read_repository_rules(root, identity)
        self._user, self._stamp = RuleFile(), _NEVER
        self._check: str | None = None
        self._mode = Mode.ASK
        self.mode = mode

    @property
    def mode(self) -> Mode:
        """The mode; setting it raises UserError for one that allows more while a rule file is broken."""
        with self._lock:
            return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        with self._lock:
            broken = self._circumstances().broken
            if broken and mode in (Mode.ACCEPT_EDITS, Mode.AUTO):
                raise UserError(_MODE_REFUSED.format(mode=mode.value, broken=broken))
            self._mode = mode

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the rule files."""
        with self._lock:
            self._refresh()
            return (*self._user.notes, *self._repository.notes)

    @property
    def check(self) -> str | None:
        """The command chosen to check the project, empty for none; None if nothing was chosen."""
        with self._lock:
            self._refresh()
            return self._user.check if self._check is None else self._check

    def choose_check(self, command: str) -> None:
        """Set the command that checks the project, and write it to the user's file for this folder.

        Raises:
            UserError: It is not such a command; or it cannot be written, and applies to this session only.
        """
        if wrong := wrong_check(command):
            raise UserError(wrong)
        with self._lock:
            self._check = command
        if self._rules_path is not None:
            write_check(self._rules_path, self._root, command)
            with self._lock:
                # From now on the file counts, which the user may edit.
                self._check = None

    def decide(self, request: PermissionRequest) -> Verdict:
        """Return the decision about a request."""
        with self._lock:
            now = self._circumstances(request)
        verdict = judge(request, self._root, now)
        if verdict.effect is Effect.ASK and self.headless:
            flag = _flag(request, self._root, now)
            hint = _FLAG.format(flag=flag) if flag else _NO_FLAG
            why = _NOT_ASKED.format(why=verdict.why)
            return Verdict(Effect.DENY, why, verdict.rule, flag, _NOT_ASKED_MODEL.format(why=why, flag=hint))
        return verdict

    def suggest(self, request: PermissionRequest) -> str:
        """Return the rule that ALWAYS writes for a request; empty if none would allow it."""
        with self._lock:
            now = self._circumstances(request)
        return suggested(request, self._root, now)

    def allow_always(self, rule: str) -> None:
        """Put an allowing rule in force, and write it to the user's file for this folder.

        Raises:
            UserError: It is not a rule; or it cannot be written, and applies to this session only.
        """
        try:
            parsed = parse_rule(rule, str(self._root))
        except RuleError as error:
            raise UserError(str(error)) from error
        with self._lock:
            self._session = self._session.with_rules(allow=(parsed,))
        if self._rules_path is not None:
            append_rule(self._rules_path, self._root, rule)

    def readable(self, path: str) -> str:
        """Return why a file may not be read, a sentence for the model; empty if it may.

        Args:
            path: Relative to the folder, without links (`Workspace.locate`).
        """
        with self._lock:
            rules = self._circumstances().rules
        subject = Subject(READ, RequestKind.READ, self._root, (path,))
        for rule in sorted(rules.deny | rules.ask):
            if restricts(rule, subject):
                return _READ_ASKS.format(rule=rule.text)
        return next(map(unreadable_reason, _secrets(subject, rules)), "")

    def command_path_rules(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return globs of what rules keep commands from reading, and from changing, relative to the folder."""
        with self._lock:
            return command_path_rules(self._circumstances().rules, self._root)

    def _circumstances(self, request: PermissionRequest | None = None) -> Circumstances:
        # Only for commands: probing takes a moment.
        sandboxed = request is not None and isinstance(request.proposal, CommandProposal) and self._sandboxed()
        self._refresh()
        mine, theirs, session = self._user.rules, self._repository.rules, self._session
        return Circumstances(
            rules=mine.with_rules(session.allow, theirs.ask, session.deny | theirs.deny),
            mode=self._mode,
            sandboxed=sandboxed,
            broken=self._user.broken or self._repository.broken,
            settings=self._settings,
        )

    def _refresh(self) -> None:
        """Read the user's file again if it changed: edited by hand, or by another session's approval."""
        if self._rules_path is None:
            return
        stamp = _stamp(self._rules_path)
        if stamp != self._stamp:
            self._user, self._stamp = read_user_rules(self._rules_path, self._root), stamp


def _settings(rules_path: Path) -> tuple[Path, ...]:
    """Return the settings folder and the rule file, which may be a link to elsewhere."""
    return Path(os.path.realpath(rules_path.parent)), Path(os.path.realpath(rules_path))


_NEVER = (-1, -1, -1)


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return what distinguishes versions of a file."""
    try:
        status = path.stat()
    except OSError as error:
        return (error.errno or 0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _given(flag: str, texts: Iterable[str]) -> frozenset[Rule]:
    try:
        return frozenset(map(parse_rule, texts))
    except RuleError as error:
        raise UserError(_UNUSABLE_RULE.format(flag=flag, error=error)) from error


def judge(request: PermissionRequest, root: Path, now: Circumstances) -> Verdict:
    """Return the decision about a request, if the user can be asked."""
    subject = subject_of(request, root)
    verdict = next(_verdicts(request, subject, now))
    if verdict.effect is Effect.ALLOW and now.broken:
        return Verdict(Effect.ASK, now.broken)
    return verdict


def _verdicts(request: PermissionRequest, subject: Subject, now: Circumstances) -> Iterator[Verdict]:
    """Yield the verdicts that apply, the deciding one first."""
    yield from _denials(subject, now)
    always = request.approval_reason
    if isinstance(request.proposal, ChangeProposal):
        always = always or request.proposal.approval_reason
    if always:
        yield Verdict(Effect.ASK, _ALWAYS.format(why=always))
    yield from _questions(subject, now)
    for rule in sorted(now.rules.allow):
        if allows(rule, subject):
            yield Verdict(Effect.ALLOW, _ALLOWED.format(rule=rule.text), rule.text)
    for rule in sorted(now.rules.deny | now.rules.ask):
        if restricts(rule, subject) is Match.MAYBE:
            yield Verdict(Effect.ASK, _MAYBE.format(rule=rule.text), rule.text)
    yield by_mode(now.mode, subject.kind, now.sandboxed)


def _denials(subject: Subject, now: Circumstances) -> Iterator[Verdict]:
    matching = (rule for rule in sorted(now.rules.deny) if restricts(rule, subject) is Match.YES)
    for rule in (*matching, *reading_restricted(now.rules, subject)):
        why = _DENIED.format(rule=rule.text)
        yield Verdict(Effect.DENY, why, rule.text, for_model=why + _SAY)
    for path in subject.paths:
        whole = Path(os.path.normpath(subject.root / path))
        if any(map(whole.is_relative_to, now.settings)):
            yield Verdict(Effect.DENY, _OWN, for_model=_OWN + _WITHOUT)
    for path in _secrets(subject, now.rules):
        why = f"{path} {sensitive_reason(path)}"
        yield Verdict(Effect.DENY, why, for_model=unreadable_reason(path))
    if now.mode is Mode.PLAN:
        yield Verdict(Effect.DENY, PLAN_MODE, for_model=PLANNING)


def _questions(subject: Subject, now: Circumstances) -> Iterator[Verdict]:
    """Yield reasons to ask even if a rule allows it."""
    if not all(map(is_inside, subject.paths)):
        yield Verdict(Effect.ASK, _OUTSIDE)
    for rule in sorted(now.rules.ask):
        if restricts(rule, subject) is Match.YES:
            yield Verdict(Effect.ASK, _ASKS.format(rule=rule.text), rule.text)
    if subject.kind is RequestKind.COMMAND:
        for path, why in secrets_named(subject.command):
            yield Verdict(Effect.ASK, _SECRET_NAMED.format(path=path, why=why))
        if not now.sandboxed:
            yield Verdict(Effect.ASK, NO_SANDBOX)


def secrets_named(command: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a command that may be files with secrets, each with the reason: always asked about."""
    for word in words_in(command):
        if why := _secret_named(word):
            yield word, why


def _secret_named(word: str) -> str:
    """Return why a word of a command may be a file with secrets, as a clause; empty if it is not."""
    name = word.rpartition("/")[2]
    if _WILDCARDS.isdisjoint(name) or name[0] in _WILDCARDS:
        return sensitive_reason(word)
    return next((sensitive_reason(secret) for secret in _SECRETS if fnmatchcase(secret, name)), "")


def _secrets(subject: Subject, rules: RuleSet) -> Iterator[str]:
    """Yield the paths that must not be used because of secrets, unless a rule that names such files allows it."""
    if not any(names_secrets(rule) and allows(rule, subject) for rule in rules.allow):
        yield from filter(sensitive_reason, subject.paths)


def suggested(request: PermissionRequest, root: Path, now: Circumstances) -> str:
    """Return the rule that would allow a request that is asked about; empty if none would, or none should."""
    text = _candidate(subject_of(request, root))
    if not text or judge(request, root, now).effect is not Effect.ASK:
        return ""
    try:
        rule = parse_rule(text, str(root))
    except RuleError:
        return ""
    with_it = replace(now, rules=now.rules.with_rules(allow=(rule,)))
    return text if judge(request, root, with_it).effect is Effect.ALLOW else ""


def _candidate(subject: Subject) -> str:
    if subject.kind is RequestKind.COMMAND:
        words = suggestion(subject.command)
        return f"{SHELL}({words})" if words else ""
    if subject.kind is RequestKind.OTHER:
        return subject.tool
    path = subject.paths[0]
    if subject.change is ChangeKind.MOVE or subject.tool not in PATH_TOOLS or any(map(path.__contains__, "*?")):
        return ""
    return f"{subject.tool}({path})"


def _flag(request: PermissionRequest, root: Path, now: Circumstances) -> str:
    """Return the flag to start the app with so that a request is allowed; empty if there is none."""
    rule = suggested(request, root, now)
    if rule:
        return f"--allow {shlex.quote(rule)}"
    for mode in (Mode.ACCEPT_EDITS, Mode.AUTO):
        if judge(request, root, replace(now, mode=mode)).effect is Effect.ALLOW:
            return f"--mode {mode.value}"
    return ""
