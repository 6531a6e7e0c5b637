"""Modules whose weights are sparse: the stored values are the Parameter, the weight that the module reads is made from them."""

import re

import torch
import torch.nn.functional as F

from .._core import Format
from ..errors import ArgumentError, Error, TensorError
from . import _convolution, _matrix
from ._channels import permute_channels_
from ._layers import Chosen, own
from ._layouts import is_registered
from ._pattern import pattern_of
from ._register import KERNELS
from ._sparsifiers import as_sparsifier, instance
from ._sparsify import sparsify
from ._tensor import Tensor, from_torch
from ._traced import Traced, is_understood

#: attribute of a module: {name of the weight: Pattern}
_PATTERNS = "_strata_patterns"
#: attribute of a module: f(module, name, gradient), which wants the dense gradient of its weights while it trains
_LISTENER = "_strata_listener"
#: attribute of a module: {name of a weight: f(weight) -> what the module reads in its place}
_READ = "_strata_read"
#: attribute of a module: {name of the weight: (Tensor, its values, its pattern, its dtype)}, as it was read last
_LAST = "_strata_last"
#: attribute of a module: {name of a weight that sparsify_ left dense: why}
_DENSE = "_strata_dense"


def set_weight(module, name, weight):
    """From here on `module.<name>` is the stt.Tensor `weight`: its values are the Parameter `<name>_values`, which optimizers
    see; the module's other code does not change. In a state dict stand `<name>.values`, `<name>.layout` and
    `<name>.index.<k>`, so that another pattern loads as well."""
    patterns = _patterns_of(module)
    old = module._parameters.pop(name, None)
    old = module._parameters.get(f"{name}_values") if old is None else old
    requires_grad = old.requires_grad if old is not None else weight.requires_grad
    patterns[name] = weight.pattern
    values = torch.nn.Parameter(weight.values().detach(), requires_grad=requires_grad and weight.is_floating_point())
    module.register_parameter(f"{name}_values", values)


def read_through(module, name, f):
    """From here on the module reads f(weight) as `module.<name>`. A dense weight is the Parameter `<name>_dense` then; in a state
    dict it keeps its name."""
    patterns = _patterns_of(module)
    module.__dict__.setdefault(_READ, {})[name] = f
    if name not in patterns and name in module._parameters:
        module.register_parameter(f"{name}_dense", module._parameters.pop(name))


def read_plainly(module, name):
    """The module reads a dense weight as it is again: the Parameter `<name>_dense` has its own name back."""
    setattr(module, name, module._parameters[f"{name}_dense"])


def read_densely(module):
    """Names of the dense weights in whose place a module reads something else."""
    return [name for name in module.__dict__.get(_READ, ()) if f"{name}_dense" in module._parameters]


def _settle_(model, wanted):
    """Weights that were chosen in each forward pass are so no longer, where wanted(name, module)."""
    for path, module in model.named_modules():
        for name in read_densely(module):
            if wanted(f"{path}.{name}" if path else name, module):
                left = module.__dict__[_READ][name].unchosen()
                module.__dict__[_READ][name] = left
                if left is None:
                    read_plainly(module, name)


def _patterns_of(module):
    """What a module says of its sparse weights, from the first one on."""
    if _PATTERNS not in module.__dict__:
        module.__dict__[_PATTERNS] = {}
        if not isinstance(module, Sparse):
            module.__class__ = _class_of(type(module))
    return module.__dict__[_PATTERNS]


def weights_of(module):
    """{name: Tensor} of the sparse weights that stand in the module itself."""
    return {name: _weight(module, name) for name in module.__dict__.get(_PATTERNS, ())}


def dense_because(module, name):
    """Why a weight of the module is dense, as far as sparsify_ knows."""
    return module.__dict__.get(_DENSE, {}).get(name, "nothing made it sparse")


def _weight(module, name):
    values, pattern = module._parameters[f"{name}_values"], module.__dict__[_PATTERNS][name]
    if torch.compiler.is_compiling():
        traced = Traced(values, pattern)
        return traced if is_understood() else traced.to_dense()
    listener = module.__dict__.get(_LISTENER)
    if listener is not None and module.training and torch.is_grad_enabled():
        dense = pattern.scatter(values)
        if dense.requires_grad:
            dense.register_hook(lambda g: listener(module, name, g.detach()))
        return dense
    if type(values) is not torch.nn.Parameter:  # torch.func has put something in its place
        return Tensor(values, pattern)
    last = module.__dict__.setdefault(_LAST, {})
    found = last.get(name)
    if found is None or found[1] is not values or found[2] is not pattern or found[3] != values.dtype:
        with torch.inference_mode(False):
            found = last[name] = Tensor(values, pattern), values, pattern, values.dtype
    return found[0]


