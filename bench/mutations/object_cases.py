"""Mistakes in metadata, in kinds and versions, in configuration, storage and quotas."""

from bench.mutations.changes import both, cases, drop, put, put_all

CASES = (
    *cases(
        "wrong type",
        "any",
        {
            "label number": put("metadata.labels.version", 1, 1.5, True),
            "label mapping": put("metadata.labels.owner", {"team": "a"}, ["a"]),
            "labels list": put("metadata.labels", ["app"], [{"app": "a"}], "app=a"),
            "annotation boolean": put("metadata.annotations.enabled", True, 5),
            "annotation mapping": put("metadata.annotations.owner", {"team": "a"}),
            "annotations list": put("metadata.annotations", ["a"]),
            "name number": put("metadata.name", 5, True),
            "metadata list": put("metadata", [{"name": "a"}]),
            "spec string": put("spec", "x", [{"a": 1}]),
            "finalizers string": put("metadata.finalizers", "example.com/a"),
        },
    ),
    *cases(
        "names",
        "any",
        {
            "underscore": put("metadata.name", "My_App", "app_server"),
            "hyphen": put("metadata.name", "-app", "app-", "app name", "app/name"),
            "long": put("metadata.name", "a" * 254),
            "label key": put("metadata.labels", {"app name": "a"}, {"a/b/c": "a"}, {"-a": "a"}, {"": "a"}),
            "label value": put("metadata.labels.owner", "team a", "-a", "x" * 64, "a/b", "a@b.com"),
            "annotation key": put("metadata.annotations", {"a key": "a"}, {"a/b/c": "a"}, {"x" * 64: "a"}, {"_a": "b"}),
            "finalizer": put("metadata.finalizers", ["cleanup"], ["a b/c"]),
        },
    ),
    *cases(
        "required",
        "any",
        {
            "name": drop("metadata.name"),
            "metadata": drop("metadata"),
            "kind": drop("kind"),
            "apiVersion": drop("apiVersion"),
            "name empty": put("metadata.name", ""),
        },
    ),
    *cases(
        "kinds and versions",
        "any",
        {
            "kind misspelt": lambda document, random: bool(
                document.update(
                    kind=random.choice([document["kind"][:-1], f"{document['kind']}s", document["kind"].lower()])
                )
                or True
            ),
            "letters exchanged": lambda document, _: bool(
                document.update(kind=f"{document['kind'][:-2]}{document['kind'][-1]}{document['kind'][-2]}") or True
            ),
            "version": lambda document, random: bool(
                document.update(
                    apiVersion="/".join(
                        [*document["apiVersion"].split("/")[:-1], random.choice(["v1beta9", "v3", "v1alpha9", "1"])]
                    )
                )
                or True
            ),
            "group lost": lambda document, _: bool(
                document.update(apiVersion=document["apiVersion"].split("/")[-1]) or True
            ),
            "group": put("apiVersion", "extensions/v1beta1", "app/v1", "core/v1", "apps/v1beta1"),
        },
    ),
    *cases("kinds and versions", "Deployment", {"removed": put("apiVersion", "apps/v1beta2", "extensions/v1beta1")}),
    *cases("kinds and versions", "CronJob", {"removed": put("apiVersion", "batch/v1beta1", "batch/v2alpha1")}),
    *cases("kinds and versions", "PodDisruptionBudget", {"removed": put("apiVersion", "policy/v1beta1")}),
    *cases("kinds and versions", "HorizontalPodAutoscaler", {"removed": put("apiVersion", "autoscaling/v2beta2")}),
    *cases("kinds and versions", "ClusterRole", {"removed": put("apiVersion", "rbac.authorization.k8s.io/v1beta1")}),
    *cases("kinds and versions", "Role", {"removed": put("apiVersion", "rbac.authorization.k8s.io/v1alpha1")}),
    *cases("kinds and versions", "RoleBinding", {"removed": put("apiVersion", "rbac.authorization.k8s.io/v1beta1")}),
    *cases("kinds and versions", "PriorityClass", {"removed": put("apiVersion", "scheduling.k8s.io/v1beta1")}),
    *cases("kinds and versions", "StorageClass", {"removed": put("apiVersion", "storage.k8s.io/v1beta1")}),
    *cases(
        "wrong type",
        "ConfigMap",
        {
            "value number": put("data.port", 8080, 1.5),
            "value boolean": put("data.debug", True),
            "value mapping": put("data.settings", {"a": "b"}, ["a"]),
            "data list": put("data", [{"a": "b"}], "a=b"),
            "immutable string": put("immutable", "true"),
            "binary number": put("binaryData.blob", 5),
        },
    ),
    *cases(
        "configuration",
        "ConfigMap",
        {
            "key": put("data.a b", "x"),
            "key slash": put("data.conf/app", "x"),
            "key twice": put_all({"data.same": "a", "binaryData.same": "YQ=="}),
            "binary not base64": put("binaryData.blob", "not base64!"),
            "key empty": put("data", {"": "x"}, {"..": "x"}, {"k" * 254: "x"}),
        },
    ),
    *cases(
        "configuration",
        "Secret",
        {
            "not base64": put("data.password", "s3cret!", "plain text", "abc"),
            "data number": put("data.port", 8080),
            "stringData number": put("stringData.port", 8080, True),
            "key": put("data.my key", "YQ=="),
            "tls without key": both(put("type", "kubernetes.io/tls"), put("data", {"tls.crt": "YQ=="})),
            "docker without key": both(put("type", "kubernetes.io/dockerconfigjson"), put("data", {"a": "YQ=="})),
            "docker no JSON": both(
                put("type", "kubernetes.io/dockerconfigjson"), put("data", {".dockerconfigjson": "YQ=="})
            ),
            "basic without user": both(put("type", "kubernetes.io/basic-auth"), put("data", {"a": "YQ=="})),
            "token without account": put("type", "kubernetes.io/service-account-token"),
            "stringData list": put("stringData", ["a"]),
        },
    ),
    *cases(
        "claims",
        "PersistentVolumeClaim",
        {
            "accessModes": put("spec.accessModes", ["RWO"], ["ReadWrite"], ["readWriteOnce"]),
            "accessModes string": put("spec.accessModes", "ReadWriteOnce"),
            "accessModes missing": drop("spec.accessModes"),
            "pod access with others": put("spec.accessModes", ["ReadWriteOncePod", "ReadWriteOnce"]),
            "size": put("spec.resources.requests.storage", "10GB", "ten", "10 Gi", "-1Gi", "0"),
            "size missing": put("spec.resources", {}),
            "size misplaced": put("spec.resources", {"storage": "1Gi"}),
            "volumeMode": put("spec.volumeMode", "filesystem", "Raw"),
            "class": put("spec.storageClassName", "My_Class"),
            "selector": put("spec.selector", {"matchExpressions": [{"key": "a", "operator": "Has"}]}),
            "data source": put("spec.dataSource", {"name": "a"}),
            "spec missing": drop("spec"),
        },
    ),
    *cases(
        "classes",
        "PriorityClass",
        {
            "too large": put("value", 2000000000),
            "string": put("value", "1000", "high"),
            "system name": put("metadata.name", "system-important"),
            "preemption": put("preemptionPolicy", "never", "Always"),
            "default string": put("globalDefault", "false"),
            "value far too large": put("value", 2**33),
        },
    ),
    *cases(
        "classes",
        "StorageClass",
        {
            "without provisioner": drop("provisioner"),
            "reclaimPolicy": put("reclaimPolicy", "retain", "Keep"),
            "binding": put("volumeBindingMode", "WaitForConsumer", "immediate"),
            "parameters number": put("parameters", {"iops": 3000}, {"encrypted": True}),
            "parameters empty key": put("parameters", {"": "a"}),
            "expansion string": put("allowVolumeExpansion", "true"),
            "provisioner": put("provisioner", "My Provisioner"),
            "topologies": put("allowedTopologies", [{"matchLabelExpressions": [{"key": "zone", "values": []}]}]),
        },
    ),
    *cases(
        "quotas",
        "ResourceQuota",
        {
            "unit": put("spec.hard.pods", "ten", "-1"),
            "memory unit": put("spec.hard", {"limits.memory": "10GB"}),
            "cpu fraction of pods": put("spec.hard", {"pods": "500m"}),
            "scope": put("spec.scopes", ["Terminated"], ["bestEffort"]),
            "hard list": put("spec.hard", ["pods"]),
            "resource": put("spec.hard", {"pod s": "1"}, {"gpu": "1"}),
            "operator": put(
                "spec.scopeSelector", {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Is"}]}
            ),
        },
    ),
    *cases(
        "quotas",
        "LimitRange",
        {
            "type": put("spec.limits[].type", "container", "Namespace Foo"),
            "min above max": put("spec.limits", [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]),
            "default above max": put(
                "spec.limits", [{"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "1"}}]
            ),
            "limits mapping": put("spec.limits", {"type": "Container"}),
            "unit": put("spec.limits[].max", {"memory": "1GB"}),
            "pod default": put("spec.limits", [{"type": "Pod", "default": {"cpu": "1"}}]),
        },
    ),
    *cases(
        "wrong type",
        "ServiceAccount",
        {
            "pull secrets strings": put("imagePullSecrets", ["registry"]),
            "secrets mapping": put("secrets", {"name": "a"}),
            "automount string": put("automountServiceAccountToken", "false"),
        },
    ),
)
