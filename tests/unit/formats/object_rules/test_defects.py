"""Defects of objects, as an API server would tell them: a valid object of each kind has none, each mistake has one.

Each mistake changes one field of a valid object. What the server says of such objects is measured by bench/mutations.
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rukpak_py.formats.object_rules.defects import of_object
from rukpak_py.formats.object_rules.parts import Sort

VALID = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web}}
    spec:
      restartPolicy: Always
      terminationGracePeriodSeconds: 30
      tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 3}]
      initContainers: [{name: first, image: i, restartPolicy: Always, livenessProbe: {exec: {command: [ls]}}}]
      containers:
      - name: main
        image: registry.example.com/web:1
        imagePullPolicy: IfNotPresent
        ports: [{name: http, containerPort: 80}, {name: dns, containerPort: 80, protocol: UDP}]
        env:
        - {name: A, value: "1"}
        - {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: C, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
        envFrom: [{configMapRef: {name: c}}]
        resources: {requests: {cpu: 100m, example.com/gpu: 1}, limits: {cpu: 1, memory: 1Gi, example.com/gpu: "1"}}
        volumeMounts: [{name: data, mountPath: /data}]
        readinessProbe: {httpGet: {path: /, port: http}}
        securityContext: {allowPrivilegeEscalation: false, seccompProfile: {type: RuntimeDefault}}
      volumes: [{name: data, emptyDir: {}}, {name: c, configMap: {name: c, items: [{key: a, path: b/c}]}}]
      securityContext: {runAsUser: 1000, supplementalGroups: [1], sysctls: [{name: net.core.somaxconn, value: "1"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchExpressions: [{key: app, operator: In, values: [db]}]}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: i, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "*/5 0-6 1,15 jan-mar mon"
  timeZone: Europe/Berlin
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: a, port: 80, targetPort: http}, {name: b, port: 81}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: "*.example.com"
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {}
  policyTypes: [Ingress]
  ingress:
  - from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}, {podSelector: {}}]
    ports: [{port: 80, endPort: 90}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "system:web"}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}, {kind: User, name: ann}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a.yaml: "b"}
---
apiVersion: v1
kind: Secret
metadata: {name: tls}
type: kubernetes.io/tls
data: {tls.crt: YQ==, tls.key: YQ==}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: 1
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: one.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 10
  clientConfig: {service: {name: web, namespace: shop, path: /validate}}
  rules: [{operations: [CREATE], apiGroups: ["*"], apiVersions: [v1], resources: [pods, pods/exec]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.a.matches('[(]') || size(self.list) > 0", reason: FieldValueInvalid}
            properties:
              a: {type: string, default: x, pattern: "^x+$"}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              list:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}}}
            oneOf: [{required: [a]}, {required: [port]}]
"""
OBJECTS: dict[str, dict[str, Any]] = {one["kind"]: one for one in yaml.safe_load_all(VALID)}
POD = "spec.template.spec"
MAIN = f"{POD}.containers.0"
SCHEMA = "spec.versions.0.schema.openAPIV3Schema.properties.spec"
INIT, ITEM = f"{POD}.initContainers.0", f"{SCHEMA}.properties.list.items"
CONTEXT, EXPRESSION = f"{MAIN}.securityContext", "spec.selector.matchExpressions.0"
ALTERNATIVE = f"{SCHEMA}.oneOf.0"
REMOVED = "(removed)"

