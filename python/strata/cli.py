"""The command `strata` (also `python -m strata`)."""

import argparse
import importlib
import os
import signal
import sys


def _version():
    from . import __version__

    return f"strata {__version__}"


class _Version(argparse.Action):
    """--version imports the core only when it is asked for."""

    def __init__(self, option_strings, dest, **_):
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser, *_):
        print(_version())
        parser.exit()


def parser():
    p = argparse.ArgumentParser(
        prog="strata", description="A universal sparse tensor: any storage in one line, multiplied at full speed."
    )
    p.add_argument("--version", action=_Version)
    sub = p.add_subparsers(dest="command", metavar="COMMAND")

    demo = sub.add_parser(
        "demo",
        help="a real matrix in every format: structure, bytes, products, timings, advice",
        description="Reads a matrix, names its structure, converts it to every sensible format, checks every product against SciPy, "
        "times it beside SciPy, torch and MKL where they are installed, and recommends a format.",
    )
    demo.add_argument(
        "file",
        nargs="?",
        metavar="FILE.mtx",
        help="a Matrix Market file (default: pyamg's 'bar', then an elasticity system of 720,000 rows)",
    )
    demo.add_argument("--json", action="store_true", help="print everything as JSON")
    demo.add_argument("--quick", action="store_true", help="a small elasticity system and short timings")
    demo.add_argument("--threads", type=int, metavar="N", help="threads for every library (default: all cores)")
    demo.add_argument("--no-timing", action="store_true", help="leave the timings out")

    show = sub.add_parser(
        "show",
        help="how an expression runs: graph, schedule, loop IR, C text",
        description='strata show "y(i) = A(i,j) * x(j)" A=csr      needs no data: operands without a format are dense',
    )
    _expression(show)
    show.add_argument(
        "--extent",
        type=int,
        default=1000,
        metavar="N",
        help="extent of every index (a trailing dense one of at most 128 is specialised)",
    )
    show.add_argument(
        "--schedule", metavar="VERBS", help='how to arrange the loops, e.g. "reorder(i, k, j); vectorize(k)"'
    )
    show.add_argument("--explain", action="store_true", help="print which kernels a plan would choose from, and why")

    emit = sub.add_parser(
        "emit",
        help="the generated kernel as a C file that needs nothing of Strata",
        description='strata emit "y(i) = A(i,j) * x(j)" A=csr > spmv.c      any expression that one kernel computes; the first '
        "comment of the file says how to compile and call it",
    )
    _expression(emit)
    emit.add_argument("--extent", type=int, default=1000, metavar="N", help="extent of every index")
    emit.add_argument("--name", default="kernel", help="of the function (default: kernel)")
    emit.add_argument(
        "--main", action="store_true", help="add a main() that runs it on a tiny input: exit status 0 where it is right"
    )
    emit.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of the terminal")

    draw = sub.add_parser(
        "draw",
        help="a picture of a file's matrix, or of a small one in a format: elements, storage, structure",
        description='strata draw "BSR(2, 2)" -o bsr.svg      strata draw mine.mtx --raw -o mine.png      without -o the picture '
        "is printed as text. Of a format the storage is drawn, of a small matrix its elements, of a large one its structure, unless "
        "told otherwise.",
    )
    draw.add_argument("what", metavar="FILE|FORMAT", help="a Matrix Market file, or a format as a text or name")
    kind = draw.add_mutually_exclusive_group()
    kind.add_argument("--grid", action="store_true", help="the elements where they are (at most 3 dimensions)")
    kind.add_argument("--storage", action="store_true", help="pos, crd and values, level by level")
    kind.add_argument("--raw", action="store_true", help="the structure of a matrix of any size")
    kind.add_argument("--convert", metavar="FORMAT", help="before and after a conversion to this format")
    draw.add_argument("--format", metavar="FORMAT", help="store the file's matrix so first")
    draw.add_argument("--limit", type=int, metavar="N", help="coordinates, slots or pixels that are shown")
    draw.add_argument("--theme", choices=("auto", "light", "dark"), help="colours of what is written")
    draw.add_argument(
        "-o", "--output", metavar="FILE", help=".svg, .txt, .png or .pdf (the last two: pip install 'strata[pictures]')"
    )

    explore = sub.add_parser(
        "explore",
        help="a page on which formats are typed, a small matrix edited, and storage, bytes and code watched",
        description="Serves a page to this machine alone until Ctrl-C, and opens it in a browser. With --export the page becomes a file, "
        "with the answers for the listed formats and matrices.",
    )
    explore.add_argument(
        "--format", action="append", metavar="FORMAT", help="offer it, begin with the first one; may be repeated"
    )
    explore.add_argument(
        "--matrix",
        action="append",
        metavar="NAME|FILE",
        help="offer it, begin with the first one: a preset, its shape if need be (random:12x8), or a file; may be repeated",
    )
    explore.add_argument("--export", metavar="FILE.html", help="write the page with its answers instead of serving it")
    explore.add_argument("--port", type=int, metavar="N", help="on which to listen (default: any that is free)")
    explore.add_argument("--no-browser", action="store_true", help="only print the address")

    bench = sub.add_parser(
        "bench",
        help="(in a checkout) SpMV, SpMM, conversions; --kernels: all named kernels; beside other libraries",
        add_help=False,
    )
    bench.add_argument("rest", nargs=argparse.REMAINDER)

    convert = sub.add_parser(
        "convert",
        help="a file as another kind of file, in another format or dtype",
        description='strata convert in.mtx out.st --format "BSR(2, 2)"      suffixes say what the files are: .st, .mtx and .tns (also .gz, '
        ".bz2, .xz), .npz, .mat, .h5, .zarr, .h5ad",
    )
    convert.add_argument("input", metavar="IN")
    convert.add_argument("output", metavar="OUT", help="is replaced once the whole of it is written")
    convert.add_argument(
        "--format", metavar="FORMAT", help="its name or text; 'auto': the one that strata info recommends"
    )
    convert.add_argument("--dtype", help="of the values")
    convert.add_argument("--pos-dtype", metavar="DTYPE", help="of positions, such as int64")
    convert.add_argument("--crd-dtype", metavar="DTYPE", help="of coordinates, such as uint16")
    convert.add_argument("--zeros", choices=("keep", "drop"), help="what becomes of explicit zeros")
    convert.add_argument("--name", help="which tensor of a file of several")
    convert.add_argument("--quiet", action="store_true", help="say nothing unless something is wrong")

    info = sub.add_parser(
        "info",
        help="what is in a file; without one: version, compiler, threads, settings",
        description="strata info FILE tells kind, shape, dtype, stored elements, format, structure and recommended storage of the "
        "tensor in a file, or lists the tensors of a file of several. Without a file it tells of this installation.",
    )
    info.add_argument("file", nargs="?", metavar="FILE", help="a file of any kind that strata convert reads")
    info.add_argument("--name", help="which tensor of a file of several")
    info.add_argument(
        "--header", action="store_true", help="only what the file's header says, without reading the tensor"
    )
    info.add_argument("--json", action="store_true", help="print everything as JSON")

    doctor = sub.add_parser(
        "doctor",
        help="versions, machine, threads, compilers; what is missing and how to get it",
        description="Looks at what Strata finds here, compiles and checks a kernel, and says what is missing and how to get it. "
        "Exit status 1 where the kernel fails.",
    )
    doctor.add_argument("--json", action="store_true", help="print everything as JSON")

    cache = sub.add_parser("cache", help="the compiled kernels on disk: how many, how large; --clear removes them")
    cache.add_argument("--clear", action="store_true", help="remove them all")
    cache.add_argument("--json", action="store_true", help="print everything as JSON")
    return p


