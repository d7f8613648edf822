"""Which Secrets are the operator's own, by name and by what marks them."""

import pytest

from rukpak_py.api.names import CERTIFICATE_EXPIRY_ANNOTATION, DIGEST_KEY_SECRET, SERVING_CERTIFICATE_LABEL, SecretName
from rukpak_py.api.own_secrets import OWN_SECRET_LABELS, own_by_marks, own_by_name

ISSUED = "a serving certificate that the operator issued"


@pytest.mark.parametrize("name", [*SecretName, DIGEST_KEY_SECRET])
def test_constant_names(name: str) -> None:
    assert own_by_name(name) == (
        f"Secret {name} holds keys or certificates of the operator, so nothing may refer to it: name another Secret"
    )
    assert own_by_name(f"{name}-2") == own_by_name(f"x-{name}") == ""


@pytest.mark.parametrize(
    ("kind", "labels", "annotations", "what"),
    [
        ("Opaque", OWN_SECRET_LABELS, {}, "keys or certificates of the operator"),
        ("Opaque", {**OWN_SECRET_LABELS, "more": "x"}, {}, "keys or certificates of the operator"),
        (
            "kubernetes.io/tls",
            {SERVING_CERTIFICATE_LABEL: "shop"},
            {},
            ISSUED,
        ),
        ("Opaque", {SERVING_CERTIFICATE_LABEL: ""}, {}, ISSUED),
        ("Opaque", {}, {CERTIFICATE_EXPIRY_ANNOTATION: "x"}, ISSUED),
        ("kubernetes.io/service-account-token", {}, {}, "a token for the API server"),
        ("Opaque", {"app.kubernetes.io/part-of": "rukpak"}, {}, ""),
        ("Opaque", {"app.kubernetes.io/managed-by": "rukpak-operator"}, {}, ""),
        ("kubernetes.io/tls", {"app.kubernetes.io/managed-by": "Helm"}, {"cert-manager.io/certificate-name": "x"}, ""),
        ("kubernetes.io/basic-auth", {}, {}, ""),
    ],
)
def test_marks(kind: str, labels: dict[str, str], annotations: dict[str, str], what: str) -> None:
    found = own_by_marks("copy", kind=kind, labels=labels, annotations=annotations)
    assert found == (f"Secret copy holds {what}, so nothing may refer to it: name another Secret" if what else "")
