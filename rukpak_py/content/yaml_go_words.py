"""Go's words for a document that libyaml can parse, but that cannot be decoded: a slow, exact model of go-yaml.

The loader meets such a defect while it reads events. Go parses the whole document first, then decodes its nodes, then
converts them to JSON, and each step may fail of something else. So the document is read once more, in these steps.
Keys and numbers keep their types here, because Go prints them. Generators stand for recursion.
"""

from collections.abc import Generator
from typing import Any, TypeAlias

from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from rukpak_py.content.go_literals import float_g, go_literal
from rukpak_py.content.yaml_errors import go_text_of
from rukpak_py.content.yaml_events import events_of
from rukpak_py.content.yaml_scalars import (
    INT64_MAX,
    MERGE_TAG,
    TAG_PREFIX,
    as_key,
    representable,
    resolve,
    tagged,
)
from rukpak_py.core.json_size import least_json_bytes
from rukpak_py.core.limits import Limits

_WANT_MAPS = "yaml: map merge requires map or sequence of maps as the value"
# go-yaml's allowance: up to LOW steps 99 % of them may lie below aliases, falling to 10 % at HIGH.
_ALIAS_STEPS_FREE = 100
_STEPS_FREE = 1000
_LOW = 400_000
_HIGH = 4_000_000
_LONGEST_LITERAL = 1 << 20
_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", type(None): "null"}

_Decoding: TypeAlias = Generator["_Decoding", Any, Any]


def go_words(chunk: bytes, limits: Limits) -> str | None:
    """What Go says to the document, or None when it is beyond our limits (or sound)."""
    try:
        root = _composed(chunk, limits)
        if root is not None:
            value = _Decoder(limits.yaml_nodes).decoded(root)
            _convert(value)
    except _SaidError as said:
        return str(said)
    except MarkedYAMLError as error:
        return go_text_of(error)
    except _TooLargeError:
        return None
    return None


class _SaidError(Exception):
    """Its text is Go's."""


class _TooLargeError(Exception):
    pass


class _Node:
    """A mapping's keys and values alternate in `items`."""

    __slots__ = ("event", "is_open", "items", "target")

    def __init__(self, event: Any, target: "_Node | None" = None) -> None:
        self.event = event
        self.target = target
        self.items: list[_Node] = []
        self.is_open = False

    @property
    def is_mapping(self) -> bool:
        return isinstance((self.target or self).event, MappingStartEvent)


def _composed(chunk: bytes, limits: Limits) -> _Node | None:
    next_event = events_of(chunk)
    anchors: dict[str, _Node] = {}
    around = [_Node(None)]
    for _ in range(limits.yaml_nodes):
        event: Any = next_event()
        kind = type(event)
        if kind is AliasEvent:
            if event.anchor not in anchors:
                raise _SaidError(f"yaml: unknown anchor '{event.anchor}' referenced")
            around[-1].items.append(_Node(event, anchors[event.anchor]))
        elif kind is ScalarEvent or kind is MappingStartEvent or kind is SequenceStartEvent:
            node = _Node(event)
            around[-1].items.append(node)
            if event.anchor is not None:
                anchors[event.anchor] = node
            if kind is not ScalarEvent:
                around.append(node)
            if len(around) > limits.yaml_depth + 1:
                raise _TooLargeError
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            around.pop()
        elif kind is DocumentEndEvent or kind is StreamEndEvent:
            return next(iter(around[0].items), None)
    raise _TooLargeError


