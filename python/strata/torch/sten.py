"""The names of the poster 'STen: An Interface for Efficient Sparsity in PyTorch' (Ivanov, Dryden, Hoefler): its code runs with
`import strata.torch.sten as sten`.

A format of an operator's output is four things: the sparsifier that is fused with the operator, the layout in between, the sparsifier
after it, and the layout that is stored. Layouts are classes; sparsifiers name the share that they drop."""

import copy
import difflib

import torch
from torch.autograd import Function
from torch.utils import _pytree as pytree

from .. import Format
from ..errors import ArgumentError
from ._fused import fused
from ._layouts import format_of, is_dense_layout, register_sparsifier, registered, unregister_sparsifier
from ._sparsified import Sparsified
from ._sparsifiers import NM, GroupedNM, KeepAll, Magnitude, Random, SameFormat, Threshold, instance
from ._sparsify import gradient_of, sparsify
from ._streams import by_rows
from ._tensor import Tensor, from_torch
from ._weights import Sparse, reformat_

__all__ = [
    "BlockwiseFractionSparsifier",
    "CooTensor",
    "CscTensor",
    "CsrTensor",
    "DenseTensor",
    "FixedMaskTensor",
    "GroupedNMSparsifier",
    "GroupedNMTensor",
    "KeepAll",
    "MaskedTensor",
    "NMTensor",
    "PerBlockNMSparsifier",
    "RandomFractionSparsifier",
    "SameFormatSparsifier",
    "ScalarFractionSparsifier",
    "ScalarThresholdSparsifier",
    "SparseParameterWrapper",
    "SparseTensorWrapper",
    "SparsityBuilder",
    "random_mask_sparsify",
    "register_sparsifier_implementation",
    "scalar_mask_sparsify",
    "sparsified_op",
    "unregister_sparsifier_implementation",
]

# Sparsifiers


class _Fraction:
    @property
    def fraction(self):
        """The share that is dropped."""
        return 1 - self.density

    def __repr__(self):
        return f"{type(self).__name__}({self.fraction:g})"


class ScalarFractionSparsifier(_Fraction, Magnitude):
    """Drops the smallest elements: this fraction of them."""

    def __init__(self, fraction):
        super().__init__(1 - fraction)


class RandomFractionSparsifier(_Fraction, Random):
    """Drops this fraction of the elements, at random."""

    def __init__(self, fraction, generator=None):
        super().__init__(1 - fraction, (), generator)


class BlockwiseFractionSparsifier(_Fraction, Magnitude):
    """Drops the blocks of the smallest 2-norms: this fraction of them. `block`: extents, or one for all dimensions."""

    def __init__(self, fraction, block):
        super().__init__(1 - fraction, (block, block) if isinstance(block, int) else tuple(block))


class ScalarThresholdSparsifier(Threshold):
    """Drops what is not larger than the threshold, whatever its sign."""


class PerBlockNMSparsifier(NM):
    """Keeps the n largest of each m."""


class GroupedNMSparsifier(GroupedNM):
    """Keeps n of each m, the same for g rows."""


#: keeps what another tensor stores: of what is changed in place
SameFormatSparsifier = SameFormat


# Layouts


class _Layout(type):
    """A class of layouts; its instances are Tensors of its format."""

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.format == cls.strata_format(x.dim())


class _Named(metaclass=_Layout):
    def __new__(cls, data):
        """A dense or sparse tensor of torch, or a SciPy matrix, in this layout."""
        return (
            cls.from_dense(data) if isinstance(data, torch.Tensor) else cls.from_dense(torch.as_tensor(data.todense()))
        )

    @classmethod
    def from_dense(cls, tensor):
        """All but zeros of a tensor, in this layout."""
        tensor = from_torch(tensor) if tensor.layout != torch.strided else tensor
        return sparsify(tensor, KeepAll(), cls.strata_format(tensor.dim()))


class CsrTensor(_Named):
    """CSR; of more dimensions, all but the last are dense."""

    @staticmethod
    def strata_format(rank):
        """Its format in so many dimensions."""
        return by_rows(rank)


