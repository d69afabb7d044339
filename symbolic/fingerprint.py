"""A digest of what the verdict on a step depends on: its equations, its rule, and everything that the rule uses.

A rule is followed through its compiled code: the names that it reads, the values that it closes over, the arguments
of a `functools.partial`, the classes of the objects it meets, and the functions that these use in turn. What belongs
to Python's library, to SymPy or to mpmath is not followed: it counts by its name, and by the version.

Compiled code is taken rather than source text, because a comment or a moved line changes no verdict, and because
`inspect` returns no more than the first line of many a lambda.
"""

from __future__ import annotations

import contextvars
import dis
import functools
import hashlib
import importlib
import sys
import types
from collections.abc import Iterable, Iterator, Mapping

import mpmath
import sympy as sp
from sympy.core.function import UndefinedFunction

from symbolic.zero import nonzero_witness

#: Not followed: a change of theirs shows in VERSIONS.
LIBRARIES = {*sys.stdlib_module_names, "sympy", "mpmath"}
VERSIONS = (sys.version, sp.__version__, mpmath.__version__)
#: Members that SymPy gives to its classes, which follow from the others.
_IMPLIED = {"_abc_impl", "_prop_handler", "default_assumptions"}
#: Values among the special members of a class that tell the fields of a dataclass; others are bookkeeping of Python's,
#: some of it written when the class is used.
_FIELDS = {"__annotations__", "__match_args__"}
#: A value as a piece of text and the values inside it.
Node = tuple[str, tuple[object, ...]]


class Indescribable(TypeError):
    """A rule uses a value of which no digest can be given, such as a generator or an open file."""


def step_digest(check: object, relations: Iterable[object]) -> str:
    """The digest of a step: of its check, the relations that it receives, how zero is decided, and the versions.

    Raises
    ------
    Indescribable
        When the check uses a value that has no digest.

    >>> x = sp.Symbol("x")
    >>> def check(a): return [a.lhs - a.rhs]
    >>> step_digest(check, [sp.Eq(x, 1)]) == step_digest(check, [sp.Eq(x, 1)])
    True
    >>> step_digest(check, [sp.Eq(x, 1)]) == step_digest(check, [sp.Eq(x, -1)])
    False
    """
    return digest(VERSIONS, nonzero_witness, check, tuple(relations))


def digest(*values: object) -> str:
    """The SHA-256 of values and of everything they use."""
    hashed = hashlib.sha256()
    seen: dict[int, int] = {}
    waiting: list[object] = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if _has_identity(value):
            if id(value) in seen:
                hashed.update(f"again {seen[id(value)]};".encode())
                continue
            seen[id(value)] = len(seen)
        text, inside = _node(value)
        hashed.update(f"{len(text)}:{text}/{len(inside)};".encode())
        waiting += reversed(inside)
    return hashed.hexdigest()


def _has_identity(value: object) -> bool:
    """Whether a value may lead back to itself through others, so that it must be visited only once."""
    return isinstance(value, type | types.FunctionType) or _is_own_instance(value)


def _node(value: object) -> Node:
    match value:
        case _ if _is_own_instance(value):
            return _instance(value)
        case None | bool() | int() | float() | complex() | str() | bytes() | types.EllipsisType():
            return f"{type(value).__name__} {value!r}", ()
        case tuple() | list():
            return type(value).__name__, tuple(value)
        case set() | frozenset():
            return type(value).__name__, tuple(sorted(digest(element) for element in value))
        case Mapping():
            return "mapping", tuple(value.items())
        case sp.Basic():
            return canonical(value)
        case UndefinedFunction():
            return f"undefined function {value.__name__}", tuple(sorted(value._kwargs.items()))
        case functools.partial():
            return "partial", (value.func, value.args, value.keywords)
        case types.FunctionType() if not _in_library(value):
            return _function(value)
        case types.MethodType():
            return "method", (value.__func__, value.__self__)
        case types.CodeType():
            return _code(value)
        case property():
            return "property", (value.fget, value.fset)
        case staticmethod() | classmethod():
            return type(value).__name__, (value.__func__,)
        case functools.cached_property():
            return "cached property", (value.func,)
        case contextvars.ContextVar():
            return f"context variable {value.name}", ()
        case types.ModuleType():
            return f"module {value.__name__}", ()
        case type() if not _in_library(value):
            return _class(value)
        case type() | types.FunctionType() | types.BuiltinFunctionType() if _in_library(value):
            return f"{value.__module__}.{value.__qualname__}", ()
        case types.MethodDescriptorType() | types.WrapperDescriptorType() | types.GetSetDescriptorType():
            return f"{value.__objclass__.__name__}.{value.__name__}", ()
        case _ if hasattr(value, "__wrapped__"):
            return "wrapper", (value.__wrapped__,)
        case _:
            raise Indescribable(f"no digest of {value!r}")


