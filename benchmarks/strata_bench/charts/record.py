"""A record of the charts: the tables of a page."""

from .. import pages

SUFFIX = "charts"


def threads_of(name):
    """The numbers of threads of a record."""
    return [int(h.split()[1]) for h in pages.headings(name) if h.startswith("stencil, ")]


def stencil(name, threads):
    """{format: {library: the least of its times}}."""
    out = {}
    for library, row in pages.times(name, pages.heading("stencil", threads)).items():
        for column, t in row.items():
            of = out.setdefault(column.split()[0], {})
            of[library] = min(t, of.get(library, t))
    return out


def weights(name, dtype, threads):
    """{(series, library): {percent: seconds}}."""
    out = {}
    for percent, row in pages.times(name, pages.heading(dtype, threads)).items():
        for column, t in row.items():
            out.setdefault(tuple(column.rsplit(", ", 1)), {})[int(percent)] = t
    return out
