"""A schedule becomes a model: weights are stored as told, hooks make outputs and attention sparse."""

import torch

import strata as st

from ... import _core
from ...errors import ArgumentError, Error
from .._attention import attention, resolved
from .._frames import as_written
from .._sparsifiers import KeepAll
from .._tensor import Tensor, from_strata
from .._updates import with_density
from .._weights import read_through, reformat_, set_weight, weights_of
from . import _masks, _pairs
from ._formats import format_of
from ._loops import LINEAR, RIGHT, Reading, check_loops, masked_gradient
from ._masks import asks_for_pattern, kept, made, mask
from ._rewrite import Attention


def apply(schedule, model):
    """What the schedule says, done to this model (its own, or a copy)."""
    settings = {name: (schedule.places[name], setting) for name, setting in schedule.settings.items()}
    modules = dict(model.named_modules())
    weights = {name: told for name, told in settings.items() if told[0].kind == "weight"}
    _store(model, modules, weights)
    for place, setting in weights.values():
        _read(modules[place.path], place, setting)
    attentions = [place.path for place in schedule.places.values() if place.kind == "attention"]
    for place, setting in settings.values():
        if place.kind == "output":
            modules[place.path].register_forward_hook(Output(setting, place))
        elif place.kind == "attention" and setting.sparsifier is not None:
            inside = [
                modules[p] for p in attentions if p != place.path and p.startswith(place.path and f"{place.path}.")
            ]
            At(setting).install(modules[place.path], inside)
    return model


def _store(model, modules, weights):
    dense = dict(model.named_parameters(remove_duplicate=False))
    told = {}
    for name, (place, setting) in weights.items():
        if setting.when == "call":
            continue
        if name in dense:
            told[id(dense[name])] = place, setting
        else:
            set_weight(modules[place.path], place.leaf, _converted(modules[place.path], place, setting))

    def func(name, weight):
        found = told.get(id(weight))
        return None if found is None else stored(weight, *found)

    reformat_(model, func)


def _converted(module, place, setting):
    """A weight that is sparse already: in another format, and less of it."""
    weight = weights_of(module)[place.leaf].detach()
    if setting.sparsifier is None and not setting.parts:
        format = setting.whole_format(place)
        return weight if format is None else weight.to(format, zeros="keep")
    return stored(weight.to_dense(), place, setting)


def stored(weight, place, setting):
    """The stt.Tensor of a dense weight, or None where it stays dense. ArgumentError for parts that leave something out."""
    format = setting.whole_format(place)
    if setting.parts:
        return _sum_of_parts(weight, place, setting)
    if setting.sparsifier is None and format is None:
        return None
    sparsifier = made(setting.sparsifier) if setting.sparsifier is not None else KeepAll()
    if setting.when == "step":
        sparsifier = with_density(sparsifier, setting.options.get("density"), 0)
    return _masks.stored(weight, sparsifier, format)


def _sum_of_parts(weight, place, setting):
    if setting.sparsifier is not None:
        weight = torch.where(mask(made(setting.sparsifier), weight), weight, 0)
    rule = made(setting.rule)
    found = mask(rule, weight) if asks_for_pattern(rule) else rule(weight)
    if not isinstance(found, dict):
        found = {part: found == part for part in setting.parts}
    masks = [found.get(part, torch.zeros_like(weight, dtype=torch.bool)) for part in setting.parts]
    times = sum(each.to(torch.int64) for each in masks)
    if bool(((times != 1) & (weight != 0)).any()):
        raise ArgumentError(
            f"the parts of {place.name} are not what it is",
            expected="each element in one of them",
            got=f"{int(((times == 0) & (weight != 0)).sum())} in none, {int((times > 1).sum())} in several",
        )
    dense = (torch.where(each, weight, 0) for each in masks)
    parts = [st.from_dense(st.from_torch(x), f) for x, f in zip(dense, setting.parts.values())]
    return from_strata(parts[0] if len(parts) == 1 else _core.make_sum(parts))


def _read(module, place, setting):
    call = None
    if setting.when == "call":
        call = made(setting.sparsifier), setting.whole_format(place)
    if call is None and not setting.loops and setting.grad_sparsifier is None and setting.grad_format is None:
        return
    sparse = place.leaf in weights_of(module)
    if setting.grad_format is not None and not sparse:
        raise ArgumentError(
            f"the gradient of {place.name} is dense",
            expected="set_format or sparsify of it before",
            got="a dense weight",
        )
    if setting.loops:
        _check_loops(module, place, setting)
    reading = Reading(call, setting.loops, made(setting.grad_sparsifier), setting.grad_format)
    read_through(module, place.leaf, reading)