class CscTensor(_Named):
    """CSC, at each place of the dimensions before the last two."""

    @staticmethod
    def strata_format(rank):
        """Its format in so many dimensions."""
        if rank < 2:
            return by_rows(rank)
        dims = [f"d{k}" for k in range(rank)]
        order = [*dims[:-2], dims[-1], dims[-2]]
        return Format(f"({', '.join(dims)}) -> ({': dense, '.join(order)}: compressed)")


class CooTensor(_Named):
    """The coordinates of each element."""

    @staticmethod
    def strata_format(rank):
        """Its format in so many dimensions."""
        return Format("COO", rank)


class MaskedTensor(_Named):
    """A bit for each element, and the values of those that are set."""

    @staticmethod
    def strata_format(rank):
        """Its format in so many dimensions."""
        dims = [f"d{k}" for k in range(rank)]
        return Format(f"({', '.join(dims)}) -> ({': dense, '.join(dims)}: bitmap)")

    def __new__(cls, val, mask=None):
        """`mask`: which elements are stored, zeros among them; all but zeros without one."""
        return cls.from_dense(val) if mask is None else sparsify(val, lambda _: mask != 0, cls.strata_format(val.dim()))


class FixedMaskTensor(MaskedTensor):
    """The same; which elements are stored never changes."""


class DenseTensor:
    """An ordinary tensor."""

    is_dense = True

    def __new__(cls, data):
        """The tensor itself."""
        return data

    @staticmethod
    def from_dense(tensor):
        """The tensor itself."""
        return tensor


class _OfSparsifier(_Layout):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and any(level.kind == "structured" for level in x.format.levels)


class NMTensor(metaclass=_OfSparsifier):
    """n of each m along the rows, as the sparsifier before it says."""

    from_sparsifier = True


class GroupedNMTensor(metaclass=_OfSparsifier):
    """n of each m, the same for g rows, as the sparsifier before it says."""

    from_sparsifier = True


def _layout(layout, sparsifier, rank):
    """What sparsify() takes for a layout of STen: None, a format, or a class that users wrote."""
    if is_dense_layout(layout):
        return None
    if getattr(layout, "from_sparsifier", False):
        if not hasattr(sparsifier, "format"):
            raise ArgumentError(
                f"{layout.__name__} stores what a sparsifier of n of m keeps",
                expected="PerBlockNMSparsifier or GroupedNMSparsifier before it",
                got=type(sparsifier).__name__,
            )
        return Format(sparsifier.format, rank) if rank == 2 else sparsifier.format
    return format_of(layout, rank) or layout


class SparseTensorWrapper:
    """What an implementation of a sparsifier returns."""

    @staticmethod
    def wrapped_from_dense(wrapped, dense, grad_fmt=None):
        """The layout object `wrapped` in the place of the tensor `dense` that it was made from."""
        return wrapped

    def __new__(cls, wrapped, requires_grad=False):
        """A tensor of a layout object."""
        t = wrapped if isinstance(wrapped, torch.Tensor) else Sparsified(*_parts(torch.as_tensor(wrapped.to_dense())))
        if not isinstance(wrapped, torch.Tensor):
            t.wrapped_tensor = wrapped
        return t.requires_grad_() if requires_grad else t


def _parts(dense):
    t = from_torch(dense)
    return t.values(), t.pattern


def SparseParameterWrapper(wrapped):
    """A tensor of a layout object, or a sparse tensor, that requires a gradient. A module keeps it with stt.set_weight."""
    return SparseTensorWrapper(wrapped, requires_grad=True)


def register_sparsifier_implementation(sparsifier, inp, out):
    """A decorator: f(sparsifier, tensor, grad_fmt=None) says what a sparsifier of this class keeps of a tensor of layout `inp` where
    layout `out` is wanted, as a tensor, a mask, or an object of a layout of one's own; see stt.register_sparsifier."""
    return register_sparsifier(sparsifier, _registered_layout(inp), _registered_layout(out))


def unregister_sparsifier_implementation(sparsifier, inp, out):
    """Removes one. False where there is none."""
    return unregister_sparsifier(sparsifier, _registered_layout(inp), _registered_layout(out))


def _registered_layout(layout):
    return None if is_dense_layout(layout) else layout