MISTAKES: list[tuple[str, str, Any, Sort, str]] = [
    ("Deployment", "spec.replicas", "1", Sort.TYPE, ""),
    ("Deployment", "spec.replicas", -1, Sort.RANGE, ""),
    ("Deployment", "metadata.name", "Web", Sort.NAME, ""),
    ("Deployment", "metadata.labels", {"a b": "c"}, Sort.NAME, "metadata.labels.a b"),
    ("Deployment", "spec", {}, Sort.REQUIRED, ""),
    ("Deployment", "spec.selector", REMOVED, Sort.REQUIRED, ""),
    ("Deployment", "spec.selector.matchLabels.app", "db", Sort.REFERENCE, ""),
    ("Deployment", "spec.strategy.type", "Recreate", Sort.UNION, "spec.strategy.rollingUpdate"),
    ("Deployment", "spec.strategy.type", "Rolling", Sort.CHOICE, ""),
    ("Deployment", "spec.strategy.rollingUpdate.maxSurge", 0, Sort.RANGE, "spec.strategy.rollingUpdate.maxUnavailable"),
    ("Deployment", "spec.strategy.rollingUpdate.maxSurge", "a lot", Sort.FORM, ""),
    ("Deployment", f"{POD}.restartPolicy", "Never", Sort.CHOICE, ""),
    ("Deployment", f"{POD}.containers", [], Sort.REQUIRED, ""),
    ("Deployment", f"{POD}.tolerations.0.value", "x", Sort.UNION, ""),
    ("Deployment", f"{POD}.tolerations.0.effect", "NoSchedule", Sort.UNION, ""),
    (
        "Deployment",
        f"{INIT}.restartPolicy",
        REMOVED,
        Sort.UNION,
        f"{INIT}.livenessProbe",
    ),
    ("Deployment", f"{POD}.initContainers.0.name", "main", Sort.REPEATED, f"{POD}.containers.0.name"),
    ("Deployment", f"{POD}.securityContext.supplementalGroups.0", -1, Sort.RANGE, ""),
    ("Deployment", f"{POD}.securityContext.sysctls.0.name", "Net Core", Sort.NAME, ""),
    ("Deployment", f"{POD}.volumes.0.hostPath", {"path": "/"}, Sort.UNION, f"{POD}.volumes.0.hostPath"),
    ("Deployment", f"{POD}.volumes.1.configMap.name", REMOVED, Sort.REQUIRED, ""),
    ("Deployment", f"{POD}.volumes.1.configMap.items.0.path", "../c", Sort.FORM, ""),
    ("Deployment", f"{MAIN}.image", REMOVED, Sort.REQUIRED, ""),
    ("Deployment", f"{MAIN}.name", "Main", Sort.NAME, ""),
    ("Deployment", f"{MAIN}.imagePullPolicy", "Allways", Sort.CHOICE, ""),
    ("Deployment", f"{MAIN}.ports.0.containerPort", 70000, Sort.RANGE, ""),
    ("Deployment", f"{MAIN}.ports.0.name", "8080", Sort.NAME, ""),
    ("Deployment", f"{MAIN}.ports.1.protocol", "TCP", Sort.REPEATED, f"{MAIN}.ports.1"),
    ("Deployment", f"{MAIN}.env.0.value", 8080, Sort.TYPE, ""),
    ("Deployment", f"{MAIN}.env.0.name", "B", Sort.REPEATED, f"{MAIN}.env.1"),
    ("Deployment", f"{MAIN}.env.1.value", "x", Sort.UNION, f"{MAIN}.env.1.valueFrom"),
    ("Deployment", f"{MAIN}.env.1.valueFrom.fieldRef.fieldPath", "metadata.nodeName", Sort.CHOICE, ""),
    ("Deployment", f"{MAIN}.env.2.valueFrom.resourceFieldRef.divisor", "2", Sort.CHOICE, ""),
    ("Deployment", f"{MAIN}.env.2.valueFrom.resourceFieldRef.resource", "cpu", Sort.CHOICE, ""),
    ("Deployment", f"{MAIN}.envFrom.0", {}, Sort.UNION, ""),
    ("Deployment", f"{MAIN}.resources.requests.cpu", 2, Sort.RANGE, ""),
    ("Deployment", f"{MAIN}.resources.requests.gpu", 1, Sort.NAME, ""),
    ("Deployment", f"{MAIN}.resources.limits.memory", "1x", Sort.TYPE, ""),
    ("Deployment", f"{MAIN}.resources.limits.memory", "-1", Sort.RANGE, ""),
    ("Deployment", f"{MAIN}.resources.claims", [{"name": "x"}], Sort.REFERENCE, f"{MAIN}.resources.claims.0.name"),
    ("Deployment", f"{MAIN}.volumeMounts.0.name", "gone", Sort.REFERENCE, ""),
    ("Deployment", f"{MAIN}.readinessProbe.tcpSocket", {"port": 80}, Sort.UNION, ""),
    ("Deployment", f"{MAIN}.readinessProbe.httpGet", REMOVED, Sort.UNION, f"{MAIN}.readinessProbe"),
    (
        "Deployment",
        f"{CONTEXT}.privileged",
        True,
        Sort.UNION,
        f"{CONTEXT}.allowPrivilegeEscalation",
    ),
    ("StatefulSet", "spec.volumeClaimTemplates", [], Sort.REFERENCE, f"{MAIN}.volumeMounts.0.name"),
    (
        "StatefulSet",
        f"{EXPRESSION}.operator",
        "Exists",
        Sort.UNION,
        f"{EXPRESSION}.values",
    ),
    ("CronJob", "spec.schedule", "* * * *", Sort.FORM, ""),
    ("CronJob", "spec.schedule", "61 * * * *", Sort.FORM, ""),
    ("CronJob", "spec.timeZone", "Europe/Berlim", Sort.FORM, ""),
    ("CronJob", "spec.jobTemplate.spec.template.spec.restartPolicy", "Always", Sort.CHOICE, ""),
    ("CronJob", "metadata.name", "n" * 53, Sort.NAME, ""),
    ("Service", "spec.ports", [], Sort.REQUIRED, ""),
    ("Service", "spec.type", "ClusterIp", Sort.CHOICE, ""),
    ("Service", "spec.ports.1.name", "a", Sort.REPEATED, "spec.ports.1"),
    ("Deployment", f"{MAIN}.ports.1.name", "http", Sort.REPEATED, f"{MAIN}.ports.1"),
    ("ValidatingWebhookConfiguration", "webhooks", [{"name": "a.b.c"}, {"name": "a.b.c"}], Sort.REPEATED, "webhooks.1"),
    ("Service", "spec.ports.1.name", REMOVED, Sort.REQUIRED, ""),
    ("Service", "spec.selector.app", {"a": "b"}, Sort.TYPE, ""),
    ("Service", "metadata.name", "1web", Sort.NAME, ""),
    ("Service", "spec.clusterIP", "10.0.0", Sort.FORM, ""),
    ("Ingress", "spec.rules", REMOVED, Sort.REQUIRED, ""),
    ("Ingress", "spec.rules.0.host", "10.0.0.1", Sort.FORM, ""),
    ("Ingress", "spec.rules.0.http.paths.0.path", "a", Sort.FORM, ""),
    ("Ingress", "spec.rules.0.http.paths.0.pathType", REMOVED, Sort.REQUIRED, ""),
    ("Ingress", "spec.rules.0.http.paths.0.backend.service.port", REMOVED, Sort.REQUIRED, ""),
    ("NetworkPolicy", "spec.ingress.0.from.0.ipBlock.cidr", "10.0.0.0", Sort.FORM, ""),
    ("NetworkPolicy", "spec.ingress.0.from.0.ipBlock.except.0", "11.0.0.0/8", Sort.REFERENCE, ""),
    ("NetworkPolicy", "spec.ingress.0.from.1", {}, Sort.UNION, ""),
    ("NetworkPolicy", "spec.ingress.0.ports.0.endPort", 70, Sort.RANGE, ""),
    ("Role", "rules.0.verbs", [], Sort.REQUIRED, ""),
    ("Role", "rules.0.nonResourceURLs", ["/"], Sort.UNION, ""),
    ("RoleBinding", "roleRef.kind", "Rol", Sort.CHOICE, ""),
    ("ClusterRoleBinding", "subjects.0.namespace", REMOVED, Sort.REQUIRED, ""),
    ("RoleBinding", "subjects.1.kind", "Usr", Sort.CHOICE, ""),
    ("ConfigMap", "data", {"a/b": "c"}, Sort.NAME, "data.a/b"),
    ("ConfigMap", "data", {"a": 1}, Sort.TYPE, "data.a"),
    ("Secret", "data", {"tls.crt": "YQ=="}, Sort.REQUIRED, ""),
    ("HorizontalPodAutoscaler", "spec.maxReplicas", 0, Sort.REQUIRED, ""),
    ("HorizontalPodAutoscaler", "spec.minReplicas", 4, Sort.RANGE, "spec.maxReplicas"),
    ("HorizontalPodAutoscaler", "spec.metrics.0.type", "Pods", Sort.REQUIRED, "spec.metrics.0.pods"),
    ("PodDisruptionBudget", "spec.maxUnavailable", 1, Sort.UNION, ""),
    ("PersistentVolumeClaim", "spec.accessModes", ["ReadWriteOften"], Sort.CHOICE, "spec.accessModes.0"),
    ("PersistentVolumeClaim", "spec.resources", {}, Sort.REQUIRED, "spec.resources.requests.storage"),
    ("ValidatingWebhookConfiguration", "webhooks.0.sideEffects", "Some", Sort.CHOICE, ""),
    ("ValidatingWebhookConfiguration", "webhooks.0.timeoutSeconds", 31, Sort.RANGE, ""),
    ("ValidatingWebhookConfiguration", "webhooks.0.clientConfig", {}, Sort.REQUIRED, ""),
    ("ValidatingWebhookConfiguration", "webhooks.0.name", "one", Sort.NAME, ""),
    ("ValidatingWebhookConfiguration", "webhooks.0.rules.0.resources", ["*", "pods"], Sort.REPEATED, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.type", REMOVED, Sort.REQUIRED, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.properties.a.default", 1, Sort.TYPE, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.properties.a.default", "y", Sort.TYPE, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.properties.a.pattern", "(?=x)", Sort.FORM, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.properties.list.x-kubernetes-list-map-keys", REMOVED, Sort.REQUIRED, ""),
    (
        "CustomResourceDefinition",
        f"{ITEM}.required",
        [],
        Sort.REQUIRED,
        f"{ITEM}.properties.name",
    ),
    (
        "CustomResourceDefinition",
        f"{ALTERNATIVE}.properties",
        {"zz": {}},
        Sort.REFERENCE,
        f"{ALTERNATIVE}.properties.zz",
    ),
    ("CustomResourceDefinition", f"{ALTERNATIVE}.description", "x", Sort.UNION, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.x-kubernetes-validations.0.rule", "size(self.a", Sort.FORM, ""),
    ("CustomResourceDefinition", f"{SCHEMA}.additionalProperties", {"type": "string"}, Sort.UNION, ""),
]


@pytest.mark.parametrize("kind", OBJECTS)
def test_valid_object_has_no_defect(kind: str) -> None:
    assert of_object(OBJECTS[kind]) == []


@pytest.mark.parametrize(("kind", "field", "value", "sort", "at"), MISTAKES, ids=lambda one: str(one)[:60])
def test_mistake_is_told_at_its_place(kind: str, field: str, value: object, sort: Sort, at: str) -> None:
    """Among the defects: what follows from the mistake may be told, too."""
    found = of_object(changed(OBJECTS[kind], field, value))
    assert (sort, at or field) in {(one.sort, ".".join(map(str, one.path))) for one in found}


def test_object_of_a_kind_that_is_not_known_has_no_defect() -> None:
    assert of_object({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "A b"}}) == []


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_whose_fields_have_any_type_are_judged_without_an_error(kind: str) -> None:
    """Hostile input is normal input: each field takes each type of JSON once."""
    for path in _paths(OBJECTS[kind]):
        value: object
        for value in (None, True, 1, -1.5, "", "x", [], [1], [None], [{}], {}, {"a": None}):
            of_object(changed(OBJECTS[kind], path, value))


def changed(manifest: dict[str, Any], field: str, value: object) -> dict[str, Any]:
    made = copy.deepcopy(manifest)
    *above, last = field.split(".")
    holder: Any = made
    for name in above:
        holder = holder[int(name)] if isinstance(holder, list) else holder.setdefault(name, {})
    if isinstance(holder, list):
        holder[int(last)] = value
    elif value == REMOVED:
        del holder[last]
    else:
        holder[last] = value
    return made


def _paths(value: Any, above: str = "") -> Iterator[str]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        if "." not in str(name) and str(name) not in {"kind", "apiVersion"}:
            path = f"{above}.{name}" if above else str(name)
            if not path.startswith(("metadata.labels.", "data.")):
                yield path
            yield from _paths(one, path)