def _check_loops(module, place, setting):
    weight = weights_of(module).get(place.leaf)
    if weight is None:
        raise ArgumentError(
            f"the product of {place.name} has no loops of ours",
            expected="set_format of it before",
            got="a dense weight",
        )
    try:
        check_loops(weight, setting.loops, LINEAR)
    except Error as first:
        try:
            check_loops(weight, setting.loops, RIGHT)
        except Error:
            raise first from None


class Output:
    """A hook: what a module gives is sparse, and its gradient perhaps less."""

    def __init__(self, setting, place):
        self.sparsifier = None if setting.sparsifier is None else made(setting.sparsifier)
        self.setting, self.place = setting, place
        self.grad_sparsifier = made(setting.grad_sparsifier)

    @as_written
    def __call__(self, module, inputs, output):
        output = output.to_dense() if isinstance(output, Tensor) else output
        if self.grad_sparsifier is not None:
            output = masked_gradient(output, self.grad_sparsifier)
        if self.sparsifier is None and self.setting.format is None:
            return output
        place = type(self.place)("output", self.place.path, "", tuple(output.shape))
        format = self.setting.whole_format(place)
        return kept(output, self.sparsifier or KeepAll(), format)


class At:
    """Attention of a module at a pattern: a mode that is on while the module runs."""

    def __init__(self, setting):
        self.pattern = setting.sparsifier
        if isinstance(self.pattern, torch.Tensor):
            self.pattern = _pairs.pattern_of_mask(self.pattern)
        elif hasattr(self.pattern, "make_layout") and not asks_for_pattern(self.pattern):
            self.pattern = made(self.pattern)
        self.format = setting.format
        self.modes, self.known = [], {}

    def install(self, module, inside):
        """`inside`: modules of it whose attention is another place."""
        module.register_forward_pre_hook(_Step(self, "enter"))
        module.register_forward_hook(_Step(self, "leave"), always_call=True)
        for other in inside:
            other.register_forward_pre_hook(_Step(self, "pause"))
            other.register_forward_hook(_Step(self, "resume"), always_call=True)

    def enter(self):
        mode = Attention(self.attention)
        mode.__enter__()
        self.modes.append(mode)

    def leave(self):
        self.modes.pop().__exit__(None, None, None)

    def pause(self):
        for mode in self.modes:
            mode.off += 1

    def resume(self):
        for mode in self.modes:
            mode.off -= 1

    def attention(self, q, k, v, *, bias, dropout_p, scale, is_causal):
        pattern = self.pattern_for(q, k, v)
        if is_causal:
            pattern = _pairs.causal(pattern)
        return attention(q, k, v, pattern, bias=bias, dropout_p=dropout_p, scale=scale)

    def pattern_for(self, q, k, v):
        """The Pattern of this call; what is made of it is kept."""
        if hasattr(self.pattern, "make_layout") and not asks_for_pattern(self.pattern):  # DeepSpeed's own
            return self._kept((q.shape[-2], k.shape[-2]), self._of_layout)
        found = resolved(self.pattern, q.detach(), k.detach(), v.detach())
        return found if self.format is None or len(found.shape) != 2 else self._kept(found, self._in_format)

    def _kept(self, key, make):
        if key not in self.known:
            if len(self.known) >= 16:
                self.known.clear()
            self.known[key] = make(key)
        return self.known[key]

    def _of_layout(self, lengths):
        block = self.pattern.block
        return _of_blocks(self.pattern.make_layout(-(-lengths[0] // block) * block), block, *lengths)

    def _in_format(self, pattern):
        return Tensor(torch.ones(pattern.num_values), pattern).to(format_of(self.format, 2)).pattern

    def __getstate__(self):
        return {**self.__dict__, "modes": [], "known": {}}


def _of_blocks(layout, block, rows, columns):
    """The pattern of (heads, rows, columns) that a layout of blocks means."""
    head, i, j = layout.nonzero().T[:, :, None, None]
    inside = torch.arange(block)
    row, column = i * block + inside[:, None], j * block + inside
    there = (row < rows) & (column < columns)
    flat = ((head * rows + row) * columns + column)[there]
    return _pairs.pattern_at((len(layout), rows, columns), flat.sort().values)


class _Step:
    """A hook that calls a method of an At."""

    def __init__(self, at, method):
        self.at, self.method = at, method

    @as_written
    def __call__(self, *_):
        getattr(self.at, self.method)()
