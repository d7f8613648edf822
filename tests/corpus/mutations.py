"""Damage to bundles, drawn from one seed: to the set of files, to the bytes of a file, and to the values of a document.

A mutation changes the mapping of path to content in place and says what it did. What is drawn depends on the seed and
the bundle alone, so a seed found once can be replayed.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from rukpak_py.content import yaml
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.core.errors import ContentError

Files: TypeAlias = dict[str, bytes]
Mutation: TypeAlias = Callable[[Files, Random], str]
Slot: TypeAlias = tuple[Any, Any]  # a container, and the key or index in it

MOST_MUTATIONS = 4
_BYTES = (
    *(
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\x00",
        b"\x1b",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\t",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
    ),
    *(
        b"\n---\n",
        b"\n--- x\n",
        b"\n...\n",
        b"%YAML 9\n",
        b"{",
        b"}",
        b"[",
        b": ",
        b"- ",
        b"? ",
        b"&a ",
        b"*a",
        b"<<: ",
    ),
    *(
        b"!!binary ",
        b"!!int ",
        b"!x ",
        b"|\n",
        b">\n",
        b'"',
        b"'",
        b"#",
        b"9" * 400,
        b"1e999",
        b"-.inf",
        b".nan",
        b"0x",
        b"\\u0000",
    ),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 443, 65536, 2**31, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e300),
    *("", " ", "a", "443", "true", "null", "2021-01-02", "=", "<<", "a/b/c", "..", "é\u2028", "\U0001f600", "{{ .x }}"),
    *(
        "v1",
        "v1beta1",
        "apiextensions.k8s.io/v1beta1",
        "ClusterServiceVersion",
        "CustomResourceDefinition",
        "List",
        "Role",
    ),
    *("100m", "1.2.3", ">=1.0.0 <2.0.0", "x" * 300, "A_b", "*", "{", "[{", '[{"type": "a"}]'),
    *([], {}, [None], [[]], [{}], {"": None}, {"a": {"b": 1}}, ["a", 1], [1.5]),
)
_NAMES = ("manifests/.hidden", "manifests/sub/x.yaml", "manifests/x", "metadata/annotations.yml", "metadata/x.yaml")
_NAMES_OF_MORE = ("metadata/properties.yaml", "metadata/dependencies.yaml", "x.yaml", "Chart.yaml", "manifests/x.json")
_DEPTHS = (2, 30, 200, 480, 520, 3000)


def mutate(files: Files, seed: int) -> list[str]:
    """Mutate the files; returns the mutations in order."""
    random = Random(seed)  # noqa: S311 - not a secret
    mutations = random.choices(
        MUTATIONS, _WEIGHTS, k=min(random.randint(1, MOST_MUTATIONS), random.randint(1, MOST_MUTATIONS))
    )
    return [mutation(files, random) for mutation in mutations if files]


# --- files


def _drop_file(files: Files, random: Random) -> str:
    path = _some_path(files, random)
    del files[path]
    return f"drop {path}"


def _rename_file(files: Files, random: Random) -> str:
    path, name = _some_path(files, random), random.choice(_NAMES + _NAMES_OF_MORE)
    if _is_free(name, files):
        files[name] = files.pop(path)
    return f"rename {path} to {name}"


def _repeat_file(files: Files, random: Random) -> str:
    path, name = _some_path(files, random), random.choice(_NAMES + _NAMES_OF_MORE)
    if _is_free(name, files):
        files[name] = files[path]
    return f"repeat {path} as {name}"


def _swap_files(files: Files, random: Random) -> str:
    first, second = _some_path(files, random), _some_path(files, random)
    files[first], files[second] = files[second], files[first]
    return f"swap {first} and {second}"


def _join_files(files: Files, random: Random) -> str:
    first, second = _some_path(files, random), _some_path(files, random)
    files[first] += random.choice([b"", b"\n", b"\n---\n"]) + files[second]
    return f"append {second} to {first}"


# --- bytes


def _truncate(files: Files, random: Random) -> str:
    path = _some_path(files, random)
    size = random.randint(0, len(files[path]))
    files[path] = files[path][:size]
    return f"truncate {path} to {size} bytes"


def _insert(files: Files, random: Random) -> str:
    path, piece = _some_path(files, random), random.choice(_BYTES)
    at = random.randint(0, len(files[path]))
    files[path] = files[path][:at] + piece + files[path][at:]
    return f"insert {piece[:20]!r} into {path} at {at}"


def _splice(files: Files, random: Random) -> str:
    path, other = _some_path(files, random), _some_path(files, random)
    start, at = random.randint(0, len(files[other])), random.randint(0, len(files[path]))
    piece = files[other][start : start + random.randint(1, 200)]
    files[path] = files[path][:at] + piece + files[path][at:]
    return f"splice {len(piece)} bytes of {other} into {path} at {at}"


def _cut_lines(files: Files, random: Random) -> str:
    path = _some_path(files, random)
    lines = files[path].splitlines(keepends=True)
    start, count = random.randint(0, len(lines)), random.randint(1, 3)
    files[path] = b"".join(lines[:start] + lines[start + count :])
    return f"cut {count} lines of {path} at {start}"


def _flip(files: Files, random: Random) -> str:
    path = _some_path(files, random)
    if not files[path]:
        return f"{path} is empty"
    data, at, value = bytearray(files[path]), random.randrange(len(files[path])), random.randrange(256)
    data[at] = value
    files[path] = bytes(data)
    return f"byte {at} of {path} becomes {value}"


# --- values

Change: TypeAlias = Callable[[Slot, list[Slot], Random], str]


def _of_values(change: Change) -> Mutation:
    def mutated(files: Files, random: Random) -> str:
        path = _some_path(files, random)
        try:
            documents = yaml.load_all(files[path])
        except ContentError:
            return f"{path} cannot be parsed"
        slots = list(_slots(documents))
        if not slots:
            return f"{path} is empty"
        slot = random.choice(slots)
        done = change(slot, slots, random)
        files[path] = _written(documents, random)
        return f"{path}: {done}"

    return mutated


def _drop(slot: Slot, _: list[Slot], __: Random) -> str:
    container, key = slot
    del container[key]
    return f"drop {key!r}"


def _repeat(slot: Slot, _: list[Slot], __: Random) -> str:
    container, key = slot
    if isinstance(container, list):
        container.insert(key, container[key])
    else:
        container[f"{key}2"] = container[key]
    return f"repeat {key!r}"


def _retype(slot: Slot, _: list[Slot], random: Random) -> str:
    container, key = slot
    container[key] = random.choice(_VALUES)
    return f"{key!r} becomes {container[key]!r:.40}"


def _exchange(slot: Slot, slots: list[Slot], random: Random) -> str:
    container, key = slot
    other, other_key = random.choice(slots)
    # by way of JSON: neither may become a part of itself
    container[key], other[other_key] = _copy(other[other_key]), _copy(container[key])
    return f"exchange {key!r} and {other_key!r}"


def _rename(slot: Slot, _: list[Slot], random: Random) -> str:
    container, key = slot
    if isinstance(container, list):
        return f"{key} is an index"
    name = random.choice([key.upper(), key[:-1], f"{key} ", "items", "metadata", "spec", "kind", "", "a.b[0]", "é"])
    container[name] = container.pop(key)
    return f"rename {key!r} to {name!r}"


def _nest(slot: Slot, _: list[Slot], random: Random) -> str:
    container, key = slot
    depth, name = random.choice(_DEPTHS), random.choice([None, key, "items", "properties"])
    value = container[key]
    for _number in range(depth):
        value = [value] if name is None or isinstance(name, int) else {name: value}
    container[key] = value
    return f"nest {key!r} {depth} deep in {name!r}"


def _list_document(slot: Slot, slots: list[Slot], random: Random) -> str:
    documents, _ = slots[0]
    kept, count = list(documents), random.randint(1, 2)
    for _number in range(count):
        kept = [{"apiVersion": "v1", "kind": random.choice(["List", "RoleList", "x"]), "items": kept}]
    documents[:] = kept
    return f"put all into a list {count} deep"


_OF_FILES: tuple[Mutation, ...] = (_drop_file, _rename_file, _repeat_file, _swap_files, _join_files)
_OF_BYTES: tuple[Mutation, ...] = (_truncate, _insert, _splice, _cut_lines, _flip)
_OF_VALUES = tuple(map(_of_values, (_drop, _repeat, _retype, _exchange, _rename, _nest, _list_document)))
MUTATIONS = (*_OF_FILES, *_OF_BYTES, *_OF_VALUES)
_WEIGHTS = (*(1,) * len(_OF_FILES), *(2,) * len(_OF_BYTES), *(8, 6, 16, 6, 4, 2, 1))  # most break no more than a value


def _slots(root: Any) -> Iterator[Slot]:
    pairs = enumerate(root) if isinstance(root, list) else root.items() if isinstance(root, dict) else ()
    for key, value in pairs:
        yield root, key
        yield from _slots(value)


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _written(documents: list[Any], random: Random) -> bytes:
    """As YAML, as JSON, or as JSON that is read as YAML."""
    form = random.randrange(3)
    try:
        if form == 0:
            return "".join(dump_all(documents)).encode(errors="surrogatepass")
        texts = [_json(document) for document in documents]
    except RecursionError:
        return b"[" * 5000
    if form == 1:
        return "\n".join(texts).encode()
    return "".join(f"---\n{text}\n" for text in texts).encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass").decode(errors="surrogateescape")


def _some_path(files: Files, random: Random) -> str:
    """Larger files more often: they hold more to damage."""
    paths = sorted(files)
    return random.choices(paths, [100 + len(files[path]) for path in paths])[0]


def _is_free(name: str, files: Files) -> bool:
    return name not in files and not any(path.startswith(f"{name}/") or name.startswith(f"{path}/") for path in files)
