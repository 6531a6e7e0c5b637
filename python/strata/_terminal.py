"""Text for people: colours when a terminal reads it, plain in a pipe; tables; progress of what takes long."""

import os
import re
import shutil
import sys
import threading
import time

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def moves(stream):
    """Is it a terminal whose lines can be written again?"""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Style:
    """Colours, if `stream` is a terminal that wants them (NO_COLOR, TERM=dumb)."""

    def __init__(self, stream=None, colour=None):
        stream = sys.stdout if stream is None else stream
        if colour is None:
            colour = moves(stream) and "NO_COLOR" not in os.environ
        self.colour = colour

    def _wrap(self, code, text):
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else str(text)

    def bold(self, text):
        return self._wrap("1", text)

    def dim(self, text):
        return self._wrap("2", text)

    def good(self, text):
        return self._wrap("32", text)

    def bad(self, text):
        return self._wrap("31", text)

    def warm(self, text):
        return self._wrap("33", text)

    def title(self, text):
        return self._wrap("1;36", text)


def width():
    return shutil.get_terminal_size((100, 24)).columns


def visible(text):
    """Columns that a text takes, without its colours."""
    return len(_ESCAPE.sub("", text))


def cut(text, columns):
    """A plain line of at most so many columns."""
    return text if len(text) <= columns else text[: columns - 1] + "…"


def table(header, rows, right=(), indent="  ", style=None):
    """Lines of an aligned table. `right`: columns flushed right. An empty cell is left out of the count."""
    rows = [[str(c) for c in row] for row in rows]
    widths = [max([visible(h)] + [visible(r[k]) for r in rows]) for k, h in enumerate(header)]

    def line(cells):
        out = []
        for k, cell in enumerate(cells):
            pad = " " * (widths[k] - visible(cell))
            out.append(pad + cell if k in right else cell + pad)
        return (indent + "  ".join(out)).rstrip()

    head = line(header)
    yield style.dim(head) if style else head
    for row in rows:
        yield line(row)


def grouped(n):
    """1234567 as '1 234 567'."""
    return f"{n:,}".replace(",", " ")


def size(n):
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000


def seconds(t):
    """A time with three figures and its unit."""
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if t * scale >= 1 or unit == "us":
            value = t * scale
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def times(ratio):
    """How many times as fast, with two figures at least."""
    return f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.2g}x"


class progress:
    """Says on stderr what runs, once it has run for a second: a line that moves on a terminal, one line in a pipe.

    with progress("assembling") as p:
        p(0.3)     # optional: the share done
    """

    def __init__(self, label, stream=None, quiet=False):
        self.label, self.stream, self.quiet = label, stream or sys.stderr, quiet
        self.share, self.seconds = None, 0.0

    def __call__(self, share):
        self.share = share

    def say(self, label):
        self.label = label

    def __enter__(self):
        self._start, self._stop, self._shown = time.monotonic(), threading.Event(), False
        self._thread = None
        if not self.quiet:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self._thread:
            self._thread.join()
        self.seconds = time.monotonic() - self._start
        if self._shown and moves(self.stream):
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def _run(self):
        terminal = moves(self.stream)
        step = 0
        while not self._stop.wait(1.0 if step == 0 else 0.2 if terminal else 10.0):
            elapsed = time.monotonic() - self._start
            share = "" if self.share is None else f" {100 * self.share:3.0f} %"
            if terminal:
                self.stream.write(f"\r\x1b[K{'|/-'[step % 3]} {self.label}{share}  {elapsed:.0f} s"[: width()])
            else:
                self.stream.write(f"... {self.label}{share} ({elapsed:.0f} s)\n")
            self.stream.flush()
            self._shown = True
            step += 1
