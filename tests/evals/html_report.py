"""The figures of a run as one HTML page that needs nothing else: the table, bars with their intervals, every task."""

from collections.abc import Sequence
from html import escape

from laguna_tui.evals.estimates import Interval
from laguna_tui.evals.samples import RunFacts, Sample
from laguna_tui.evals.score_report import by_set, pass_rates, percent

_WIDTH, _ROW, _LABEL = 640, 26, 190
"""Of the plot, in pixels: all of it, a bar with the room around it, and the names before the bars."""
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; }}
pre {{ overflow-x: auto; }}
td, th {{ padding: 0 .8em 0 0; text-align: left; }}
.failed {{ color: #a33; }}
</style>
<pre>{report}</pre>
{plot}
<h2>Tasks</h2>
<table>
<tr><th>set</th><th>task</th><th>passed</th><th>steps</th><th>tokens</th></tr>
{tasks}
</table>
</html>
"""


def html_report(facts: RunFacts, samples: Sequence[Sample], markdown: str) -> str:
    """Return the page. markdown: the report as it is printed, which stands at its top."""
    rates = {name: pass_rates(group) for name, group in by_set(samples).items()}
    bars = [(f"{name} pass@{k}", interval) for name, found in rates.items() for k, interval in found.items()]
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.set, sample.task), []).append(sample)
    rows = "\n".join(_row(name, task, each) for (name, task), each in found.items())
    return _PAGE.format(title=escape(facts.model), report=escape(markdown), plot=bar_plot(bars), tasks=rows)


def bar_plot(bars: Sequence[tuple[str, Interval]]) -> str:
    """Return shares as bars from 0 to 100 %, each with its interval, as SVG. bars: names and shares."""
    height, scale = _ROW * len(bars) + _ROW, _WIDTH - _LABEL - 110
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" font-size="13">']
    for number, (name, bar) in enumerate(bars):
        top, middle = number * _ROW + 5, number * _ROW + _ROW / 2
        low, value, high = (_LABEL + scale * share for share in (bar.low, bar.value, bar.high))
        parts += [
            f'<text x="{_LABEL - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{value - _LABEL:.1f}" height="{_ROW - 10}" fill="#3a8f7f"/>',
            f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {top}V{top + _ROW - 10}M{high:.1f} {top}'
            f'V{top + _ROW - 10}" stroke="#222" fill="none"/>',
            f'<text x="{_LABEL + scale + 6}" y="{middle + 4:.1f}">{percent(bar)}</text>',
        ]
    parts.append(f'<path d="M{_LABEL} 0V{height - _ROW}" stroke="#888"/></svg>')
    return "\n".join(parts)


def _row(name: str, task: str, samples: Sequence[Sample]) -> str:
    passed = sum(sample.reward > 0 for sample in samples)
    cells = (
        name,
        task,
        f"{passed} of {len(samples)}",
        f"{sum(sample.steps for sample in samples) / len(samples):.1f}",
        f"{sum(sample.generated_tokens for sample in samples) / len(samples):,.0f}",
    )
    style = "" if passed else ' class="failed"'
    return f"<tr{style}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
