"""create_schedule: what of a model is sparse, and how, is recorded first and applied later."""

import copy
import difflib
import fnmatch
import inspect

import torch

import strata as st

from ...errors import ArgumentError, FormatError, Unsupported
from .._layers import arguments
from .._updates import PatternUpdater
from . import _find
from ._apply import apply, same
from ._formats import format_of
from ._setting import Setting, check_axes, from_dict, to_dict

_VERBS = ("split", "reorder", "parallelize", "vectorize", "unroll", "precompute")


def create_schedule(model, example_inputs=None):
    """A Schedule of a model, which stays as it is until build() or apply_().

        s = create_schedule(torch.nn.TransformerEncoderLayer(32, 4, 64))
        s["linear*.weight"].set_format("CSC").sparsify(stt.Magnitude(0.1))
        sparse_model = s.build()

    example_inputs: a tensor, a tuple of arguments or a dictionary of keywords: the model runs once, and s[...] then finds the outputs of
    its modules and its attention too. Sparsifiers that want to know what layers read (stt.Wanda, stt.SparseGPT) see them again."""
    return Schedule(model, example_inputs)


class Schedule:
    """What is told of the places of a model: `s[name]`, where name is that of a weight ("encoder.*.linear1.weight"), of a module
    (its output) or of a module that computes attention (also as name.attn). `*` stands for anything, dots too."""

    def __init__(self, model, example_inputs=None):
        self.model = model
        self.places = {place.name: place for place in _find.weights(model)}
        self.example_inputs = example_inputs
        if example_inputs is not None:
            args, kwargs = arguments(example_inputs)
            self.places.update((place.name, place) for place in _find.computed(model, args, kwargs))
        #: name -> Setting, of the places of which something is told
        self.settings = {}
        self._applied = False

    def __getitem__(self, name):
        """The Sites with this name. ArgumentError, with the nearest names, where there are none."""
        found = fnmatch.filter(self.places, name) if any(c in name for c in "*?[") else [name]
        found = [n for n in found if n in self.places] or fnmatch.filter(self.places, f"{name}.attn")
        if not found:
            whole = difflib.get_close_matches(name, self.places, 5, 0.3)
            ends = [n for n in self.places if n.endswith(f".{name}")]
            raise ArgumentError(
                f"the schedule knows no {name!r}",
                expected=", ".join(dict.fromkeys([*ends[:3], *whole])) or "a name of a weight",
                got=name,
                fix=f"s['*.{name}'] finds {len(ends)} of them"
                if ends
                else "list(s.places) are all of them"
                if self.example_inputs is not None
                else "outputs and attention need create_schedule(model, example_inputs)",
            )
        return Sites(self, found)

    def op(self, name):
        """The Loops of the products of these weights, which take the compiler's verbs."""
        return self[name].op

    def build(self):
        """A copy of the model with all that has been told. The model itself stays. ArgumentError after apply_()."""
        self._first("build()")
        return apply(self, copy.deepcopy(self.model))

    def apply_(self):
        """The model itself, changed. ArgumentError where it has been already: a new schedule of the model goes on from there."""
        self._first("apply_()")
        self._applied = True
        return apply(self, self.model)

    def _first(self, verb):
        if self._applied:
            raise ArgumentError(
                "the schedule has been applied to its model, and would be once more",
                expected="apply_() once, or build() as often as you like",
                got=f"{verb} after apply_()",
                fix="create_schedule(model), of the model as it is now",
            )

    def updater(self, model, optimizer):
        """What sparsify(..., when="step") asked for: its step() is to be called after each step of the optimizer. `model`: what
        build() or apply_() returned. ArgumentError where nothing asked for it."""
        groups = {}
        for name, setting in self.settings.items():
            if setting.when == "step":
                groups.setdefault(same(setting), []).append((name, setting))
        if not groups:
            raise ArgumentError("nothing is pruned as the model trains", expected='sparsify(..., when="step")')
        return Updaters(
            PatternUpdater(
                model,
                optimizer,
                sparsifier=group[0][1].sparsifier,
                filter=_Among({name for name, _ in group}),
                **group[0][1].options,
            )
            for group in groups.values()
        )

    def show(self):
        """A table of what is told, as text."""
        rows = [("place", "kind", "shape", "told")]
        for name, setting in self.settings.items():
            place = self.places[name]
            shape = "" if place.shape is None else "x".join(map(str, place.shape))
            rows.append((name, place.kind, shape, "; ".join(_told(setting, place))))
        width = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join("  ".join([*(c.ljust(n) for c, n in zip(row, width)), row[3]]).rstrip() for row in rows)

    def __repr__(self):
        return self.show()

    def to_dict(self):
        """What is told, as values that torch.save and, where no masks are among them, json take. Sparsifiers stand there by name; of
        a density that is a function of the step nothing is kept."""
        return {"version": 1, "places": {name: to_dict(setting) for name, setting in self.settings.items()}}

    def load_dict(self, said, known=None):
        """What to_dict() gave is told again; returns the schedule. known: {name: sparsifier} of those that are not stt's own.
        ArgumentError for names of places or sparsifiers that are not here."""
        import strata.torch as stt

        ours = {name: getattr(stt, name) for name in stt.__all__} | {"Routing": stt.patterns.Routing}
        known = {**ours, **(known or {})}
        for name, each in said["places"].items():
            if name not in self.places:
                self[name]  # raises
            self.settings[name] = from_dict(each, known)
        return self


