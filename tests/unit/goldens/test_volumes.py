"""Files on the operator's volumes: content, renderings, uploads; and keys and marks of renderings in statuses."""

import stat
from pathlib import Path
from typing import Any

import orjson
import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, RecordedOptions, RecordedValues
from rukpak_py.api.install_options import InstallOptions
from rukpak_py.content.renderings import RenderingStore
from rukpak_py.content.store import Store, StoredForm
from rukpak_py.controllers.deployment import kept_renderings
from rukpak_py.controllers.deployment.hooks.runs import HookExecution
from rukpak_py.controllers.deployment.kept_renderings import key_of, keys_in_use
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.core.objects import Object
from rukpak_py.formats.format import ContentDescription, RenderedContent
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from rukpak_py.formats.stored_rendering import lines_of, rendering
from rukpak_py.sources.upload import UploadDirectory, UploadedFor
from tests.unit.bundles import tree_of
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.values import deployment, unpacked
from tests.unit.goldens.pinned import check

TREE = tree_of({"manifests/a.yaml": "a: 1\n", "manifests/ä.yaml": "", "metadata/b.yaml": "b"}, "empty")
OTHER = tree_of({"manifests/c.yaml": "c"})
OBJECTS = [
    Object.from_manifest({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ns"}})
    for kind, name in (("Namespace", "ns"), ("ConfigMap", "a"), ("Secret", "s"))
]
HOOK = Hook(
    object=Object.from_manifest({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hook"}}),
    events=frozenset({HookEvent.PRE_INSTALL, HookEvent.POST_DELETE}),
    weight=-5,
    delete_policies=frozenset({DeletePolicy.HOOK_SUCCEEDED, DeletePolicy.BEFORE_HOOK_CREATION}),
    outlives=True,
)
VALUES = (RecordedValues(kind="Secret", name="s", key="k", digest="hmac-sha256:1:2", current_digest="x"),)


def listing(directory: Path) -> dict[str, str]:
    """Paths, modes, and where links lead."""
    found = {}
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        target = f"-> {path.readlink()}" if path.is_symlink() else f"{stat.S_IMODE(mode):04o}"
        found[f"{path.relative_to(directory)}{'/' if stat.S_ISDIR(mode) else ''}"] = target
    return found


def checksum_file(directory: Path, digest: str) -> dict[str, Any]:
    """Its values depend on how the compression is built; its fields do not."""
    name = f"{digest.replace(':', '-')}.tgz.json"
    found: dict[str, Any] = orjson.loads((directory / "checksums" / name).read_bytes())
    return found


def test_content_on_disk(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.link("shop-1", store.put(TREE, OTHER), StoredForm.CONVERTED)
    store.link("shop-2", store.put(OTHER))
    sums = {name: type(value).__name__ for name, value in checksum_file(tmp_path, OTHER.digest).items()}
    version = checksum_file(tmp_path, OTHER.digest)["version"]
    found = {"digest": TREE.digest, "files": listing(tmp_path), "checksum": sums, "version of checksums": version}
    check("content on disk", found)


def test_uploads_on_disk(tmp_path: Path) -> None:
    incoming = UploadDirectory(tmp_path, DEFAULT_LIMITS).receive()
    incoming.keep(UploadedFor(bundle="shop-1", uid="0a-1"))
    incoming.close()
    check("uploads on disk", {"files": listing(tmp_path)})


def test_renderings_on_disk(tmp_path: Path) -> None:
    RenderingStore(tmp_path, most=1000).put("0" * 64, [b"a\n", b"b\n"])
    text = (tmp_path / "renderings" / ("0" * 64)).read_text().splitlines()
    check("renderings on disk", {"files": listing(tmp_path), "lines": text})


def lines(content: RenderedContent) -> list[str]:
    return b"".join(lines_of(content)).decode().splitlines()


def test_lines_of_a_rendering() -> None:
    lasting = frozenset(one.head.key for one in OBJECTS[:2])
    plain = rendering(OBJECTS, lasting)
    hooked = rendering(OBJECTS, lasting, hooks=[HOOK], before_hooks=frozenset({OBJECTS[0].head.key}))
    described = rendering(OBJECTS, lasting, description=ContentDescription(name="web", version="1.2.3"))
    found = {
        "digest with a description": described.digest,
        "last line with a description": lines(described)[-1],
        "digest": plain.digest,
        "lines": lines(plain),
        "digest with hooks": hooked.digest,
        "lines with hooks": lines(hooked),
    }
    check("stored rendering", found)


def test_keys_of_renderings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_renderings, "config_digest", lambda config: "sha256:22" if config else "")
    bundle = unpacked(digest="sha256:11")
    one = attempt(bundle=bundle)
    chosen = InstallOptions(install_namespace="ns", config={"values": "a: 1"}, values_from=VALUES)
    other = attempt(bundle=bundle, options=chosen)
    options = RecordedOptions(install_namespace="ns")
    entry = Installation(bundle="b", digest="sha256:11", time="2026-01-01T00:00:00Z", options=options)
    status = BundleDeploymentStatus(history=(entry,))
    in_use = keys_in_use(deployment(status=status), (), default_namespace="system")
    found = {
        "of content": key_of(one),
        "with configuration and values": key_of(other),
        "of the history": sorted(in_use),
    }
    check("keys of renderings", found)


def test_marks_of_hooks() -> None:
    run = HookExecution(revision="0" * 64, event=HookEvent.PRE_UPGRADE, since="2026-01-01T00:00:00Z")
    rendered = HookExecution(revision="0" * 64, event=HookEvent.PRE_UPGRADE, since="", rendering="sha256:11")
    check("marks of hooks", {"of a run": run.mark, "of a rendering": rendered.mark})
