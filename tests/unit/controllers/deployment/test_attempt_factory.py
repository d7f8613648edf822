"""Facts of an attempt beside its content: whether it makes its install namespace, and which values it has."""

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, RecordedValues
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.controllers.deployment.attempt import AttemptFactory
from rukpak_py.controllers.deployment.external_values import NO_VALUES, FoundValues
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.kube.resources import NAMESPACES
from tests.unit.apply.watches import watches_of
from tests.unit.controllers.deployment.parts import SYSTEM_NAMESPACE, identities, kinds
from tests.unit.controllers.fakes import NOW
from tests.unit.controllers.values import deployment, unpacked

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


@pytest.mark.parametrize(
    ("known", "is_listed", "makes_it"),
    [
        ((NAMESPACES.gvk,), False, True),  # the watch will show it in a moment; until then the status says it
        ((NAMESPACES.gvk,), True, False),  # that of another owner
        ((CONFIG_MAP,), False, False),
    ],
)
async def test_after_a_restart_the_status_says_whose_namespace_it_is(
    monkeypatch: pytest.MonkeyPatch, known: tuple[GroupVersionKind, ...], *, is_listed: bool, makes_it: bool
) -> None:
    watches = watches_of(monkeypatch, NAMESPACES)
    watches.informer(NAMESPACES).synced.clear()
    if is_listed:
        watches.listed(NAMESPACES)
    attempts = AttemptFactory(watches.inventory, lambda _name: True, identities())
    one = deployment(
        install_namespace="shop", create_namespace=True, status=BundleDeploymentStatus(kinds=kinds(*known))
    )
    assert attempts.wanted(one, unpacked(), DeploymentState(), NO_VALUES).makes_namespace is makes_it
    await watches.inventory.close()


DOCUMENT = ValuesDocument(document=b"a: 1", is_secret=True)
VALUES = RecordedValues(kind="Secret", name="s", key="k", digest="1")


@pytest.mark.parametrize(
    ("digest", "documents"), [("1", (DOCUMENT,)), ("2", ())], ids=["as they are now", "changed since"]
)
async def test_installed_content_has_the_values_of_its_digest_and_no_others(
    monkeypatch: pytest.MonkeyPatch, digest: str, documents: tuple[ValuesDocument, ...]
) -> None:
    watches = watches_of(monkeypatch, NAMESPACES)
    found = FoundValues(recorded=(replace(VALUES, current_digest="3"),), documents=(DOCUMENT,))
    options = recorded(InstallOptions(values_from=(replace(VALUES, digest=digest),)))
    history = (Installation(bundle="b", digest="d", time=NOW, options=options),)
    one = deployment(status=BundleDeploymentStatus(history=history))
    attempts = AttemptFactory(watches.inventory, lambda _name: True, identities())
    active = attempts.active(one, unpacked(), DeploymentState(), found)
    assert active is not None
    assert (active.values, active.lacks_values) == (documents, not documents)
    await watches.inventory.close()


@pytest.mark.parametrize(
    ("default", "asked", "namespace"),
    [("", None, SYSTEM_NAMESPACE), ("apps", None, "apps"), ("apps", "shop", "shop")],
)
async def test_objects_without_a_namespace_go_to_that_of_the_spec_or_the_default(
    monkeypatch: pytest.MonkeyPatch, default: str, asked: str | None, namespace: str
) -> None:
    watches = watches_of(monkeypatch, NAMESPACES)
    attempts = AttemptFactory(watches.inventory, lambda _name: True, identities(), default_namespace=default)
    one = deployment(install_namespace=asked or "")
    assert attempts.wanted(one, unpacked(), DeploymentState(), NO_VALUES).install_namespace == namespace
    await watches.inventory.close()
