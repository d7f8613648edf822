"""The ClusterServiceVersion of the operator: its webhooks, what it may do, and the Deployment that runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from e2e.webhook_operator.definition import KIND, PLURAL

if TYPE_CHECKING:
    from e2e.webhook_operator.bundle import GadgetBundle

SUGGESTED_NAMESPACE = "operatorframework.io/suggested-namespace"
INSTALL_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
WEBHOOK_PORT = 9443
PROBE_PORT = 8081
ICON = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="
SIZES = {"v1": {"size": 1}, "v2": {"dimensions": {"width": 1}}}
# What is in flight is finished within 20 s of the signal.
GRACE_SECONDS = 30


def csv_manifest(bundle: GadgetBundle) -> dict[str, Any]:
    name = f"{bundle.package}.v{bundle.version}"
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "annotations": _annotations(bundle)},
        "spec": {
            "displayName": "Gadgets",
            "description": "Defaults, validates and converts Gadgets.",
            "version": bundle.version,
            "minKubeVersion": "1.30.0",
            "maturity": "alpha",
            "provider": {"name": "The rukpak-py authors"},
            "maintainers": [{"name": "The rukpak-py authors", "email": "authors@example.com"}],
            "links": [{"name": "Documentation", "url": "https://example.com/gadgets"}],
            "keywords": ["gadgets"],
            "icon": [{"base64data": ICON, "mediatype": "image/svg+xml"}],
            "installModes": [{"type": mode, "supported": mode == bundle.install_mode} for mode in INSTALL_MODES],
            "customresourcedefinitions": {"owned": [_owned(bundle, version) for version in bundle.api.served]},
            "webhookdefinitions": _webhooks(bundle),
            "install": {
                "strategy": "deployment",
                "spec": {"clusterPermissions": [_permission(bundle)], "deployments": [_deployment(bundle)]},
            },
        },
    }


def _annotations(bundle: GadgetBundle) -> dict[str, str]:
    examples = [
        {
            "apiVersion": f"{bundle.group}/{version}",
            "kind": KIND,
            "metadata": {"name": "example"},
            "spec": SIZES[version],
        }
        for version in bundle.api.served
    ]
    suggested = {SUGGESTED_NAMESPACE: bundle.suggested_namespace} if bundle.suggested_namespace else {}
    return {"alm-examples": json.dumps(examples), "capabilities": "Basic Install", **suggested}


def _owned(bundle: GadgetBundle, version: str) -> dict[str, str]:
    description = "Something of a colour and a size."
    return {
        "name": bundle.definition_name,
        "version": version,
        "kind": KIND,
        "displayName": KIND,
        "description": description,
    }


def _webhooks(bundle: GadgetBundle) -> list[dict[str, Any]]:
    found = [
        _admission_webhook(bundle, "ValidatingAdmissionWebhook", "validate"),
        _admission_webhook(bundle, "MutatingAdmissionWebhook", "mutate"),
    ]
    if len(bundle.api.served) > 1:
        conversion = _webhook(bundle, "ConversionWebhook", "convert")
        found.append({**conversion, "conversionCRDs": [bundle.definition_name]})
    return found


def _admission_webhook(bundle: GadgetBundle, kind: str, verb: str) -> dict[str, Any]:
    rule = {
        "apiGroups": [bundle.group],
        "apiVersions": list(bundle.api.served),
        "operations": ["CREATE", "UPDATE"],
        "resources": [PLURAL],
        "scope": "Namespaced",
    }
    return {**_webhook(bundle, kind, verb), "failurePolicy": "Fail", "timeoutSeconds": 5, "rules": [rule]}


def _webhook(bundle: GadgetBundle, kind: str, verb: str) -> dict[str, Any]:
    return {
        "generateName": f"{verb}.{bundle.definition_name}",
        "type": kind,
        "deploymentName": bundle.deployment_name,
        "containerPort": 443,
        "targetPort": WEBHOOK_PORT,
        "webhookPath": f"/{verb}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }


def _permission(bundle: GadgetBundle) -> dict[str, Any]:
    rule = {"apiGroups": [bundle.group], "resources": [PLURAL], "verbs": ["get", "list", "watch"]}
    return {"serviceAccountName": bundle.package, "rules": [rule]}


def _deployment(bundle: GadgetBundle) -> dict[str, Any]:
    pod = {
        "serviceAccountName": bundle.package,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(bundle)],
    }
    return {
        "name": bundle.deployment_name,
        "label": {"app": bundle.package},
        "spec": {
            "replicas": bundle.replicas,
            "selector": {"matchLabels": {"app": bundle.package}},
            "template": {"metadata": {"labels": {"app": bundle.package}}, "spec": pod},
        },
    }


def _container(bundle: GadgetBundle) -> dict[str, Any]:
    watched = {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}
    return {
        "name": "manager",
        "image": bundle.image,
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--address=:{WEBHOOK_PORT}", f"--health-address=:{PROBE_PORT}"],
        "env": [
            {"name": "WATCH_NAMESPACE", "valueFrom": watched},
            {"name": "OPERATOR_VERSION", "value": bundle.version},
        ],
        "ports": [{"name": "webhooks", "containerPort": WEBHOOK_PORT}, {"name": "probes", "containerPort": PROBE_PORT}],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "probes"}, "periodSeconds": 1},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "probes"}},
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
