"""Properties of the normalisation of every manifest, however odd."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak_py.apply.normalise import Normalised, normalise
from rukpak_py.core.errors import ContentError

KINDS = [
    ("v1", "ConfigMap"),
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("shop.test/v1", "Shop"),
    ("storage.k8s.io/v1", "StorageClass"),
]
# the words that the rules look at, so that random manifests reach them
WORDS = """
    name namespace labels annotations finalizers ownerReferences generateName uid status spec template jobTemplate
    containers initContainers env ports containerPort protocol imagePullSecrets hostAliases ip hostnames secrets data
    stringData rules aggregationRule ingress egress from to podSelector matchLabels matchExpressions webhooks
    clientConfig caBundle parameters selector manualSelector conversion webhook limits replicas openAPIV3Schema TCP a
    core.rukpak.io/owner-name core.rukpak.io/applied cert-manager.io/inject-ca-from
""".split()  # noqa: SIM905 - fifty lines of list literal say no more
words = st.sampled_from(WORDS)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 100), st.floats(allow_nan=False), words, st.text(max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=4)),
    max_leaves=20,
)
texts = st.dictionaries(words, st.one_of(words, st.none()), max_size=3)
metadata = st.one_of(
    values,
    st.fixed_dictionaries(
        {"name": words}, optional={"namespace": words, "labels": texts, "annotations": texts, "finalizers": values}
    ),
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": words},
        optional={
            "env": st.lists(st.fixed_dictionaries({"name": words}, optional={"value": scalars}), max_size=4),
            "ports": st.lists(
                st.fixed_dictionaries({"containerPort": st.integers(1, 2)}, optional={"protocol": scalars})
            ),
        },
    ),
    max_size=2,
)
pod_specs = st.fixed_dictionaries({}, optional={"containers": containers, "hostAliases": values})
templates = st.builds(lambda spec: {"template": {"spec": spec}}, pod_specs)


@st.composite
def manifests(draw: st.DrawFn) -> dict[str, Any]:
    api_version, kind = draw(st.sampled_from(KINDS))
    fields = draw(st.dictionaries(words, values, max_size=4))
    spec = {"spec": draw(st.one_of(templates, pod_specs, values))}
    return {"apiVersion": api_version, "kind": kind, **fields, **spec, "metadata": draw(metadata)}


def attempt(manifest: dict[str, Any], *, namespaced: bool) -> Normalised | None:
    try:
        return normalise(manifest, namespaced=namespaced, default_namespace="shop")
    except ContentError:
        return None


@settings(max_examples=400)
@given(manifests(), st.booleans())
def test_any_manifest_is_refused_or_normalised_as_a_copy(manifest: dict[str, Any], namespaced: bool) -> None:  # noqa: FBT001 - drawn
    before = copy.deepcopy(manifest)
    attempt(manifest, namespaced=namespaced)
    assert manifest == before


@settings(max_examples=400)
@given(manifests(), st.booleans())
def test_second_normalisation_changes_nothing(manifest: dict[str, Any], namespaced: bool) -> None:  # noqa: FBT001 - drawn
    once = attempt(manifest, namespaced=namespaced)
    if once is not None:
        twice = normalise(once.manifest, namespaced=namespaced, default_namespace="shop")
        assert twice == Normalised(manifest=once.manifest, warnings=())


@given(manifests())
def test_a_normal_manifest_is_returned_in_parts_as_it_was(manifest: dict[str, Any]) -> None:
    once = attempt(manifest, namespaced=True)
    if once is not None:
        twice = normalise(once.manifest, namespaced=True, default_namespace="shop").manifest
        assert all(twice[key] is once.manifest[key] for key in twice)  # nothing is copied without need


@given(st.dictionaries(st.text(max_size=12), values, max_size=5))
def test_any_mapping_is_normalised_or_refused(manifest: dict[str, Any]) -> None:
    attempt(manifest, namespaced=True)
