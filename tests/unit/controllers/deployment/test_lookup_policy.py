"""Secrets that templates may look up: by the namespace, and by their owner."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.names import (
    DIGEST_KEY_SECRET,
    MANAGED_BY_LABEL,
    OPERATOR_MANAGER,
    OPERATOR_PART,
    PART_OF_LABEL,
    SERVING_CERTIFICATE_LABEL,
)
from rukpak_py.controllers.deployment.lookups import EVERY_NAMESPACE, LookingUp, LookupPolicy
from rukpak_py.kube.metadata import Metadata, decode_metadata

OURS = {PART_OF_LABEL: OPERATOR_PART, MANAGED_BY_LABEL: OPERATOR_MANAGER}
SYSTEM, SHOP, OTHER = "rukpak-system", "shop", "other"
TOKEN = "kubernetes.io/service-account-token"
OF_HELM = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": SYSTEM}
HELM = {MANAGED_BY_LABEL: "Helm"}


def looking_up(namespace: str = SHOP, *opened: str) -> LookingUp:
    policy = LookupPolicy(system_namespace=SYSTEM, opened=frozenset(opened))
    return LookingUp(release="web", namespace=namespace, uid="u", policy=policy)


def secret(namespace: str, name: str = "login", **metadata: Any) -> Metadata:
    return decode_metadata(orjson.dumps({"metadata": {"namespace": namespace, "name": name, **metadata}}))


@pytest.mark.parametrize(
    ("who", "namespace", "name", "is_read"),
    [
        (looking_up(), SHOP, "login", True),
        (looking_up(), SHOP, "", True),
        (looking_up(), OTHER, "login", False),
        (looking_up(), OTHER, "", False),
        (looking_up(), "", "", False),
        (looking_up(SHOP, OTHER), OTHER, "login", True),
        (looking_up(SHOP, OTHER), "third", "login", False),
        (looking_up(SHOP, EVERY_NAMESPACE), "third", "login", True),
        (looking_up(SHOP, EVERY_NAMESPACE), "", "", False),
        (looking_up(), SYSTEM, "login", True),  # it may be its own
        (looking_up(), SYSTEM, DIGEST_KEY_SECRET, False),
        (looking_up(SHOP, EVERY_NAMESPACE), SYSTEM, DIGEST_KEY_SECRET, False),
        (looking_up(), SHOP, DIGEST_KEY_SECRET, True),  # of another namespace, so not the operator's
    ],
)
def test_some_are_not_even_read(who: LookingUp, namespace: str, name: str, *, is_read: bool) -> None:
    assert (who.hidden_by_name(namespace, name) == "") is is_read


@pytest.mark.parametrize(
    ("who", "found", "kind", "is_shown"),
    [
        (looking_up(), secret(SHOP), "Opaque", True),
        (looking_up(), secret(SHOP), TOKEN, True),
        (looking_up(), secret(SHOP, labels={SERVING_CERTIFICATE_LABEL: "x"}), "Opaque", False),
        (
            looking_up(),
            secret(SHOP, labels=OURS),
            "Opaque",
            False,
        ),
        (looking_up(), secret(SYSTEM), "Opaque", False),
        (looking_up(SYSTEM), secret(SYSTEM), "Opaque", False),
        (looking_up(SYSTEM, SYSTEM), secret(SYSTEM), "Opaque", True),
        (looking_up(SYSTEM, SYSTEM), secret(SYSTEM), TOKEN, False),
        (looking_up(SYSTEM, EVERY_NAMESPACE), secret(SYSTEM, DIGEST_KEY_SECRET), "Opaque", False),
        (looking_up(SYSTEM), secret(SYSTEM, labels=HELM, annotations=OF_HELM), "Opaque", True),
        (looking_up(SYSTEM), secret(SYSTEM, labels={}, annotations=OF_HELM), "Opaque", False),
        (looking_up(SHOP), secret(SYSTEM, labels=HELM, annotations=OF_HELM), "Opaque", False),
        (
            looking_up(SYSTEM),
            secret(SYSTEM, labels=HELM, annotations=OF_HELM | {"meta.helm.sh/release-name": "db"}),
            "Opaque",
            False,
        ),
        # labels and annotations of ours, written by another client: no entry of ours among the managed fields
        (
            looking_up(SYSTEM),
            secret(
                SYSTEM,
                labels={"core.rukpak.io/owner-kind": "BundleDeployment", "core.rukpak.io/owner-name": "web"},
                annotations={"core.rukpak.io/owner-uid": "u", "core.rukpak.io/applied": "sha256:0"},
            ),
            "Opaque",
            False,
        ),
    ],
)
def test_of_what_is_read_some_is_not_shown(who: LookingUp, found: Metadata, kind: str, *, is_shown: bool) -> None:
    assert (who.hidden(found, kind) == "") is is_shown
