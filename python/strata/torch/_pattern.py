"""Which elements a tensor stores, and how: a format, a shape and index arrays, without values.

A weight, its gradient and the state of its optimizer share one Pattern; it never changes.
"""

import contextlib
import functools
import hashlib
import types
import weakref

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

from .. import _core
from .._core import Format, Tensor
from ..errors import TensorError, Unsupported

#: how much each pattern keeps of what is asked with many keys
_REMEMBERED = 16


class Pattern:
    """A format, a shape and the index arrays of what is stored. Immutable; equal where all three are."""

    __slots__ = (
        "__weakref__",
        "_derived",
        "_digest",
        "_known",
        "_matrices",
        "_once",
        "_ones",
        "_parts",
        "_places",
        "_transposed",
        "_used",
        "format",
        "has_room",
        "index",
        "layout",
        "num_values",
        "shape",
        "whole",
    )

    def __init__(self, tensor, *, index=None, slots=None):
        """The pattern of an st.Tensor. TensorError where elements are stored twice, Unsupported for a fill other than 0.
        `index`: its index arrays, where the caller has them as torch tensors. `slots`: see with_slots()."""
        if tensor.fill != 0:
            raise Unsupported("torch's absent elements are 0", expected="a tensor of fill 0", got=f"fill {tensor.fill}")
        if not all(part.format.is_unique for part in tensor.parts):
            raise TensorError(
                "a pattern stores each element once",
                expected="a unique format",
                got=str(tensor.format),
                fix='coalesce first: t.to("COO"), t.to("CSR")',
            )
        with lasting():
            self._parts = tuple(_without_values(part) for part in tensor.parts)
            index = [a for part in self._parts for a in _index_of(part)] if index is None else index
        #: slots that the format needs; num_values where no room is kept
        self._used = sum(map(_count, self._parts))
        self.num_values = self._used if slots is None else slots
        self.format = tensor.format
        self.shape = torch.Size(tensor.shape)
        #: shape, slots and format of each part as one text; with the index arrays all that there is to know
        self.layout = " ".join(
            (
                _numbers(self.shape),
                _numbers(map(_count, self._parts) if slots is None else [slots]),
                " + ".join(str(part.format) for part in self._parts),
            )
        )
        #: are there more values than the format has slots?
        self.has_room = self._used < self.num_values
        #: lies every slot within the tensor, and is there no room for more?
        self.whole = self.num_values == self.nse
        #: the index arrays as torch tensors, pos before crd, level by level: over the memory of the pattern, where it is not
        #: packed. Nobody writes to them.
        self.index = tuple(index)
        self._digest = self._once = self._places = None
        self._ones, self._transposed, self._matrices = {}, {}, [None, None]
        self._derived = {}  # of remembered(): what was made of this pattern, by what was asked
        self._known = types.SimpleNamespace()  # of derived(); a graph would copy a dictionary when it first sees it
        _alive[_key(self.layout, self.index)] = self

    @property
    def nse(self):
        """How many elements are stored (num_values counts slots beyond the edge too)."""
        return sum(part.nse for part in self._parts)

    def with_values(self, values):
        """The st.Tensor with these values, a 1-D torch tensor whose memory it shares and whose gradient it does not hear of."""
        values = values.detach()
        if len(self._parts) == 1:
            return self._parts[0].with_values(self.of_slots(values))
        return _core.with_all_values(self.matrix(False), values.contiguous())

    def matrix(self, transposed):
        """An st.Tensor of this pattern, or of the transposed one, whose values mean nothing."""
        found = self._matrices[transposed]
        if found is None:
            found = self._parts[0] if len(self._parts) == 1 else _core.make_sum(self._parts)
            found = self._matrices[transposed] = found.T if transposed else found
        return found

    def of_slots(self, values):
        """The values without the room at their end."""
        return values[: self._used] if self.has_room else values

    def known_ones_of(self, dtype):
        """What ones_of() made before, or None."""
        return self._ones.get(dtype)

    def ones_of(self, dtype):
        """The st.Tensor that is 1 wherever something is stored."""
        if dtype not in self._ones:
            with lasting():
                parts = [part.with_values(_ones(part.format, _count(part), dtype)) for part in self._parts]
            self._ones[dtype] = parts[0] if len(parts) == 1 else _core.make_sum(parts)
        return self._ones[dtype]

    def values_of(self, tensor):
        """The values of an st.Tensor that has this pattern, as a 1-D torch tensor over its memory; slots beyond the edge are 0."""
        parts = [_core.memory_to_torch(part._raw(0, "values")) for part in tensor.parts]
        for have, part in zip(parts, self._parts):
            assert len(have) == _count(part)
        values = parts[0] if len(parts) == 1 else torch.cat(parts)
        return values if self.whole else self.at_slots(self.in_range(values))

    @property
    def is_dense(self):
        """Is every element stored, in row-major order? Then the values are the dense tensor."""
        return self.derived("dense", lambda self: self.format.is_all_dense and self.whole and _is_all(*self.places()))

    @property
    def once(self):
        """Does each stored element have one slot? (Parts of a sum may store the same one.)"""
        if self._once is None:
            self._once = len(self._parts) == 1 or len(torch.unique(self.places()[1])) == len(self.places()[1])
        return self._once

    def derived(self, name, make):
        """make(self), worked out once; while torch.compile makes a graph too, of which it is no part."""
        self._derive(name, make)
        return getattr(self._known, name)

    def _derive(self, name, make):
        if not hasattr(self._known, name):
            with lasting():
                setattr(self._known, name, make(self))
        return True

    _derive._dynamo_marked_constant = True

    def remembered(self, key, make, *others, twice=False):
        """make(), kept with the pattern under a key and the contents of `others`, further patterns; of all that is kept so the
        oldest goes. With `twice` it is kept from the second time on: of keys that may never come again."""
        kept, key = self._derived, (key, *(other.digest for other in others))
        found = kept.get(key)
        if found is None:
            with lasting():
                found = make()
            if key not in kept and len(kept) >= _REMEMBERED:
                kept.pop(next(iter(kept)), None)
            kept[key] = None if twice and key not in kept else found
        return found

    @property
    def parts(self):
        """The patterns of the parts of a sum, or itself."""
        if len(self._parts) == 1:
            return (self,)
        return self.derived("parts", lambda self: tuple(map(Pattern, self._parts)))

    def in_range(self, values):
        """The values of the slots that lie in the tensor, in the order of places(); differentiable."""
        slot, _ = self.places()
        return values if slot is None else values[slot]

    def at_slots(self, found):
        """The other way: one value for each slot, 0 beyond the edge; differentiable."""
        slot, _ = self.places()
        return found if slot is None else found.new_zeros(self.num_values).index_put((slot,), found)

    def gather(self, dense):
        """The values that a dense tensor of this shape has at the slots, 1-D; 0 beyond the edge. By operations of torch, so
        differentiable."""
        return self.at_slots(dense.reshape(-1)[self.places()[1]])

    def scatter(self, values):
        """The dense tensor with these values: by operations of torch, so differentiable."""
        found = self.in_range(values)
        return found.new_zeros(self.shape.numel()).index_add(0, self.places()[1], found).reshape(self.shape)

    def with_slots(self, slots):
        """The same elements with room for `slots` values, of which the last lie outside. torch.compile makes one graph for all
        patterns of one size. TensorError for fewer than there are, Unsupported for formats without room at the end."""
        levels = self._parts[0].format.levels
        kinds = [level.kind for level in levels]
        first = kinds.index("compressed") if "compressed" in kinds else -1
        if (
            not self._used
            or len(self._parts) > 1
            or first < 0
            or kinds[:first] != ["dense"] * first
            or set(kinds[first + 1 :]) - {"singleton", "dense"}
        ):
            raise Unsupported(
                "only what is compressed once keeps room at its end",
                expected="stored elements in CSR, CSC, COO, BSR or their kin",
                got=repr(self),
            )
        pos, *crd = self.index
        used = int(pos[-1])
        inner = self._used // used
        if slots < self._used or slots % inner:
            raise TensorError(
                "the pattern does not fit", expected=f"at least {self._used} slots, by {inner}", got=str(slots)
            )
        with lasting():
            crd = [torch.cat([c[:used], c.new_zeros(slots // inner - used)]) for c in crd]
        return pattern_of(" ".join((_numbers(self.shape), str(slots), str(self.format))), (pos, *crd))

    def transpose(self, *perm):
        """The same arrays, read with the dimensions in another order (without arguments: reversed)."""
        perm = perm or tuple(reversed(range(len(self.shape))))
        if perm not in self._transposed:
            parts = [part.transpose(*perm) for part in self._parts]
            slots = None if self.num_values == self._used else self.num_values
            self._transposed[perm] = Pattern(parts[0] if len(parts) == 1 else _core.make_sum(parts), slots=slots)
        return self._transposed[perm]

    def places(self):
        """(slot, flat): int64 tensors of the slots that lie in the tensor and of the row-major numbers of their elements.
        `slot` is None where that is every slot, in order."""
        if self._places is None:
            with lasting():
                self._places = _places(self)
        return self._places

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, Pattern):
            return NotImplemented
        return (
            hash(self) == hash(other) and self.layout == other.layout and all(map(torch.equal, self.index, other.index))
        )

    @property
    def digest(self):
        """32 bytes that tell patterns apart."""
        if self._digest is None:
            digest = hashlib.blake2b(self.layout.encode(), digest_size=32)
            with lasting():
                for array in self.index:
                    digest.update(_core.memory_to_numpy(_core.memory(array)))
            self._digest = digest.digest()
        return self._digest

    def __hash__(self):
        return int.from_bytes(self.digest[:8], "little", signed=True)

    def __repr__(self):
        name = self.format.name or str(self.format)
        return f"Pattern({name}, {'x'.join(map(str, self.shape))}, {self.nse} stored)"

    def __reduce__(self):
        return pattern_of, (self.layout, self.index)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class Once:
    """What is worked out once, while torch.compile makes a graph too, of which it is no part."""

    def known(self, method, *arguments):
        """What a method of this name finds for these arguments: plain values. It is an attribute from then on."""
        return getattr(self, self._know(method, *arguments))

    def _know(self, method, *arguments):
        name = f"{method}{arguments}"
        if name not in self.__dict__:
            with lasting():
                setattr(self, name, getattr(self, method)(*arguments))
        return name

    _know._dynamo_marked_constant = True

    def forget(self):
        """All of it."""
        for name in [name for name in self.__dict__ if name.startswith("_find_")]:
            del self.__dict__[name]

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_find_")}


@contextlib.contextmanager
def lasting():
    """For what is kept with a pattern: tensors made in here serve autograd too, under whatever mode (torch.export has one of tensors
    without memory) or transform of torch.func the first call came."""
    modes = _disable_current_modes() if torch._C._len_torch_dispatch_stack() else contextlib.nullcontext()
    with torch.inference_mode(False), temporarily_clear_interpreter_stack(), modes:
        yield


def pattern_of(layout, index):
    """The pattern of a layout and its index arrays: the living one that has these arrays, or a new one. TensorError where
    they are not what the layout says."""
    key = _key(layout, index)
    found = _alive.get(key)
    if found is None:
        shape, counts, text = layout.split(" ", 2)
        shape = numbers_of(shape)
        arrays, parts = iter(index), []
        for format, count in zip(Format(text).parts, numbers_of(counts)):
            pos, crd = {}, {}
            for k, level in enumerate(format.levels):
                if level.has_pos:
                    pos[k] = next(arrays)
                if level.has_crd:
                    crd[k] = next(arrays)
            with lasting():
                parts.append(Tensor(str(format), shape, pos=pos, crd=crd, values=_ones(format, count)))
        slots = numbers_of(counts)[0] if len(parts) == 1 and numbers_of(counts)[0] > _count(parts[0]) else None
        found = Pattern(parts[0] if len(parts) == 1 else _core.make_sum(parts), index=index, slots=slots)
        _recent(key, found)
    return found


#: living patterns by their arrays: operators of compiled graphs get arrays, and find the pattern again
_alive = weakref.WeakValueDictionary()


def _numbers(numbers):
    return ",".join(map(str, numbers)) or "-"


def numbers_of(text):
    """What _numbers wrote."""
    return () if text == "-" else tuple(map(int, text.split(",")))


def _key(layout, index):
    return layout, tuple((a.data_ptr(), a.numel(), a.dtype, _version(a)) for a in index)


def _version(array):
    return 0 if array.is_inference() else array._version


@functools.lru_cache(maxsize=64)
def _recent(key, pattern):
    """Keeps patterns that nobody else keeps for a while."""


def _without_values(part):
    return part.with_values(_ones(part.format, _count(part)))


def _ones(format, count, dtype=torch.float32):
    """For each slot of a part a 1: one number in memory, except in batches, whose values are cut by their place, and in dense
    tensors, which would show it as their one value."""
    whole = format.num_batch_levels or all(level.kind == "dense" for level in format.levels)
    return torch.ones(count, dtype=dtype) if whole else torch.ones(1, dtype=dtype).expand(count)


def _count(part):
    return len(part.values)


def _index_of(part):
    for k, level in enumerate(part.format.levels):
        if level.has_pos:
            yield _core.memory_to_torch(part._raw(k, "pos"))
        if level.has_crd:
            yield _core.memory_to_torch(part._raw(k, "crd"))


def _is_all(slot, flat):
    return slot is None and bool((flat == torch.arange(len(flat))).all())


def _places(pattern):
    """By a conversion of the slots' own numbers to coordinates."""
    slots, flat, before = [], [], 0
    for part in pattern._parts:
        n = _count(part)
        numbered = part.with_values(torch.arange(1, n + 1))
        listed = numbered.to(Format("COO", numbered.ndim), zeros="keep") if numbered.ndim else numbered
        at = torch.zeros(listed.nse, dtype=torch.int64)
        for d, extent in enumerate(numbered.shape):
            at = at * extent + torch.from_numpy(listed.crd(d)[: listed.nse].astype("int64"))
        slots.append(_core.memory_to_torch(listed._raw(0, "values"))[: listed.nse] - 1 + before)
        flat.append(at)
        before += n
    slot, flat = torch.cat(slots), torch.cat(flat)
    if len(slot) == pattern.num_values and bool((slot == torch.arange(before)).all()):
        slot = None
    return slot, flat
