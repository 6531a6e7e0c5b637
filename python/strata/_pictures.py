"""Pictures of tensors: what the core draws, shown in terminals and notebooks, and saved."""

import os
import sys

from . import _core, _terminal
from ._core import Tensor
from ._members import method
from .errors import ArgumentError, FileError, TensorError, Unsupported

#: columns of a picture as text, where no terminal is narrower
_WIDTH = 100


class Picture:
    """A picture of a tensor. It prints as text; a notebook shows it as SVG.

        picture = A.draw_storage()
        print(picture)
        svg = picture.svg

    Made by `A.draw()`, `A.draw_storage()`, `A.draw_raw()` and `draw_conversion(A, B)`.
    """

    __slots__ = ("_drawn", "_width")

    def __init__(self, drawn, width=None):
        self._drawn, self._width = drawn, width

    def text(self, width=None):
        """The picture as text of so many columns: by default as many as the terminal has, at most 100.

        print(A.draw().text(60))
        """
        width = self._width if width is None else width
        return self._drawn.text(_columns() if width is None else int(width)).rstrip("\n")

    @property
    def svg(self):
        """A whole SVG file as a text: no scripts, nothing from elsewhere, legible on light and dark pages.

        assert A.draw().svg.startswith("<svg")
        """
        return self._drawn.svg()

    def save(self, path, *, theme=None, scale=2.0):
        """Writes the picture to a file, whole or not at all, by its suffix: .svg, .txt, .png or .pdf.

            A.draw().save("/tmp/a.svg")

        theme : "light" or "dark"; SVG by default follows the reader's ("auto"), the others are light
        scale : pixels of a PNG for each unit of the SVG

        PNG and PDF are made by typst (`pip install 'strata[pictures]'`). FileError: another suffix; Unsupported: typst is
        not installed.
        """
        suffix = os.path.splitext(os.fsdecode(_path(path)))[1].lower()
        if suffix not in (".svg", ".txt", ".png", ".pdf"):
            raise FileError(
                "a picture is written in a form that its file's suffix names",
                expected="'.svg', '.txt', '.png' or '.pdf'",
                got=os.fspath(path),
            )
        if suffix == ".txt":
            _write(path, self.text(self._width or _WIDTH) + "\n")
        elif suffix == ".svg":
            _write(path, self._drawn.svg(theme or "auto"))
        else:
            from ._raster import converted

            _write(path, converted(self._drawn.svg("light" if theme in (None, "auto") else theme), suffix[1:], scale))

    def __str__(self):
        return self.text()

    __repr__ = __str__

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return f'<div style="overflow-x: auto">{self.svg}</div>'


def _path(path):
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError("a file is given by its path", expected="a str or os.PathLike", got=type(path).__name__)
    return os.fspath(path)


def _columns():
    stream = sys.stdout
    if stream is None or not hasattr(stream, "isatty") or stream.closed or not stream.isatty():
        return _WIDTH
    return min(_terminal.width(), _WIDTH)


def _write(path, content):
    _core.write_file(_path(path), content if isinstance(content, bytes) else content.encode())


def _number(name, value):
    """0 where None; ArgumentError, TensorError."""
    if value is None:
        return 0
    try:
        n = value.__index__()
    except (AttributeError, TypeError):
        raise ArgumentError(f"{name} is a number", expected="an int", got=type(value).__name__) from None
    if not 0 < n <= 1 << 16:
        raise TensorError(f"{name} is out of range", expected="1 to 65536", got=str(n))
    return n


@method
def draw(self, limit=None, *, width=None):
    """The elements where they are, of at most 3 dimensions: stored ones grey, stored zeros apart from absent elements, fill-in
    red; of a sum each part in a colour of its own.

        print(A.draw())

    limit : coordinates shown of each dimension, the first and the last ones (24; of 3 dimensions 10)
    width : columns of the text

    A Picture. TensorError: more than 3 dimensions.
    """
    return Picture(_core.draw(self, _number("limit", limit)), width)


