"""The revisions of a BundleDeployment as `rukpakctl history` shows them."""

import io

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource
from rukpak_py.api.upgrades import BegunUpgrade, PendingUpgrade
from rukpak_py.cli.cluster.deployments import EditedDeployment
from rukpak_py.cli.reports.history import document, lines_of
from rukpak_py.cli.terminal import Style
from rukpak_py.diagnosis.revisions import revisions_of
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

TEMPLATE = BundleTemplate(
    spec=BundleSpec(
        provisioner_class_name="core-rukpak-io-plain",
        source=Source(type="image", image=ImageSource(ref="registry.example.com/web@sha256:" + "0" * 64)),
    )
)


def entry(revision: int, *, template: BundleTemplate | None = TEMPLATE, version: str = "") -> Installation:
    return Installation(
        revision=revision,
        bundle=f"web-{revision}",
        digest="sha256:" + str(revision) * 64,
        version=version or f"{revision}.0",
        generation=revision,
        time="2026-01-01T00:00:00Z",
        outcome="Healthy",
        options=recorded(InstallOptions()) if template is not None else None,
        template=template,
    )


def deployment(*history: Installation, **status: object) -> BundleDeployment:
    installed = BundleDeploymentStatus(history=history, active_bundle=history[0].bundle if history else "", **status)  # type: ignore[arg-type]
    spec = BundleDeploymentSpec(provisioner_class_name="core-rukpak-io-plain", template=TEMPLATE)
    return BundleDeployment(metadata=ObjectMeta(name="web"), spec=spec, status=installed)


def lines(found: BundleDeployment) -> list[str]:
    return list(lines_of(revisions_of(found), Style(io.StringIO())))


def test_installed_revision_is_listed_before_the_former_ones() -> None:
    assert lines(deployment(entry(2), entry(1))) == [
        "REVISION  STATE      OUTCOME  VERSION  GENERATION  TIME                  DIGEST",
        "2         installed  Healthy  2.0      2           2026-01-01T00:00:00Z  222222222222",
        "          Bundle web-2",
        "1         former     Healthy  1.0      1           2026-01-01T00:00:00Z  111111111111",
        "          Bundle web-1",
    ]


def test_upgrade_that_waits_or_has_begun_is_the_next_revision() -> None:
    waits = PendingUpgrade(
        digest="sha256:1", bundle="web-3", content="sha256:" + "3" * 64, reason="NotApproved", verdict="Safe"
    )
    begun = BegunUpgrade(revision=2, content="sha256:" + "3" * 64, bundle="web-3", started_at="2026-01-02T00:00:00Z")
    found = revisions_of(deployment(entry(2), pending_upgrade=waits))
    assert [(one.revision, one.state, one.outcome) for one in found] == [
        (3, "waits", "NotApproved"),
        (2, "installed", "Healthy"),
    ]
    found = revisions_of(deployment(entry(2), upgrade=begun))
    assert [(one.revision, one.state) for one in found] == [(3, "begun"), (2, "installed")]


def test_upgrade_whose_content_is_installed_is_listed_once() -> None:
    begun = BegunUpgrade(revision=1, content="sha256:" + "2" * 64, bundle="web-2", started_at="2026-01-02T00:00:00Z")
    assert [one.revision for one in revisions_of(deployment(entry(2), entry(1), upgrade=begun))] == [2, 1]


def test_revision_without_its_template_cannot_be_restored() -> None:
    found = deployment(entry(2), entry(1, template=None))
    assert lines(found)[-1] == "          Bundle web-1, cannot be restored"
    assert [one.is_restorable for one in revisions_of(found)] == [True, False]


def test_long_and_hostile_versions_fit_into_the_table() -> None:
    found = deployment(entry(1, version="1\x1b[2J" + "0" * 60))
    assert "1\\u001b[2J00000…" in lines(found)[1]
    assert max(map(len, lines(found))) <= 100


def test_nothing_is_listed_before_the_first_installation() -> None:
    assert revisions_of(deployment()) == []


def test_document_has_all_of_a_revision() -> None:
    found = deployment(entry(1))
    read = EditedDeployment(deployment=found, edited=found, resource=BUNDLE_DEPLOYMENTS, raw=b"")
    assert document(read, revisions_of(found)) == {
        "kind": "BundleDeployment",
        "name": "web",
        "revisions": [
            {
                "revision": 1,
                "state": "installed",
                "outcome": "Healthy",
                "bundle": "web-1",
                "version": "1.0",
                "generation": 1,
                "digest": "sha256:" + "1" * 64,
                "time": "2026-01-01T00:00:00Z",
                "restorable": True,
            }
        ],
    }
