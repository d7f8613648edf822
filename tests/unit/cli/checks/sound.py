"""Facts about a cluster and an installation in which nothing is wrong; a test changes what it is about."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rukpak_py import __version__
from rukpak_py.api.accounts import Account, Mode
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.crds import crds
from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.certificates.own_webhooks import OurWebhooks, own_certificate
from rukpak_py.cli.checks.facts import AfterFacts, BeforeFacts, ServerFacts, WebhookFacts
from rukpak_py.cli.checks.results import Answer, Json
from rukpak_py.cli.checks.server import NEEDED
from rukpak_py.cli.checks.shipped import operator_permissions
from rukpak_py.core.x509 import KeyPair, issue_ca, issue_serving
from rukpak_py.kube.admission_policies import policy_key
from rukpak_py.kube.resources import CRDS

NAMESPACE = "rukpak-system"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLASSIC = Installation(system_namespace=NAMESPACE)
NARROW = Installation(system_namespace=NAMESPACE, mode=Mode.NARROW)
SERVER = ServerFacts(major="1", minor="35", version="v1.35.4", now=NOW, served=frozenset(NEEDED))
INSTALLER = Account("shop", "installer")
SHIPPED_CRDS = {CRDS.key("", one["metadata"]["name"]): one for one in crds().values()}
SOURCE = {"type": "image", "image": {"ref": "localhost/hello:v1"}}
TEMPLATE = {"spec": {"provisionerClassName": PLAIN_CLASS, "source": SOURCE}}
AUTHORITY = issue_ca(NOW - timedelta(days=1))
SERVING = issue_serving(AUTHORITY, own_certificate(NAMESPACE).hosts, NOW - timedelta(days=1))


def before(installation: Installation = CLASSIC) -> BeforeFacts:
    return BeforeFacts(
        server=SERVER,
        installation=installation,
        missing={},
        accepted={policy_key(one): "" for one in installation.policies()},
        existing={},
        crds=dict.fromkeys(SHIPPED_CRDS),
        operators=[],
        lease=None,
    )


def after(installation: Installation = CLASSIC) -> AfterFacts:
    return AfterFacts(
        server=SERVER,
        installation=installation,
        deployment=deployment(f"--mode={installation.mode}"),
        crds={key: live_crd(one) for key, one in SHIPPED_CRDS.items()},
        lease=lease(NOW - timedelta(seconds=2)),
        policies={policy_key(one): "" for one in installation.policies()},
        probes={"bundles": "", "bundledeployments": ""},
        rights=dict.fromkeys(operator_permissions(installation), _YES),
        may_do_everything=installation.mode is Mode.CLASSIC,
        watch_roles=[],
        webhook=webhook(),
        bundle_deployments=[],
        accounts={},
        impersonated={},
        watched={},
    )


_YES: Answer = True


def deployment(*arguments: str, image: str = f"localhost/rukpak-py/operator:{__version__}", **status: Any) -> Json:
    container = {"name": "manager", "image": image, "args": ["--leader-elect", *arguments]}
    whole = {
        "observedGeneration": 1,
        "readyReplicas": 1,
        "conditions": [{"type": "Available", "status": "True"}],
    }
    return {
        "metadata": {
            "name": "core",
            "namespace": NAMESPACE,
            "generation": 1,
            "labels": {"app.kubernetes.io/version": __version__, "app.kubernetes.io/part-of": "rukpak"},
        },
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
        "status": whole | status,
    }


def live_crd(crd: Json, **metadata: Any) -> Json:
    """As the API server has it: with what it adds."""
    return {
        **crd,
        "metadata": {**crd["metadata"], "labels": {"app.kubernetes.io/part-of": "rukpak"}, **metadata},
        "spec": {**crd["spec"], "conversion": {"strategy": "None"}},
        "status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1alpha1"]},
    }


def lease(renewed: datetime, holder: str = "core-0_10.0.0.1") -> Json:
    return {"spec": {"holderIdentity": holder, "renewTime": f"{renewed:%Y-%m-%dT%H:%M:%S.%fZ}"}}


def secret(**data: bytes) -> Json:
    return {"data": {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}}


def webhook(*, serving: KeyPair = SERVING, authority: KeyPair = AUTHORITY, **changed: Any) -> WebhookFacts:
    found = WebhookFacts(
        configuration=OurWebhooks(system_namespace=NAMESPACE).configuration(AUTHORITY.certificate),
        service={"metadata": {}},
        slices=[{"endpoints": [{"conditions": {"ready": True}}]}],
        authority=secret(ca_crt=authority.certificate),
        serving=secret(tls_crt=serving.certificate),
    )
    return WebhookFacts(**{name: changed.get(name, getattr(found, name)) for name in WebhookFacts.__annotations__})


def bundle_deployment(name: str, *conditions: tuple[str, str, str], **spec: Any) -> BundleDeployment:
    """Conditions as type, status and reason."""
    return read_bundle_deployment(
        msgspec.json.encode(
            {
                "metadata": {"name": name},
                "spec": {"provisionerClassName": PLAIN_CLASS, "template": TEMPLATE, **spec},
                "status": {
                    "conditions": [
                        {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": ""}
                        for kind, status, reason in conditions
                    ]
                },
            }
        )
    )
