"""`rukpakctl catalog install --apply` on a BundleDeployment that has not installed anything."""

from functools import partial
from typing import Any

import pytest

from rukpak_py.cli.catalogs.installing import InstallFields
from rukpak_py.cli.cluster import session
from rukpak_py.cli.cluster.deployments import EditedDeployment, find_deployment
from rukpak_py.cli.installation import InstallQuestion, apply
from rukpak_py.core.limits import Limits
from tests.unit.catalog.catalogs import catalog, entry, packages
from tests.unit.cli.cluster.catalog_deployments import annotations, deployment, read

KNOWN = packages(catalog({"stable": [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")]}))


def applied(found: EditedDeployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    def answered(work: partial[Any]) -> EditedDeployment | None:
        return found if work.func is find_deployment else None

    monkeypatch.setattr(session, "with_client", answered)
    question = InstallQuestion(
        packages=KNOWN,
        package="p",
        channel=None,
        version_range=None,
        installed=None,
        name="web",
        fields=InstallFields(),
        allow_tag=True,
        output="yaml",
        limits=Limits(),
    )
    assert apply(question, dry_run=False, force=False) == 0
    return capsys.readouterr().out


def test_bundle_that_was_asked_for_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = applied(read(deployment("1.0.0", annotated=annotations("1.0.0"))), monkeypatch, capsys)
    assert "core.rukpak.io/web set from p.v1.0.0 to p.v1.2.0: nothing was installed yet" in printed


def test_deployment_without_the_name_of_a_bundle_had_nothing_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = deployment("1.0.0", annotated={"core.rukpak.io/catalog-package": "p"})
    assert "web set to p.v1.2.0: nothing was installed yet" in applied(read(one), monkeypatch, capsys)


def test_deployment_that_asks_for_it_already_is_said_to_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = deployment("1.2.0", annotated=annotations("1.2.0"))
    printed = applied(read(one), monkeypatch, capsys)
    assert printed == "BundleDeployment web asks for p.v1.2.0 already, and has installed nothing yet\n"


def test_upgrade_of_what_is_installed_names_its_edge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = applied(read(deployment("1.0.0", installed="1.0.0")), monkeypatch, capsys)
    assert "set from p.v1.0.0 to p.v1.1.0: replaces p.v1.0.0 (channel stable)" in printed
