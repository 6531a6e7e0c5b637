"""Records as docs/performance.md tells of them, and the Markdown that it is made of."""

import pathlib
import re
import textwrap

from . import machines, records, report
from .kernels import report as kernel_report

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"
#: a ratio below it is told case by case
LOSS = 0.9
LIBRARIES = {"scipy": "SciPy", "mkl": "MKL", "graphblas": "GraphBLAS", "sparse": "pydata/sparse", "jax": "JAX"}
LIBRARIES |= {"sesum": "sesum", "finch": "Finch", "torch-int32": "torch"}
#: what processors are, whose names do not say it (a newer Intel's name ends with its family and model)
GENERATIONS = {
    "AMD EPYC, family 25, model 1": "Zen 3",
    "AMD EPYC, family 25, model 17": "Zen 4",
    "Intel(R) Xeon(R) Processor": "Granite Rapids",
    "Intel(R) Xeon(R) Processor, family 6, model 207": "Emerald Rapids",
}


class Record:
    """A file of results, or its runs on one machine."""

    def __init__(self, path, results=None):
        self.path, self.results = path, results or records.read(path)
        self.rows = (kernel_report if self.results.get("kernels") else report).rows(self.results)

    def apart(self):
        return [(machine, Record(self.path, part)) for machine, part in machines.apart(self.results)]

    @property
    def days(self):
        days = sorted({run["day"] for runs in self.results["measured"].values() for run in runs})
        return " to ".join(dict.fromkeys((days[0], days[-1])))

    @property
    def others(self):
        """The libraries beside ours."""
        return [named(name) for name in self.results["peers"] if not name.startswith("strata")]

    @property
    def machines(self):
        return ", ".join(dict.fromkeys(short(m) for m, _ in machines.apart(self.results)))

    @property
    def link(self):
        return f"[{self.path.stem}](../benchmarks/results/{self.path.stem}.md)"

    def ratios(self, threads, test=lambda case: True):
        return [r["ratio"] for r in self.rows if r["threads"] == threads and r["ratio"] and test(r["case"])]

    @property
    def behind(self):
        return [f"{r['case']} on {r['threads']} ({r['ratio']:.2f})" for r in self.rows if (r["ratio"] or 1) < LOSS]


def found(pattern):
    return [Record(p) for p in sorted(RESULTS.glob(f"[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]{pattern}.jsonl"))]


def newest(pattern):
    return found(pattern)[-1]


def named(library):
    return LIBRARIES.get(library, library)


def short(machine):
    """What a machine is called below the table of machines."""
    return GENERATIONS.get(machine["processor"]) or f"{machine['processor']} ({machine['vectors']})"


def spread_of(ratios):
    return f"{report.geometric(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "-"


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(r) + " |" for r in rows), ""]


def prose(text):
    return [*textwrap.wrap(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False), ""]


def points(*texts):
    wrap = textwrap.TextWrapper(120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line for text in texts for line in wrap.wrap("- " + " ".join(text.split()))] + [""]


def table_of(name, heading=None):
    """The first table behind a heading of a page: one dict a row."""
    text = (RESULTS / name).read_text()
    text = text.partition(f"\n## {heading}\n")[2] if heading else text
    lines = re.search(r"(?:^\|.*\|\n)+", text, re.MULTILINE)[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [dict(zip(head, row)) for row in rows]
