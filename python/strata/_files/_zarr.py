"""Zarr stores (folders) in the binsparse layout, through zarr."""

import os

import numpy as np

from ..errors import FileError
from . import _binsparse
from ._container import pick
from ._replace import name_of, needed, reading, replacing

_MOST, _FREE = 1040, 1 << 20


def _open(path):
    zarr = needed("zarr", "a Zarr store")
    if not os.path.isdir(path):
        raise FileError(
            f"cannot open '{name_of(path)}'",
            expected="a folder",
            got="a file" if os.path.exists(path) else "No such file or directory",
        )
    return zarr, zarr.open_group(os.fsdecode(path), mode="r")


def _array(path, group, name):
    where = f"{name_of(path)}, {group.path or '/'}"
    try:
        item = group[name]
        claimed, stored = item.nbytes, item.nbytes_stored
        stored = stored() if callable(stored) else stored
    except (KeyError, AttributeError):
        raise FileError(f"{where}: no array '{name}'") from None
    if claimed > _FREE and claimed > _MOST * 16 * stored:  # zstd packs better than deflate
        raise FileError(
            f"{where}: array '{name}' claims more than the store holds",
            got=f"{claimed} bytes of {stored} that are stored",
        )
    return np.asarray(item[...])


def _groups(group):
    found = {}

    def look(name, g):
        if "binsparse" in g.attrs:
            found[name] = g
        for key, inner in g.groups():
            look(f"{name}/{key}" if name else key, inner)

    look("", group)
    return found


def read(path, name, progress):
    with reading(path):
        _, root = _open(path)
        groups = _groups(root)
        if not groups:
            raise FileError(
                f"{name_of(path)} holds nothing in the binsparse layout",
                expected="a group with an attribute 'binsparse'",
            )
        group = pick(path, groups, name)
        where = f"{name_of(path)}, {group.path or '/'}"
        return _binsparse.tensor(where, dict(group.attrs)["binsparse"], lambda array: _array(path, group, array))


def write(path, pairs):
    zarr = needed("zarr", "a Zarr store")
    with replacing(path, folder=True) as temporary:
        root = zarr.open_group(temporary, mode="w")
        for name, t in pairs:
            group = root.create_group(name) if name else root
            descriptor, arrays = _binsparse.described(t)
            for key, array in arrays.items():
                if hasattr(group, "create_array"):
                    group.create_array(key, data=array)
                else:  # zarr 2
                    group.create_dataset(key, data=array)
            group.attrs["binsparse"] = descriptor


def entries(path):
    with reading(path):
        _, root = _open(path)
        return [_binsparse.facts(name, dict(group.attrs)["binsparse"]) for name, group in _groups(root).items()]