class _Decoder:
    def __init__(self, steps_allowed: int) -> None:
        self.steps = self.alias_steps = self.alias_depth = 0
        self.steps_allowed = steps_allowed

    def decoded(self, root: _Node) -> Any:
        running = [self.decode(root)]
        value = None
        while running:
            try:
                running.append(running[-1].send(value))
                value = None
            except StopIteration as done:
                value = done.value
                running.pop()
        return value

    def decode(self, node: _Node, into: dict[Any, Any] | None = None) -> _Decoding:
        self.count()
        if node.target is not None:
            if node.is_open:
                raise _SaidError(f"yaml: anchor '{node.event.anchor}' value contains itself")
            node.is_open = True
            self.alias_depth += 1
            value = yield self.decode(node.target, into)
            self.alias_depth -= 1
            node.is_open = False
            return value
        if isinstance(node.event, ScalarEvent):
            return _scalar(node.event)
        if node.is_mapping:
            return (yield self.mapping(node, {} if into is None else into))
        items = []
        for item in node.items:
            items.append((yield self.decode(item)))  # noqa: PERF401 a comprehension cannot yield
        return items

    def mapping(self, node: _Node, into: dict[Any, Any]) -> _Decoding:
        pairs = iter(node.items)
        for key_node, value_node in zip(pairs, pairs, strict=True):
            if _is_merge(key_node):
                yield self.merge(value_node, into)
                continue
            key = yield self.decode(key_node)
            if isinstance(key, list | dict):
                raise _SaidError(f"yaml: invalid map key: {_literal(key)}")
            into[key] = yield self.decode(value_node)
        return into

    def merge(self, node: _Node, into: dict[Any, Any]) -> _Decoding:
        if node.is_mapping:
            yield self.decode(node, into)
        elif node.target is None and isinstance(node.event, SequenceStartEvent):
            for item in reversed(node.items):
                if not item.is_mapping:
                    raise _SaidError(_WANT_MAPS)
                yield self.decode(item, into)
        else:
            raise _SaidError(_WANT_MAPS)

    def count(self) -> None:
        self.steps += 1
        self.alias_steps += self.alias_depth > 0
        if is_excessive(self.alias_steps, self.steps):
            raise _SaidError("yaml: document contains excessive aliasing")
        if self.steps > self.steps_allowed:
            raise _TooLargeError


def is_excessive(alias_steps: int, steps: int) -> bool:
    """go-yaml's rule against alias bombs, on the numbers of nodes decoded below aliases and in all."""
    if alias_steps <= _ALIAS_STEPS_FREE or steps <= _STEPS_FREE:
        return False
    beyond = min(max(steps - _LOW, 0) / (_HIGH - _LOW), 1.0)
    return alias_steps / steps > 0.99 - 0.89 * beyond


def _is_merge(node: _Node) -> bool:
    event = node.event
    if not isinstance(event, ScalarEvent) or event.value != "<<":
        return False
    plain: bool = event.implicit[0]
    return plain or event.tag == MERGE_TAG


def _scalar(event: Any) -> Any:
    plain, quoted = event.implicit
    if plain and event.tag is None:
        return resolve(event.value)
    if plain or quoted:
        return event.value
    try:
        return tagged(event.tag, event.value)
    except ValueError as error:
        wanted = event.tag.removeprefix(TAG_PREFIX)
        if wanted == "binary":
            raise _SaidError(f"yaml: {error}") from error
        found = _TYPES.get(type(resolve(event.value)), "str")
        raise _SaidError(f"yaml: cannot decode !!{found} `{event.value}` as a !!{wanted}") from error


def _literal(value: Any) -> str:
    """Go prints all of it, however large aliases make it."""
    if least_json_bytes(value, stop_at=_LONGEST_LITERAL) > _LONGEST_LITERAL:
        raise _TooLargeError
    return go_literal(value)


def _convert(root: Any) -> None:
    """Keys are looked at first; Go takes the members of a map at random, and this in the order of the file."""
    todo = [root]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if key is None or (type(key) is int and key > INT64_MAX):
                    shown = "<nil>" if item is None else _literal(item)
                    kind, name = ("%!s(<nil>)", "<nil>") if key is None else ("uint64", _literal(key))
                    raise _SaidError(f"unsupported map key of type: {kind}, key: {name}, value: {shown}")
            todo += reversed(value.values())
        elif isinstance(value, list):
            todo += reversed(value)
    todo = [root]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += [value[key] for key in sorted(value, key=lambda key: str(as_key(key)), reverse=True)]
        elif isinstance(value, list):
            todo += reversed(value)
        elif not representable(value):
            raise _SaidError(f"json: unsupported value: {float_g(value)}")
