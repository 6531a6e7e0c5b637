"""explain: a model runs once, and each of its weights tells which way it was computed with."""

import dataclasses
import math

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import strata as st

from ._contract import patterns_in
from ._fallback import watched
from ._pattern import pattern_of
from ._tensor import FUNCTIONS, Tensor
from ._weights import dense_because, weights_of


@dataclasses.dataclass(frozen=True)
class Site:
    """One use of a sparse tensor: the module that ran, the operator, whether it ran on the stored elements, and how or why not."""

    module: str
    operator: str
    sparse: bool
    why: str

    def __str__(self):
        return f"{self.operator}: {'sparse' if self.sparse else 'on a dense copy'}{self.why and f' ({self.why})'}"


@dataclasses.dataclass(frozen=True)
class Weight:
    """A weight, or another sparse operand: name, format (None: dense), shape, stored share, its sites, and why it is dense."""

    name: str
    format: object
    shape: tuple
    stored: float
    sites: tuple
    why: str = ""

    def lines(self):
        """The cells of its lines in the table."""
        told = [str(site) for site in self.sites] or [f"stays dense: {self.why}" if self.format is None else "not used"]
        name = "dense" if self.format is None else self.format.name or str(self.format)
        yield self.name, name, "x".join(map(str, self.shape)), f"{100 * self.stored:.1f} %", told[0]
        yield from (("", "", "", "", line) for line in told[1:])


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What explain() found: `weights`, a tuple of Weight; prints as a table."""

    weights: tuple

    def __str__(self):
        rows = [("weight", "format", "shape", "stored", "path"), *(line for w in self.weights for line in w.lines())]
        width = [max(len(row[k]) for row in rows) for k in range(4)]
        return "\n".join("  ".join([*(c.ljust(n) for c, n in zip(row, width)), row[4]]).rstrip() for row in rows)

    __repr__ = __str__


def explain(model, *args, **kwargs):
    """Runs model(*args, **kwargs) once, without gradients, and says which way each weight went: its format, shape and stored
    share, which operators ran on its stored elements and by which kernel, which on a dense copy and why, and which weights
    stayed dense. `model`: a module, or any function. Returns an Explanation, which prints as a table."""
    trace = _Trace(model)
    with trace, torch.no_grad():
        model(*args, **kwargs)
    return Explanation(tuple(trace.weights()))


class _Trace:
    """Modes around the one run, so that an ordinary call pays nothing: the function mode sees what is asked of sparse tensors,
    the dispatch mode the products, which take the way through operators where a mode looks on."""

    def __init__(self, model):
        modules = dict(model.named_modules()) if isinstance(model, torch.nn.Module) else {}
        self.names = {id(module): name for name, module in modules.items()}
        self.modules, self.path = modules, []
        self.inner = None  # products within the function of torch that runs: [(name of the weight, kernel)]
        self.sites = {}  # name of the weight: {Site: None}, in order
        self.others = {}  # what is sparse and no weight of the model: name -> Pattern
        self.by_values, self.by_index = {}, {}
        for path, module in modules.items():
            for name, weight in weights_of(module).items():
                full = f"{path}.{name}" if path else name
                self.by_values.setdefault(weight.data_ptr(), []).append(full)
                self.by_index.setdefault(_addresses(weight.pattern.index), []).append(full)

    def __enter__(self):
        self.hooks = [
            register_module_forward_pre_hook(lambda module, _: self.path.append(module)),
            register_module_forward_hook(lambda module, *_: self.path.pop() and None, always_call=True),
        ]
        self.modes = [_Functions(self), _Products(self)]
        for mode in self.modes:
            mode.__enter__()

    def __exit__(self, *error):
        for mode in reversed(self.modes):
            mode.__exit__(*error)
        for hook in self.hooks:
            hook.remove()

    def note(self, name, operator, sparse, why):
        self.sites.setdefault(name, {})[Site(self._module(), operator, sparse, why)] = None

    def _module(self):
        return next((self.names[id(m)] for m in reversed(self.path) if id(m) in self.names), "")

    def weight_of(self, values, pattern):
        """The name of the model's weight that has this memory, or None."""
        found = self.by_values.get(values.data_ptr()) or self.by_index.get(_addresses(pattern.index)) or [None]
        inside = [name for name in found if name and name.rpartition(".")[0] == self._module()]
        return (inside or found)[0]

    def name_of(self, values, pattern):
        found = self.weight_of(values, pattern)
        if found is not None:
            return found
        name = f"({pattern.format.name or pattern.format} {'x'.join(map(str, pattern.shape))})"
        self.others[name] = pattern
        return name

    def weights(self):
        for path, module in self.modules.items():
            sparse = weights_of(module)
            for name, weight in sparse.items():
                yield self._weight(f"{path}.{name}" if path else name, weight.pattern)
            for name, p in module._parameters.items():
                if p is not None and p.dim() > 1 and name not in sparse:
                    share = p.count_nonzero().item() / max(p.numel(), 1)
                    full, why = f"{path}.{name}" if path else name, dense_because(module, name)
                    yield Weight(full, None, tuple(p.shape), share, (), why)
        for name, pattern in self.others.items():
            yield self._weight(name, pattern)

    def _weight(self, name, pattern):
        share = pattern.num_values / max(math.prod(pattern.shape), 1)
        return Weight(name, pattern.format, tuple(pattern.shape), share, tuple(self.sites.get(name, ())))


