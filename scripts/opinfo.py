"""opinfo.py [NAME ...]: docs/reference/opinfo.md, torch's own operators on sparse tensors, ours and torch's.

torch keeps a list of its operators with sample inputs (OpInfo). Here each float32 sample runs with its first operand of two or
more dimensions made sparse, about half of its elements 0, then with all such operands; results and gradients are compared with
those of the dense ones. With names of operators: prints what became of these, and writes nothing. Takes minutes.
"""

import collections
import contextlib
import math
import pathlib
import sys
import types
import unittest
import warnings

import torch
from torch.utils import _pytree

import strata.torch as stt

try:
    import expecttest  # noqa: F401
except ImportError:  # which torch's own tests need, and samples do not
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
from torch.testing._internal import common_methods_invocations as them
from torch.testing._internal.opinfo.core import UnaryUfuncInfo

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "opinfo.md"
SAMPLES = 12  # of each operator, those that come first

#: what became of an operator's samples: all ran sparse, some did, all ran on a dense copy, all were refused; one came out wrong
ALL, SOME, DENSE, REFUSED, WRONG, NONE = "all", "some", "dense", "refused", "wrong", "-"
#: left out: softmax is of stored elements here, 0 / 0 stays absent, torch's own layouts give stored ones alone (all of these
#: mean something else, and say so); topk may name any of equal elements; lstsq varies from call to call
OTHER = {
    *("softmax", "log_softmax", "masked.softmax", "masked.log_softmax", "div", "true_divide", "ones_like", "full_like"),
    *("linalg.lstsq", "topk"),
}


def operators():
    """torch's list."""
    them.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)  # chance is to be seen
    return [
        op for op in them.op_db if torch.float32 in op.supported_dtypes("cpu") and op.variant_test_name != "in_place"
    ]


def name_of(op):
    return op.name + (f" ({op.variant_test_name})" if op.variant_test_name else "")


class Case:
    """A sample with zeros in the operands that are to be sparse, and what torch makes of it."""

    def __init__(self, op, leaves, tree, chosen):
        self.op, self.leaves, self.tree, self.chosen = op.op, leaves, tree, chosen

    def run(self, make=None, differentiate=True, seed=0):
        """(results, what gives the gradients of the operands), dense all of them; `make` makes the chosen operands sparse."""
        leaves = list(self.leaves)
        for k, x in enumerate(leaves):
            if isinstance(x, torch.Tensor):
                leaves[k] = make(x) if make and k in self.chosen else x.clone()
                if differentiate and x.is_floating_point():
                    leaves[k].requires_grad_()
        input, args, kwargs = _pytree.tree_unflatten(leaves, self.tree)
        torch.manual_seed(seed)
        results = _pytree.tree_leaves(self.op(input, *args, **kwargs))
        results = [_dense(x) for x in results]
        forward = [x.detach() if isinstance(x, torch.Tensor) else x for x in results]
        return forward, (lambda: self._gradients(leaves, results))

    def is_certain(self, differentiate):
        """Can torch run it, and comes the same out twice? Then that is what is wanted."""
        try:
            self.wanted, gradients = self.run(None, differentiate)
            self.gradients, self.differentiable = gradients() if differentiate else ([], False)
            self.differentiable &= not any(g.isnan().any() for g in self.gradients)
            return same(self.run(None, False, seed=1)[0], self.wanted)
        except Exception:
            return False

    def _gradients(self, leaves, results):
        results = [x for x in results if isinstance(x, torch.Tensor) and x.requires_grad]
        if results:
            generator = torch.Generator().manual_seed(1)
            weights = [torch.rand(x.shape, generator=generator, dtype=x.dtype) for x in results]
            torch.autograd.backward(results, weights)
        found = []
        for k, x in enumerate(self.leaves):
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                g = leaves[k].grad
                g = torch.zeros_like(x) if g is None else _dense(g).detach()
                found.append(torch.where(x != 0, g, 0) if k in self.chosen else g)
        return found, bool(results)


def _is_matrix(x):
    return (
        isinstance(x, torch.Tensor)
        and x.layout == torch.strided
        and x.dtype == torch.float32
        and x.dim() > 1
        and x.numel()
    )


def _dense(x):
    return x.to_dense() if isinstance(x, stt.Tensor) or isinstance(x, torch.Tensor) and x.layout != torch.strided else x


def same(found, wanted):
    """Are these lists of tensors and other objects equal, but for rounding?"""
    if len(found) != len(wanted):
        return False
    for a, b in zip(found, wanted):
        if not isinstance(b, torch.Tensor):
            if a != b:
                return False
        elif not (isinstance(a, torch.Tensor) and a.shape == b.shape and a.dtype == b.dtype):
            return False
        elif not torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
            return False
    return True


