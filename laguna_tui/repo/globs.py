"""Globs over paths, in time proportional to the path: `*` stays within a part, `**` spans any number of parts.

The standard library's `fnmatch` does the parts; its translation never backtracks over earlier stars.
"""

from fnmatch import fnmatchcase

_SPECIAL = frozenset("*?[")


def is_glob(text: str) -> bool:
    """Whether the text has a character that means something in a glob."""
    return not _SPECIAL.isdisjoint(text)


def matches(glob: str, path: str) -> bool:
    """Whether the whole path matches; a glob without "/" matches at any depth, one that ends in "/" a whole folder."""
    wanted = glob.split("/") if "/" in glob else ["**", glob]
    if wanted[-1] == "":
        wanted[-1] = "**"
    parts = path.split("/")
    # How many parts of the path the wanted ones so far may have used up.
    used = {0}
    for want in wanted:
        if want == "**":
            used = set(range(min(used, default=len(parts) + 1), len(parts) + 1))
        else:
            used = {count + 1 for count in used if count < len(parts) and fnmatchcase(parts[count], want)}
    return len(parts) in used
