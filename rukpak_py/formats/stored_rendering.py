"""The stored form of a rendering: a line with marks of objects, a line for each object, and one for each hook.

The first line lists the keys of the objects that last, with one more word at those that come before the hooks, and one
at those that are only created, of which all last. An object is a mapping. A hook is a list: its object, its events, and
what else is known of it.

The same objects in the same order give the same lines, so their SHA-256 is the digest of the rendering. The content's
description and the lookups of its templates are a string of JSON at the end, which is not part of the digest and which
former releases pass over.
Formats whose renderings are kept use no other field of `RenderedContent`.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson

from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import OFFLINE_RENDERING, ContentDescription, RenderedContent, Rendering
from rukpak_py.formats.helm.cluster_view import Lookup
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent

MARKS_BYTES = 1024  # of a key in the first line, or of a hook beside its object, at most; a name has 253 characters
_BEFORE_HOOKS = "before hooks"
_CREATE_ONLY = "create only"
_KEY_PARTS = len(ObjectKey._fields)


def rendering(
    objects: Sequence[Object],
    lasting: frozenset[ObjectKey],
    *,
    hooks: Sequence[Hook] = (),
    before_hooks: frozenset[ObjectKey] = frozenset(),
    create_only: frozenset[ObjectKey] = frozenset(),
    description: ContentDescription | None = None,
    made: Rendering = OFFLINE_RENDERING,
    lookups: frozenset[Lookup] = frozenset(),
) -> RenderedContent:
    """With its digest. `before_hooks`, of no interest without hooks, and `create_only` are among the lasting."""
    before_hooks = before_hooks if hooks else frozenset()
    content = RenderedContent(
        objects=objects,
        lasting=lasting,
        hooks=tuple(hooks),
        before_hooks=before_hooks,
        create_only=create_only,
        description=description,
        made=made,
        lookups=lookups,
    )
    digest = hashlib.sha256()
    for line in _lines(content):
        digest.update(line)
    return replace(content, digest=f"sha256:{digest.hexdigest()}")


def lines_of(content: RenderedContent) -> list[bytes]:
    lines = list(_lines(content))
    if content.description is not None:
        made = asdict(content.made) if content.made != OFFLINE_RENDERING else {}
        asked = {"lookups": sorted(map(list, content.lookups))} if content.lookups else {}
        lines.append(orjson.dumps(orjson.dumps(asdict(content.description) | made | asked).decode()) + b"\n")
    return lines


def read_lines(data: bytes) -> RenderedContent:
    """Read a rendering that the operator itself wrote."""
    first, *rest = data.splitlines()
    marks = [(ObjectKey(*key[:_KEY_PARTS]), key[_KEY_PARTS:]) for key in orjson.loads(first)]
    manifests = [orjson.loads(line) for line in rest]
    known = next((orjson.loads(one) for one in manifests if isinstance(one, str)), None)
    description, made, lookups = None, OFFLINE_RENDERING, frozenset[Lookup]()
    if known is not None:
        fields = ("name", "version", "app_version", "package")
        description = ContentDescription(**{field: known[field] for field in fields})
        made = Rendering(renderer=known.get("renderer", ""), is_upgrade=known.get("is_upgrade"))
        lookups = frozenset(Lookup(*one) for one in known.get("lookups", ()))
    return rendering(
        [Object.from_manifest(one) for one in manifests if isinstance(one, dict)],
        frozenset(key for key, _ in marks),
        hooks=[_hook(one) for one in manifests if isinstance(one, list)],
        before_hooks=frozenset(key for key, words in marks if _BEFORE_HOOKS in words),
        create_only=frozenset(key for key, words in marks if _CREATE_ONLY in words),
        description=description,
        made=made,
        lookups=lookups,
    )


def _lines(content: RenderedContent) -> Iterator[bytes]:
    marks = [
        [
            *key,
            *([_BEFORE_HOOKS] if key in content.before_hooks else []),
            *([_CREATE_ONLY] if key in content.create_only else []),
        ]
        for key in sorted(content.lasting)
    ]
    yield orjson.dumps(marks) + b"\n"
    for one in content.objects:
        yield one.json + b"\n"
    for hook in content.hooks:
        known = [sorted(hook.events), hook.weight, sorted(hook.delete_policies), hook.outlives]
        yield b"[" + hook.object.json + b"," + orjson.dumps(known)[1:] + b"\n"


def _hook(line: list[Any]) -> Hook:
    manifest, events, weight, delete_policies, outlives = line
    return Hook(
        object=Object.from_manifest(manifest),
        events=frozenset(map(HookEvent, events)),
        weight=weight,
        delete_policies=frozenset(map(DeletePolicy, delete_policies)),
        outlives=outlives,
    )
