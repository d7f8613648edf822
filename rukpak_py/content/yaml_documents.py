"""One YAML document as a JSON value: go-yaml v2 and its conversion to JSON, on libyaml's events.

One iterative loop; its state is the open container, the key that waits for a value (or a sentinel), and a stack of the
containers around. Nothing recurses, so no nesting exhausts the C or the Python stack. Aliases are copied: the result is
a tree, and may be changed in place. Limits are checked where a container opens or ends and before an alias is copied:
then the bytes of JSON that the copy becomes are counted, too.

`steps` counts as go-yaml's decoder does (a node, its alias, and again everything below an alias), because its rule
against alias bombs is a ratio of such counts. What has no JSON form is refused at the end only: a later duplicate of
the key may replace it, as in Go.
"""

import re
from typing import Any, Final

from yaml.error import MarkedYAMLError, YAMLError
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
from yaml.reader import ReaderError

from rukpak_py.content.yaml_aliases import CONTAINERS, AliasBudget, copy_of, is_excessive
from rukpak_py.content.yaml_events import events_of
from rukpak_py.content.yaml_positions import position_in
from rukpak_py.content.yaml_scalars import (
    CONSTANTS,
    MERGE_TAG,
    NUMBER_STARTS,
    WORD_STARTS,
    Raw,
    as_key,
    as_value,
    representable,
    resolve,
    tagged,
)
from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits


class _Sentinel:
    pass


# What stands where a waiting key would: the container is a list; a key is due; a merge key waits for its maps.
_LIST: Final = _Sentinel()
_NO_KEY: Final = _Sentinel()
_MERGE: Final = _Sentinel()
_EVENTS_AROUND = 3  # start of the stream, start and end of the document
# Most chunks without a document are a licence or nothing; what else might be one is left to the parser.
_BLANK = re.compile(rb"(?:---)?(?: *(?:#[ -~]*)?\n)*+")
# First characters of plain scalars that may be more than text; `<` begins the merge key.
_MORE_THAN_TEXT = WORD_STARTS | NUMBER_STARTS | {"<"}
_WANT_MAPS = "map merge requires map or sequence of maps as the value"


def load_document(
    chunk: bytes,
    *,
    limits: Limits,
    line: int = 0,
    column: int = 0,
    nodes: int = 0,
    unsigned: bool = False,
    aliases: AliasBudget | None = None,
) -> tuple[Any, int]:
    """The first document of the chunk (None when there is none), and how many nodes there were so far.

    The chunk begins at `line` and `column` (from 0) of its file; `nodes` is what the documents before it had.
    `unsigned` keeps integers beyond signed 64 bit, as JSON text does from which no object is decoded.
    """
    try:
        if nodes < limits.yaml_nodes and _BLANK.fullmatch(chunk):
            return None, nodes + 1
        return _Loader(chunk, limits, nodes, aliases or AliasBudget(limits), unsigned=unsigned).load()
    except (_Refused, _UnrepresentableError, YAMLError, UnicodeDecodeError) as error:
        problem, at = _problem_of(error, chunk, limits)
        if at is None:
            raise YamlError(problem) from error
        at_column = at[1] + (0 if at[0] else column)
        raise YamlError(problem, line=line + at[0] + 1, column=at_column + 1) from error


def _problem_of(error: Exception, chunk: bytes, limits: Limits) -> tuple[str, tuple[int, int] | None]:
    """Describe the defect, with its line and column in the chunk, from 0."""
    match error:
        case _Refused():
            return str(error), (error.line, error.column)
        case _UnrepresentableError():
            position = position_in(chunk, error.path, on_key=error.is_key, limits=limits)
            return str(error), (position.line - 1, position.column - 1) if position is not None else None
        case MarkedYAMLError(problem=str(problem), problem_mark=mark):
            return problem, (mark.line, mark.column) if mark is not None else None
        case ReaderError(reason=problem, position=position):
            before = chunk[:position]
            return problem, (before.count(b"\n"), len(before) - before.rfind(b"\n") - 1)
        case UnicodeDecodeError():
            return "invalid UTF-8 in a tag", None
        case _:
            return str(error), None


