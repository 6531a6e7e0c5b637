"""The protocol of the Python array API standard on tensors, and DLPack of dense ones."""

from ._members import method
from .errors import Unsupported

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


@method
def __array_namespace__(self, *, api_version=None):
    """strata.array_api: the functions of the Python array API standard that tensors have.

    api_version : "2021.12" to "2024.12", or None. Unsupported: another version.
    """
    from . import array_api

    if api_version not in (None, *_VERSIONS):
        raise Unsupported(
            "there is no such version of the array API standard here",
            expected=", ".join(_VERSIONS),
            got=repr(api_version),
        )
    return array_api


@method
def to_device(self, device, /, *, stream=None):
    """The tensor on a device: itself for "cpu". Unsupported: another one.

    A.to_device("cpu")
    """
    return self.to(device=str(device))


def _array(t):
    if not t.format.is_all_dense:
        raise BufferError("a sparse tensor has no DLPack: write t.to_dense(), or from_dlpack(t.values)")
    return t.to_numpy()


@method
def __dlpack_device__(self):
    """(1, 0): the host."""
    return 1, 0


@method
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """The memory of a dense tensor as a DLPack capsule. BufferError: a sparse tensor."""
    options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return _array(self).__dlpack__(**{k: v for k, v in options.items() if v is not None})