def _expression(command):
    command.add_argument("expression", help='index notation, e.g. "y(i) = A(i,j) * x(j)", or einsum text "ij,j->i"')
    command.add_argument(
        "formats", nargs="*", metavar="NAME=FORMAT", help="format of an operand, or of the result (A=csr)"
    )
    command.add_argument("--dtype", default="float64", help="of all operands (default: float64)")
    command.add_argument("--semiring", metavar="NAME", help='what + and * mean, e.g. "min-plus"')
    command.add_argument(
        "--mask", metavar="FORMAT", help="the result has elements only where a mask of this format has some"
    )
    command.add_argument("--complement-mask", action="store_true", help="only where the mask has none")


def main(argv=None):
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["bench"]:  # its options are its own
        return _guard(lambda: importlib.import_module("strata._benchmarks").main(argv[1:]))
    p = parser()
    args = p.parse_args(argv)
    if args.command is None:
        return _guard(p.print_help)
    modules = {
        "demo": "strata.demo.run",
        "show": "strata.demo.show",
        "emit": "strata.demo.emit",
        "draw": "strata.demo.draw",
        "explore": "strata._explore.run",
        "convert": "strata.demo.convert",
        "info": "strata.demo.file_info" if getattr(args, "file", None) else "strata.demo.info",
        "doctor": "strata.demo.doctor",
        "cache": "strata.demo.cache",
    }
    module = modules[args.command]
    return _guard(lambda: importlib.import_module(module).main(args))


def _guard(command):
    """Mistakes of the user are told without a traceback; a closed pipe is no mistake."""
    from .errors import Error

    # Being ended, or losing the terminal, unwinds like Ctrl-C: temporary files and worker processes go too.
    for sign in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(sign) == signal.SIG_DFL:
            signal.signal(sign, lambda number, _: sys.exit(128 + number))
    try:
        status = command() or 0
        sys.stdout.flush()  # here, not at exit, so that a full disk is told
        return status
    except Error as e:
        print(f"strata: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("strata: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141
    except MemoryError as e:
        print(f"strata: {e or 'out of memory'}", file=sys.stderr)
        return 1
    except OSError as e:
        _drop_output()
        print(f"strata: {e}", file=sys.stderr)
        return 1


def _drop_output():
    """What stands in the buffer can go nowhere: Python would say so again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
