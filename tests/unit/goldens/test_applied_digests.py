"""`status.appliedDigest`, in both forms that count as proof."""

from dataclasses import replace

import pytest

from rukpak_py.api import install_options
from rukpak_py.api.bundle_deployment import RecordedValues
from rukpak_py.api.deployment_spec import Override, Prune
from rukpak_py.api.install_options import InstallOptions
from rukpak_py.api.reading import to_json
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.applied_digest import applied_digest, former_applied_digest
from rukpak_py.controllers.deployment.state_parts import ContentKey
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from tests.unit.controllers import values
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.values import unpacked
from tests.unit.goldens.pinned import check, use_pinned_names

PLAIN = ContentKey(deployment="uid-1", digest="sha256:11", install_namespace="ns")
FULL = ContentKey(
    deployment="uid-1",
    digest="sha256:11",
    install_namespace="ns",
    makes_namespace=True,
    prunes=False,
    options="sha256:22",
    bundle_class="core-rukpak-io-helm",
)
CHOOSING = ContentKey(deployment="uid-1", digest="sha256:11", bundle_class="core-rukpak-io-registry")
WITH_OPTIONS = ContentKey(deployment="uid-1", digest="sha256:11", install_namespace="ns", options="sha256:22")


def observed(kind: str, name: str, *, group: str = "", namespace: str = "ns", fields: str = "f") -> ObservedObject:
    return ObservedObject(
        key=ObjectKey(group, kind, namespace, name),
        gvk=GroupVersionKind(group, "v1", kind),
        uid=f"uid-of-{name}",
        version=7,
        owner_uid="uid-1",
        labelled_for="shop",
        controller=None,
        applied=f"sha256:{name}",
        identity="",
        fields=fields,
        is_deleted=False,
        outlives=False,
    )


LIVES = (
    observed("Secret", 'ä\'s "quoted"'),
    observed("ConfigMap", "a", fields=""),
    observed("ClusterRole", "r", group="rbac.authorization.k8s.io", namespace=""),
)


def test_the_digest_of_what_is_installed() -> None:
    found = {
        "of nothing": applied_digest((), PLAIN),
        "plain content": applied_digest(LIVES, PLAIN),
        "with uids": applied_digest(LIVES, PLAIN, with_uids=True),
        "with other options": applied_digest(LIVES, WITH_OPTIONS),
        "with a namespace that the content chooses": applied_digest(LIVES, CHOOSING),
        "with every field": applied_digest(LIVES, FULL),
    }
    check("status.appliedDigest", found)


def test_the_former_form_of_that_digest() -> None:
    found = {
        "of nothing": former_applied_digest((), PLAIN),
        "plain content": former_applied_digest(LIVES, PLAIN),
        "with uids": former_applied_digest(LIVES, PLAIN, with_uids=True),
        "with other options": former_applied_digest(LIVES, WITH_OPTIONS),
        "with a namespace that the content chooses": former_applied_digest(LIVES, CHOOSING),
        "with every field": former_applied_digest(LIVES, FULL),
    }
    check("status.appliedDigest, former form", found)


def test_digest_of_applied_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of the other options has a golden of its own; here it names them."""
    use_pinned_names(monkeypatch, install_options, values)
    monkeypatch.setattr(InstallOptions, "digest", property(lambda options: " ".join(to_json(options))))
    chosen = InstallOptions(
        install_namespace="ns",
        create_namespace=True,
        provisioner_class_name="core-rukpak-io-helm",
        watch_namespaces=("a",),
        overrides=(Override(kind="ConfigMap", name="a", force=True),),
        config={"values": "a: 1"},
        values_from=(RecordedValues(kind="Secret", name="s", key="k", digest="hmac-sha256:1:2"),),
    )
    bundle = unpacked(digest="sha256:11")
    choosing = replace(attempt(bundle=bundle), install_namespace="")
    full = attempt(bundle=bundle, options=chosen, makes_namespace=True, prune=Prune(enabled=False))
    found = {
        "of plain content": attempt(bundle=bundle).content,
        "of content that chooses its namespace": choosing.content,
        "with every option": full.content,
    }
    check("what identifies content", {name: to_json(content) for name, content in found.items()})