class Sites:
    """One place or several: what is told here is told of each. Verbs return the sites."""

    def __init__(self, schedule, names):
        self.schedule, self.names = schedule, tuple(names)

    def __len__(self):
        return len(self.names)

    def __iter__(self):
        return (Sites(self.schedule, [name]) for name in self.names)

    def __repr__(self):
        return f"Sites({', '.join(self.names)})"

    def set_format(self, format, axis=None):
        """How it is stored: a name, an st.Format, a class such as CscTensor. axis: of the axes that block() made. FormatError."""

        def tell(setting, place):
            if axis is not None:
                told = format_of(format, len(tuple(axis)))
                setting.axes[check_axes(told, axis, setting.block, setting.axes)] = told
            elif setting.block:
                raise FormatError(
                    "after block() a format is for some of the axes",
                    expected="axis=[0, 1]",
                    got=f"axis=None of {place.name}",
                )
            else:
                setting.format, setting.rule, setting.parts = format, None, {}

        return self._tell(("weight", "output", "attention"), tell)

    def block(self, *sizes, pad=False):
        """Blocks of these sizes: axes 0, 1 then count blocks, axes 2, 3 are rows and columns in them. pad: blocks may reach over the
        edge. FormatError where they do not fit."""
        sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes

        def tell(setting, place):
            if not sizes or len(sizes) > len(place.shape) or any(b < 1 for b in sizes):
                raise FormatError("a block has a size along each dimension", expected="block(16, 16)", got=str(sizes))
            setting.format, setting.axes, setting.block, setting.pad = None, {}, sizes, pad

        return self._tell(("weight",), tell)

    def split(self, rule, formats):
        """The sum of parts, each in a format of its own. rule: a sparsifier or function of the weight that returns a boolean mask (the
        parts True and False), the number of each element's part, or {part: mask}. formats: {part: format}."""
        told = dict(formats)

        def tell(setting, place):
            setting.rule, setting.format, setting.block, setting.axes = rule, None, (), {}
            setting.parts = {part: format_of(f, len(place.shape)) for part, f in told.items()}

        return self._tell(("weight",), tell)

    def sparsify(self, sparsifier, when=None, *, density=None, every=100, stop=None):
        """What stays. when: "init" (once; of weights), "step" (again every so many steps of training, of the density that is due:
        see updater()), "call" (anew in each forward; of outputs and attention always). sparsifier: what stt.sparsify takes;
        attention: also a SparsityConfig; its `site` has q, k, v. ArgumentError."""
        if when not in (None, "init", "step", "call"):
            raise ArgumentError("when= of another kind", expected="'init', 'step' or 'call'", got=repr(when))
        options = {"density": density, "every": every, "stop": stop} if when == "step" else {}

        def tell(setting, place):
            if place.kind != "weight" and when in ("init", "step"):
                raise ArgumentError(f"{place.name} is computed in each call", expected="when='call'", got=repr(when))
            setting.sparsifier, setting.options = sparsifier, options
            setting.when = when or ("init" if place.kind == "weight" else "call")

        return self._tell(("weight", "output", "attention"), tell)

    def grad_format(self, format):
        """The format in which a sparse weight shows its gradient. Without it that of the weight."""

        def tell(setting, place):
            setting.grad_format = format_of(format, len(place.shape))

        return self._tell(("weight",), tell)

    def grad_sparsify(self, sparsifier):
        """What stays of the gradient; the rest of it is 0. The stored elements of a sparse weight stay stored."""
        return self._tell(("weight", "output"), lambda setting, place: setattr(setting, "grad_sparsifier", sparsifier))

    @property
    def op(self):
        """The Loops of the products of these weights."""
        return Loops(self)

    def _tell(self, kinds, tell):
        for name in self.names:
            place = self.schedule.places[name]
            if place.kind not in kinds:
                raise ArgumentError(
                    f"this cannot be told of {name}", expected=" or ".join(kinds), got=f"the {place.kind} of a module"
                )
            setting = copy.copy(self.schedule.settings.get(name) or Setting())
            setting.axes = dict(setting.axes)
            tell(setting, place)
            if place.shape is not None:
                setting.whole_format(place)  # raises where it makes no sense
            elif setting.format is not None:
                format_of(setting.format, 2)
            self.schedule.settings[name] = setting
        return self


