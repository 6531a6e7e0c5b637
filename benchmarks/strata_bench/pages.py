"""A record that is a page of Markdown: facts, and tables of microseconds that are read again."""

import datetime

from strata._timing.machine import taken_by_others

from . import figures, machines


def newest(suffix):
    """The name of the newest page DATE-suffix.md, or None."""
    names = sorted(p.name for p in figures.RESULTS.glob(f"[0-9]*-{suffix}.md"))
    return names[-1] if names else None


def write(suffix, title, facts, parts):
    """Writes the page of today and returns its name. parts: {heading: (sentence, first column, {row: {column: seconds}}, [remarks])}."""
    day = datetime.date.today()
    lines = [f"# {title}, {day}", "", *(f"- {fact}" for fact in facts), ""]
    for name, (sentence, first, rows, remarks) in parts.items():
        columns = list(dict.fromkeys(c for row in rows.values() for c in row))
        body = [[str(row), *(shown(of.get(c)) for c in columns)] for row, of in rows.items()]
        lines += [f"## {name}", "", sentence, "", *figures.table([first, *columns], body)]
        lines += [*(f"- {r}" for r in remarks), *[""] * bool(remarks)]
    name = f"{day}-{suffix}.md"
    (figures.RESULTS / name).write_text("\n".join(lines).rstrip("\n") + "\n")
    return name


def heading(what, threads):
    return f"{what}, {threads} thread{'s' * (threads > 1)}"


def shown(seconds):
    """Microseconds in four digits."""
    if seconds is None:
        return "-"
    us = 1e6 * seconds
    return f"{us:.0f}" if us >= 1000 else f"{us:.4g}"


def machine(limits=None):
    """A fact: this machine, and what it reads with each number of threads."""
    of = machines.here()
    text = (
        f"{of['processor']}, {of['vectors']}, {of['cores']} cores, {of.get('memory_gb', '?')} GB, Python {of['python']}"
    )
    if limits:
        text += "; reads " + ", ".join(f"{one['read_bandwidth'] / 1e9:.1f} GB/s on {n}" for n, one in limits.items())
        text += f" thread{'s' * (max(map(int, limits)) > 1)}"
    busy = taken_by_others(2)
    if busy > 0.1:
        text += f"; other programs took {busy:.1f} cores at the end: figures of a busy machine"
    return text


def facts(name):
    """The points below the title."""
    head = text_of(name).partition("\n## ")[0]
    return [line[2:] for line in head.splitlines() if line.startswith("- ")]


def headings(name):
    return [line[3:] for line in text_of(name).splitlines() if line.startswith("## ")]


def sentence(name, part):
    """What a part of a page says of its input."""
    return text_of(name).partition(f"\n## {part}\n\n")[2].partition("\n")[0]


def times(name, part):
    """{row: {column: seconds}} of a part of a page; what was not timed is left out."""
    out = {}
    for row in figures.table_of(name, part):
        first, *cells = row.items()
        out[first[1]] = {c: float(us) / 1e6 for c, us in cells if us != "-"}
    return out


def text_of(name):
    return (figures.RESULTS / name).read_text()
