"""The first failing thing, from what the status records and what was read beside it."""

import pytest

from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.model import DeploymentView, EventView, State
from tests.unit.diagnosis.views import (
    CLAIM,
    POD,
    SHOP,
    SHOP_BUNDLE,
    WEB,
    bundle,
    condition,
    container,
    deployment,
    event,
    note,
    thing,
    view,
    workload,
)

READY = condition("Ready", "True", "Succeeded", "Instantiated")
UNHEALTHY = (
    condition("Healthy", "False", "Unhealthy", "Deployment.apps/shop/web: object InProgress: Available: 0/1"),
    condition("Ready", "Unknown", "Unhealthy", "Deployment.apps/shop/web: object InProgress: Available: 0/1"),
)
UNPACK = condition("Ready", "False", "Unavailable", "Failed to unpack its Bundle: no such host")
VALID = condition("HasValidBundle", "False", "UnpackFailed", "Failed to unpack the shop-1 Bundle: no such host")
FAILING_BUNDLE = bundle(
    condition("Unpacked", "False", "UnpackFailed", "no such host\nmore"),
    condition("Ready", "False", "Unavailable", "no such host"),
    notes=(note("FetchUnavailable"),),
)
SETTINGS = ObjectKey("", "ConfigMap", "shop", "settings")


@pytest.mark.parametrize(
    ("found", "about", "cause", "sentence"),
    [
        pytest.param(view(deployment(READY)), SHOP, "", "nothing is wrong", id="ready"),
        pytest.param(
            view(deployment(observed=-1)), SHOP, "NotSeen", "no operator has looked at it yet", id="no operator"
        ),
        pytest.param(
            view(deployment(observed=-1, class_name="example-com-other")),
            SHOP,
            "ForeignClass",
            'no operator has looked at it yet, and its class "example-com-other" is none of rukpak-py',
            id="another operator's",
        ),
        pytest.param(
            view(deployment(READY, observed=0)),
            SHOP,
            "NotSeenYet",
            "the operator has not looked at its generation 1 yet",
            id="status of a former spec",
        ),
        pytest.param(
            view(deployment(UNPACK, VALID, notes=(note("UnpackUnavailable"),)), bundles=(FAILING_BUNDLE,)),
            SHOP_BUNDLE,
            "FetchUnavailable",
            "Bundle shop-1: no such host",
            id="the Bundle says why it cannot be unpacked",
        ),
        pytest.param(
            view(deployment(UNPACK, VALID, notes=(note("UnpackUnavailable"),))),
            SHOP,
            "UnpackUnavailable",
            "Failed to unpack its Bundle: no such host",
            id="the Bundle was not read",
        ),
        pytest.param(
            view(
                deployment(*UNHEALTHY, notes=(note("Unhealthy", WEB),)),
                objects=(
                    thing("ConfigMap", "a"),
                    workload(
                        message="Available: 0/1", reason="CrashLoopBackOff", container=container("CrashLoopBackOff")
                    ),
                ),
            ),
            WEB,
            "CrashLoopBackOff",
            "Deployment.apps/shop/web: Available: 0/1",
            id="a workload says why it is not healthy",
        ),
        pytest.param(
            view(
                deployment(*UNHEALTHY, notes=(note("Unhealthy", WEB),)),
                objects=(workload(message="Available: 0/1", reason="WordOfALaterRelease"),),
            ),
            WEB,
            "Unhealthy",
            "Deployment.apps/shop/web: Available: 0/1",
            id="the word of the workload is not known",
        ),
        pytest.param(
            view(deployment(*UNHEALTHY, notes=(note("Unhealthy", WEB),))),
            WEB,
            "Unhealthy",
            "Deployment.apps/shop/web: object InProgress: Available: 0/1",
            id="objects were not read",
        ),
        pytest.param(
            view(
                deployment(
                    condition("Installed", "False", "InstallFailed", "ConfigMap shop/settings: refused\nmore"),
                    condition("Ready", "False", "InstallFailed", "ConfigMap shop/settings: refused"),
                    notes=(note("Refused", SETTINGS),),
                )
            ),
            SETTINGS,
            "Refused",
            "ConfigMap shop/settings: refused",
            id="an object was refused",
        ),
        pytest.param(
            view(
                deployment(
                    condition(
                        "Installed", "True", "PruneBudgetExceeded", "Instantiated bundle\n3 objects are too many"
                    ),
                    condition("Ready", "False", "PruneBudgetExceeded", "3 objects are too many"),
                    condition("Stalled", "True", "PruneBudgetExceeded", "3 objects are too many"),
                    notes=(note("PruneBudget"),),
                )
            ),
            SHOP,
            "PruneBudget",
            "3 objects are too many",
            id="a line of a condition that is true",
        ),
        pytest.param(
            view(
                deployment(
                    READY,
                    condition("UpgradePending", "True", "NotApproved", "upgrade to shop-2 waits"),
                    notes=(note("UpgradeNotApproved"),),
                )
            ),
            SHOP,
            "UpgradeNotApproved",
            "upgrade to shop-2 waits",
            id="ready, and an upgrade waits",
        ),
        pytest.param(
            view(
                deployment(condition("Ready", "True", "Suspended", "spec.suspend is true"), notes=(note("Suspended"),)),
                objects=(workload(message="Available: 0/1"),),
            ),
            SHOP,
            "Suspended",
            "spec.suspend is true",
            id="suspended before it is unhealthy",
        ),
        pytest.param(
            view(deployment(condition("Ready", "False", "Odd", "of a later release"), notes=(note("OddCause"),))),
            SHOP,
            "",
            "of a later release",
            id="a cause of a later release",
        ),
    ],
)
def test_the_first_failing_thing(found: DeploymentView, about: ObjectKey, cause: str, sentence: str) -> None:
    explained = explain(found)
    assert (explained.about, explained.cause, explained.sentence) == (about, cause, sentence)
    assert bool(explained.to_do) is bool(cause)


