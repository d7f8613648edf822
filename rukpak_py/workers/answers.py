"""The unpickler for answers of worker processes, made of plain values, errors, and classes of our own.

A worker reads content that is hostile, with parsers written in C; content may come to own it. Its answer is a pickle,
and a pickle names what is called to make its values. So no function is ever called for one, and no class but those that
are listed here, under the name that they were made with: nothing of what else a module holds or imports.

This keeps such a worker from running code in the operator by its answer, and no more. It can answer with wrong content
for whatever it is asked to read, and a pickle may set attributes of the classes that it names. It has the operator's
user, files and network: it is bounded in time and memory, not confined.
"""

import builtins
import io
import pickle
from enum import Enum
from typing import Any

_OURS = ("rukpak_py.api.", "rukpak_py.content.", "rukpak_py.core.", "rukpak_py.formats.", "rukpak_py.sources.")
_ANSWERS = "rukpak_py.workers.child"
_PLAIN = frozenset(
    {("builtins", "bytearray"), ("builtins", "complex"), ("builtins", "frozenset"), ("builtins", "set")}
    | {("builtins", "slice"), ("builtins", "range"), ("collections", "OrderedDict"), ("decimal", "Decimal")}
    | {("datetime", name) for name in ("date", "datetime", "timedelta", "timezone")}
    | {(module, name) for module in ("pathlib", "pathlib._local") for name in ("PosixPath", "PurePosixPath")}
)
_REBUILD = ("msgspec._core", "rebuild")  # makes a Struct of a class, which is named here as well
_GETATTR = ("builtins", "getattr")  # makes the member of an enumeration, up to Python 3.11.3


class _Answers(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == _GETATTR:
            return _member
        found = super().find_class(module, name) if _may_be_named(module, name) else None
        if found is None or ((module, name) != _REBUILD and not _is_class(found, module, name)):
            raise pickle.UnpicklingError(f"{module}.{name} is nothing that an answer may be made of")
        return found


def loads(body: bytes) -> Any:
    """`pickle.UnpicklingError`, or any other error, for what no worker of ours has written."""
    return _Answers(io.BytesIO(body)).load()


def _member(enumeration: object, name: str) -> Enum:
    if isinstance(enumeration, type) and issubclass(enumeration, Enum) and isinstance(name, str):
        return enumeration[name]
    raise pickle.UnpicklingError("an attribute is nothing that an answer may be made of")


def _may_be_named(module: str, name: str) -> bool:
    if module == "builtins":
        found = getattr(builtins, name, None)
        return (module, name) in _PLAIN or (isinstance(found, type) and issubclass(found, Exception))
    return (module, name) in _PLAIN or (module, name) == _REBUILD or module == _ANSWERS or module.startswith(_OURS)


def _is_class(found: Any, module: str, name: str) -> bool:
    """Made there, under this name: a path through attributes leads to classes of the interpreter itself."""
    return isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name)
