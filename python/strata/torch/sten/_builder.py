"""A model's weights and intermediate results become sparse, by their names."""

import copy
import difflib

import torch

from ...errors import ArgumentError
from .._sparsifiers import KeepAll, instance
from .._tensor import Tensor
from .._weights import Sparse, reformat_
from ._operators import checked, converted, formatted, sparsified_op


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
        self._weights[name] = instance(initial_sparsifier), checked([fmt], "set_weight")[0]
        return self

    def set_weight_grad(
        self, name, inline_sparsifier=None, tmp_format=torch.Tensor, external_sparsifier=None, out_format=torch.Tensor
    ):
        """Of this weight's gradient the sparsifiers leave only a part; the rest is 0. It is stored where the weight is."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._weight_grads[name] = checked([fmt], "set_weight_grad")[0]
        return self

    def set_interm(
        self, name, inline_sparsifier=None, tmp_format=torch.Tensor, external_sparsifier=None, out_format=torch.Tensor
    ):
        """The intermediate result of this name is sparse."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._interms[name] = checked([fmt], "set_interm")[0]
        return self

    def set_interm_grad(
        self, name, inline_sparsifier=None, tmp_format=torch.Tensor, external_sparsifier=None, out_format=torch.Tensor
    ):
        """The gradient of the intermediate result of this name is that of all its elements, through these steps."""
        fmt = (inline_sparsifier, tmp_format, external_sparsifier, out_format)
        self._interm_grads[name] = checked([fmt], "set_interm_grad")[0]
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
                weight = formatted(converted(names[name].detach(), initial, torch.Tensor, None), fmt)
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
        hooks = modules[name]._forward_hooks
        for key in [key for key, hook in hooks.items() if isinstance(hook, _Output)]:
            del hooks[key]  # an earlier builder's word
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