def _addresses(index):
    return tuple(array.data_ptr() for array in index)


class _Functions(TorchFunctionMode):
    """What is called with sparse tensors."""

    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operands = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        if not operands:
            return func(*args, **kwargs)
        outer, self.trace.inner = self.trace.inner, []
        try:
            with watched() as copies:
                result = func(*args, **kwargs)
            name = getattr(func, "__name__", str(func)).strip("_")
            if (func in FUNCTIONS and name not in _RENAMES) or copies:
                for x in operands:
                    self._note(x, name, func in FUNCTIONS, copies)
        finally:
            self.trace.inner = outer
        return result

    def _note(self, x, name, known, copies):
        weight = self.trace.name_of(x.values(), x.pattern)
        copied = dict.fromkeys(operation for operation, pattern in copies if pattern is x.pattern)
        if not copied:
            # a product with what was made of the operand within the function is the operand's
            kernels = dict.fromkeys(kernel for of, kernel in self.trace.inner if of in (weight, None))
            self.trace.note(weight, name, True, ", ".join(kernels))
        elif known and set(copied) != {name}:
            self.trace.note(weight, name, False, f"{', '.join(copied)} in it has no sparse form")
        else:
            self.trace.note(weight, name, False, "no sparse form" + " for these operands" * known)


#: no computation, so nothing to tell
_RENAMES = {"t", "T", "transpose", "permute", "mT", "get", "detach", "contiguous", "clone", "zeros_like"}


class _Products(TorchDispatchMode):
    """The operators of this library."""

    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func).removeprefix("strata.").strip("_").partition("_v")[0]
        for values, pattern, kernel in _uses(name, args) if func.namespace == "strata" else ():
            if self.trace.inner is None:
                self.trace.note(self.trace.name_of(values, pattern), name, True, kernel)
            else:
                self.trace.inner.append((self.trace.weight_of(values, pattern), kernel))
        return func(*args, **(kwargs or {}))


def _uses(name, args):
    """(values, pattern, kernel) of each sparse operand of an operator."""
    if name == "contract":
        operands, index, layouts, spec = args
        for values, found in zip(operands, patterns_in(index, layouts)):
            if found is not None:
                yield values, pattern_of(*found), spec
    elif name not in ("sampled", "winners"):
        layout = next(a for a in args if isinstance(a, str))
        pattern = pattern_of(layout, next(a for a in args if isinstance(a, (list, tuple))))
        yield args[0], pattern, _kernel(pattern, *args) if name == "mm" else name


def _kernel(pattern, values, _index, _layout, x, transpose, left):
    """Which kernel the library's plan of this product takes."""
    a = pattern.with_values(values)
    a = a.T if transpose != left else a
    if x.dim() == 1:
        return st.plan("ij,j->i", a, x).kernel_name
    return st.plan("ij,jk->ik", a, x.t().contiguous() if left else x).kernel_name