def random_mask_sparsify(tensor, frac):
    """A dense tensor without this fraction of its elements, chosen at random."""
    return sparsify(tensor, RandomFractionSparsifier(frac))


def scalar_mask_sparsify(tensor, frac):
    """A dense tensor without this fraction of its elements, the smallest."""
    return sparsify(tensor, ScalarFractionSparsifier(frac))


# Operators


def sparsified_op(orig_op, out_fmt, grad_out_fmt=None):
    """orig_op, whose outputs are sparse as `out_fmt` says: for each output (inline sparsifier, layout in between, external
    sparsifier, layout of the output). `grad_out_fmt`: the same for the gradient of each output, which is then that of all its
    elements; None: the gradient of what is stored.

        fmt = (stt.Threshold(0.5), "CSR", stt.KeepAll(), "CSR")
        sparse_add = stt.sten.sparsified_op(orig_op=torch.add, out_fmt=[fmt])
        assert sparse_add(torch.eye(3), torch.eye(3)).nse == 3

    An inline sparsifier that is streaming or blocking is fused with operators that work element by element, and with products: their
    dense result is never there. Within torch.compile outputs are dense tensors with zeros, and the compiler fuses."""
    out_fmt = _checked(out_fmt, "out_fmt")
    grad_out_fmt = None if grad_out_fmt is None else _checked(grad_out_fmt, "grad_out_fmt")
    if grad_out_fmt is not None and len(grad_out_fmt) != len(out_fmt):
        raise ArgumentError(
            "each output has a gradient", expected=f"{len(out_fmt)} formats in grad_out_fmt", got=str(len(grad_out_fmt))
        )

    def op(*args, **kwargs):
        if len(out_fmt) == 1 and (grad_out_fmt is None or not torch.is_grad_enabled()):
            y = _fused(orig_op, args, kwargs, out_fmt[0])
            if y is not None:
                return y
        outputs, tree = pytree.tree_flatten(orig_op(*args, **kwargs))
        if len(outputs) != len(out_fmt):
            raise ArgumentError(
                "a format for each output", expected=f"{len(outputs)} four-tuples in out_fmt", got=str(len(out_fmt))
            )
        grads = grad_out_fmt or [None] * len(out_fmt)
        return pytree.tree_unflatten([formatted(y, f, g) for y, f, g in zip(outputs, out_fmt, grads)], tree)

    op.__name__ = f"sparse_{getattr(orig_op, '__name__', 'op')}"
    return op


def _checked(formats, name):
    formats = tuple(formats)
    for f in formats:
        if not isinstance(f, (tuple, list)) or len(f) != 4:
            raise ArgumentError(
                f"a format in {name} is four things",
                expected="(inline sparsifier, temporary layout, external sparsifier, layout)",
                got=repr(f),
            )
    return tuple((instance(i), t, instance(e), o) for i, t, e, o in formats)


def _fused(orig_op, args, kwargs, fmt):
    inline, temporary, external, out = fmt
    if torch.compiler.is_compiling() or is_dense_layout(temporary) or registered(inline, None, temporary, 2):
        return None
    if not hasattr(inline, "kind") or format_of(temporary, 2) is None:
        return None
    rank = max((x.dim() for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), default=0)
    y = fused(orig_op, args, kwargs, inline, _layout(temporary, inline, rank), gradient_of(inline, None))
    return None if y is None else _converted(y, external, out, None)


def formatted(y, fmt, grad_fmt=None):
    """A tensor through the four steps of a format; its gradient through those of another."""
    if not isinstance(y, torch.Tensor):
        return y
    inline, temporary, external, out = fmt
    grad = None
    if grad_fmt is not None:
        grad = "ste"
        if y.requires_grad and not _keeps_all(grad_fmt):
            y = _WithGradient.apply(y.to_dense() if isinstance(y, Tensor) else y, grad_fmt)
    return _converted(_converted(y, inline, temporary, grad), external, out, grad)


def _converted(x, sparsifier, layout, grad):
    if torch.compiler.is_compiling():
        layout = torch.Tensor
    if (
        isinstance(sparsifier, KeepAll)
        and is_dense_layout(layout)
        and not registered(sparsifier, None, layout, x.dim())
    ):
        return x.to_dense() if isinstance(x, Tensor) else x
    there = getattr(layout, "from_sparsifier", False) and isinstance(x, layout)
    y = sparsify(x, sparsifier, x.format if there else _layout(layout, sparsifier, x.dim()), grad=grad)
    return y.to_dense() if isinstance(y, Tensor) and is_dense_layout(layout) else y