class Sparse:
    """What a module's class gains with its first sparse weight."""

    def __getattr__(self, name):
        read = self.__dict__.get(_READ, {}).get(name)
        if name in self.__dict__.get(_PATTERNS, ()):
            weight = _weight(self, name)
            return weight if read is None else read(weight)
        return super().__getattr__(name) if read is None else read(self._parameters[f"{name}_dense"])

    def __setattr__(self, name, value):
        patterns, reads = (self.__dict__.get(key, {}) for key in (_PATTERNS, _READ))
        if name in patterns and isinstance(value, Tensor):
            return set_weight(self, name, value)
        if name in patterns or name in reads:
            reads.pop(name, None)
            del self._parameters[f"{name}_values" if patterns.pop(name, None) is not None else f"{name}_dense"]
        super().__setattr__(name, value)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, pattern in self.__dict__[_PATTERNS].items():
            destination[f"{prefix}{name}.values"] = destination.pop(f"{prefix}{name}_values")
            destination[f"{prefix}{name}.layout"] = torch.tensor(list(pattern.layout.encode()), dtype=torch.uint8)
            for k, array in enumerate(pattern.index):
                # a copy: distributed checkpoints are read into the tensors of a state dict
                destination[f"{prefix}{name}.index.{k}"] = array.clone()
        for name in read_densely(self):
            destination[f"{prefix}{name}"] = destination.pop(f"{prefix}{name}_dense")

    def _load_from_state_dict(self, state_dict, prefix, metadata, strict, missing, unexpected, errors):
        for name, pattern in self.__dict__[_PATTERNS].items():
            values, layout = (state_dict.pop(f"{prefix}{name}.{part}", None) for part in ("values", "layout"))
            index, k = [], 0
            while f"{prefix}{name}.index.{k}" in state_dict:
                index.append(state_dict.pop(f"{prefix}{name}.index.{k}").clone())
                k += 1
            if values is None or layout is None:
                missing.extend(f"{prefix}{name}.{p}" for p, x in (("values", values), ("layout", layout)) if x is None)
                continue
            try:
                loaded = pattern_of(bytes(layout.tolist()).decode(), index)
                if loaded.shape != pattern.shape:
                    raise TensorError(
                        "a weight of another shape", expected=str(tuple(pattern.shape)), got=str(tuple(loaded.shape))
                    )
                Tensor(values, loaded)
            except (Error, StopIteration) as e:
                errors.append(f"{prefix}{name}: {e}")
                continue
            parameter = self._parameters[f"{name}_values"]
            with torch.no_grad():
                if values.shape == parameter.shape:
                    parameter.copy_(values)
                else:
                    parameter.set_(values.detach().to(parameter.dtype).clone())
            self.__dict__[_PATTERNS][name] = loaded if loaded != pattern else pattern
        dense = {f"{prefix}{name}": f"{prefix}{name}_dense" for name in read_densely(self)}
        state_dict = {
            **{dense.get(key, key): value for key, value in state_dict.items()},
            **{f"{prefix}{name}_values": self._parameters[f"{name}_values"].data for name in self.__dict__[_PATTERNS]},
        }
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, missing, unexpected, errors)

    def __reduce_ex__(self, protocol):
        state = {k: v for k, v in self.__dict__.items() if k not in (_LISTENER, _LAST)}
        return _made, (type(self) if type(self) not in _classes.values() else self._dense_class,), state

    def extra_repr(self):
        sparse = ", ".join(f"{name}={pattern!r}" for name, pattern in self.__dict__[_PATTERNS].items())
        return ", ".join(filter(None, (super().extra_repr(), sparse)))


class SparseLinear(Sparse):
    """nn.Linear needs no wrapper around its weight."""

    def forward(self, x):
        if isinstance(x, Tensor) or not _is_plain(self, F.linear):
            return super().forward(x)
        p = self._parameters
        return _matrix.linear(p["weight_values"], self.__dict__[_PATTERNS]["weight"], x, p["bias"])