class _Refused(Exception):  # noqa: N818 it never leaves this module
    def __init__(self, problem: str, event: Any) -> None:
        super().__init__(problem)
        self.line: int = event.start_mark.line
        self.column: int = event.start_mark.column


class _UnrepresentableError(Exception):
    def __init__(self, problem: str, path: tuple[Any, ...], *, is_key: bool) -> None:
        super().__init__(problem)
        self.path = path
        self.is_key = is_key


class _Loader:
    def __init__(self, chunk: bytes, limits: Limits, nodes: int, aliases: AliasBudget, *, unsigned: bool) -> None:
        self.unsigned = unsigned
        self.next_event = events_of(chunk)
        self.limits = limits
        self.nodes_before = nodes
        self.has_anchors = b"&" in chunk
        self.anchors: dict[str, tuple[Any, int] | None] = {}  # (value, steps); None while its container is open
        self.open_anchors: list[tuple[int, str, int]] = []  # (depth, name, steps before)
        self.alias_steps = 0
        self.aliases = aliases
        self.alias_prices: dict[str, tuple[Any, int]] = {}  # by anchor, which may come to stand for another value
        self.suspect = False  # met something without a JSON form

    def load(self) -> tuple[Any, int]:  # noqa: C901, PLR0912, PLR0915 one loop on purpose: a call per event costs a third of the speed
        next_event, has_anchors = self.next_event, self.has_anchors
        depth_limit, node_limit = self.limits.yaml_depth, self.limits.yaml_nodes - self.nodes_before
        container: Any = []
        key: Any = _LIST
        stack: list[tuple[Any, Any]] = []
        offset = 0  # number of the event + offset = steps
        value: Any

        first = 0
        # Events are bounded by the loop itself; those that turned out to be no nodes allow for as many more.
        while first < (end := node_limit + _EVENTS_AROUND - min(offset, 0)):
            for number in range(first, end):
                event = next_event()
                kind = type(event)
                if kind is ScalarEvent:
                    value = event.value
                    implicit = event.implicit
                    if implicit[0]:  # plain
                        if value[:1] in _MORE_THAN_TEXT:
                            if value in CONSTANTS:
                                value = CONSTANTS[value] if event.tag is None else value
                            elif value[0] in NUMBER_STARTS:
                                value = resolve(value) if event.tag is None else value
                            elif value == "<<" and key is _NO_KEY:
                                value = _MERGE
                    elif not implicit[1]:  # neither plain nor quoted: it has a tag
                        value = _MERGE if key is _NO_KEY and _is_merge(event) else self.tagged(event)
                    if has_anchors and event.anchor is not None:
                        self.anchors[event.anchor] = ("<<" if value is _MERGE else value, 1)
                    if key is _NO_KEY:
                        if type(value) is str:
                            key = value
                        elif value is _MERGE:
                            key = _MERGE
                            offset -= 1
                        else:
                            key = self.key(value)
                        continue
                    if type(value) is int or type(value) is float:
                        value = self.number(value)
                elif kind is MappingStartEvent or kind is SequenceStartEvent:
                    if key is _NO_KEY:
                        raise _Refused("invalid map key", event)
                    if len(stack) >= depth_limit:
                        raise self.limits.exceeded("yaml_depth", "nesting of YAML")
                    if event.anchor is not None:
                        self.anchors[event.anchor] = None
                        self.open_anchors.append((len(stack), event.anchor, number + offset - 1))
                    stack.append((container, key))
                    if kind is MappingStartEvent:
                        container, key = {}, _NO_KEY
                    else:
                        container, key = [], _LIST
                    continue
                elif kind is MappingEndEvent or kind is SequenceEndEvent:
                    value = container
                    container, key = stack.pop()
                    offset -= 1
                    if self.open_anchors and self.open_anchors[-1][0] == len(stack):
                        _, name, before = self.open_anchors.pop()
                        self.anchors[name] = (value, number + offset - before)
                    if key is _MERGE:
                        _merge(container, value, event)
                        key = _NO_KEY
                        continue
                elif kind is AliasEvent:
                    value, steps = self.alias(event, number + offset, len(stack))
                    offset += steps
                    if key is _NO_KEY:
                        if type(value) in CONTAINERS:
                            raise _Refused("invalid map key", event)
                        key = self.key(value)
                        continue
                    if key is _MERGE:
                        if type(value) is not dict:
                            raise _Refused(_WANT_MAPS, event)
                        container.update(value)
                        key = _NO_KEY
                        continue
                    if type(value) is int or type(value) is float:
                        value = self.number(value)
                elif kind is DocumentEndEvent:
                    self.check_aliasing(number - 1 + offset, event)
                    if number + offset > node_limit + _EVENTS_AROUND:
                        raise self.too_many_nodes()
                    if self.suspect:
                        _check_representable(container[0])
                    return container[0], self.nodes_before + number + offset
                elif kind is StreamEndEvent:
                    return None, self.nodes_before + 1
                else:
                    continue

                if key is _LIST:
                    container.append(value)
                elif key is _MERGE:
                    raise _Refused(_WANT_MAPS, event)
                else:
                    container[key] = value
                    key = _NO_KEY
            first = end
        raise self.too_many_nodes()

    def tagged(self, event: Any) -> Raw:
        try:
            return tagged(event.tag, event.value)
        except ValueError as error:
            raise _Refused(str(error), event) from error

    def key(self, raw: Raw) -> Raw:
        key = as_key(raw)
        if type(key) is not str:
            self.suspect = True
        return key

    def number(self, raw: float) -> Raw:
        value = raw if self.unsigned and type(raw) is int else as_value(raw)
        if not representable(value):
            self.suspect = True
        return value

    def alias(self, event: Any, steps: int, depth: int) -> tuple[Any, int]:
        """A copy of what the alias stands for, and the steps that it costs."""
        name: str = event.anchor
        if name not in self.anchors:
            raise _Refused(f"unknown anchor '{name}' referenced", event)
        anchored = self.anchors[name]
        if anchored is None:
            raise _Refused(f"anchor '{name}' value contains itself", event)
        value, below = anchored
        self.check_aliasing(steps, event)
        if self.nodes_before + steps + below > self.limits.yaml_nodes:
            raise self.too_many_nodes()
        self.alias_steps += below
        self.check_aliasing(steps + below, event)
        if name not in self.alias_prices or self.alias_prices[name][0] is not value:
            self.alias_prices[name] = (value, self.aliases.price(value))
        self.aliases.spend(self.alias_prices[name][1])
        return copy_of(value, depth, self.limits), below

    def too_many_nodes(self) -> ContentError:
        return self.limits.exceeded("yaml_nodes", "the number of YAML nodes, with aliases expanded,")

    def check_aliasing(self, steps: int, event: Any) -> None:
        """Between two aliases the ratio's margin is concave, so looking at both ends of each stretch is enough."""
        if is_excessive(self.alias_steps, steps):
            raise _Refused("document contains excessive aliasing", event)


def _is_merge(event: Any) -> bool:
    return bool(event.value == "<<" and event.tag == MERGE_TAG)


def _merge(container: dict[Any, Any], value: Any, event: Any) -> None:
    """Merged keys overwrite earlier ones of the document; within a list the earlier map wins."""
    maps = value if type(value) is list else [value]
    if not all(type(item) is dict for item in maps):
        raise _Refused(_WANT_MAPS, event)
    for item in reversed(maps):
        container.update(item)


def _check_representable(root: Any) -> None:
    around: list[Any] = [iter([(None, root)])]
    path: list[Any] = [None]  # of the value in hand; its first part stands for the document
    while around:
        for path[-1], value in around[-1]:
            if type(value) in CONTAINERS:
                for key in value if type(value) is dict else ():
                    if type(key) is not str:
                        problem = "unsupported map key: null, or an integer that needs more than 63 bits"
                        raise _UnrepresentableError(problem, (*path[1:], key), is_key=True)
                around.append(iter(value.items() if type(value) is dict else enumerate(value)))
                path.append(None)
                break
            if not representable(value):
                raise _UnrepresentableError(
                    "unsupported value: infinity or not a number", tuple(path[1:]), is_key=False
                )
        else:
            around.pop()
            path.pop()
