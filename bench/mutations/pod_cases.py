"""Mistakes in pods, apart from those in their containers."""

from random import Random

from bench.mutations.changes import Change, Document, add, both, cases, drop, put, put_all, rename, twice

_TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
_NODE_TERMS = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_POD_TERM = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
_POD_TERMS = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_TERMS = "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_HTTP = {"httpGet": {"path": "/healthz", "port": 8080}}


def _volume(**source: object) -> Change:
    return add("volumes", {"name": "extra", **source})


def _lost_volume(pod: Document, random: Random) -> bool:
    """Remove a volume that a container mounts."""
    mounted = {
        mount.get("name") for container in pod.get("containers") or () for mount in container.get("volumeMounts") or ()
    }
    found = [one for one in pod.get("volumes") or () if one.get("name") in mounted]
    if not found:
        return False
    pod["volumes"].remove(random.choice(found))
    return True


def _same_name(pod: Document, random: Random) -> bool:
    """Give a container the name of another one."""
    names = pod.get("containers")
    if not names:
        return False
    pod.setdefault("initContainers", []).append({"name": random.choice(names).get("name"), "image": "busybox"})
    return True


CASES = (
    *cases(
        "wrong type",
        "pod",
        {
            "grace string": put("terminationGracePeriodSeconds", "30", "30s"),
            "hostNetwork string": put("hostNetwork", "true"),
            "nodeSelector list": put("nodeSelector", ["kubernetes.io/os=linux"]),
            "nodeSelector boolean": put("nodeSelector", {"gpu": True}, {"zone": 1}),
            "volumes mapping": put("volumes", {"data": {"emptyDir": {}}}),
            "emptyDir string": _volume(emptyDir="true"),
            "configMap string": _volume(configMap="settings"),
            "defaultMode string": _volume(configMap={"name": "settings", "defaultMode": "0644"}),
            "pull secrets strings": put("imagePullSecrets", ["registry"]),
            "tolerations mapping": put("tolerations", {"key": "gpu", "operator": "Exists"}),
            "toleration value boolean": add("tolerations", {"key": "gpu", "value": True, "effect": "NoSchedule"}),
            "fsGroup string": put("securityContext.fsGroup", "2000"),
            "account number": put("serviceAccountName", 5),
            "affinity list": put("affinity", [{"nodeAffinity": {}}]),
            "containers mapping": put("containers", {"name": "main", "image": "busybox"}),
            "hostAliases string": put("hostAliases", ["127.0.0.1 local"]),
            "seccomp string": put("securityContext.seccompProfile", "RuntimeDefault"),
        },
    ),
    *cases(
        "enumeration",
        "pod",
        {
            "restartPolicy": put("restartPolicy", "always", "Sometimes", "OnError"),
            "dnsPolicy": put("dnsPolicy", "clusterFirst", "ClusterFirstWithHostNetwork", "Cluster"),
            "preemptionPolicy": put("preemptionPolicy", "never"),
            "fsGroupChangePolicy": put("securityContext.fsGroupChangePolicy", "onRootMismatch", "Never"),
            "emptyDir medium": _volume(emptyDir={"medium": "memory"}),
            "hostPath type": _volume(hostPath={"path": "/run", "type": "directory"}),
            "toleration operator": add("tolerations", {"key": "gpu", "operator": "exists"}),
            "toleration effect": add("tolerations", {"key": "gpu", "operator": "Exists", "effect": "noSchedule"}),
            "whenUnsatisfiable": add("topologySpreadConstraints", {**_SPREAD, "whenUnsatisfiable": "ScheduleAnyways"}),
            "os": put("os.name", "Linux", "darwin"),
            "supplementalGroupsPolicy": put("securityContext.supplementalGroupsPolicy", "merge"),
        },
    ),
    *cases(
        "keys twice",
        "pod",
        {
            "containers": twice("containers"),
            "volumes": twice("volumes"),
            "pull secrets": put("imagePullSecrets", [{"name": "a"}, {"name": "a"}]),
            "host aliases": put("hostAliases", [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]),
            "container and init container": _same_name,
            "spread": put("topologySpreadConstraints", [_SPREAD, _SPREAD]),
            "volume name": both(_volume(emptyDir={}), _volume(configMap={"name": "a"})),
        },
    ),
    *cases("mounts and volumes", "pod", {"volume removed": _lost_volume}),
    *cases(
        "mounts and volumes",
        "pod",
        {
            "without source": _volume(),
            "two sources": _volume(emptyDir={}, configMap={"name": "a"}),
            "secret under another key": _volume(secret={"name": "certs"}, emptyDir={}),
            "items without path": _volume(configMap={"name": "a", "items": [{"key": "a"}]}),
            "items absolute": _volume(secret={"secretName": "a", "items": [{"key": "a", "path": "/a"}]}),
            "mode out of range": _volume(secret={"secretName": "a", "defaultMode": 644000}),
            "hostPath without path": _volume(hostPath={"type": "Directory"}),
            "claim without name": _volume(persistentVolumeClaim={"readOnly": True}),
            "projected source with two": _volume(
                projected={"sources": [{"configMap": {"name": "a"}, "secret": {"name": "b"}}]}
            ),
            "projected token without path": _volume(projected={"sources": [{"serviceAccountToken": {}}]}),
            "name": add("volumes", {"name": "Data_Volume", "emptyDir": {}}, {"name": "a.b", "emptyDir": {}}),
            "without name": add("volumes", {"emptyDir": {}}),
            "nfs without server": _volume(nfs={"path": "/"}),
            "csi without driver": _volume(csi={"readOnly": True}),
            "downward field": _volume(
                downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.nam"}}]}
            ),
            "sizeLimit negative": _volume(emptyDir={"sizeLimit": "-1Gi"}),
        },
    ),
    *cases(
        "names",
        "pod",
        {
            "account": put("serviceAccountName", "My_Account", "account name"),
            "nodeSelector key": put("nodeSelector", {"node role": "x"}, {"a/b/c": "x"}, {"": "x"}),
            "nodeSelector value": put("nodeSelector", {"zone": "a b"}, {"zone": "x" * 64}),
            "host alias": put("hostAliases", [{"ip": "10.0.0.1", "hostnames": ["bad_host"]}]),
            "hostname": put("hostname", "My_Host", "a.b"),
            "priority class": put("priorityClassName", "High_Priority"),
            "runtime class": put("runtimeClassName", "Kata_Containers"),
            "topology key": add("topologySpreadConstraints", {**_SPREAD, "topologyKey": "a b"}),
        },
    ),
    *cases(
        "required",
        "pod",
        {
            "containers": drop("containers"),
            "containers empty": put("containers", []),
            "containers misspelt": rename("containers", "container"),
            "init container without image": add("initContainers", {"name": "init"}),
            "init container with probe": add("initContainers", {"name": "init", "image": "a", "livenessProbe": _HTTP}),
        },
    ),
    *cases(
        "security context",
        "pod",
        {
            "fsGroup negative": put("securityContext.fsGroup", -1),
            "sysctl": put("securityContext.sysctls", [{"name": "net..core", "value": "1"}]),
            "sysctl twice": put("securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}] * 2),
            "supplementalGroups negative": put("securityContext.supplementalGroups", [-1]),
            "share and host pid": put_all({"shareProcessNamespace": True, "hostPID": True}),
            "host network and port": both(
                put("hostNetwork", True), put("containers[].ports", [{"containerPort": 80, "hostPort": 81}])
            ),
            "seccomp type": put("securityContext.seccompProfile", {"type": "Localhost"}),
        },
    ),
    *cases(
        "scheduling",
        "pod",
        {
            "toleration exists with value": add("tolerations", {"key": "a", "operator": "Exists", "value": "b"}),
            "toleration without key": add("tolerations", {"operator": "Equal", "value": "b"}),
            "toleration seconds": add(
                "tolerations", {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}
            ),
            "node terms empty": put(_NODE_TERMS, {"nodeSelectorTerms": []}),
            "node operator": put(
                _NODE_TERMS,
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}]},
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Equals", "values": ["b"]}]}]},
            ),
            "node In without values": put(
                _NODE_TERMS, {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}
            ),
            "node Exists with values": put(
                _NODE_TERMS,
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}]},
            ),
            "node Gt text": put(
                _NODE_TERMS,
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["b"]}]}]},
            ),
            "node terms list": put(_NODE_TERMS, [_TERM]),
            "node weight": put(
                "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
                [{"weight": 0, "preference": _TERM}],
                [{"weight": 101, "preference": _TERM}],
            ),
            "anti-affinity without topologyKey": put(_POD_TERMS, [{"labelSelector": {"matchLabels": {"app": "a"}}}]),
            "anti-affinity topologyKey": put(_POD_TERMS, [{**_POD_TERM, "topologyKey": "a/b/c"}]),
            "anti-affinity operator": put(
                _POD_TERMS,
                [
                    {
                        "topologyKey": "zone",
                        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]},
                    }
                ],
            ),
            "anti-affinity weight": put(_PREFERRED_TERMS, [{"weight": 200, "podAffinityTerm": _POD_TERM}]),
            "anti-affinity term misplaced": put(_PREFERRED_TERMS, [{"weight": 100, **_POD_TERM}]),
            "spread maxSkew": add("topologySpreadConstraints", {**_SPREAD, "maxSkew": 0}, {**_SPREAD, "maxSkew": -1}),
            "spread without topologyKey": add(
                "topologySpreadConstraints", {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
            ),
            "spread minDomains": add(
                "topologySpreadConstraints", {**_SPREAD, "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}
            ),
        },
    ),
    *cases(
        "numbers",
        "pod",
        {
            "grace negative": put("terminationGracePeriodSeconds", -30),
            "deadline": put("activeDeadlineSeconds", 0, -1),
            "dns option": put("dnsConfig", {"nameservers": ["1.2.3"]}, {"nameservers": ["dns.example.com"]}),
            "dns none": put("dnsPolicy", "None"),
            "dns searches": put("dnsConfig.searches", ["bad_domain!"]),
            "host alias": put("hostAliases", [{"ip": "10.0.0.300", "hostnames": ["a"]}]),
        },
    ),
)
