"""Whether what differs from the installed content is drift, or half of another content."""

from collections.abc import Mapping

import orjson
import pytest

from rukpak_py.api.install_options import InstallOptions
from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, HELM_CLASS, PLAIN_CLASS
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.applied_digest import recall_untouched
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.state_parts import ContentKey
from rukpak_py.core.objects import ObjectKey
from tests.manifests import config_map
from tests.unit.apply.lives import desired, live, owned
from tests.unit.controllers.deployment.parts import content_key

INSTALLED = content_key()
NOT_PRUNED = content_key(prunes=False)
NEXT = content_key("sha256:2")
MOVED = content_key(install_namespace="elsewhere")
WITH_OPTIONS = content_key(options="sha256:options")
OF_ANOTHER_CLASS = content_key(bundle_class=HELM_CLASS)


@pytest.mark.parametrize(
    ("applied_since", "is_untouched"),
    [
        ((), True),
        ((INSTALLED,), True),  # put back, or tried to
        ((NOT_PRUNED,), True),  # the same objects
        ((NEXT,), False),
        ((MOVED,), False),
        ((WITH_OPTIONS,), False),
        ((OF_ANOTHER_CLASS,), False),
        ((NEXT, INSTALLED), False),  # half of each
    ],
)
def test_content_is_untouched_until_objects_of_another_are_applied(
    applied_since: tuple[ContentKey, ...], *, is_untouched: bool
) -> None:
    state = DeploymentState()
    state.mark_applied(INSTALLED, set(), hidden=())
    for content in applied_since:
        state.applying(content)
    assert state.is_untouched(INSTALLED) is is_untouched


def test_nothing_is_untouched_before_anything_is_known() -> None:
    assert not DeploymentState().is_untouched(INSTALLED)


def attempt(digest: str = "sha256:1") -> Attempt:
    source = {"type": "configMaps", "configMaps": [{"path": "manifests", "configMap": {"name": "x"}}]}
    bundle = {"provisionerClassName": PLAIN_CLASS, "source": source}
    spec = {"provisionerClassName": PLAIN_CLASS, "template": {"spec": bundle}}
    head = {"apiVersion": API_VERSION, "metadata": {"name": "shop", "uid": "u"}}
    installed = {"activeBundle": "shop", "digest": "sha256:1"}
    deployment = {**head, "kind": BUNDLE_DEPLOYMENT_KIND, "spec": spec, "status": installed}
    status = {"digest": digest, "phase": "Unpacked"}
    return Attempt(
        deployment=read_bundle_deployment(orjson.dumps(deployment)),
        bundle=read_bundle(orjson.dumps({**head, "kind": BUNDLE_KIND, "spec": bundle, "status": status})),
        options=InstallOptions(),
        install_namespace="ns",
        makes_namespace=False,
        state=DeploymentState(),
    )


def as_applied(one: Desired) -> ObservedObject:
    return live(**owned(one.key.name, annotations={"core.rukpak.io/applied": one.payload.digest}))


CONTENT = (desired(config_map("a", v="1")), desired(config_map("b", v="1")))
A, B = map(as_applied, CONTENT)
UPGRADED = as_applied(desired(config_map("b", v="2")))
EXTRA = as_applied(desired(config_map("c", v="1")))


@pytest.mark.parametrize(
    ("lives", "is_untouched"),
    [
        ((A, B), True),
        ((A,), True),  # another client deleted the other one
        ((), False),
        ((A, UPGRADED), False),
        ((A, B, EXTRA), False),
    ],
)
def test_after_a_restart_the_digests_on_the_objects_tell(
    lives: tuple[ObservedObject, ...], *, is_untouched: bool
) -> None:
    active = attempt()
    recall_untouched(active, CONTENT, by_key(lives))
    assert active.is_untouched is is_untouched
    assert not active.is_settled, "what drifted is looked at"


def test_a_status_of_other_content_proves_nothing() -> None:
    active = attempt(digest="sha256:2")
    recall_untouched(active, CONTENT, by_key((A, B)))
    assert not active.is_untouched


def by_key(lives: tuple[ObservedObject, ...]) -> Mapping[ObjectKey, ObservedObject]:
    return {one.key: one for one in lives}
