"""How large a value becomes as JSON, known before any of it is written.

Values that share parts (copies of YAML aliases, parts of generated objects) take little memory and may still become
hundreds of megabytes of JSON. Writers ask first.
"""

from typing import Any


def least_json_bytes(value: Any, *, stop_at: int) -> int:
    """At most as many bytes as the JSON has: escapes and letters beyond ASCII take more. Stops once over `stop_at`."""
    size = 0
    todo = [value]
    while todo and size <= stop_at:
        item = todo.pop()
        kind = type(item)
        if kind is str:
            size += len(item) + 2
        elif kind is dict:
            # Braces, and for each member quotes, colon and comma.
            size += max(4 * len(item), 1) + 1 + sum(len(key) for key in item if type(key) is str)
            todo += item.values()
        elif kind is list:
            size += max(len(item), 1) + 1
            todo += item
        else:
            size += 1
    return size
