"""The Services in front of deployments that serve webhooks, in the order of the CSV."""

import re
from collections.abc import Iterator, Sequence

from rukpak_py.formats.registry_v1.bundle import DeploymentEntry, Json, Webhook
from rukpak_py.formats.registry_v1.render.certificates import Serving, certificate_objects
from rukpak_py.formats.registry_v1.render.installation import RenderTarget, annotated

_INTEGER = re.compile("[+-]?[0-9]{1,18}")


def webhook_services(installation: RenderTarget) -> Iterator[Json]:
    webhooks: dict[str, list[Webhook]] = {}
    for webhook in installation.bundle.csv.webhooks:
        webhooks.setdefault(webhook.deployment_name, []).append(webhook)
    for deployment in _serving(installation):
        yield _service(installation, deployment, webhooks[deployment.name])


def certificates(installation: RenderTarget) -> Sequence[Json]:
    names = [deployment.name for deployment in _serving(installation)]
    return certificate_objects(names, installation.namespace, installation.certificates)


def _serving(installation: RenderTarget) -> list[DeploymentEntry]:
    csv = installation.bundle.csv
    named = {webhook.deployment_name for webhook in csv.webhooks}
    return [deployment for deployment in csv.deployments if deployment.name in named]


def _service(installation: RenderTarget, deployment: DeploymentEntry, webhooks: Sequence[Webhook]) -> Json:
    serving = Serving.of(deployment.name, installation.namespace)
    selector = (deployment.spec.get("selector") or {}).get("matchLabels")
    service = {
        **installation.object("v1", "Service", serving.service),
        "spec": {"ports": _ports(webhooks), **({"selector": selector} if selector else {})},
    }
    provider = installation.certificates
    return annotated(service, provider.serve(serving) if provider is not None else {})


def _ports(webhooks: Sequence[Webhook]) -> list[Json]:
    ports = {webhook.ports: None for webhook in webhooks}
    return [
        {"name": str(port), "port": port, "targetPort": target}
        for port, target in sorted(ports, key=lambda pair: (pair[0], _number(pair[1]), str(pair[1])))
    ]


def _number(target: int | str) -> int:
    """A text that is a number counts as one, a named port as 0, as upstream sorts them."""
    if isinstance(target, str):
        return int(target) if _INTEGER.fullmatch(target) else 0
    return target
