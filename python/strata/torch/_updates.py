"""Patterns that change while a model trains: SET, RigL, gradual pruning."""

import copy
import dataclasses
import math
import re
import weakref

import torch
import torch.nn.functional as F

from ..errors import ArgumentError, Unsupported
from ._elements import moved
from ._sparsifiers import as_sparsifier, largest, mask_of
from ._tensor import Tensor, from_torch
from ._weights import _LISTENER, _PATTERNS, Sparse, chooser


def constant_density(density):
    """The same density at every step."""
    return lambda step: density


def linear_density(start, end, steps):
    """From one density to another in equal steps."""
    return lambda step: start + (end - start) * min(step / steps, 1)


def cubic_density(start, end, steps):
    """From one density to another, fast at first (Zhu and Gupta)."""
    return lambda step: end + (start - end) * (1 - min(step / steps, 1)) ** 3


class PatternUpdater:
    """Drops weights and lets others grow, every so many steps. Call `step()` after the optimizer's.

    model, optimizer : the model has sparse weights; Parameters stay the same objects, and what the optimizer keeps for a weight
        moves with it. Weights that grow start at 0, and so does what is kept for them.
        Of weights in formats of n:m each group keeps its n: as many grow in it as went.
    density : what share of each weight is stored, as a function of the step (stt.cubic_density(1, 0.1, 10_000)), or a number; None: as
        many as there are.
    drop_fraction : of the stored weights are replaced in an update; it falls to 0 by a cosine until `stop`, where that is given.
    drop : "magnitude" or "random".
    grow : "random" (SET), "gradient" (RigL: where the gradient of the last training step before the update is largest; that step
        computes it densely), or None (they only go).
    filter : which of the sparse weights, by name or a function, as sparsify_ takes it; None: all of them.
    sparsifier : says what stays, instead of `drop` and `grow`: of its `density`, where it has one, else as it is.
    every : steps between updates. stop : the step from which on nothing changes.
    block : (r, c): blocks go and grow whole. Without it those of the weight's format, where it has some.
    fixed_size : patterns keep the number of slots that they have, as long as they fit: torch.compile keeps its graph, memory is
        not given back.
    seed : of what is random. The same on every process of torch.distributed, whose gradients are added up.
    """

    def __init__(
        self,
        model,
        optimizer,
        *,
        density=None,
        drop_fraction=0.3,
        drop="magnitude",
        grow="random",
        filter=None,
        sparsifier=None,
        every=100,
        stop=None,
        block=None,
        fixed_size=False,
        seed=0,
    ):
        for name, given, known in (
            ("drop", drop, ("magnitude", "random")),
            ("grow", grow, ("random", "gradient", None)),
        ):
            if given not in known:
                raise ArgumentError(f"{name}= of another kind", expected=" or ".join(map(repr, known)), got=repr(given))
        if not 0 <= drop_fraction <= 1:
            raise ArgumentError("drop_fraction= is a share", expected="0 to 1", got=str(drop_fraction))
        self.model, self.optimizer = model, optimizer
        self.density = constant_density(density) if isinstance(density, (int, float)) else density
        self.drop_fraction, self.drop, self.grow = drop_fraction, drop, grow
        self.filter = (lambda name, module: True) if filter is None else chooser(filter)
        self.sparsifier = None if sparsifier is None else as_sparsifier(sparsifier)
        self.every, self.stop, self.block, self.fixed_size = every, stop, block, fixed_size
        self.steps = 0
        self.generator = torch.Generator().manual_seed(seed)
        self._gradients, self._asked = {}, False  # _asked: has a forward pass begun that should tell gradients?
        if grow == "gradient":
            model.register_forward_pre_hook(_Hook(self._begin))
            model.register_forward_hook(_Hook(self._end), always_call=True)

    def weights(self):
        """(module, name) of each sparse weight, tied ones once."""
        seen = set()
        for path, module in self.model.named_modules():
            for name in module.__dict__.get(_PATTERNS, ()) if isinstance(module, Sparse) else ():
                values = module._parameters[f"{name}_values"]
                wanted = self.filter(f"{path}.{name}" if path else name, module)
                if wanted and values.requires_grad and id(values) not in seen:
                    seen.add(id(values))
                    yield module, name

    def step(self):
        """To be called after each step of the optimizer. True where patterns have changed."""
        self.steps += 1
        due = self.steps % self.every == 0 and (self.stop is None or self.steps < self.stop)
        if due and self._asked and not self._gradients:
            raise Unsupported(
                "nobody told the gradients of this step's absent weights",
                expected="a backward pass of the model itself, not of what torch.compile made of it",
                got=f"none in step {self.steps}",
                fix="call the uncompiled model in each step before an update",
            )
        if due and self.sparsifier is not None:
            self._prune()
        elif due:
            for module, name in list(self.weights()):
                self._update(module, name)
        self._gradients.clear()
        self._asked = False
        return due

    def state_dict(self):
        """The number of steps, and the state of what is random."""
        return {"steps": self.steps, "generator": self.generator.get_state()}

    def load_state_dict(self, state):
        """Goes on where state_dict() was taken."""
        self.steps = state["steps"]
        self.generator.set_state(state["generator"])

    def _listens(self):
        return self.grow == "gradient" and (self.steps + 1) % self.every == 0

    def _begin(self, model, inputs):
        """Within the model's forward before an update by gradients, weights are dense and tell their gradient."""
        if self._listens() and torch.is_grad_enabled():
            self._asked = self._asked or model.training
            for module, _ in self.weights():
                module.__dict__[_LISTENER] = self._hear

    def _end(self, model, inputs, outputs):
        for module, _ in self.weights():
            module.__dict__.pop(_LISTENER, None)

    def _hear(self, module, name, gradient):
        key = id(module), name
        before = self._gradients.get(key)
        self._gradients[key] = gradient if before is None else before + gradient

    def _fraction(self):
        if self.stop is None:
            return self.drop_fraction
        return self.drop_fraction / 2 * (1 + math.cos(math.pi * min(self.steps / self.stop, 1)))

    def _prune(self):
        """What the sparsifier says; of a global scope it compares all weights."""
        weights = list(self.weights())
        patterns = [module.__dict__[_PATTERNS][name] for module, name in weights]
        dense = [p.scatter(m._parameters[f"{name}_values"].detach()) for p, (m, name) in zip(patterns, weights)]
        sparsifier = with_density(self.sparsifier, self.density, self.steps)
        for (module, name), pattern, x, own in zip(weights, patterns, dense, sparsifier.over(dense)):
            self._move(module, name, _as_stored(own(x) & mask_of(pattern), pattern))

    def _update(self, module, name):
        pattern, parameter = module.__dict__[_PATTERNS][name], module._parameters[f"{name}_values"]
        stored = mask_of(pattern)
        block, group = tuple(self.block or _block_of(pattern.format)), _group_of(pattern.format)
        if group and (self.density is not None or not self.grow):
            raise ArgumentError(
                "a format of n:m stores n of each m, neither more nor fewer",
                expected="grow='random' or 'gradient', and no density=",
                got=f"{name} in {pattern.format.name or pattern.format}",
                fix="choose other weights with filter=",
            )
        area = math.prod(block)
        now = int(stored.sum())
        target = now if self.density is None else round(self.density(self.steps) * stored.numel())
        kept = min(now - round(self._fraction() * now), target) if self.grow else min(now, target)
        size = pattern.scatter(parameter.detach().abs()) if self.drop == "magnitude" else self._random(stored.shape)
        keep = _choose(size, stored, kept // area * area, block)
        if self.grow and (group or target > kept):
            score = self._random(stored.shape) if self.grow == "random" else self._gradient(module, name)
            if score is None:
                return
            if group:
                keep = _filled(keep, score, group, block)
            else:
                keep |= _choose(score, ~keep, (target - kept // area * area) // area * area, block)
        self._move(module, name, _as_stored(keep, pattern))

    def _random(self, shape):
        return torch.rand(shape, generator=self.generator) + 1e-3

    def _gradient(self, module, name):
        gradient = self._gradients.get((id(module), name))
        if gradient is None:  # no training step came since
            return None
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            gradient = gradient.clone()
            torch.distributed.all_reduce(gradient)
        return gradient.abs()

    def _move(self, module, name, pattern):
        old, parameter = module.__dict__[_PATTERNS][name], module._parameters[f"{name}_values"]
        if self.fixed_size and pattern.num_values < old.num_values:
            pattern = pattern.with_slots(old.num_values)
        for other in self.model.modules():
            for n in other.__dict__.get(_PATTERNS, ()):
                if other._parameters.get(f"{n}_values") is parameter:
                    other.__dict__[_PATTERNS][n] = pattern
        take = lambda values: moved(Tensor(values, old), pattern)  # noqa: E731
        with torch.no_grad():
            state = self.optimizer.state.get(parameter, {}) if self.optimizer is not None else {}
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and value.shape == parameter.shape and value.dim():
                    state[key] = take(value)
            parameter.grad = None
            values = take(parameter.detach())
            if values.shape == parameter.shape:
                parameter.copy_(values)  # what listens to the Parameter goes on listening
            else:
                parameter.set_(values)


def with_density(sparsifier, density, step):
    """The same sparsifier of the density that is due at a step, where it has one that a schedule can set."""
    if density is None or not hasattr(sparsifier, "density"):
        return sparsifier
    due = density(step) if callable(density) else density
    if dataclasses.is_dataclass(sparsifier):
        return dataclasses.replace(sparsifier, density=due)
    changed = copy.copy(sparsifier)
    changed.density = due
    return changed


def _as_stored(keep, pattern):
    return from_torch(keep.to(torch.float32), _as_wide_as_needed(pattern.format)).pattern


def _choose(score, allowed, count, block):
    """A mask of the `count` elements, by whole blocks, with the largest scores among those allowed."""
    if count <= 0:
        return torch.zeros_like(allowed)
    score = score.float() / score.max().clamp(min=torch.finfo(torch.float32).tiny)
    score = torch.where(allowed, score + 1e-6, 0)
    return largest(score, min(count / score.numel(), 1.0), block) & allowed


def _block_of(format):
    """(r, c) of BSR(r, c) and its kin; () where elements stand alone."""
    if format.num_parts != 1:
        return ()
    inside = {}
    for level in format.levels:
        found = re.fullmatch(r"(\w+) % (\d+)", level.expr)
        if found and level.kind == "dense":
            inside[found[1]] = int(found[2])
    return tuple(inside.get(d, 1) for d in format.dims) if inside else ()


def _group_of(format):
    """(dimension, n, m) of a format that stores n of each m along it; otherwise None."""
    if format.num_parts == 1:
        for level in format.levels:
            found = re.fullmatch(r"(\w+) % (\d+)", level.expr)
            if found and level.kind == "structured":
                return format.dims.index(found[1]), level.arg, int(found[2])
    return None


def _filled(keep, score, group, block):
    """A mask of what is kept and, in each group, of the largest scores beside it, so that n of m are there; by whole blocks."""
    d, n, m = group
    score = torch.where(_pooled(keep.float(), block) > 0, math.inf, _pooled(score, block)).movedim(d, -1)
    extent = score.shape[-1]
    score = F.pad(score, (0, -extent % m), value=-1.0).unflatten(-1, (-1, m))
    found = torch.zeros_like(score, dtype=torch.bool).scatter_(-1, score.topk(n, -1).indices, True)
    found = found.flatten(-2)[..., :extent].movedim(-1, d)
    for d, (size, extent) in enumerate(zip(block, keep.shape)):
        found = found.repeat_interleave(size, d).narrow(d, 0, extent)
    return found


def _pooled(x, block):
    """The sums of blocks."""
    for d, size in enumerate(block):
        if size > 1:
            x = F.pad(x.movedim(d, -1), (0, -x.shape[d] % size)).unflatten(-1, (-1, size)).sum(-1).movedim(-1, d)
    return x


def _as_wide_as_needed(format):
    """The same format where the longest row may have become longer."""
    return re.sub(r"padded\(\d+\)", "padded", str(format))


class _Hook:
    """A method of an updater as a hook of its model; a copy of the model, or a saved one, knows no updater."""

    def __init__(self, method=None):
        self.method = (lambda: None) if method is None else weakref.WeakMethod(method)

    def __call__(self, *args):
        method = self.method()
        if method is not None:
            method(*args)

    def __reduce__(self):
        return _Hook, ()
