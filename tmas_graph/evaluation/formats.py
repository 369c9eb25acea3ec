"""Writes a report as Markdown, CSV, LaTeX or JSON; only text is drawn by the command line."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping

from tmas_graph.evaluation.tables import Report, Table

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"±": r"$\pm$", "–": "--", "−": "$-$", "<": "$<$", ">": "$>$", "…": r"\ldots{}"},
    **{"\N{NARROW NO-BREAK SPACE}": r"\,", "ε": r"$\varepsilon$", "·": r"$\cdot$"},
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet run a text."""


def markdown(report: Report) -> str:
    """Pipe tables, then the notes as a list."""
    parts = [_pipes(table) for table in report.tables]
    notes = "\n".join(f"- {_escaped(note)}" for note in report.notes)
    return "\n\n".join([*parts, notes]).rstrip() + "\n"


def _pipes(table: Table) -> str:
    marks = ["---" if place in table.left else "---:" for place in range(len(table.headings))]
    rows = [table.headings, *table.rows]
    head, *body = ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
    return "\n".join([f"**{_escaped(table.title)}**", "", head, f"|{'|'.join(marks)}|", *body])


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _on_one_line(text))


def comma_separated(report: Report) -> str:
    """The records under their names; a text that a spreadsheet would run gets an apostrophe."""
    out = io.StringIO()
    names = list(report.records[0])
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for record in report.records:
        writer.writerow({name: _unrun(value) for name, value in record.items()})
    return out.getvalue()


def _unrun(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def latex(report: Report) -> str:
    r"""Tables for the package booktabs; the notes follow as comments."""
    head = "% Needs \\usepackage{booktabs}"
    parts = [_booktabs(table) for table in report.tables]
    notes = "\n".join(f"% {_on_one_line(note)}" for note in report.notes)
    return "\n\n".join([head, *parts, notes]).rstrip() + "\n"


def _booktabs(table: Table) -> str:
    kinds = "".join("l" if place in table.left else "r" for place in range(len(table.headings)))
    head, *body = [" & ".join(map(in_latex, row)) + r" \\" for row in (table.headings, *table.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{in_latex(table.title)}}}",
            rf"\begin{{tabular}}{{{kinds}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def in_latex(text: str) -> str:
    """`text` with every character that LaTeX would read as a command escaped."""
    return "".join(_LATEX.get(char, char) for char in _on_one_line(text))


def _on_one_line(text: str) -> str:
    """`text` without line ends of any kind; narrow spaces within numbers stay."""
    return " ".join(text.splitlines())


def as_json(report: Report) -> str:
    """The records, the notes and what they are about, as one object."""
    values = {**report.about, "entries": report.records, "notes": report.notes}
    return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
    "json": as_json,
}
