"""Sets of fields, as `managedFields` writes them (`fieldsV1`).

A name that leads to `{}` is in the set itself; one that leads to more names is in it only when `.` is among them.
"""

from typing import Any

FieldSet = dict[str, Any]

ITSELF = "."


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    together = dict(one)
    for name, fields in other.items():
        together[name] = _both(together[name], fields) if name in together else fields
    return together


def subtract(fields: FieldSet, taken: FieldSet) -> FieldSet:
    """What stays of `fields`. A parent that nothing is left under goes too when something under it was taken.

    Else, where the content drops the whole of `git` later, the server leaves `git: null` of a custom resource, and its
    schema refuses that.
    """
    left: FieldSet = {}
    for name, inner in fields.items():
        if name not in taken:
            left[name] = inner
        elif name != ITSELF and (rest := _rest(inner, taken[name])):
            left[name] = rest
    return left


def _rest(inner: FieldSet, taken: FieldSet) -> FieldSet:
    children = {name: fields for name, fields in inner.items() if name != ITSELF}
    rest = subtract(children, taken)
    if rest and _has_itself(inner) and not _has_itself(taken):
        return {ITSELF: {}, **rest}
    return rest


def _both(one: FieldSet, other: FieldSet) -> FieldSet:
    together = union(one, other)
    if together and (_has_itself(one) or _has_itself(other)):
        return {ITSELF: {}, **together}
    return together


def _has_itself(fields: FieldSet) -> bool:
    return not fields or ITSELF in fields
