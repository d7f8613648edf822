"""Deployments as values, for pages that are made without a cluster."""

from datetime import UTC, datetime
from typing import Any

from rukpak_py.api.names import API_VERSION, PLAIN_CLASS
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.model import (
    BundleView,
    DeploymentSummary,
    DeploymentView,
    EventView,
    FailedContainer,
    ObjectView,
    State,
    UnreadPart,
    Verdict,
)
from rukpak_py.diagnosis.verdicts import summary_of

NOW = datetime(2026, 5, 6, 12, 0, 0, tzinfo=UTC)
THEN = "2026-05-06T09:00:00Z"


def row(name: str, state: State, *, said: str = "said", **given: str) -> DeploymentSummary:
    fields = {
        "class_name": PLAIN_CLASS,
        "source": "image",
        "reference": "r.example.com/shop:1",
        "version": "1.0.0",
        "namespace": "shop",
        "account": "",
        "pending": "",
        "created": THEN,
        "instance": "",
    }
    verdict = Verdict(state=state, reason="Reason", message=said, since=THEN)
    return DeploymentSummary(name=name, verdict=verdict, **fields | given)


def view(text: str = "said", *, ready: str = "False", **status: Any) -> DeploymentView:
    """`text`: everywhere that others may write."""
    condition = {"type": "Ready", "status": ready, "reason": "Unhealthy", "message": text, "lastTransitionTime": THEN}
    deployment = read_bundle_deployment(
        {
            "apiVersion": API_VERSION,
            "kind": "BundleDeployment",
            "metadata": {"name": "shop", "generation": 1, "uid": "u", "creationTimestamp": THEN},
            "spec": {
                "provisionerClassName": PLAIN_CLASS,
                "template": {
                    "spec": {"provisionerClassName": PLAIN_CLASS, "source": {"type": "image", "image": {"ref": text}}}
                },
            },
            "status": {
                "observedGeneration": 1,
                "conditions": [condition | {"observedGeneration": 1}],
                "version": text,
                **status,
            },
        }
    )
    bundle = read_bundle(
        {
            "metadata": {"name": "shop-1", "uid": "b"},
            "spec": {"provisionerClassName": PLAIN_CLASS, "source": {"type": "image", "image": {"ref": text}}},
        }
    )
    claim = ObjectView(
        key=ObjectKey("", "PersistentVolumeClaim", "shop", "data-web-1"), uid="v", state=State.FAILED, message=text
    )
    pod = ObjectView(
        key=ObjectKey("", "Pod", "shop", "web-1"),
        uid="p",
        state=State.FAILED,
        message=text,
        reason=text,
        container=FailedContainer(namespace="shop", pod="web-1", name=text, reason=text),
    )
    failing = ObjectView(
        key=ObjectKey("apps", "Deployment", "shop", "web"),
        uid="o",
        state=State.FAILED,
        message=text,
        children=(pod,),
        claims=(claim,),
    )
    fine = [
        ObjectView(key=ObjectKey("", "ConfigMap", "shop", f"c{at}"), uid=f"c{at}", state=State.READY) for at in (1, 2)
    ]
    event = EventView(type="Warning", reason=text, message=text, count=3, last=THEN, about=failing.key)
    return DeploymentView(
        deployment=deployment,
        summary=summary_of(deployment),
        bundles=(BundleView(bundle=bundle, verdict=Verdict(state=State.READY), is_active=True, is_wanted=True),),
        objects=(failing, *fine),
        events=(event,),
        unread=(UnreadPart(part="Secret objects", why=text),),
    )