class SparseConvolution(Sparse):
    """Nor does nn.Conv1d, Conv2d or Conv3d."""

    def forward(self, x):
        rank = len(self.kernel_size)
        plain = self.padding_mode == "zeros" and _is_plain(self, (F.conv1d, F.conv2d, F.conv3d)[rank - 1])
        if isinstance(x, Tensor) or not plain:
            return super().forward(x)
        p, pattern = self._parameters, self.__dict__[_PATTERNS]["weight"]
        how = self.stride, self.padding, self.dilation, self.groups
        return _convolution.convolve(rank, x, p["weight_values"], pattern, p["bias"], *how)


def _is_plain(module, function):
    """Is its `weight` sparse, and does nobody want to see it but the module itself, which gives it to a function of torch?"""
    state = module.__dict__
    return "weight" in state[_PATTERNS] and _LISTENER not in state and _READ not in state and function not in KERNELS


_MIXINS = {torch.nn.Linear: SparseLinear}
_MIXINS.update(dict.fromkeys((torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d), SparseConvolution))
_classes = {}


def _class_of(cls):
    if cls not in _classes:
        known = next((base for base in _MIXINS if issubclass(cls, base)), None)
        alike = known is not None and all(
            getattr(cls, name, None) is getattr(known, name, None) for name in ("forward", "_conv_forward")
        )
        mixin = _MIXINS[known] if alike else Sparse
        _classes[cls] = type(f"Sparse{cls.__name__}", (mixin, cls), {"__module__": cls.__module__, "_dense_class": cls})
    return _classes[cls]


def _made(cls):
    sparse = cls if issubclass(cls, Sparse) else _class_of(cls)
    return sparse.__new__(sparse)


def reformat_(model, func, optimizer=None):
    """Calls func(name, weight) for every weight of two or more dimensions (name: "layers.0.linear1.weight"; weight: the dense
    Parameter). What it returns, an stt.Tensor, a torch.sparse tensor or anything that stt.from_torch takes, becomes the weight;
    None leaves it alone. The model itself is changed and returned. An optimizer that is given goes on with the new Parameters, and
    with what it kept of the elements that are stored. ArgumentError for another shape."""
    shared, tied = {}, {}
    for path, module in list(model.named_modules()):
        for name, parameter in list(module._parameters.items()):
            if parameter is None or parameter.dim() < 2:
                continue
            full = f"{path}.{name}" if path else name
            if id(parameter) in shared:
                new = shared[id(parameter)]
            else:
                with torch.no_grad():
                    new = func(full, parameter)
                if new is not None and not isinstance(new, Tensor):
                    new = from_torch(new.detach())
                shared[id(parameter)] = new
            if new is None:
                continue
            if new.shape != parameter.shape:
                raise ArgumentError(
                    f"the new weight {full} has another shape",
                    expected=str(tuple(parameter.shape)),
                    got=str(tuple(new.shape)),
                )
            set_weight(module, name, new)
            values = f"{name}_values"
            module._parameters[values] = tied.setdefault(id(new), module._parameters[values])  # tied weights stay tied
            if optimizer is not None:
                _goes_on(optimizer, parameter, module._parameters[values], new.pattern)
    for module in model.modules():
        if isinstance(module, torch.nn.TransformerEncoder) and any(map(weights_of, module.modules())):
            module.use_nested_tensor = False  # it asks the first layer alone whether all go by torch's fused kernels
    return model


def _goes_on(optimizer, old, new, pattern):
    """An optimizer knows the stored values instead of the dense Parameter that they come from."""
    for group in optimizer.param_groups:
        group["params"] = [new if p is old else p for p in group["params"]]
    state = optimizer.state.pop(old, None)
    if state is not None:
        optimizer.state[new] = {
            key: pattern.gather(x) if isinstance(x, torch.Tensor) and x.shape == old.shape else x
            for key, x in state.items()
        }