def cases(op):
    """The first samples, with the first operand sparse or all of them, that torch can run and that leave nothing to chance."""
    generator, found, served = torch.Generator().manual_seed(0), [], 0
    torch.manual_seed(0)
    samples = op.sample_inputs("cpu", torch.float32)
    while served < SAMPLES and (sample := next(samples, None)) is not None:
        leaves, tree = _pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
        leaves = [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves]
        if isinstance(op, UnaryUfuncInfo) and leaves[0].shape == (20,):  # vectors, where torch's layouts do not serve
            leaves[0] = leaves[0].reshape(4, 5)
        matrices = [k for k, x in enumerate(leaves) if _is_matrix(x)]
        for k in matrices:
            leaves[k] = torch.where(torch.rand(leaves[k].shape, generator=generator) < 0.5, leaves[k], 0)
        both = [Case(op, leaves, tree, chosen) for chosen in {tuple(matrices[:1]): 0, tuple(matrices): 0} if chosen]
        certain = [case for case in both if case.is_certain(op.supports_autograd)]
        found += certain
        served += bool(certain)
    return found


def ours(format):
    def make(x):
        text = f"COO({x.dim()})" if x.dim() != 2 else format
        return stt.from_torch(x, text)

    return make


def theirs(layout):
    def make(x):
        if layout == "BSR":
            return x.to_sparse_bsr([math.gcd(2, n) for n in x.shape[-2:]])
        return x.to_sparse_csr() if layout == "CSR" else x.to_sparse_coo()

    return make


KINDS = {
    **{f"strata {name}": ours(text) for name, text in (("CSR", "CSR"), ("COO", "COO"), ("BSR", "BSR(2, 2)"))},
    **{f"torch {name}": theirs(name) for name in ("CSR", "COO", "BSR")},
}


def judge(op, case, kind):
    """(forward, backward): SPARSE as ALL, DENSE, REFUSED, WRONG; NONE where there is nothing to differentiate."""
    strict = [stt.strict, contextlib.nullcontext] if kind.startswith("strata") else [contextlib.nullcontext]
    forward = backward = REFUSED
    for context, word in zip(strict, (ALL, DENSE)):
        try:
            with context():
                found, gradients = case.run(KINDS[kind], op.supports_autograd)
        except Exception:
            continue
        if forward == REFUSED:
            forward = word if same(found, case.wanted) else WRONG
        if not case.differentiable:
            return forward, NONE
        try:
            with context():
                backward = word if same(gradients()[0], case.gradients) else WRONG
            break
        except Exception:
            continue
    return forward, backward if case.differentiable else NONE


def together(words):
    """One word for all samples of an operator."""
    words = set(words) - {NONE}
    if WRONG in words:
        return WRONG
    if ALL in words:
        return ALL if words == {ALL} else SOME
    return DENSE if DENSE in words else REFUSED if words else NONE


def examine(op):
    """{kind: (forward, backward)} of an operator; empty where no sample serves."""
    found = cases(op)
    if not found:
        return {}
    verdicts = {kind: [judge(op, case, kind) for case in found] for kind in KINDS}
    return {kind: tuple(map(together, zip(*each))) for kind, each in verdicts.items()}


def page(table):
    lines = [HEAD.format(version=torch.__version__, operators=len(table), samples=SAMPLES), ""]
    lines += [
        "| tensor | forward: all | some | dense | refused | wrong | backward: all | some | dense | refused | wrong |"
    ]
    lines += ["|---|" + "---|" * 10]
    for kind in KINDS:
        row = []
        for direction in (0, 1):
            counts = collections.Counter(verdict[kind][direction] for verdict in table.values())
            row += [str(counts[word]) for word in (ALL, SOME, DENSE, REFUSED, WRONG)]
        lines.append(f"| {kind} | " + " | ".join(row) + " |")
    lines += ["", "## Operators", "", "Forward / backward.", ""]
    lines += ["| operator | " + " | ".join(KINDS) + " |", "|---|" + "---|" * len(KINDS)]
    for name, verdict in sorted(table.items()):
        lines.append(f"| `{name}` | " + " | ".join(" / ".join(verdict[kind]) for kind in KINDS) + " |")
    return "\n".join(lines) + "\n"


HEAD = """# Operators of torch on sparse tensors

torch {version} lists its operators with sample inputs (OpInfo). {operators} of them have float32 samples with an operand of two or
more dimensions and without chance (functions of one element get their vectors as matrices). The first {samples} such samples of
each ran twice, with the first such operand sparse and with all of them, about half of their elements 0; results and gradients (at
the stored elements) were compared with those of dense operands. Operands of other than two dimensions are COO here; of torch's own
layouts what these allow.

*all*: all samples ran on the stored elements, without a dense copy (under `stt.strict()`), and were right; *some*: some of them;
*dense*: on a dense copy, and right; *refused*: an error; *wrong*: a sample differed. torch's own layouts make no dense copies; many
of their gradients are dense, which is not counted against them. Left out, as they mean something else: `softmax`, `log_softmax` (of
the stored elements here), `div` (0 / 0 stays absent here), `ones_like`, `full_like` (of the stored elements in torch's own layouts);
and those whose results may vary: `topk` (which of equal elements) and `linalg.lstsq`. Made by `scripts/opinfo.py`."""


def main(names):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    table = {}
    for op in operators():
        if op.name in OTHER or names and op.name not in names:
            continue
        verdict = examine(op)
        if verdict:
            table[name_of(op)] = verdict
            print(name_of(op), {k: "/".join(v) for k, v in verdict.items()}, flush=True)
    if not names:
        PAGE.write_text(page(table))


if __name__ == "__main__":
    main(sys.argv[1:])
