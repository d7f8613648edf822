"""Which events of our kinds concern us, as Kopf's thread sees them and as our loop decides."""

from typing import Any, cast

import pytest

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_PLURAL,
    ORDERED_DELETION_FINALIZER,
    PLAIN_CLASS,
)
from rukpak_py.operator.kopf_shell import HandOver
from rukpak_py.operator.waking import Listeners, Waking

FOREIGN = "example-com-other"


def deployment(version: int, provisioner_class: str, **metadata: Any) -> dict[str, Any]:
    source = {"type": "configMaps", "configMaps": [{"configMap": {"name": "m"}}]}
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": BUNDLE_DEPLOYMENT_KIND,
        "metadata": {"name": "a", "uid": "u", "resourceVersion": str(version), "generation": version, **metadata},
        "spec": {
            "provisionerClassName": provisioner_class,
            "template": {"spec": {"provisionerClassName": provisioner_class, "source": source}},
        },
    }


class Told:
    """Every listener, who hears and does nothing."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_: None


class World:
    """Kopf's side and ours; what is handed over waits until our loop has its turn."""

    def __init__(self) -> None:
        told = cast("Any", Told())
        self.waking = Waking()
        self.waking.attach(
            Listeners(
                bundles=told,
                deployments=told,
                rendering=told,
                inventory=told,
                relisted=told.nothing,
                deleted=told.nothing,
            )
        )
        self.on_their_way: list[tuple[Any, ...]] = []
        handler = next(one for one in self.waking.handlers() if one.plural == BUNDLE_DEPLOYMENT_PLURAL)
        self._hand_over = HandOver(handler, lambda *call: self.on_their_way.append(call))

    def event(self, body: dict[str, Any], event: str | None = "MODIFIED") -> bool:
        """Whether it was handed over."""
        if not self._hand_over.wants(body):
            return False
        self._hand_over.take(event, body)
        return True

    def our_turn(self) -> None:
        while self.on_their_way:
            seen, *arguments = self.on_their_way.pop(0)
            seen(*arguments)

    @property
    def known(self) -> str | None:
        found = self.waking.deployments.get("a")
        return found.spec.provisioner_class if found else None


@pytest.fixture
def world() -> World:
    return World()


def test_a_class_of_somebody_else_is_not_handed_over(world: World) -> None:
    assert not world.event(deployment(1, FOREIGN))


def test_a_class_that_changes_away_before_our_loop_had_its_turn_is_noticed(world: World) -> None:
    assert world.event(deployment(1, PLAIN_CLASS))
    assert world.event(deployment(2, FOREIGN))
    world.our_turn()
    assert world.known == FOREIGN


def test_what_is_gone_is_somebody_elses_again(world: World) -> None:
    world.event(deployment(1, PLAIN_CLASS))
    assert world.event(deployment(2, FOREIGN), "DELETED")
    world.our_turn()
    assert world.known is None
    assert not world.event(deployment(3, FOREIGN, uid="another"))


def test_what_we_hold_is_ours_whatever_its_class(world: World) -> None:
    assert world.event(deployment(1, FOREIGN, finalizers=[ORDERED_DELETION_FINALIZER]))
    world.our_turn()
    assert world.known == FOREIGN


def test_a_bundle_of_a_deployment_that_we_do_not_know_is_left_alone(world: World) -> None:
    """Handed over, because we may have created it; our loop knows better."""
    owned = deployment(1, FOREIGN, ownerReferences=[{"kind": BUNDLE_DEPLOYMENT_KIND, "name": "b", "uid": "b"}])
    assert world.event(owned)
    world.our_turn()
    assert world.known is None