class Loops:
    """How the loops of a weight's product are arranged, by the verbs of st.Schedule: split, reorder, parallelize, vectorize,
    unroll, precompute. The product is Y(b,o) = X(b,i) * W(o,i): b rows of the input, i inputs, o outputs (where a module multiplies
    from the right, as GPT-2's do: W(i,o)). Results change by rounding at most. build() raises ScheduleError, which names what an
    order would break."""

    def __init__(self, sites):
        self.sites = sites

    def __getattr__(self, verb):
        if verb.startswith("_"):
            raise AttributeError(verb)
        if verb not in _VERBS:
            raise Unsupported("the compiler has no such verb", expected=", ".join(_VERBS), got=verb)

        def tell(*arguments):
            def one(setting, place):
                had = st.Schedule(setting.loops) if setting.loops else st.Schedule()
                setting.loops = str(getattr(had, verb)(*arguments))

            self.sites._tell(("weight",), one)
            return self

        return tell


class Updaters:
    """Several PatternUpdaters as one."""

    def __init__(self, each):
        self.each = tuple(each)

    def step(self):
        """To be called after each step of the optimizer. True where patterns have changed."""
        return any([updater.step() for updater in self.each])

    def state_dict(self):
        """For a checkpoint."""
        return {"each": [updater.state_dict() for updater in self.each]}

    def load_state_dict(self, state):
        """Goes on where state_dict() was taken."""
        for updater, own in zip(self.each, state["each"]):
            updater.load_state_dict(own)


class _Among:
    """Is it one of these names?"""

    def __init__(self, names):
        self.names = names

    def __call__(self, name, module):
        return name in self.names


def _told(setting, place):
    """In words."""
    if setting.sparsifier is not None:
        told = "" if isinstance(setting.sparsifier, torch.Tensor) else repr(setting.sparsifier)
        if inspect.isclass(setting.sparsifier) or inspect.isroutine(setting.sparsifier):
            told = setting.sparsifier.__name__
        yield f"{told or 'a mask'} ({setting.when})"
    if setting.parts:
        yield " + ".join(f"{name}: {f.name or f}" for name, f in setting.parts.items())
    else:
        format = setting.format if place.shape is None else setting.whole_format(place)
        if format is not None:
            format = format_of(format, 2)
            yield format.name or str(format)
    for word in ("grad_format", "grad_sparsifier", "loops"):
        if getattr(setting, word):
            yield f"{word.replace('_', ' ')} {getattr(setting, word)}"