def _keeps_all(fmt):
    inline, temporary, external, out = fmt
    builtin = lambda layout: is_dense_layout(layout) or hasattr(layout, "strata_format")  # noqa: E731
    return all(isinstance(s, KeepAll) for s in (inline, external)) and builtin(temporary) and builtin(out)


class _WithGradient(Function):
    """x, whose gradient goes through a format."""

    @staticmethod
    def forward(ctx, x, fmt):
        ctx.fmt = fmt
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = formatted(g, ctx.fmt)
        return (g.to_dense() if isinstance(g, Tensor) else g), None


# Models


class SparsityBuilder:
    """Says which weights and intermediate results of a model are sparse, and makes such a model.

        sten = stt.sten
        sb = sten.SparsityBuilder(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()))
        sb.set_weight("0.weight", initial_sparsifier=sten.ScalarFractionSparsifier(0.9), out_format=sten.CsrTensor)
        sb.set_interm("1", external_sparsifier=sten.ScalarThresholdSparsifier(0.5), out_format=sten.CooTensor)
        sparse_model = sb.get_sparse_model()

    Weights go by their name; intermediate results by that of the module that returns them, or, within a module that torch.fx can
    trace, by the name of the node ("encoder.layer.0.gelu")."""

    def __init__(self, model=None):
        self.model = model
        self._weights, self._weight_grads, self._interms, self._interm_grads = {}, {}, {}, {}

    def set_weight(
        self,
        name,
        initial_sparsifier=None,
        inline_sparsifier=None,
        tmp_format=torch.Tensor,
        external_sparsifier=None,
        out_format=torch.Tensor,
    ):
        """The weight of this name is sparse: what the three sparsifiers leave, one after the other, in the layout out_format."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._weights[name] = instance(initial_sparsifier), _checked([fmt], "set_weight")[0]
        return self

    def set_weight_grad(
        self, name, inline_sparsifier=None, tmp_format=torch.Tensor, external_sparsifier=None, out_format=torch.Tensor
    ):
        """Of this weight's gradient the sparsifiers leave only a part; the rest is 0. It is stored where the weight is."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._weight_grads[name] = _checked([fmt], "set_weight_grad")[0]
        return self

    def set_interm(
        self, name, inline_sparsifier=None, tmp_format=torch.Tensor, external_sparsifier=None, out_format=torch.Tensor
    ):
        """The intermediate result of this name is sparse."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._interms[name] = _checked([fmt], "set_interm")[0]
        return self

    def set_interm_grad(
        self, name, inline_sparsifier=None, tmp_format=torch.Tensor, external_sparsifier=None, out_format=torch.Tensor
    ):
        """The gradient of the intermediate result of this name is that of all its elements, through these steps."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._interm_grads[name] = _checked([fmt], "set_interm_grad")[0]
        return self

    def get_sparse_model(self, model=None):
        """A sparse copy; the model stays as it is."""
        return self.sparsify_model_inplace(copy.deepcopy(self._model(model)))

    def sparsify_model_inplace(self, model=None):
        """The model itself becomes sparse, and is returned. (Where an intermediate result is a node of the model's own graph: another
        module around the same parts.)"""
        return self.sparsify_model_and_optimizer_inplace(model, None)

    def sparsify_model_and_optimizer_inplace(self, model, optimizer):
        """The same; the optimizer goes on with the new parameters, and with what it knew of them."""
        model = self._model(model)
        interms = dict.fromkeys([*self._interms, *self._interm_grads])
        for name in sorted(interms, key=lambda name: -name.count(".")):  # what is inside another comes first
            keep = (KeepAll(), torch.Tensor, KeepAll(), torch.Tensor)
            model = _set_interm(model, name, self._interms.get(name, keep), self._interm_grads.get(name))
        names = dict(model.named_parameters(remove_duplicate=False))
        for name in {*self._weights, *self._weight_grads}:
            if name not in names:
                raise ArgumentError(f"no weight {name!r}", expected=_nearest(name, names), got=repr(name))
        sparse = {}
        for name, (initial, fmt) in self._weights.items():
            with torch.no_grad():
                weight = formatted(_converted(names[name].detach(), initial, torch.Tensor, None), fmt)
                if isinstance(weight, Tensor):
                    sparse[id(names[name])] = weight
                else:
                    names[name].copy_(weight)
        reformat_(model, lambda _, weight: sparse.get(id(weight)), optimizer)
        for name, fmt in self._weight_grads.items():
            path, _, leaf = name.rpartition(".")
            module = model.get_submodule(path)
            values = module._parameters.get(f"{leaf}_values")
            if values is None:
                names[name].register_hook(lambda g, fmt=fmt: _plainly(formatted(g, fmt)))
            else:
                values.register_hook(_OfValues(module, leaf, fmt))
        return model

    def _model(self, model):
        model = self.model if model is None else model
        if model is None:
            raise ArgumentError("no model", expected="SparsityBuilder(model) or get_sparse_model(model)", got="neither")
        return model


