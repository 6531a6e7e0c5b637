"""Mistakes in calls, told in our own form: what the call is like, what was left out, misspelt or of the wrong kind.

Constructors of the core tell it themselves (python/bind/arguments.cpp).
"""

import difflib
import functools
import inspect
import re
import types

from . import _core
from .errors import ArgumentError, Error

_BOUND = (type(_core.from_dense), type(_core.Tensor.pos))
#: what a bound function says where its arguments do not fit
_NO_FIT = "incompatible function arguments"
_KINDS = {"str": str, "bool": bool, "int": int, "float": (int, float), "Tensor": _core.Tensor, "dict": dict}


def told(f, of=""):
    """f, whose callers learn in our own form what is wrong with their call. `of`: the class whose method it is."""

    @functools.wraps(f)
    def call(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except TypeError as e:
            if not _is_the_call_s(f, e):
                raise
            raise _problem(f, of, args, kwargs) from None

    if isinstance(f, _BOUND):
        call.__signature__ = signature(f)
    return call


def _is_the_call_s(f, e):
    """Was it the call that failed, not something within?"""
    if isinstance(e, Error):
        return False
    if isinstance(f, _BOUND):
        return str(e).startswith(f"{f.__name__}(): {_NO_FIT}")
    return e.__traceback__.tb_next is None


def signature(f):
    """Also of a bound function, from what it was bound with; annotations are texts."""
    if not isinstance(f, _BOUND):
        return inspect.signature(f)
    text, _, defaults = f.__nb_signature__[0]
    scope = {"_defaults": defaults}
    text = re.sub(r"\\(\d+)", r"_defaults[\1]", text)
    exec(f"from __future__ import annotations\n{text}: ...", scope)
    return inspect.signature(scope[f.__name__])


def _problem(f, of, args, kwargs):
    name = f"{of}.{f.__name__}" if of and f.__name__ != "__init__" else of or f.__name__
    sig = signature(f)
    parameters = list(sig.parameters.values())
    if of:  # self is not written
        parameters, args = parameters[1:], args[1:]
    sig = sig.replace(parameters=parameters)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    expected = name + str(sig.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    got = ", ".join([*(_kind(a) for a in args), *(f"{k}={_kind(v)}" for k, v in kwargs.items())]) or "no argument"
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for word in () if any(p.kind is p.VAR_KEYWORD for p in parameters) else kwargs:
        if word not in names:
            close = difflib.get_close_matches(word, names, 1)
            return ArgumentError(
                f"{name}() has no argument '{word}'",
                expected=expected,
                got=got,
                fix=f"write {close[0]}=" if close else "",
            )
    try:
        bound = sig.bind(*args, **kwargs)
    except TypeError as fault:
        return _unbound(name, parameters, str(fault), expected, got)
    for p in parameters:
        if p.name in bound.arguments and not _fits(bound.arguments[p.name], p):
            return ArgumentError(
                f"{name}() takes another kind of '{p.name}'",
                expected=str(p.annotation).replace("strata._core.", "").replace("object", "a value"),
                got=_kind(bound.arguments[p.name]),
            )
    return ArgumentError(f"{name}() is called with an argument of the wrong kind", expected=expected, got=got)


def _unbound(name, parameters, fault, expected, got):
    missing = re.fullmatch(r"missing a required (?:\S+ )?argument: '(\w+)'", fault)
    if missing:
        return ArgumentError(f"{name}() needs {missing[1]}", expected=expected, got=got, fix=f"{missing[1]}=...")
    many = any(p.kind is p.VAR_KEYWORD for p in parameters)
    fix = f"give operands by name: {name}({parameters[0].name}, A=A, x=x)" if many else "give the others by name"
    return ArgumentError(f"{name}(): {fault}", expected=expected, got=got, fix=fix)


def _fits(value, parameter):
    kinds = [k.strip().rpartition(".")[2] for k in str(parameter.annotation).split("|")]
    if parameter.annotation is parameter.empty:
        return True
    if value is None:
        return "None" in kinds
    return any(isinstance(value, _KINDS.get(k, object)) for k in kinds if k != "None")


def _kind(value):
    return "None" if value is None else type(value).__name__


def tell(names):
    """Makes the functions and classes that a module exports tell their callers."""
    for name in names["__all__"]:
        f = names[name]
        if isinstance(f, (*_BOUND, types.FunctionType)):
            names[name] = told(f)
            names[name].__module__ = names["__name__"]
        elif isinstance(vars(f).get("__init__") if isinstance(f, type) else None, types.FunctionType):
            if not issubclass(f, Exception):
                f.__init__ = told(f.__init__, name)


def tell_methods():
    """The methods of Tensor tell their callers, too."""
    for name, f in list(vars(_core.Tensor).items()):
        if not name.startswith("_") and isinstance(f, (*_BOUND, types.FunctionType)):
            setattr(_core.Tensor, name, told(f, "Tensor"))


def as_bound():
    """Undoes it for the methods of Tensor: stubs are made from what is bound."""
    for name, f in list(vars(_core.Tensor).items()):
        if not name.startswith("_") and hasattr(f, "__wrapped__"):
            setattr(_core.Tensor, name, f.__wrapped__)
