"""Files that hold secrets, by name: a model neither reads nor changes them unless a rule of the user's names them.

Judged by the path alone, as file systems that ignore case see it. No file is opened.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise

from laguna_tui.repo.files.protected_paths import folded

# Folders whose whole contents are secret; "a/b" are folders in sequence.
_FOLDERS = """
    .ssh .aws .gnupg .azure .password-store .secrets .config/gcloud .config/gh .config/hub
"""
PRIVATE_KEYS = "holds private keys"
"""The reason for files that are often certificates or belong to a test."""
# Names of files anywhere; "a/b" is a file in a folder.
_FILES: dict[str, str] = {
    "holds the settings and secrets of an environment": ".env .env.* *.env .envrc .flaskenv",
    PRIVATE_KEYS: """
        id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.pem *.key *.p12 *.pfx *.pkcs12 *.jks *.keystore
        *.ppk *.kdbx *.kdb *.agekey secring.*
    """,
    "holds credentials": """
        .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .dockercfg .vault-token .s3cfg .boto
        .databrickscfg .terraformrc credentials.json credentials.toml credentials.y*ml client_secret*.json
        application_default_credentials.json service-account*.json service_account*.json serviceaccount*.json
        *-service-account.json kubeconfig *.kubeconfig kubeconfig.y*ml secrets.json secrets.toml secrets.y*ml
        *.secrets.json *.tfstate *.tfstate.backup .docker/config.json .kube/config
        .cargo/credentials .gem/credentials .bundle/config
        .composer/auth.json
    """,
}
_UNREADABLE = "{path} {why}, so it is neither read nor changed; go on without it, or ask the user for what you need"
_FOLDER_REASON = "is in a folder of credentials"
# Public keys, examples without secrets, and expressions of programming languages.
_PUBLIC = """
    .env.example .env.*.example .env.sample .env.*.sample .env.template .env.*.template .env.dist .env.*.dist
    .env.schema example.env sample.env template.env *.pub *.pub.pem *public*.pem *public*.key cacert.pem
    process.env meta.env import.meta.env
"""


@lru_cache(maxsize=50_000)
def sensitive_reason(path: str) -> str:
    """Return why a file is taken for one with secrets, as a clause; empty for every other file.

    Args:
        path: With slashes between its parts; absolute, or relative to any folder.
    """
    parts = [folded(part) for part in path.split("/") if part]
    if not parts:
        return ""
    secret_folder = _one_of(_FOLDERS)
    if any(secret_folder(part) or secret_folder(f"{outer}/{part}") for outer, part in pairwise(["", *parts[:-1]])):
        return _FOLDER_REASON
    name, with_folder = parts[-1], "/".join(parts[-2:])
    if _one_of(_PUBLIC)(name):
        return ""
    for why, names in _FILES.items():
        if _one_of(names)(name) or _one_of(names)(with_folder):
            return why
    return ""


def sensitive_names() -> tuple[str, ...]:
    """Return names and globs of which every sensitive file, or the sensitive folder that it is in, matches one."""
    return tuple(name.rpartition("/")[2] for names in (_FOLDERS, *_FILES.values()) for name in names.split())


def unreadable_reason(path: str) -> str:
    """Return why a file is not shown to a model, a sentence for it; empty for every file without secrets."""
    why = sensitive_reason(path)
    return _UNREADABLE.format(path=path, why=why) if why else ""


@cache
def _one_of(names: str) -> Callable[[str], re.Match[str] | None]:
    """Return a matcher of whole names that match one of the globs."""
    globs = (re.escape(name.casefold()).replace(r"\*", "[^/]*") for name in names.split())
    return re.compile("|".join(globs)).fullmatch
