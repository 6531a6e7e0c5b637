"""Pictures as PNG and PDF, by typst: one wheel without system libraries, which brings a font of its own. A unit of the SVG is a
96th of an inch."""

from .errors import ArgumentError, Error, Unsupported

_PAGE = b'#set page(width: auto, height: auto, margin: 0pt, fill: none)\n#image(bytes(sys.inputs.svg), format: "svg")\n'


def converted(svg, kind, scale=2.0):
    """The bytes of a PNG of `scale` pixels for each unit of the SVG, or of a PDF. Unsupported; Error."""
    try:
        scale = float(scale)
    except (TypeError, ValueError):
        raise ArgumentError("scale is a number", expected="a float", got=repr(scale)) from None
    if not 0.05 <= scale <= 20:
        raise ArgumentError("scale is out of range", expected="0.05 to 20", got=str(scale))
    try:
        import typst
    except ImportError:
        raise Unsupported(
            f"typst is needed for .{kind} and is not installed",
            fix="pip install 'strata[pictures]' (or: pip install typst); .svg needs nothing",
        ) from None
    try:
        options = {"ppi": 96 * scale} if kind == "png" else {}
        return typst.compile(_PAGE, format=kind, sys_inputs={"svg": svg}, ignore_system_fonts=True, **options)
    except RuntimeError as e:  # of another version than we know
        raise Error(f"typst {getattr(typst, '__version__', '')} did not convert the picture", got=str(e)) from e
