"""Writes a report as Markdown, CSV, LaTeX or JSON; only text is drawn by the command line."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping

from tmas_graph.evaluation.tables import Report, Table

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"±": r"$\pm$", "–": "--", "−": "$-$", "<": "$<$", ">": "$>$", "…": r"\ldots{}"},
    **{"\N{NARROW NO-BREAK SPACE}": r"\,", "ε": r"$\varepsilon$", "·": r"$\cdot$"},
}
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
"""Before a number; a hyphen stays one."""
_PAGE = 96
"""Letters beside one another in a table of small type, gaps included."""
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
    r"""Tables for the package booktabs, no wider than a page; the notes follow as comments."""
    head = "% Needs \\usepackage{booktabs}"
    parts = [_booktabs(part) for table in report.tables for part in _narrow(table)]
    notes = "\n".join(f"% {_on_one_line(note)}" for note in report.notes)
    return "\n\n".join([head, *parts, notes]).rstrip() + "\n"


def _narrow(table: Table) -> Iterator[Table]:
    """`table` in parts that fit a page; each begins with the columns that say whose a row is."""
    lead = 1 + max(table.left, default=-1)
    widths = [2 + max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)]
    parts, room = [list[int]()], _PAGE - sum(widths[:lead])
    for place in range(lead, len(widths)):
        if parts[-1] and sum(widths[p] for p in parts[-1]) + widths[place] > room:
            parts.append([])
        parts[-1].append(place)
    for number, part in enumerate(parts, start=1):
        places = (*range(lead), *part)
        title = table.title if number == 1 else f"{table.title} ({number})"
        head, *rows = (tuple(row[p] for p in places) for row in (table.headings, *table.rows))
        yield Table(title, head, tuple(rows), table.left)


def _booktabs(table: Table) -> str:
    kinds = "".join("l" if place in table.left else "r" for place in range(len(table.headings)))
    head, *body = [" & ".join(map(in_latex, row)) + r" \\" for row in (table.headings, *table.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\small",
            rf"\caption{{{in_latex(table.title)}}}",
            rf"\label{{tab:{_name(table.title)}}}",
            rf"\begin{{tabular}}{{{kinds}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def in_latex(text: str) -> str:
    """`text` with every character that LaTeX would read as a command escaped."""
    signed = _MINUS.sub("−", _on_one_line(text))
    return "".join(_LATEX.get(char, char) for char in signed)


def _name(title: str) -> str:
    """`title` as a label: LaTeX takes few signs in one."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


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
