"""strata info FILE: what is in a file. Its header first, where it has one; then the tensor, for what only that tells."""

import importlib
import json
import os

from .. import _core
from .._advice import advise
from .._files import KINDS, kind_of, read
from .._files._container import pick
from .._terminal import Style, cut, grouped, progress, size, table, width
from ..errors import Error, FileError
from .convert import _bytes


def _header(path, suffix):
    """What the file itself says of its tensors, without reading them; None where only reading tells."""
    if suffix == ".st":
        return [_of_container(t) for t in json.loads(_core.container_header(path))["tensors"]]
    if not KINDS[suffix].module:
        return None
    kind = KINDS[suffix]
    module = importlib.import_module(f"strata._files.{kind.module}")
    return getattr(module, "entries" + kind.suffix)(path)


def _of_container(t):
    arrays = [a for part in t["parts"] for level in part["levels"] for a in level.values()]
    arrays += [part["values"] for part in t["parts"]]
    sizes = [a["size"] * _width(a["dtype"]) for a in arrays]
    return {
        "name": t["name"],
        "format": t["format"],
        "shape": t["shape"],
        "dtype": t["dtype"],
        "stored": None,
        "bytes": sum(sizes),
    }


def _width(dtype):
    return _core.DType(dtype).itemsize


def _load(path, suffix, name, p):
    if suffix == ".st":
        found = dict(_core.load(path, "all", True))
        return pick(path, found, name)
    return read(path, name=name, progress=p)


def facts(path, name=None, header=False, quiet=False):
    """A dict for JSON."""
    suffix, kind = kind_of(path)
    if not os.path.exists(path):
        raise FileError(f"cannot open '{path}'", got="No such file or directory")
    out = {"file": path, "kind": kind.name, "bytes": _bytes(path)}
    found = _header(path, suffix)
    if found is not None:
        out["tensors"] = found
        if name is not None:
            pick(path, {t["name"]: t for t in found}, name)
        if header or (name is None and len(found) != 1):
            return out
    with progress(f"reading {path}", quiet=quiet) as p:
        t = _load(path, suffix, name, p)
    out["tensor"] = _of_tensor(t, name, header or not t.ndim)
    return out


def _of_tensor(t, name, plain):
    facts = {
        "name": name or "",
        "format": str(t.format),
        "called": t.format.name,
        "shape": list(t.shape),
        "dtype": str(t.dtype),
        "stored": t.nse,
        "bytes": t.nbytes,
        "fill": str(t.fill),
    }
    if plain:
        return facts
    try:
        if t.ndim == 2:
            facts["structure"] = _core.describe_structure(t)
        advice = advise(t)
    except Error as e:  # what has no structure, as numbers of 8 bits, is a file all the same
        facts["why"] = e.what
        return facts
    facts["recommended"] = {"call": str(advice), "why": advice.why, "bytes": advice.nbytes}
    return facts


def main(args):
    known = facts(args.file, args.name, args.header, quiet=args.json)
    if args.json:
        print(json.dumps(known, indent=2, default=str))
        return
    style = Style()
    print(style.title(known["file"]) + f"   {known['kind']}, {size(known['bytes'])}")
    listed = known.get("tensors", [])
    if listed and "tensor" not in known:
        rows = [
            [
                t["name"] or "-",
                " x ".join(map(str, t["shape"])) or "()",
                t["dtype"],
                "" if t["stored"] is None else grouped(t["stored"]),
                t["format"],
            ]
            for t in listed
        ]
        for line in table(["name", "shape", "dtype", "stored", "format"], rows, right=(3,), style=style):
            print(cut(line, max(width(), 80)))
        if not args.header:
            print(f"  one of them: strata info {args.file} --name {listed[0]['name']!r}")
        return
    t = known.get("tensor")
    if t is None:
        print("  no tensor")
        return
    lines = [
        ("shape", " x ".join(map(str, t["shape"])) or "()"),
        ("dtype", t["dtype"]),
        ("stored", grouped(t["stored"])),
        ("format", (t["called"] + "   " if t["called"] else "") + t["format"]),
        ("in memory", size(t["bytes"])),
    ]
    if t["fill"] not in ("0", "0.0", "False", "0j"):
        lines.append(("fill", t["fill"]))
    for key, value in lines:
        print(f"  {key:<10} {value}")
    if "structure" in t:
        print(style.title("Structure"))
        for line in t["structure"]["text"].splitlines():
            print("  " + line)
    if "recommended" in t:
        r = t["recommended"]
        print(style.title("Recommended") + f"   {style.good(r['call'])}   {size(r['bytes'])}")
        print(f"  {r['why']}")