def sparsify_(
    model,
    format=None,
    sparsifier=None,
    filter=None,
    min_sparsity=None,
    *,
    when="once",
    grad=None,
    inputs=None,
    optimizer=None,
):
    """Makes the weights of nn.Linear (or those that `filter` chooses) sparse, in place, and returns the model.

    format : a name ("CSR", "BSR(16, 16)", "delta(4)") or st.Format of the weights. One of two dimensions is, for the weight of a
        convolution, that of the (out, in) matrix at each place of the kernel; "COO", "CSF" and "dense" fit any weight. None: the
        sparsifier's own (stt.NM, stt.GroupedNM), or CSR.
    sparsifier : stt.Magnitude(0.1), stt.NM(2, 4), ..., a class of one, or weight -> boolean mask; without one all but zeros stays.
    filter : None (weights of nn.Linear), a regular expression that finds names, or f(name, module) -> bool.
    min_sparsity : a weight with a smaller share of zeros (of zero blocks, in formats of blocks) stays dense.
    when : "once": now. "call": weights stay dense Parameters, and each forward pass computes what is stored of them; sparsify_ without
        it makes an end of that.
    grad : with "call", the gradient of the dense Parameters ("stored", "ste", a pair, an stt.Gradient; see stt.sparsify).
    inputs : a batch (or a tuple of arguments, a dictionary of keywords) that the model is run with before, where the sparsifier wants
        to know the inputs of layers (stt.Wanda, stt.SparseGPT).
    optimizer : goes on with the new Parameters.
    """
    if when not in ("once", "call"):
        raise ArgumentError("when= of another kind", expected="'once' or 'call'", got=repr(when))
    sparsifier = instance(sparsifier) if is_registered(sparsifier) else as_sparsifier(sparsifier)
    format = default_format(sparsifier) if format is None else format
    if getattr(sparsifier, "permute", False):
        permute_channels_(model, sparsifier)
    wanted = chooser(filter)
    _settle_(model, wanted)
    modules = dict(model.named_modules())
    chosen = [
        (f"{path}.{leaf}" if path else leaf, module, leaf, parameter)
        for path, module in modules.items()
        for leaf, parameter in module._parameters.items()
        if parameter is not None and parameter.dim() > 1 and wanted(f"{path}.{leaf}" if path else leaf, module)
    ]
    if when == "call":
        for _, module, leaf, parameter in chosen:
            read_through(module, leaf, Chosen(sparsifier, weight_format(format, parameter.dim()), grad))
        return model
    parameters = {}
    for _, module, _, parameter in chosen:
        parameters.setdefault(id(parameter), (module, parameter))
    told = dict(zip(parameters, own(model, list(parameters.values()), sparsifier, inputs)))
    names = {name for name, _, _, _ in chosen}

    def func(name, weight):
        if name not in names:
            return None
        path, _, leaf = name.rpartition(".")
        one, site = told[id(weight)]
        new = sparsify(weight, one, weight_format(format, weight.dim()), **site)
        absent = 1 - new.pattern.num_values / max(weight.numel(), 1)
        if min_sparsity is not None and absent < min_sparsity:
            why = f"{100 * absent:.1f} % would be absent, min_sparsity={min_sparsity} asks for more"
            modules[path].__dict__.setdefault(_DENSE, {})[leaf] = why
            return None
        return new

    return reformat_(model, func, optimizer)


def default_format(sparsifier):
    """The format of what a sparsifier keeps of a weight, where nobody says another one: its own, or CSR."""
    return getattr(sparsifier, "format", "CSR")


def weight_format(format, rank):
    """The format of a weight of `rank` dimensions. One of two is lifted: it holds the matrix of the first two dimensions (outputs,
    inputs) at each place of the others (of the kernel). FormatError."""
    format = format if isinstance(format, Format) else Format(format, rank)
    if format.rank != 2 or rank <= 2:
        return format
    return Format(" + ".join(_lifted(part, rank - 2) for part in format.parts))


def _lifted(part, more):
    places = "uvwzyx"[-more:]
    levels = str(part.rename(["o", "i"])).partition(" -> (")[2]
    return f"(o, i, {', '.join(places)}) -> ({', '.join(f'{p}: dense' for p in places)}, {levels}"


def chooser(filter):
    """What `filter` of sparsify_ and quantize_ means: f(name, module) -> bool."""
    if filter is None:
        return lambda name, module: isinstance(module, torch.nn.Linear) and name.endswith("weight")
    if isinstance(filter, str):
        found = re.compile(filter)
        return lambda name, module: found.search(name) is not None
    return filter
