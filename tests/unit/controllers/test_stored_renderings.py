"""The controllers' view of renderings: the objects that were kept, and what lasts of them."""

import hashlib
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from rukpak_py.controllers import stored_content as module
from rukpak_py.controllers.stored_content import StoredRenderings
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from rukpak_py.formats.stored_rendering import rendering
from tests.manifests import config_map
from tests.unit.controllers.fakes import Clock

OBJECTS = [Object.from_manifest(config_map(name)) for name in ("b", "a")]
MADE = rendering(OBJECTS, frozenset({OBJECTS[0].head.key}))
KEY, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def requests() -> list[None]:
    """Requests of sweeps."""
    return []


@pytest.fixture
def stored(tmp_path: Path, requests: list[None]) -> StoredRenderings:
    return StoredRenderings(tmp_path, DEFAULT_LIMITS, request_sweep=lambda: requests.append(None))


async def test_a_kept_rendering_comes_back_as_it_was(stored: StoredRenderings) -> None:
    assert await stored.load(KEY) is None
    await stored.keep(KEY, MADE)
    assert await stored.load(KEY) == MADE


async def test_a_rendering_kept_a_moment_ago_is_not_swept(
    stored: StoredRenderings, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    await stored.keep(KEY, MADE)
    await stored.keep(OTHER, MADE)
    await stored.sweep({OTHER})
    assert await stored.load(KEY) == MADE
    clock.now += module.RECENT_RENDERING_SECONDS
    await stored.sweep({OTHER})
    assert await stored.load(KEY) is None
    assert await stored.load(OTHER) == MADE


async def test_after_many_renderings_a_sweep_is_asked_for(
    stored: StoredRenderings, requests: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that change every minute for months must not fill the disk."""
    monkeypatch.setattr(module, "MANY_RENDERINGS", 3)
    for expected in (0, 0, 1, 2):  # again while nothing was swept: the caches may not have been sure
        await stored.keep(KEY, MADE)
        assert len(requests) == expected
    await stored.sweep({KEY})
    await stored.keep(KEY, MADE)
    assert len(requests) == 2


HOOK = Hook(
    object=Object.from_manifest(config_map("hook")),
    events=frozenset({HookEvent.PRE_INSTALL, HookEvent.POST_DELETE}),
    weight=-(2**63),
    delete_policies=frozenset({DeletePolicy.HOOK_FAILED}),
    outlives=True,
)
FIRST = frozenset({OBJECTS[1].head.key})
WITH_HOOKS = rendering(OBJECTS, MADE.lasting | FIRST, hooks=[HOOK, replace(HOOK, weight=1)], before_hooks=FIRST)


async def test_hooks_are_kept_and_what_comes_before_them(stored: StoredRenderings) -> None:
    await stored.keep(KEY, WITH_HOOKS)
    assert await stored.load(KEY) == WITH_HOOKS


def test_renderings_without_hooks_have_the_digest_that_they_always_had() -> None:
    """It stands in the status of what is installed."""
    lines = [orjson.dumps([["", "ConfigMap", "", "b"]]), *(one.json for one in OBJECTS)]
    assert MADE.digest == "sha256:" + hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()
    assert rendering(OBJECTS, MADE.lasting, before_hooks=FIRST) == MADE


def test_the_digest_tells_renderings_apart() -> None:
    others = (rendering(OBJECTS, frozenset()), rendering(OBJECTS[::-1], MADE.lasting), rendering((), frozenset()))
    hooks = (rendering(OBJECTS, MADE.lasting, hooks=[one]) for one in (HOOK, replace(HOOK, outlives=False)))
    assert len({MADE.digest, WITH_HOOKS.digest, *(one.digest for one in (*others, *hooks))}) == 7
