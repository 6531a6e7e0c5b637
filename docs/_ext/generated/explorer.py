"""The format explorer as a file of the site, and the words that lead to it."""

import pathlib

from strata._explore import record

FILE = "format-explorer.html"


def text():
    formats, given = record.usual()
    return (
        f'<p>Such a file is <a href="{FILE}">part of this site</a>, with {len(formats)} formats (one is a mistake) and '
        f"{len(given)} matrices.</p>\n"
    )


def write(site):
    pathlib.Path(site, FILE).write_bytes(record.file(*record.usual()))
