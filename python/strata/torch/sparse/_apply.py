"""A schedule becomes a model: weights are stored as told, hooks make outputs and attention sparse."""

import torch

import strata as st

from ... import _core
from ...errors import ArgumentError, Error
from .._channels import permute_channels_
from .._layers import Chosen, own
from .._sparsifiers import NM, GroupedNM, KeepAll, as_sparsifier
from .._sparsify import sparsify
from .._tensor import from_strata
from .._updates import with_density
from .._weights import (
    default_format,
    read_densely,
    read_plainly,
    read_through,
    reformat_,
    set_weight,
    weight_format,
    weights_of,
)
from ._hooks import Output, install_attention
from ._loops import LINEAR, RIGHT, Reading, check_loops


def apply(schedule, model):
    """What the schedule says, done to this model (its own, or a copy)."""
    settings = [(schedule.places[name], setting) for name, setting in schedule.settings.items()]
    modules = dict(model.named_modules())
    weights = [(place, setting) for place, setting in settings if place.kind == "weight"]
    for place, _ in weights:
        if place.leaf in read_densely(modules[place.path]):  # what an earlier schedule said
            read_plainly(modules[place.path], place.leaf)
    permuting = {same(s): s.sparsifier for _, s in weights if isinstance(s.sparsifier, (NM, GroupedNM))}
    for sparsifier in permuting.values():
        if sparsifier.permute:
            permute_channels_(model, sparsifier)
    _store(model, modules, weights, schedule.example_inputs)
    for place, setting in weights:
        _read(modules[place.path], place, setting)
    for place, setting in settings:
        if place.kind == "output":
            Output(setting, place).install(modules[place.path])
    attention = [(place, setting) for place, setting in settings if place.kind == "attention"]
    told = [(place.path, setting) for place, setting in attention if setting.sparsifier is not None]
    install_attention(model, told, [place.path for place in schedule.places.values() if place.kind == "attention"])
    return model


def _store(model, modules, weights, inputs):
    """Of weights that stay in storage; those that are chosen in each call remain dense."""
    held = [(place, setting) for place, setting in weights if setting.when != "call"]
    pruned = _sparsifiers(model, modules, held, inputs)
    dense = {}
    for (place, setting), told in zip(held, pruned):
        parameter = modules[place.path]._parameters.get(place.leaf)
        if parameter is None:
            weight = weights_of(modules[place.path])[place.leaf].detach()
            format = setting.whole_format(place)
            if told is not None or setting.parts:
                weight = stored(weight.to_dense(), place, setting, *(told or (None, {})))
            elif format is not None:
                weight = weight.to(format, zeros="keep")
            set_weight(modules[place.path], place.leaf, weight)
        else:
            dense[id(parameter)] = place, setting, *(told or (None, {}))

    def func(name, weight):
        found = dense.get(id(weight))
        return None if found is None else stored(weight, *found)

    reformat_(model, func)


def _sparsifiers(model, modules, held, inputs):
    """Of each place what prunes it, (sparsifier, site), or None. Places of which the same was told are pruned together: of a global
    scope they are compared, and the model runs once for those that want to know what layers read."""
    found, groups = [None] * len(held), {}
    for k, (place, setting) in enumerate(held):
        if setting.sparsifier is not None:
            sparsifier = as_sparsifier(setting.sparsifier)
            if setting.when == "step":
                sparsifier = with_density(sparsifier, setting.options.get("density"), 0)
            groups.setdefault(same(setting), (sparsifier, {}))[1].setdefault(_weight_at(modules, place), []).append(k)
    for sparsifier, members in groups.values():
        weights = [(modules[held[ks[0]][0].path], weight) for weight, ks in members.items()]
        for told, ks in zip(own(model, weights, sparsifier, inputs), members.values()):
            for k in ks:
                found[k] = told
    return found


def _weight_at(modules, place):
    """The Parameter (tied ones are one and the same), or the elements of a weight that is sparse already."""
    parameter = modules[place.path]._parameters.get(place.leaf)
    return weights_of(modules[place.path])[place.leaf].detach().to_dense() if parameter is None else parameter


def same(setting):
    """A key that is equal where the same sparsifier was told, with the same options."""
    try:
        hash(setting.sparsifier)
        key = setting.sparsifier
    except TypeError:
        key = id(setting.sparsifier)
    return key, *sorted(setting.options.items(), key=str)


def stored(weight, place, setting, sparsifier, site):
    """The stt.Tensor of a dense weight, or None where it stays dense. ArgumentError for parts that leave something out."""
    format = setting.whole_format(place)
    if setting.parts:
        return _sum_of_parts(weight, place, setting, sparsifier, site)
    if sparsifier is None and format is None:
        return None
    sparsifier = KeepAll() if sparsifier is None else sparsifier
    return sparsify(weight, sparsifier, format or weight_format(default_format(sparsifier), weight.dim()), **site)


def _sum_of_parts(weight, place, setting, sparsifier, site):
    if sparsifier is not None:
        weight = sparsify(weight, sparsifier, **site)
    rule = setting.rule
    found = rule(weight) if _is_function(rule) else as_sparsifier(rule)(weight)
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


def _is_function(rule):
    """One that numbers or names the parts."""
    return callable(rule) and not isinstance(rule, (type, torch.Tensor)) and not hasattr(rule, "pattern")


def _read(module, place, setting):
    call = None
    if setting.when == "call":
        sparsifier = as_sparsifier(setting.sparsifier)
        format = setting.whole_format(place) or weight_format(default_format(sparsifier), len(place.shape))
        call = Chosen(sparsifier, format)
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
    grad_sparsifier = None if setting.grad_sparsifier is None else as_sparsifier(setting.grad_sparsifier)
    read_through(module, place.leaf, Reading(call, setting.loops, grad_sparsifier, setting.grad_format))


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
