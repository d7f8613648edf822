"""Gate: OLM itself does not manage the package in this cluster. Two managers of one operator would undo each other.

Two lists, before an install or an upgrade of an OLM bundle, and only where the cluster serves OLM's kinds.
"""

from collections.abc import Callable
from contextlib import aclosing

import msgspec

from rukpak_py.apply.preflight.gate import Candidate, Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.core.text import named
from rukpak_py.formats.format import OlmIdentity
from rukpak_py.kube.client import PAGE, Client
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource

GROUP = "operators.coreos.com"
SUBSCRIPTION = GroupVersionKind(GROUP, "v1alpha1", "Subscription")
CSV = GroupVersionKind(GROUP, "v1alpha1", "ClusterServiceVersion")
COPIED_LABEL = "olm.copiedFrom"  # on copies of a CSV in other namespaces
NAMED = 3
LABEL_NAME_LENGTH = 63


class _SubscriptionSpec(msgspec.Struct):
    name: str = ""  # of the package


class _Subscription(msgspec.Struct):
    spec: _SubscriptionSpec = msgspec.field(default_factory=_SubscriptionSpec)


async def managed_elsewhere(candidate: Candidate) -> Refusal | None:
    if candidate.olm is None or candidate.is_installed:
        return None
    package, found = candidate.olm.package, await candidate.managed_by_olm(candidate.olm)
    if not found:
        return None
    text = (
        f'OLM manages the package "{package}" in this cluster ({named(found, NAMED)}), so nothing is installed; '
        "remove it from OLM first, or delete this BundleDeployment"
    )
    return Refusal(kind=FailureKind.CONFLICT, message=text, objects=tuple(found))


async def managed_by_olm(
    client: Client, find: Callable[[GroupVersionKind], Resource | None], olm: OlmIdentity
) -> list[ObjectKey]:
    """The objects of OLM that are about this package."""
    found: list[ObjectKey] = []
    subscriptions, csvs = find(SUBSCRIPTION), find(CSV)
    if subscriptions is not None:
        async with aclosing(client.list_by_page(subscriptions, params={}, page=PAGE, full=True)) as pages:
            async for page in pages:
                found += [live.key for live in page.items if _package_of(live) == olm.package]
    if csvs is not None:
        async with aclosing(
            client.list_by_page(csvs, params={"labelSelector": f"!{COPIED_LABEL}"}, page=PAGE)
        ) as pages:
            async for page in pages:
                found += [
                    live.key
                    for live in page.items
                    if live.key.name == olm.csv
                    or _component_label(olm.package, live.key.namespace) in live.metadata.labels
                ]
    return found


def _component_label(package: str, namespace: str) -> str:
    """The label that OLM puts on all objects of a package, cut to the longest name of a label."""
    return f"{GROUP}/{f'{package}.{namespace}'[:LABEL_NAME_LENGTH].rstrip('-._')}"


def _package_of(subscription: LiveObject) -> str:
    try:
        return msgspec.json.decode(subscription.json or b"{}", type=_Subscription).spec.name
    except msgspec.DecodeError:
        return ""