def test_sentence_of_ready_is_used_unless_it_is_cut() -> None:
    def sentence(ready: str) -> str:
        installed = condition("Installed", "False", "InstallFailed", "required resource not found: the whole text")
        return explain(
            view(
                deployment(installed, condition("Ready", "False", "InstallFailed", ready), notes=(note("KindMissing"),))
            )
        ).sentence

    assert sentence("the cluster has no kind Thing") == "the cluster has no kind Thing"
    assert sentence("the cluster has … (cut)") == "required resource not found: the whole text"


def test_further_failures_are_told_once() -> None:
    explained = explain(
        view(
            deployment(
                condition("Installed", "False", "InstallFailed", "ConfigMap shop/settings: refused"),
                UNHEALTHY[0],
                condition("Ready", "False", "InstallFailed", "ConfigMap shop/settings: refused"),
                notes=(note("Unhealthy", WEB), note("Refused", SETTINGS), note("Kept")),
            ),
            objects=(
                workload(message="Available: 0/1"),
                thing("PersistentVolumeClaim", "data", State.PROGRESSING, message="not bound"),
            ),
        )
    )
    assert explained.sentence == "ConfigMap shop/settings: refused"
    assert explained.others == (
        "PersistentVolumeClaim shop/data: not bound",
        "Deployment.apps/shop/web: Available: 0/1",
    )


def test_object_with_a_failed_container_is_named_before_one_that_only_waits() -> None:
    explained = explain(
        view(
            deployment(*UNHEALTHY, notes=(note("Unhealthy"),)),
            objects=(
                thing("PersistentVolumeClaim", "data", State.PROGRESSING, message="not bound", reason="NoStorageClass"),
                workload(message="Available: 0/1", reason="OOMKilled", container=container("OOMKilled")),
            ),
        )
    )
    assert explained.about == WEB
    assert explained.container == container("OOMKilled")


def test_events_are_those_of_the_failing_object_and_its_pods() -> None:
    pod = thing("Pod", "web-1", State.PROGRESSING)
    explained = explain(
        view(
            deployment(*UNHEALTHY, notes=(note("Unhealthy"),)),
            objects=(workload(message="Available: 0/1", children=(pod,)),),
            events=(event(POD, "BackOff"), event(SHOP, "Unhealthy"), event(WEB, "ScalingReplicaSet")),
        )
    )
    assert [one.reason for one in explained.events] == ["BackOff", "ScalingReplicaSet"]


def test_anchor_is_the_reason() -> None:
    explained = explain(view(deployment(UNPACK, VALID, notes=(note("UnpackUnavailable"),)), bundles=(FAILING_BUNDLE,)))
    assert (explained.reason, explained.anchor) == ("Unavailable", "unavailable")


@pytest.mark.parametrize(
    ("claim", "events", "about", "cause"),
    [
        ("NoStorageClass", (), CLAIM, "NoStorageClass"),
        ("NoVolume", (), CLAIM, "NoVolume"),
        ("ClaimPending", (event(CLAIM, "ProvisioningFailed"),), CLAIM, "ClaimPending"),
        ("ClaimPending", (event(CLAIM, "WaitForFirstConsumer", type_="Normal"),), WEB, "Unschedulable"),
        ("ClaimPending", (event(POD, "FailedScheduling"),), WEB, "Unschedulable"),
    ],
)
def test_claim_is_named_where_a_pod_waits_for_it_and_not_it_for_the_pod(
    claim: str, events: tuple[EventView, ...], about: ObjectKey, cause: str
) -> None:
    waiting = thing("PersistentVolumeClaim", "data-web-0", State.PROGRESSING, message="not bound", reason=claim)
    unhealthy = workload(message="Ready: 0/1", reason="Unschedulable", claims=(waiting,))
    found = explain(
        view(deployment(*UNHEALTHY, notes=(note("Unhealthy"),)), objects=(unhealthy,), events=events),
    )
    assert (found.about, found.cause) == (about, cause)
    assert found.sentence.startswith(str(WEB))
    assert (str(CLAIM) in found.sentence) is (about == CLAIM)
    assert found.events == tuple(one for one in events if one.about == about)