def _plainly(g):
    return g.to_dense() if isinstance(g, Tensor) else g


class _OfValues:
    """The gradient of stored values, through a format."""

    def __init__(self, module, name, fmt):
        self.module, self.name, self.fmt = module, name, fmt

    def __call__(self, g):
        pattern = getattr(self.module, self.name).pattern
        return pattern.gather(_plainly(formatted(pattern.scatter(g), self.fmt)))


def _nearest(name, names):
    return ", ".join(difflib.get_close_matches(name, names, 3, 0) or list(names)[:3])


def _set_interm(model, name, fmt, grad_fmt):
    """The model, one of whose intermediate results has this format."""
    modules = dict(model.named_modules())
    if name in modules:
        modules[name].register_forward_hook(_Output(name, fmt, grad_fmt))
        return model
    path, _, node_name = name.rpartition(".")
    if path not in modules:
        raise ArgumentError(f"no module {path!r}", expected=_nearest(path, modules), got=repr(name))
    traced = modules[path]
    if not isinstance(traced, torch.fx.GraphModule):
        try:
            graph = _Tracer().trace(traced)
            traced = torch.fx.GraphModule(traced, graph)
        except Exception as e:
            raise ArgumentError(
                f"torch.fx cannot trace {path or 'the model'}, so that {node_name!r} is not found",
                expected="the name of a module, or of a node within a module that it can trace",
                got=f"{type(e).__name__}: {e}",
            ) from e
        traced.train(modules[path].training)
    nodes = {node.name: node for node in traced.graph.nodes}
    if node_name not in nodes:
        raise ArgumentError(f"no result {name!r}", expected=_nearest(node_name, nodes), got=repr(name))
    node = nodes[node_name]
    if node.op == "call_function":
        node.target = sparsified_op(node.target, [fmt], None if grad_fmt is None else [grad_fmt])
    else:
        with traced.graph.inserting_after(node):
            after = traced.graph.call_function(_Output(name, fmt, grad_fmt).of, (node,))
        node.replace_all_uses_with(after, delete_user_cb=lambda user: user is not after)
    traced.recompile()
    if not path:
        return traced
    model.set_submodule(path, traced)
    return model


class _Tracer(torch.fx.Tracer):
    """Follows modules into their forward, but not those that were changed here: their changes would be lost."""

    def is_leaf_module(self, m, name):
        changed = isinstance(m, (torch.fx.GraphModule, Sparse)) or any(
            isinstance(hook, _Output) for hook in m._forward_hooks.values()
        )
        return changed or super().is_leaf_module(m, name)


class _Output:
    """A forward hook that gives a module's output its format."""

    def __init__(self, name, fmt, grad_fmt):
        self.name, self.fmt, self.grad_fmt = name, fmt, grad_fmt

    def __call__(self, module, inputs, output):
        return self.of(output)

    def of(self, output):
        if not isinstance(output, torch.Tensor):
            raise ArgumentError(f"{self.name} is no tensor", expected="the name of one", got=type(output).__name__)
        return formatted(output, self.fmt, self.grad_fmt)
