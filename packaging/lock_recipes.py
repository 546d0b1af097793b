"""What is made from `packaging/pylock.toml`: the SBOM, a Homebrew formula, an AUR package's files, a flake's sources.

The lock (PEP 751) names every dependency's version with the hashes of all its files: `make lock` writes it.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

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
_NIX_SYSTEMS = {
    "x86_64-linux": ("linux", [f"manylinux_2_{minor}_x86_64" for minor in range(39, 4, -1)]),
    "aarch64-linux": ("linux", [f"manylinux_2_{minor}_aarch64" for minor in range(39, 16, -1)]),
    "aarch64-darwin": (
        "darwin",
        [f"macosx_{major}_0_{kind}" for major in range(14, 10, -1) for kind in ("arm64", "universal2")],
    ),
}
"""Platforms of wheels that run on each system, the best first."""


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
        wheels: Address and SHA-256 of every wheel, by its file name.
    """

    name: str
    version: str
    marker: str
    url: str
    sha256: str
    hashes: tuple[str, ...]
    wheels: Mapping[str, tuple[str, str]]

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
        wheels = {PurePosixPath(file["url"]).name: (file["url"], file["hashes"]["sha256"]) for file in files[1:]}
        found.append(
            Locked(
                package["name"], package["version"], package.get("marker", ""), package["sdist"]["url"], hashes[0],
                hashes, wheels,
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


def nix_sources(version: str, wheel: str, sha256: str, locked: Sequence[Locked]) -> str:
    """Return `sources.json` of the flake: the files that each system needs, with their hashes.

    Args:
        wheel: File name of this project's wheel.
        sha256: Of it.
    """
    ours = {"name": wheel, "url": file_url(version, wheel), "sha256": sha256}
    python = tuple(map(int, BREW_PYTHON.split(".")))
    sources = {}
    for system, (platform, platforms) in _NIX_SYSTEMS.items():
        tags = [*cpython_tags(python, platforms=platforms), *compatible_tags(python, platforms=platforms)]
        files = (_best_file(each, tags) for each in locked if each.needed(platform))
        sources[system] = [ours, *files]
    return json.dumps(sources, indent=1) + "\n"


def _best_file(locked: Locked, tags: Sequence[Tag]) -> dict[str, str]:
    """Return the wheel that fits the first of these tags, or the sdist."""
    by_tag = {tag: name for name in locked.wheels for tag in parse_wheel_filename(name)[3]}
    name = next((by_tag[tag] for tag in tags if tag in by_tag), None)
    if name is None:
        return {"name": PurePosixPath(locked.url).name, "url": locked.url, "sha256": locked.sha256}
    url, digest = locked.wheels[name]
    return {"name": name, "url": url, "sha256": digest}


def acp_agent(version: str) -> str:
    """Return the entry of the registry of agents (Agent Client Protocol), which editors install from."""
    package = {"package": f"{NAME}[acp]=={version}", "args": ["acp"]}
    entry = {"id": NAME, "name": NAME, "version": version, "description": SUMMARY, "repository": HOMEPAGE,
             "authors": ["the laguna-tui authors"], "license": LICENSE, "distribution": {"uvx": package}}  # fmt: skip
    return json.dumps(entry, indent=2) + "\n"


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
  rm -rf "${{target:?}}/bin"
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
