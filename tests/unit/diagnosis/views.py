"""Deployments as diagnosis reads them, made of a few words."""

from typing import Any

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, GROUP, PLAIN_CLASS
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.model import BundleView, DeploymentView, EventView, FailedContainer, ObjectView, State
from rukpak_py.diagnosis.verdicts import summary_of, verdict_of

SINCE = "2026-01-02T03:04:05Z"
SOURCE = {"type": "image", "image": {"ref": "registry.example.com/shop:v1"}}
WEB = ObjectKey("apps", "Deployment", "shop", "web")
CLAIM = ObjectKey("", "PersistentVolumeClaim", "shop", "data-web-0")
POD = ObjectKey("", "Pod", "shop", "web-1")
SHOP = ObjectKey(GROUP, BUNDLE_DEPLOYMENT_KIND, "", "shop")
SHOP_BUNDLE = ObjectKey(GROUP, BUNDLE_KIND, "", "shop-1")


def condition(kind: str, status: str, reason: str, message: str = "", *, generation: int = 1) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": SINCE,
        "observedGeneration": generation,
    }


def note(cause: str, about: object = "") -> dict[str, Any]:
    return {"reason": cause, "object": str(about), "since": SINCE, "id": cause}


def deployment(
    *conditions: dict[str, Any],
    notes: tuple[dict[str, Any], ...] = (),
    name: str = "shop",
    observed: int = 1,
    class_name: str = PLAIN_CLASS,
    **status: Any,
) -> BundleDeployment:
    return read_bundle_deployment(
        {
            "metadata": {"name": name, "uid": f"uid-of-{name}", "generation": 1, "creationTimestamp": SINCE},
            "spec": {
                "provisionerClassName": class_name,
                "template": {"spec": {"provisionerClassName": class_name, "source": SOURCE}},
            },
            "status": {"conditions": conditions, "notes": notes, "observedGeneration": observed, **status},
        }
    )


def view(found: BundleDeployment, **parts: Any) -> DeploymentView:
    return DeploymentView(deployment=found, summary=summary_of(found), **parts)


def bundle(
    *conditions: dict[str, Any],
    notes: tuple[dict[str, Any], ...] = (),
    name: str = "shop-1",
    is_active: bool = False,
    is_wanted: bool = True,
) -> BundleView:
    found = read_bundle(
        {
            "metadata": {"name": name, "generation": 1, "creationTimestamp": SINCE},
            "spec": {"provisionerClassName": PLAIN_CLASS, "source": SOURCE},
            "status": {"conditions": conditions, "notes": notes, "observedGeneration": 1},
        }
    )
    return BundleView(bundle=found, verdict=verdict_of(found), is_active=is_active, is_wanted=is_wanted)


def workload(state: State = State.PROGRESSING, **parts: Any) -> ObjectView:
    return ObjectView(key=WEB, uid="web", state=state, created=SINCE, **parts)


def thing(kind: str, name: str, state: State = State.READY, **parts: Any) -> ObjectView:
    return ObjectView(key=ObjectKey("", kind, "shop", name), uid=name, state=state, created=SINCE, **parts)


def container(reason: str, *, name: str = "web", has_ended: bool = False) -> FailedContainer:
    return FailedContainer(namespace="shop", pod="web-1", name=name, reason=reason, has_ended=has_ended)


def event(
    about: ObjectKey, reason: str, message: str = "said", *, count: int = 1, last: str = SINCE, type_: str = "Warning"
) -> EventView:
    return EventView(type=type_, reason=reason, message=message, count=count, last=last, about=about)