@functools.cache
def canonical(expression: sp.Basic) -> Node:
    """An expression as text that depends on nothing but its mathematics, and the classes in it that SymPy lacks.

    Unlike SymPy's `srepr` it keeps the assumptions of functions, and numbers dummies in order of appearance.

    >>> canonical(sp.Dummy("u") + 1) == canonical(sp.Dummy("u") + 1)
    True
    """
    text: list[str] = []
    classes: dict[object, None] = {}
    dummies: dict[sp.Dummy, int] = {}

    def visit(part: sp.Basic) -> None:
        kind = type(part)
        text.append(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(part, sp.core.function.AppliedUndef):
            classes[part.func] = None
        elif not _in_library(kind):
            classes[kind] = None
        if isinstance(part, sp.Dummy):
            number = dummies.setdefault(part, len(dummies))
            text.append(repr((number, part.name, sorted(part.assumptions0.items()))))
        elif part.args:
            text.append("(")
            for argument in part.args:
                visit(argument)
                text.append(",")
            text.append(")")
        else:
            text.append(repr(part._hashable_content()))

    visit(expression)
    return "".join(text), tuple(classes)


def _function(function: types.FunctionType) -> Node:
    # Looked up anew each time: in a notebook the globals change under a function that stays the same.
    used = _read_by(function.__code__, function.__globals__)
    return "function", (
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        *_closed_over(function),
        *used,
    )


def _closed_over(function: types.FunctionType) -> tuple[object, ...]:
    try:
        return tuple(cell.cell_contents for cell in function.__closure__ or ())
    except ValueError as empty:
        raise Indescribable(f"{function} closes over a name that has no value yet") from empty


def _instance(value: object) -> Node:
    """An object by its class and its attributes."""
    if not hasattr(value, "__dict__") or isinstance(value, tuple | list | set | frozenset | Mapping | str | bytes):
        raise Indescribable(f"no digest of {value!r}")
    return "instance", (type(value), tuple(sorted(vars(value).items())))


def _read_by(code: types.CodeType, scope: Mapping[str, object]) -> tuple[object, ...]:
    """The values of the global names in a piece of code, and in the code of functions defined within it.

    Of a module, those of its members are meant that the code names, too. A name that is read as an attribute alone
    may also be that of a global: one that is not used is digested then, which can only verify a step once more.
    """
    parts = list(_nested(code))
    names = list(dict.fromkeys(name for part in parts for name in part.co_names))
    values = [scope[name] for name in names if name in scope]
    values += [module for part in parts for module in _imported_by(part)]
    for module in [value for value in values if isinstance(value, types.ModuleType) and not _in_library(value)]:
        values += [vars(module)[name] for name in names if name in vars(module)]
    return tuple(values)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _imported_by(code: types.CodeType) -> Iterator[types.ModuleType]:
    """The modules that a function imports when it runs."""
    if dis.opmap["IMPORT_NAME"] not in code.co_code[::2]:
        return
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            try:
                yield importlib.import_module(instruction.argval)
            except (ImportError, ValueError) as unknown:  # ValueError: relative to a package that the code has not
                raise Indescribable(f"cannot tell what '{instruction.argval}' is that a rule imports") from unknown


@functools.cache
def _code(code: types.CodeType) -> Node:
    layout = (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_exceptiontable,
    )
    return f"code {layout!r}", code.co_consts


def _class(cls: type) -> Node:
    """A class by its bases and members."""
    members = vars(cls)
    counting = sorted(name for name in members if _counts(name, members[name]))
    return f"class {cls.__module__}.{cls.__qualname__}", (cls.__bases__, *((name, members[name]) for name in counting))


def _counts(name: str, member: object) -> bool:
    """Whether a member of a class says what it computes; methods that `dataclass` writes follow from the fields."""
    if isinstance(member, types.FunctionType):
        return member.__code__.co_filename != "<string>"
    if name.startswith("__"):
        return name in _FIELDS or isinstance(member, property | staticmethod | classmethod)
    return name not in _IMPLIED


def _in_library(value: object) -> bool:
    """Whether a function, class or module belongs to a package that is not followed."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return (module or "").partition(".")[0] in LIBRARIES


def _is_own_instance(value: object) -> bool:
    """Whether a value is an object, other than an expression, of a class that is followed."""
    return not _in_library(type(value)) and not isinstance(value, sp.Basic | type)
