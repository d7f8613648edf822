"""Members of unions that have to go before the content fits."""

from typing import Any

import pytest

from rukpak_py.apply.field_paths import Item, Path, placed
from rukpak_py.apply.unions.move import excluded
from rukpak_py.core.objects import ADMISSION_GROUP, GroupKind

DEPLOYMENT = GroupKind("apps", "Deployment")
CRON_JOB = GroupKind("batch", "CronJob")
SERVICE = GroupKind("", "Service")
BUDGET = GroupKind("policy", "PodDisruptionBudget")
CRD = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
API_SERVICE = GroupKind("apiregistration.k8s.io", "APIService")
WEBHOOKS = GroupKind(ADMISSION_GROUP, "ValidatingWebhookConfiguration")
V = Item((("name", "v"),))
POD: Path = ("spec", "template", "spec")
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
TO_WEBHOOK = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}, "caBundle": "a"}}}


TYPE: dict[str, Any] = {"f:spec": {"f:type": {}}}


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def pod(**fields: Any) -> dict[str, Any]:
    return spec(template={"spec": fields})


def volumes(**source: Any) -> dict[str, Any]:
    return pod(volumes=[{"name": "other", "emptyDir": {}}, {"name": "v", **source}])


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "v", **fields}])


def paths(kind: GroupKind, wanted: Any, live: Any, *, ours: Any = None, others: Any = None) -> list[Path]:
    return list(excluded(kind, wanted, live, ours=ours or {}, others=others or {}))


@pytest.mark.parametrize(
    ("kind", "wanted", "live", "expected"),
    [
        (
            DEPLOYMENT,
            spec(strategy={"type": "Recreate"}),
            spec(strategy=ROLLING),
            [("spec", "strategy", "rollingUpdate")],
        ),
        (DEPLOYMENT, spec(strategy={"type": "Recreate"}), spec(strategy={"type": "Recreate"}), []),
        (DEPLOYMENT, spec(strategy={"type": "RollingUpdate"}), spec(strategy=ROLLING), []),
        (DEPLOYMENT, spec(strategy={**ROLLING, "type": "Recreate"}), spec(strategy=ROLLING), []),  # wrong content
        (DEPLOYMENT, spec(), spec(strategy=ROLLING), []),
        (DEPLOYMENT, volumes(secret={}), volumes(emptyDir={}), [(*POD, "volumes", V, "emptyDir")]),
        (
            DEPLOYMENT,
            volumes(secret={}),
            volumes(emptyDir={}, csi={}, secret={}),
            [(*POD, "volumes", V, "csi"), (*POD, "volumes", V, "emptyDir")],
        ),
        (DEPLOYMENT, volumes(emptyDir={}), volumes(secret={}), [(*POD, "volumes", V, "secret")]),
        (DEPLOYMENT, volumes(), volumes(emptyDir={}), []),
        (DEPLOYMENT, pod(volumes=[{"name": "new", "secret": {}}]), volumes(emptyDir={}), []),
        (
            DEPLOYMENT,
            container(readinessProbe={"exec": {}, "periodSeconds": 1}),
            container(readinessProbe={"grpc": {}, "periodSeconds": 2}),
            [(*POD, "containers", V, "readinessProbe", "grpc")],
        ),
        (
            DEPLOYMENT,
            container(env=[{"name": "v", "value": "1"}]),
            container(env=[{"name": "v", "value": "1", "valueFrom": {}}]),
            [(*POD, "containers", V, "env", V, "valueFrom")],
        ),
        (DEPLOYMENT, container(env=[{"name": "v", "value": ""}]), container(env=[{"name": "v", "valueFrom": {}}]), []),
        (
            DEPLOYMENT,
            pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
            pod(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}}),
            [(*POD, "securityContext", "seccompProfile", "localhostProfile")],
        ),
        (
            CRON_JOB,
            spec(jobTemplate={"spec": {}}),
            spec(jobTemplate={"spec": {"completionMode": "Indexed", "successPolicy": {}}}),
            [("spec", "jobTemplate", "spec", "successPolicy")],
        ),
        (
            SERVICE,
            spec(),
            spec(type="LoadBalancer", loadBalancerSourceRanges=[]),
            [("spec", "loadBalancerSourceRanges")],
        ),
        (SERVICE, spec(type="LoadBalancer"), spec(loadBalancerSourceRanges=[]), []),
        (BUDGET, spec(minAvailable=0), spec(maxUnavailable=1), [("spec", "maxUnavailable")]),
        (BUDGET, spec(), spec(maxUnavailable=1), []),
        (
            WEBHOOKS,
            {"webhooks": [{"name": "v", "clientConfig": {"url": "a"}}]},
            {"webhooks": [{"name": "v", "clientConfig": {"service": {}, "caBundle": "a"}}]},
            [("webhooks", V, "clientConfig", "service")],
        ),
        (CRD, spec(), spec(conversion=TO_WEBHOOK), [("spec", "conversion", "webhook")]),
        (CRD, spec(conversion={"strategy": "None"}), spec(conversion=TO_WEBHOOK), [("spec", "conversion", "webhook")]),
        (
            CRD,
            spec(conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"url": "a"}}}),
            spec(conversion=TO_WEBHOOK),
            [("spec", "conversion", "webhook", "clientConfig", "service")],
        ),
        (API_SERVICE, spec(), spec(service={}, caBundle="a"), [("spec", "caBundle"), ("spec", "service")]),
        (API_SERVICE, spec(caBundle="a"), spec(service={}, caBundle="a"), [("spec", "service")]),
        (API_SERVICE, spec(service={}), spec(service={}, caBundle="a"), []),
        (API_SERVICE, spec(service={}, insecureSkipTLSVerify=False), spec(service={}, caBundle="a"), []),
        (
            API_SERVICE,
            spec(service={}, insecureSkipTLSVerify=True),
            spec(service={}, caBundle="a"),
            [("spec", "caBundle")],
        ),
        (GroupKind("shop.test", "Shop"), spec(strategy={"type": "Recreate"}), spec(strategy=ROLLING), []),
    ],
)
def test_excluded_members_are_found(kind: GroupKind, wanted: Any, live: Any, expected: list[Path]) -> None:
    assert paths(kind, wanted, live) == expected


