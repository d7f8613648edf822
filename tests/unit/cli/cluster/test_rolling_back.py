"""The changes that `rukpakctl rollback` makes, and when it makes none."""

import json
from typing import Any

import msgspec
import pytest

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate, Override, Patch, PatchTarget
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import CONTENT_DIGEST_ANNOTATION, HELM_CLASS, PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import HttpSource, ImageSource, UploadSource
from rukpak_py.api.template_hash import bundle_name, template_hash
from rukpak_py.api.upgrades import Approval, Upgrades
from rukpak_py.cli.cluster.deployments import DeploymentCommandError, EditedDeployment
from rukpak_py.cli.cluster.rolling_back import Rollback, rollback_of
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

NAME = "web"
LOST = "status.history does not have its template and its options any more"


def image(ref: str) -> Source:
    return Source(type="image", image=ImageSource(ref=ref))


def template(source: Source) -> BundleTemplate:
    return BundleTemplate(spec=BundleSpec(provisioner_class_name=PLAIN_CLASS, source=source))


ONE, TWO = template(image("example.com/web@sha256:1")), template(image("example.com/web@sha256:2"))


def entry(revision: int, of: BundleTemplate | None, options: InstallOptions | None = None) -> Installation:
    return Installation(
        revision=revision,
        bundle=bundle_name(NAME, template_hash(of)) if of is not None else "lost",
        digest=f"sha256:{revision}",
        time="2026-01-01T00:00:00Z",
        outcome="Healthy",
        options=recorded(options or InstallOptions()) if of is not None else None,
        template=of,
    )


def read(
    *history: Installation,
    wants: BundleTemplate = TWO,
    metadata: ObjectMeta | None = None,
    managers: tuple[dict[str, Any], ...] = (),
    **spec: Any,
) -> EditedDeployment:
    given = {"provisioner_class_name": PLAIN_CLASS, **spec}
    deployment = BundleDeployment(
        metadata=metadata or ObjectMeta(name=NAME),
        spec=BundleDeploymentSpec(template=wants, **given),
        status=BundleDeploymentStatus(history=history, active_bundle=history[0].bundle if history else ""),
    )
    raw = json.dumps({"metadata": {"managedFields": managers}}).encode()
    return EditedDeployment(deployment=deployment, edited=deployment, resource=BUNDLE_DEPLOYMENTS, raw=raw)


def changed(found: Rollback) -> list[str]:
    return sorted(found.change)


def test_without_a_revision_it_is_the_one_before() -> None:
    found = rollback_of(read(entry(2, TWO), entry(1, ONE)))
    assert (found.entry.revision, changed(found)) == (1, ["template"])
    assert found.change["template"]["spec"]["source"]["image"]["ref"] == "example.com/web@sha256:1"


def test_revision_that_was_rolled_back_has_to_be_asked_for() -> None:
    three = template(image("example.com/web@sha256:3"))
    undone = msgspec.structs.replace(entry(2, TWO), outcome="RolledBack")
    assert rollback_of(read(entry(3, three), undone, entry(1, ONE), wants=three)).entry.revision == 1
    assert rollback_of(read(undone, entry(1, ONE), wants=three)).entry.revision == 1
    assert rollback_of(read(entry(3, three), undone, entry(1, ONE), wants=three), 2).entry.revision == 2
    with pytest.raises(DeploymentCommandError, match=r"rolled back \(2\); name one with --to"):
        rollback_of(read(entry(3, three), undone, wants=three))


def test_while_another_template_is_wanted_it_is_what_is_installed() -> None:
    three = template(image("example.com/web:3"))
    found = rollback_of(read(entry(2, TWO), entry(1, ONE), wants=three))
    assert (found.entry.revision, changed(found)) == (2, ["template"])


def test_while_other_options_are_wanted_it_is_what_is_installed() -> None:
    found = rollback_of(read(entry(2, TWO), entry(1, ONE), config={"values": {"a": 1}}))
    assert (found.entry.revision, found.change) == (2, {"config": None})


def test_all_options_of_the_revision_come_back_and_the_rest_stays() -> None:
    options = InstallOptions(
        install_namespace="shop",
        provisioner_class_name=HELM_CLASS,
        config={"values": {"a": None, "b": [1, None]}},
    )
    found = rollback_of(
        read(
            entry(2, TWO, InstallOptions(provisioner_class_name=HELM_CLASS, create_namespace=True)),
            entry(1, ONE, options),
            provisioner_class_name=HELM_CLASS,
            create_namespace=True,
            service_account_name="installer",
            upgrades=Upgrades(approval=Approval.MANUAL),
        ),
        1,
    )
    assert found.change == {
        "template": msgspec.to_builtins(ONE),
        "config": {"values": {"a": None, "b": [1, None]}},
        "installNamespace": "shop",
        "createNamespace": None,
    }


