"""What is made from `packaging/pylock.toml`: the SBOM, a Homebrew formula, and the files of an AUR package.

The lock (PEP 751) names every dependency's version with the hashes of all its files: `make lock` writes it.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker

LOCK = Path(__file__).resolve().parent / "pylock.toml"
NAME, FILE_NAME = "laguna-tui", "laguna_tui"
SUMMARY = "Coding assistant for your terminal, with the model inside it"
RELEASES: str = tomllib.loads((LOCK.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"][
    "Releases"
]
"""Address of the release page."""
HOMEPAGE = RELEASES.removesuffix("/releases")
LICENSE = "Apache-2.0"
BREW_PYTHON = "3.13"
_PLATFORMS = ("linux", "darwin")


@dataclass(frozen=True, slots=True)
class Locked:
    """A dependency.

    Attributes:
        name: Of the distribution.
        version: The locked one.
        marker: Where it is needed; empty for everywhere.
        url: Address of its sdist.
        sha256: Of the sdist.
        hashes: SHA-256 of the sdist and of every wheel.
    """

    name: str
    version: str
    marker: str
    url: str
    sha256: str
    hashes: tuple[str, ...]

    def needed(self, platform: str, python: str = BREW_PYTHON) -> bool:
        """Whether it is needed on a platform, as `sys.platform` names it."""
        environment = {"sys_platform": platform, "python_version": python, "python_full_version": f"{python}.0",
                       "platform_system": {"darwin": "Darwin", "linux": "Linux"}[platform]}  # fmt: skip
        return not self.marker or Marker(self.marker).evaluate(environment)


def read_lock(path: Path = LOCK) -> list[Locked]:
    """Return the dependencies, sorted by name."""
    found = []
    for package in tomllib.loads(path.read_text(encoding="utf-8"))["packages"]:
        files = [package["sdist"], *package.get("wheels", [])]
        hashes = tuple(file["hashes"]["sha256"] for file in files)
        found.append(
            Locked(
                package["name"], package["version"], package.get("marker", ""), package["sdist"]["url"], hashes[0],
                hashes,
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: each.name)


def sbom(version: str, locked: Sequence[Locked], models: Mapping[str, Path]) -> str:
    """Return a CycloneDX 1.6 document: the dependencies, and the bundled models by their file names."""
    component = {"type": "application", "name": NAME, "version": version, "purl": f"pkg:pypi/{NAME}@{version}",
                 "licenses": [{"license": {"id": LICENSE}}]}  # fmt: skip
    libraries = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{each.name}@{each.version}",
            "name": each.name,
            "version": each.version,
            "purl": f"pkg:pypi/{each.name}@{each.version}",
            "hashes": [{"alg": "SHA-256", "content": each.sha256}],
            "externalReferences": [{"type": "distribution", "url": each.url}],
        }
        for each in locked
    ]
    bundled = [
        {
            "type": "machine-learning-model",
            "bom-ref": name,
            "name": name,
            "version": version,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        }
        for name, path in sorted(models.items())
    ]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": component},
                "components": [*libraries, *bundled]}  # fmt: skip
    return json.dumps(document, indent=1) + "\n"


def file_url(version: str, name: str) -> str:
    """Return the address of a file of a release."""
    return f"{RELEASES}/download/v{version}/{name}"


def sdist_url(version: str) -> str:
    """Return the address of this project's sdist."""
    return file_url(version, f"{FILE_NAME}-{version}.tar.gz")


def homebrew(version: str, sha256: str, locked: Sequence[Locked]) -> str:
    """Return the formula; every dependency is a resource with its hash. sha256: of the sdist."""
    wanted = [each for each in locked if any(map(each.needed, _PLATFORMS))]
    resources = "\n".join(
        f'\n  resource "{each.name}" do\n    url "{each.url}"\n    sha256 "{each.sha256}"\n  end' for each in wanted
    )
    return f'''class LagunaTui < Formula
  include Language::Python::Virtualenv

  desc "{SUMMARY}"
  homepage "{HOMEPAGE}"
  url "{sdist_url(version)}"
  sha256 "{sha256}"
  license "{LICENSE}"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "rust" => :build
  depends_on "python@{BREW_PYTHON}"
{resources}

  def install
    virtualenv_install_with_resources
    man1.install_symlink libexec/"share/man/man1/laguna-tui.1"
    bash_completion.install_symlink libexec/"share/bash-completion/completions/laguna-tui"
    zsh_completion.install_symlink libexec/"share/zsh/site-functions/_laguna-tui"
    fish_completion.install_symlink libexec/"share/fish/vendor_completions.d/laguna-tui.fish"
  end

  test do
    assert_match "laguna-tui {version}", shell_output("#{{bin}}/laguna-tui --version")
  end
end
'''


def requirements(locked: Sequence[Locked]) -> str:
    """Return the lock as pip's requirements with hashes."""
    lines = []
    for each in locked:
        marker = f" ; {each.marker}" if each.marker else ""
        hashes = "".join(f" \\\n    --hash=sha256:{one}" for one in each.hashes)
        lines.append(f"{each.name}=={each.version}{marker}{hashes}")
    return "\n".join(lines) + "\n"


def pkgbuild(version: str, sha256: str, lines: str) -> str:
    """Return the PKGBUILD. sha256: of the sdist. lines: of `requirements`, a file beside it."""
    return f"""pkgname={NAME}
pkgver={version}
pkgrel=1
pkgdesc="{SUMMARY}"
arch=(x86_64 aarch64)
url="{HOMEPAGE}"
license=({LICENSE})
depends=(python git gcc-libs)
makedepends=(python-pip cmake ninja)
optdepends=('bubblewrap: commands in a sandbox')
options=(!strip)
source=("{sdist_url("$pkgver")}" requirements.txt)
sha256sums=({sha256}
            {hashlib.sha256(lines.encode()).hexdigest()})

package() {{
  local target="$pkgdir/usr/lib/{NAME}"
  python -P -m pip install --no-warn-script-location --require-hashes --no-deps --target "$target" -r requirements.txt
  python -P -m pip install --no-deps --target "$target" "./{FILE_NAME}-$pkgver"
  rm -rf "$target/bin"
  install -dm755 "$pkgdir/usr"
  mv "$target/share" "$pkgdir/usr/share"
  install -Dm755 /dev/stdin "$pkgdir/usr/bin/{NAME}" <<'END'
#!/bin/sh
PYTHONPATH=/usr/lib/{NAME} exec /usr/bin/python -P -m {FILE_NAME} "$@"
END
}}
"""


def srcinfo(version: str, sha256: str, lines: str) -> str:
    """Return the `.SRCINFO` of the PKGBUILD."""
    fields = [
        ("pkgdesc", SUMMARY), ("pkgver", version), ("pkgrel", "1"), ("url", HOMEPAGE),
        ("arch", "x86_64"), ("arch", "aarch64"), ("license", LICENSE), ("makedepends", "python-pip"),
        ("makedepends", "cmake"), ("makedepends", "ninja"), ("depends", "python"), ("depends", "git"),
        ("depends", "gcc-libs"), ("optdepends", "bubblewrap: commands in a sandbox"), ("options", "!strip"),
        ("source", sdist_url(version)), ("source", "requirements.txt"), ("sha256sums", sha256),
        ("sha256sums", hashlib.sha256(lines.encode()).hexdigest()),
    ]  # fmt: skip
    return f"pkgbase = {NAME}\n" + "".join(f"\t{key} = {value}\n" for key, value in fields) + f"\npkgname = {NAME}\n"
