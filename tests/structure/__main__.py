"""Prints the figures of the structure: `python -m tests.structure [--names | --inventory]`."""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.structure import trips
from tests.structure.figures import LONG_LINES, PACKAGES, THIN_LINES, Structure
from tests.structure.inventory import inventory

SUMS = {
    "code lines": "code",
    "functions": "functions",
    "imports inside functions": "late_imports",
}


def main() -> None:
    """Print one Markdown table; with --names what is behind each number too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="list what is counted")
    parser.add_argument("--inventory", action="store_true", help="print what the product offers and writes")
    arguments = parser.parse_args()
    if arguments.inventory:
        print(inventory(), end="")
        return
    structure = Structure()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home} | {f"XDG_{kind}_HOME": home for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        folder = Path(home) / "shop"
        folder.mkdir()
        token, message = trips.token(Path(home)), asyncio.run(trips.message(folder))
    rows: list[tuple[str, Sequence[object]]] = [
        *((f"modules of {each}", _of(structure, each)) for each in PACKAGES),
        ("modules with one importer", structure.single),
        (f"modules under {THIN_LINES} lines with one importer", structure.thin),
        (f"modules over {LONG_LINES} lines", structure.long),
        ("names of classes that several modules have", structure.repeated_classes),
        ("loose modules", structure.loose),
        ("names that several modules of a package have", structure.namesakes),
        ("modules outside a contract", structure.uncontracted),
        ("circles of imports", structure.cycles),
        (f"engine files entered by round {trips.STEADY_ROUND}", token),
        ("app files entered by a message", sorted(message.files)),
        ("generators around a token", message.generators),
    ]
    print("| figure | number |\n|---|---|")
    for title, figure in SUMS.items():
        each = (f"{package} {structure.total(figure, package):,}" for package in PACKAGES)
        print(f"| {title} | {structure.total(figure):,} ({', '.join(each)}) |")
    for title, found in rows:
        print(f"| {title} | {len(found)} |")
    for title, found in rows if arguments.names else []:
        print(f"\n{title}:")
        for each in found:
            print(f"  {each}")


def _of(structure: Structure, package: str) -> list[str]:
    return [module.name for module in structure.modules.values() if module.package == package]


if __name__ == "__main__":
    main()
