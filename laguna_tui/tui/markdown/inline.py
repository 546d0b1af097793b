"""The inside of a paragraph: markdown-it's inline tokens to runs."""

from collections.abc import Sequence

from markdown_it.token import Token

from laguna_tui.tui.markdown.flow import Run, Runs

_TONES = {"strong": "strong", "em": "em", "s": "strike"}


def inline_runs(tokens: Sequence[Token], tone: str = "text") -> Runs:
    """The runs of an inline token's children. A link is followed by its address unless its text says it already."""
    runs: list[Run] = []
    tones = [tone]
    links: list[tuple[str, int]] = []
    for token in tokens:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if name in _TONES:
            _nest(tones, _TONES[name], token.nesting)
        elif name == "link" and token.nesting == 1:
            links.append((str(token.attrs.get("href", "")), len(runs)))
            _nest(tones, "link", 1)
        elif name == "link":
            _nest(tones, "link", -1)
            runs.extend(_address(runs, *links.pop(), tones[-1]))
        else:
            runs.append(_leaf(token, tones[-1]))
    return tuple(run for run in runs if run.text)


def _nest(tones: list[str], word: str, nesting: int) -> None:
    if nesting == 1:
        tones.append(f"{tones[-1]} {word}")
    else:
        tones.pop()


def _leaf(token: Token, tone: str) -> Run:
    match token.type:
        case "softbreak":
            return Run(" ", tone)
        case "hardbreak":
            return Run("\n", tone)
        case "code_inline":
            return Run(token.content.replace("\t", " "), f"{tone} inline-code")
        case "image":
            return Run(f"[image: {token.content or token.attrs.get('src', '')}]", f"{tone} muted")
        case _:
            return Run(token.content.replace("\t", " "), tone)


def _address(runs: Sequence[Run], href: str, start: int, tone: str) -> Runs:
    shown = "".join(run.text for run in runs[start:])
    if not href or href.removeprefix("mailto:").rstrip("/") == shown.rstrip("/"):
        return ()
    return (Run(f" ({href})", f"{tone} muted"),)