def test_accepted_secrets_are_no_part_of_a_revision() -> None:
    options = InstallOptions(provisioner_class_name=HELM_CLASS, config={"values": "a: 1"})
    found = rollback_of(
        read(
            entry(2, TWO, InstallOptions(provisioner_class_name=HELM_CLASS)),
            entry(1, ONE, options),
            provisioner_class_name=HELM_CLASS,
            config={"acceptNewSecrets": ["a/b"]},
        ),
    )
    assert found.change["config"] == {"values": "a: 1", "acceptNewSecrets": ["a/b"]}


def test_class_in_its_former_spelling_stays_as_it_is_written() -> None:
    found = rollback_of(read(entry(2, TWO), entry(1, ONE), provisioner_class_name="core.rukpak.io/plain"))
    assert changed(found) == ["template"]


@pytest.mark.parametrize(
    ("source", "is_named"),
    [
        (Source(type="upload", upload=UploadSource()), True),
        (Source(type="http", http=HttpSource(url="https://example.com/web.tgz")), True),
        (Source(type="http", http=HttpSource(url="https://example.com/web.tgz", sha256="0" * 64)), False),
        (image("example.com/web@sha256:1"), False),
    ],
)
def test_source_that_does_not_say_which_content_it_is_gets_its_digest(source: Source, *, is_named: bool) -> None:
    found = rollback_of(read(entry(2, TWO), entry(1, template(source))))
    annotations = found.change["template"].get("metadata", {}).get("annotations", {})
    assert annotations == ({CONTENT_DIGEST_ANNOTATION: "sha256:1"} if is_named else {})


@pytest.mark.parametrize(
    ("found", "revision", "text"),
    [
        (read(), None, "has no history"),
        (read(entry(2, TWO)), None, "has only revision 2"),
        (read(entry(2, TWO), entry(1, ONE)), 7, "has no revision 7; its revisions are 2, 1"),
        (read(entry(2, TWO), entry(1, None)), None, LOST),
        (read(entry(2, TWO), entry(1, ONE)), 2, "asks for revision 2 already"),
    ],
)
def test_nothing_to_go_back_to_is_said(found: EditedDeployment, revision: int | None, text: str) -> None:
    with pytest.raises(DeploymentCommandError, match=text):
        rollback_of(found, revision)


def test_configuration_that_is_known_by_its_digest_only_is_lost() -> None:
    large = InstallOptions(config={"values": "x" * 70_000})
    with pytest.raises(DeploymentCommandError, match=LOST):
        rollback_of(read(entry(2, TWO), entry(1, ONE, large)))


def manager(name: str, *fields: str, **more: str) -> dict[str, Any]:
    return {"manager": name, "fieldsV1": {"f:spec": {f"f:{field}": {} for field in fields}}, **more}


@pytest.mark.parametrize(
    ("metadata", "managers", "owners"),
    [
        ({}, (manager("kubectl-edit", "template"), manager("rukpakctl", "template")), ()),
        ({}, (manager("controller", "suspend"),), ()),
        ({}, (manager("controller", "template", subresource="status"),), ()),
        ({}, (manager("controller", "template"),), ('field manager "controller" owns spec.template',)),
        (
            {"labels": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux"}},
            (),
            ("it is managed by Flux (Kustomization flux/apps)",),
        ),
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "shop:core.rukpak.io/BundleDeployment:/web"}},
            (),
            ("it is managed by Argo CD (application shop)",),
        ),
        (
            {"owner_references": (OwnerReference(kind="Shop", name="big", uid="1", controller=True),)},
            (),
            ("it is controlled by Shop big",),
        ),
    ],
)
def test_clients_that_would_set_it_again_are_named(
    metadata: dict[str, Any], managers: tuple[dict[str, Any], ...], owners: tuple[str, ...]
) -> None:
    found = read(entry(2, TWO), entry(1, ONE), metadata=ObjectMeta(name=NAME, **metadata), managers=managers)
    assert rollback_of(found).owners == owners


def test_patches_of_the_revision_come_back() -> None:
    patch = Patch(target=PatchTarget(kind="ConfigMap", name="a"), patch="data: {a: null}")
    manifest = rollback_of(read(entry(2, TWO), entry(1, ONE, InstallOptions(patches=(patch,))))).manifest
    assert manifest["spec"]["patches"] == [
        {"target": {"kind": "ConfigMap", "name": "a"}, "patch": "data: {a: null}"},
    ]


def test_change_for_git_is_a_manifest_of_lists_and_objects() -> None:
    options = InstallOptions(overrides=(Override(kind="ConfigMap", name="a", prune=False, ignore=("/data",)),))
    manifest = rollback_of(read(entry(2, TWO), entry(1, ONE, options))).manifest
    assert manifest["spec"]["overrides"] == [
        {"kind": "ConfigMap", "name": "a", "prune": False, "ignore": ["/data"]},
    ]
    assert (manifest["kind"], manifest["metadata"]) == ("BundleDeployment", {"name": NAME})
