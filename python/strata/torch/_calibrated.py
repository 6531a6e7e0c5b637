"""Sparsifiers that look at more than magnitudes: at what a layer reads, at gradients, at numbers that are learned."""

import dataclasses
import weakref

import torch

from ..errors import ArgumentError
from ._gradients import Gradient
from ._sparsifiers import NM, Sparsifier, _check_density, _n_of_m, largest


def _gram(x, site):
    """The products of a layer's inputs with each other."""
    gram, inputs = site.get("gram"), site.get("inputs")
    if gram is None and inputs is not None:
        rows = inputs.detach().reshape(-1, inputs.shape[-1]).to(x.dtype)
        gram = rows.t() @ rows
    if gram is None or x.dim() != 2 or gram.shape != (x.shape[1], x.shape[1]):
        raise ArgumentError(
            "what the layer reads is not known",
            expected=f"inputs=(..., {x.shape[-1]}) or gram=({x.shape[-1]}, {x.shape[-1]}), of a matrix of weights",
            got="neither" if gram is None else f"gram={tuple(gram.shape)} for a weight {tuple(x.shape)}",
            fix="sparsify_(..., inputs=a batch of the model's inputs)",
        )
    return gram.to(x.dtype)


def _of_rows(score, density, n, m):
    """The largest scores of each row, or n of each m."""
    if n is not None:
        return _n_of_m(score, n, m)
    kept = torch.zeros_like(score, dtype=torch.bool)
    return kept.scatter_(1, score.topk(round(density * score.shape[1]), 1).indices, True)


def _check_share(self):
    if (self.density is None) == (self.n is None or self.m is None):
        raise ArgumentError("what stays is told once", expected="density, or n= and m=", got=repr(self))
    if self.density is not None:
        _check_density(self.density)


def _format(self):
    """The format that stores what it keeps."""
    return "CSR" if self.n is None else f"structured({self.n}, {self.m})"


@dataclasses.dataclass(frozen=True)
class Wanda(Sparsifier):
    """The share `density` of each row, or n of each m, with the largest |weight| times the 2-norm of the input that it meets (Sun et
    al., 2023). The inputs come with the call, inputs= or gram=, or from sparsify_(..., inputs=).

        w, x = torch.tensor([[1.0, 2.0]]), torch.tensor([[9.0, 1.0], [9.0, 1.0]])
        assert stt.Wanda(0.5)(w, inputs=x).tolist() == [[True, False]]
    """

    density: float = None
    n: int = None
    m: int = None
    wants = ("gram",)
    __post_init__ = _check_share
    format = property(_format)

    def pattern(self, x, **site):
        """By rows."""
        x = x.detach()
        return _of_rows(x.abs() * _gram(x, site).diagonal().sqrt(), self.density, self.n, self.m)


@dataclasses.dataclass(frozen=True)
class SparseGPT(Sparsifier):
    """Chooses weights, column after column, whose loss can best be made good by the weights right of them, and changes those (Frantar
    and Alistarh, 2023): the share `density` of each `block` of columns, or n of each m. `damping`: of the mean squared input,
    added to each. The inputs come as for stt.Wanda.

        w, x = torch.randn(4, 8), torch.randn(32, 8)
        mask, new = stt.SparseGPT(0.5).prune(w, inputs=x)
        assert mask.sum() == 16
    """

    density: float = None
    n: int = None
    m: int = None
    block: int = 128
    damping: float = 0.01
    wants = ("gram",)
    __post_init__ = _check_share
    format = property(_format)

    def pattern(self, x, **site):
        """The mask of prune()."""
        return self.prune(x, **site)[0]

    def prune(self, x, **site):
        """The mask, and the weights as they have to be then."""
        h = _gram(x, site).double()
        w = x.detach().double().clone()
        unused = h.diagonal() == 0
        h = h + torch.diag(unused.double())
        w[:, unused] = 0
        h = h + self.damping * h.diagonal().mean() * torch.eye(len(h), dtype=h.dtype)
        # Row k of the upper factor is what column k's error costs the columns right of it, once those left of it are done.
        factor = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(h)), upper=True)
        mask = torch.zeros_like(w, dtype=torch.bool)
        step = self.block if self.n is None else self.m
        for a in range(0, w.shape[1], step):
            b = min(a + step, w.shape[1])
            saliency = (w[:, a:b] / factor.diagonal()[a:b]).square()
            if self.n is None:
                mask[:, a:b] = largest(saliency, self.density, ())
            else:
                mask[:, a:b] = _n_of_m(saliency, self.n, self.m)
            for k in range(a, b):
                error = torch.where(mask[:, k], 0, w[:, k]) / factor[k, k]
                w[:, k:] -= torch.outer(error, factor[k, k:])
        return mask, torch.where(mask, w, 0).to(x.dtype)