@method
def draw_storage(self, width=None, *, limit=None):
    """The storage, level by level, of any number of dimensions: pos, crd and values, lines from parents to children, fill-in
    red, slots outside the tensor empty.

        print(A.draw_storage())

    width : columns of the text
    limit : slots shown in SVG (32)

    A Picture.
    """
    return Picture(_core.draw_storage(self, _number("limit", limit)), width)


@method
def draw_raw(self, size=None, *, width=None):
    """The structure of at most 3 dimensions and any size: the darker a pixel, the more elements are stored there; fill-in does
    not count. One pass over the storage.

        A.draw_raw().save("/tmp/structure.svg")

    size : pixels along the longest dimension (256; of 3 dimensions, drawn as cubes, 48)
    width : columns of the text

    A Picture. TensorError: more than 3 dimensions.
    """
    return Picture(_core.draw_raw(self, _number("size", size)), width)


def draw_conversion(a, b, *, limit=None, width=None):
    """A tensor before and after a conversion: both storages, with a colour for each element that it has in both.

        print(draw_conversion(A, "COO"))

    a : Tensor
    b : the Tensor it became, or a format that it is converted to
    limit : slots shown of each (24)
    width : columns of the text

    A Picture. TensorError: other shapes.
    """
    if not isinstance(a, Tensor):
        raise ArgumentError(
            "draw_conversion() takes a tensor first",
            expected="a strata.Tensor",
            got=type(a).__name__,
            fix="take it in first: st.from_package(x)",
        )
    after = b if isinstance(b, Tensor) else a.to(b)
    return Picture(_core.draw_conversion(a, after, _number("limit", limit)), width)


def spy(t, ax=None, *, size=512, **options):
    """The structure of a matrix on axes of matplotlib, as draw_raw() counts it: the darker, the more elements are stored.

    t : a Tensor of 1 or 2 dimensions, of any size
    ax : the axes; the current ones by default
    size : cells along the longest dimension
    options : of `ax.imshow` (cmap, alpha, ...)

    The image, as `imshow` gives it. Unsupported: matplotlib is not installed; TensorError: other dimensions.
    """
    if not isinstance(t, Tensor):
        raise ArgumentError(
            "spy() takes a tensor",
            expected="a strata.Tensor",
            got=type(t).__name__,
            fix="take it in first: st.from_package(x)",
        )
    if t.ndim not in (1, 2):
        raise TensorError(
            "spy() shows matrices", expected="1 or 2 dimensions", got=f"{t.ndim} dimensions", fix="draw_raw() shows 3"
        )
    try:
        from matplotlib import colors, pyplot
    except ImportError:
        raise Unsupported(
            "matplotlib is needed here and is not installed",
            fix="pip install matplotlib (or: pip install 'strata[pictures]')",
        ) from None
    cell, counts, _, _ = _core.density(t, _number("size", size))
    rows, columns = (1, *t.shape)[-2:]
    counts = counts.reshape((1, *counts.shape)[-2:])
    cell = (1, *cell)[-2:]
    largest = int(counts.max(initial=0))
    shades = counts.astype(float)
    shades[counts == 0] = float("nan")  # no colour
    ax = pyplot.gca() if ax is None else ax
    options = {
        "cmap": "Blues",
        "norm": colors.LogNorm(vmin=0.3, vmax=max(largest, 1)),
        "interpolation": "nearest",
        "aspect": "equal" if cell[0] == cell[1] else "auto",
        **options,
    }
    # Cells stand at their coordinates; the last one may reach beyond the matrix.
    extent = (-0.5, counts.shape[1] * cell[1] - 0.5, counts.shape[0] * cell[0] - 0.5, -0.5)
    image = ax.imshow(shades, extent=extent, **options)
    ax.set_xlim(-0.5, max(columns, 1) - 0.5)
    ax.set_ylim(max(rows, 1) - 0.5, -0.5)
    ax.xaxis.tick_top()
    return image


__all__ = ["Picture", "draw_conversion", "spy"]