def test_a_type_that_another_manager_owns_stays_where_the_content_leaves_it_open() -> None:
    live = spec(type="LoadBalancer", loadBalancerSourceRanges=[])
    assert paths(SERVICE, spec(), live, others=TYPE) == []
    assert paths(SERVICE, spec(type="ClusterIP"), live, others=TYPE) != []


@pytest.mark.parametrize("others", [None, TYPE])
def test_but_not_where_the_content_has_what_is_not_for_it(others: Any) -> None:
    live = spec(type="ExternalName", externalName="a")
    assert paths(SERVICE, spec(clusterIP="None"), live, others=others) == [("spec", "type")]
    assert paths(SERVICE, spec(clusterIP="None"), spec(type="NodePort", clusterIP="None"), others=others) == []
    wanted = spec(strategy={"rollingUpdate": {"maxSurge": 1}})
    assert paths(DEPLOYMENT, wanted, spec(strategy={"type": "Recreate"})) == [("spec", "strategy", "type")]


PROFILE = {"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}}


@pytest.mark.parametrize(
    ("wanted", "live", "path"),
    [
        (volumes(), volumes(secret={}), (*POD, "volumes", V, "secret")),
        (pod(), pod(securityContext=PROFILE), (*POD, "securityContext", "seccompProfile", "localhostProfile")),
        (container(), container(readinessProbe={"periodSeconds": 1}), (*POD, "containers", V, "readinessProbe")),
    ],
)
def test_union_member_that_the_content_drops_goes_whole(wanted: Any, live: Any, path: Path) -> None:
    """Else a part that another manager set would be left, which is not complete. A member that is all theirs stays."""
    assert paths(DEPLOYMENT, wanted, live, ours=placed({(*path[:-1], name): 1 for name in (path[-1], "type")})) == [
        path
    ]
    assert paths(DEPLOYMENT, wanted, live, others=placed({path: 1})) == []


@pytest.mark.parametrize(
    "odd", [None, [], "a", 1, {"volumes": "a"}, {"volumes": [1, {"name": []}]}, {"containers": {}}]
)
def test_odd_objects_have_no_unions(odd: Any) -> None:
    assert paths(DEPLOYMENT, spec(template={"spec": odd}), volumes(secret={})) == []
    assert paths(DEPLOYMENT, volumes(secret={}), spec(template={"spec": odd})) == []