class Movement(Sparsifier):
    """The share `density` of the weights that move away from zero: with the largest sum, over the steps of training, of
    -weight * gradient (Sanh et al., 2020). Sums are kept for each Parameter that it watches, or come with the call, scores=.

        movement = stt.Movement(0.5).watch(torch.nn.Linear(4, 2))

    After some steps, stt.sparsify_(model, "CSR", movement)."""

    wants = ()

    def __init__(self, density):
        _check_density(density)
        self.density = density
        self._scores = {}

    def __repr__(self):
        return f"Movement({self.density})"

    def watch(self, model):
        """Sums from here on what each backward pass tells of the model's weights of two or more dimensions. Returns itself."""
        for p in model.parameters():
            if p.dim() > 1 and p.requires_grad and id(p) not in self._scores:
                self._scores[id(p)] = torch.zeros_like(p, requires_grad=False)
                weakref.finalize(p, self._scores.pop, id(p), None)
                p.register_post_accumulate_grad_hook(self.observe)
        return self

    def observe(self, weight):
        """Adds -weight * gradient to the sums of a Parameter."""
        self._scores.setdefault(id(weight), torch.zeros_like(weight, requires_grad=False)).sub_(
            weight.detach() * weight.grad.detach()
        )

    def pattern(self, x, scores=None, **site):
        """The largest sums."""
        scores = self._scores.get(id(x)) if scores is None else scores
        if scores is None:
            raise ArgumentError(
                "nobody watched how this weight moved", expected="watch(model), or scores=", got=f"{tuple(x.shape)}"
            )
        return largest(scores - scores.min(), self.density, ())


@dataclasses.dataclass(frozen=True)
class L0(Sparsifier):
    """Gates between 0 and 1, learned, one for each weight (hard concrete; Louizos et al., 2018). They come with the call, log_alpha=:
    what has a gate above 0 stays, times its gate. Train with gates() and penalty(), then prune.

        log_alpha = torch.tensor([[-9.0, 9.0]])
        mask, new = stt.L0().prune(torch.tensor([[2.0, 3.0]]), log_alpha=log_alpha)
        assert mask.tolist() == [[False, True]] and new.tolist() == [[0, 3]]
    """

    beta: float = 2 / 3
    gamma: float = -0.1
    zeta: float = 1.1

    def gates(self, log_alpha, training=False, generator=None):
        """The gates: as they are used, or, while training, drawn at random."""
        if training:
            u = torch.rand(log_alpha.shape, generator=generator, dtype=log_alpha.dtype).clamp(1e-6, 1 - 1e-6)
            s = torch.sigmoid((u.log() - (1 - u).log() + log_alpha) / self.beta)
        else:
            s = torch.sigmoid(log_alpha)
        return (s * (self.zeta - self.gamma) + self.gamma).clamp(0, 1)

    def penalty(self, log_alpha):
        """The expected number of gates that are not 0; differentiable."""
        return torch.sigmoid(log_alpha - self.beta * torch.log(torch.tensor(-self.gamma / self.zeta))).sum()

    def pattern(self, x, log_alpha=None, **site):
        """Gates above 0."""
        if log_alpha is None or log_alpha.shape != x.shape:
            raise ArgumentError(
                "each weight has a gate",
                expected=f"log_alpha= of shape {tuple(x.shape)}",
                got="none" if log_alpha is None else str(tuple(log_alpha.shape)),
            )
        return self.gates(log_alpha.detach()) > 0

    def prune(self, x, log_alpha=None, **site):
        """The mask, and the weights times their gates."""
        return self.pattern(x, log_alpha), x * self.gates(log_alpha)


@dataclasses.dataclass(frozen=True)
class SRSTE(NM):
    """n of each m, to be chosen anew in each step of training: gradients go straight through, and pruned weights decay (Zhou et al.,
    2021). Train with sparsify_(model, sparsifier=stt.SRSTE(2, 4), when="call").

        assert stt.SRSTE(2, 4).grad == stt.Gradient(1, 1, 2e-4)
    """

    decay: float = 2e-4

    @property
    def grad(self):
        """Straight through, with decay."""
        return Gradient(1.0, 1.0, self.decay)
