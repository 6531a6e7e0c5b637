"""strata explore: serves the page until Ctrl-C, or writes it as a file."""

import os
import re
import threading
import webbrowser

from .. import _core, _files
from ..errors import ArgumentError
from . import answer, matrices, page, record


def matrix(text):
    """NAME, NAME:RxC or a file, as page.offered has it. ArgumentError, FileError, TensorError."""
    name = next((n for n in matrices.PRESETS if text == n or text.startswith(n + ":")), None)
    if name == text:
        return page.offered(name, matrices.preset(name))
    if name:
        shape = text[len(name) + 1 :]
        numbers = re.fullmatch(r"(\d{1,9})x(\d{1,9})", shape, re.ASCII)
        if not numbers:
            raise ArgumentError("a preset's shape is two numbers", expected=f"{name}:8x8", got=text)
        return page.offered(name, matrices.preset(name, int(numbers[1]), int(numbers[2])))
    if not os.path.exists(text) and not text.lower().endswith(tuple(_files.KINDS)):
        raise ArgumentError(
            f"'{text}' is neither a preset nor a file",
            expected=", ".join(matrices.PRESETS) + "; a shape may follow, as in random:12x8",
            got=text,
        )
    return page.offered(os.path.basename(text), matrices.of_tensor(_files.read(text)))


def main(args):
    formats = list(dict.fromkeys(args.format or ()))
    for text in formats:
        answer.format_of(text)
    given = list({m["name"]: m for m in map(matrix, args.matrix or ())}.values())
    if args.export is not None:
        return _export(args, formats, given)
    return _serve(args, formats, given)


def _export(args, formats, given):
    if args.port is not None or args.no_browser:
        raise ArgumentError(
            "a file is not served", expected="--export FILE.html without --port and --no-browser", got="both"
        )
    if not args.export.lower().endswith((".html", ".htm")):
        raise ArgumentError("the page is an HTML file", expected="a name that ends in .html", got=args.export)
    usual = record.usual()
    formats, given = formats or usual[0], given or usual[1]
    content = record.file(formats, given)
    _core.write_file(args.export, content)
    print(f"{args.export}: {len(formats)} formats, {len(given)} matrices, {len(content) // 1000} kB")


def _serve(args, formats, given):
    from .server import Explorer

    port = 0 if args.port is None else args.port
    if not 0 <= port < 1 << 16:
        raise ArgumentError("a port is a number", expected="0 to 65535", got=str(port))
    with Explorer(port, page.start(formats, given)) as server:
        print(f"The format explorer: {server.url}\nCtrl-C ends it.", flush=True)
        if not args.no_browser:
            threading.Thread(target=_open, args=(server.url,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def _open(url):
    """In the browser of a desktop: one inside the terminal would hide what is printed there."""
    if os.environ.keys() & {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"}:
        try:
            webbrowser.open(url)
        except (OSError, webbrowser.Error):
            pass
