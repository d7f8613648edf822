"""The parts of rendered objects that say how the API server calls their webhooks."""

import base64

from e2e.cluster.pki import Authority
from tests.integration.webhook_operator.program import Json


def client_configs(made: Json) -> list[Json]:
    """The client configurations of any object; most have none."""
    match made["kind"]:
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            return [webhook["clientConfig"] for webhook in made["webhooks"]]
        case "CustomResourceDefinition" if "conversion" in made["spec"]:
            return [made["spec"]["conversion"]["webhook"]["clientConfig"]]
    return []


def trust(config: Json, authority: Authority) -> None:
    config["caBundle"] = encoded(authority.pair.certificate)


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
