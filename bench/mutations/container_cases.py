"""Mistakes in containers."""

from bench.mutations.changes import add, cases, drop, put, put_all, twice

_HTTP = {"httpGet": {"path": "/healthz", "port": 8080}}

CASES = (
    *cases(
        "wrong type",
        "container",
        {
            "env value number": add("env", {"name": "PORT", "value": 8080}, {"name": "RATIO", "value": 0.5}),
            "env value boolean": add("env", {"name": "DEBUG", "value": True}),
            "env value mapping": add("env", {"name": "DEBUG", "value": {"on": "true"}}),
            "env mapping": put("env", {"DEBUG": "true"}),
            "env strings": put("env", ["DEBUG=true"]),
            "args string": put("args", "--verbose --port=80"),
            "args numbers": add("args", 8080, True),
            "command string": put("command", "/bin/sh -c sleep"),
            "image number": put("image", 1.2),
            "containerPort string": put("ports[].containerPort", "8080", "http"),
            "ports mapping": put("ports", {"http": 8080}),
            "ports numbers": put("ports", [8080, 9090]),
            "limits list": put("resources.limits", ["cpu"], [{"cpu": "100m"}]),
            "limit boolean": put("resources.limits.cpu", True),
            "limit mapping": put("resources.limits", {"cpu": {"max": "100m"}}),
            "runAsUser string": put("securityContext.runAsUser", "1000"),
            "runAsNonRoot string": put("securityContext.runAsNonRoot", "true"),
            "privileged string": put("securityContext.privileged", "false", 0),
            "drop string": put("securityContext.capabilities.drop", "ALL"),
            "capabilities list": put("securityContext.capabilities", ["NET_ADMIN"]),
            "mount readOnly string": put("volumeMounts[].readOnly", "true"),
            "mounts strings": put("volumeMounts", ["/data"]),
            "periodSeconds string": put("livenessProbe.periodSeconds", "10", "10s"),
            "initialDelaySeconds float": put("readinessProbe.initialDelaySeconds", 1.5),
            "probe port boolean": put("livenessProbe.httpGet.port", True, [8080]),
            "probe command string": put("livenessProbe", {"exec": {"command": "cat /tmp/healthy"}}),
            "envFrom mapping": put("envFrom", {"configMapRef": {"name": "settings"}}),
            "tty string": put("tty", "yes"),
            "secretKeyRef string": add("env", {"name": "KEY", "valueFrom": {"secretKeyRef": "secret/key"}}),
        },
    ),
    *cases(
        "enumeration",
        "container",
        {
            "imagePullPolicy": put("imagePullPolicy", "always", "IfNotPresents", "Allways", "ifNotPresent", "None"),
            "protocol": put("ports[].protocol", "tcp", "HTTP", "https", "TLS"),
            "probe scheme": put("livenessProbe", {"httpGet": {"path": "/", "port": 80, "scheme": "https"}}),
            "terminationMessagePolicy": put("terminationMessagePolicy", "file", "FallbackToLogs"),
            "mountPropagation": put("volumeMounts[].mountPropagation", "bidirectional", "Shared"),
            "procMount": put("securityContext.procMount", "default", "Masked"),
            "seccomp type": put("securityContext.seccompProfile.type", "runtime/default", "Default", "unconfined"),
            "resize restartPolicy": put("resizePolicy", [{"resourceName": "cpu", "restartPolicy": "Never"}]),
            "resource": put("resources.limits", {"gpu": "1"}, {"Memory": "1Gi"}, {"CPU": "1"}, {"mem": "1Gi"}),
        },
    ),
    *cases(
        "keys twice",
        "container",
        {
            "env": twice("env"),
            "ports": twice("ports"),
            "mounts": twice("volumeMounts"),
            "port name": put("ports", [{"name": "http", "containerPort": 80}, {"name": "http", "containerPort": 81}]),
            "mountPath": add("volumeMounts", {"name": "none", "mountPath": "/x"}, {"name": "none", "mountPath": "/y"}),
            "devices": put("volumeDevices", [{"name": "a", "devicePath": "/a"}, {"name": "a", "devicePath": "/a"}]),
            "resize": put("resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2),
        },
    ),
    *cases(
        "ports",
        "container",
        {
            "out of range": put("ports[].containerPort", 0, 65536, 70000, -1, 100000),
            "hostPort out of range": put("ports[].hostPort", 65536, -1),
            "name upper case": put("ports[].name", "HTTP", "Metrics"),
            "name too long": put("ports[].name", "metrics-endpoint-1", "prometheus-metrics"),
            "name underscore": put("ports[].name", "http_api", "-http", "http--api", "8080"),
            "probe port out of range": put(
                "readinessProbe", {"tcpSocket": {"port": 0}}, {"tcpSocket": {"port": 65536}}
            ),
            "probe port name": put("readinessProbe", {"httpGet": {"path": "/", "port": "health_check"}}),
            "probe port as text": put("readinessProbe", {"httpGet": {"path": "/", "port": "8080"}}),
        },
    ),
    *cases(
        "mounts and volumes",
        "container",
        {
            "volume misspelt": put("volumeMounts[].name", "dta", "config-vol", "certs"),
            "mount without volume": add("volumeMounts", {"name": "absent", "mountPath": "/absent"}),
            "mount without path": drop("volumeMounts[].mountPath"),
            "mount without name": drop("volumeMounts[].name"),
            "subPath absolute": put("volumeMounts[].subPath", "/etc/x", "../x"),
            "subPath and subPathExpr": put_all({"volumeMounts[].subPath": "a", "volumeMounts[].subPathExpr": "$(A)"}),
            "device without claim": put("volumeDevices", [{"name": "absent", "devicePath": "/dev/x"}]),
        },
    ),
    *cases(
        "probes and handlers",
        "container",
        {
            "without handler": put("livenessProbe", {"periodSeconds": 10}, {"initialDelaySeconds": 5}),
            "two handlers": put("readinessProbe", {**_HTTP, "exec": {"command": ["true"]}}),
            "http and tcp": put("livenessProbe", {**_HTTP, "tcpSocket": {"port": 8080}}),
            "http without port": put("livenessProbe", {"httpGet": {"path": "/healthz"}}),
            "exec without command": put("livenessProbe", {"exec": {}}),
            "negative period": put("livenessProbe", {**_HTTP, "periodSeconds": -1}),
            "negative timeout": put("readinessProbe", {**_HTTP, "timeoutSeconds": -5}),
            "liveness successThreshold": put("livenessProbe", {**_HTTP, "successThreshold": 2}),
            "readiness grace": put("readinessProbe", {**_HTTP, "terminationGracePeriodSeconds": 5}),
            "lifecycle without handler": put("lifecycle.preStop", {}),
            "lifecycle with two": put(
                "lifecycle.preStop", {"exec": {"command": ["true"]}, "httpGet": {"port": 80, "path": "/"}}
            ),
            "startup negative": put("startupProbe", {**_HTTP, "failureThreshold": -1}),
            "http header": put(
                "livenessProbe", {"httpGet": {"port": 80, "httpHeaders": [{"name": "X Y", "value": "1"}]}}
            ),
        },
    ),
    *cases(
        "quantities",
        "container",
        {
            "bad unit": put("resources.limits.memory", "128MB", "1 Gi", "128mi", "1gb", "512MiB"),
            "bad number": put("resources.requests.cpu", "one", "0,5", "1.5.0", ""),
            "negative": put("resources.limits.cpu", "-1", -1),
            "limit below request": put("resources", {"limits": {"cpu": "100m"}, "requests": {"cpu": "1"}}),
            "memory below request": put("resources", {"limits": {"memory": "64Mi"}, "requests": {"memory": "128Mi"}}),
            "gpu request alone": put("resources", {"requests": {"nvidia.com/gpu": 1}}),
            "gpu fraction": put("resources", {"limits": {"nvidia.com/gpu": "500m"}}),
            "claim": put("resources.claims", [{"name": "absent"}]),
            "divisor": add(
                "env",
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}},
            ),
        },
    ),
    *cases(
        "names",
        "container",
        {
            "container": put("name", "My_Container", "app.main", "-main", "main container", "", "x" * 64),
            "env": add("env", {"name": "a=b", "value": "1"}, {"name": "", "value": "1"}),
            "env config map": add("env", {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "a/b"}}}),
        },
    ),
    *cases(
        "required",
        "container",
        {
            "name": drop("name"),
            "image": drop("image"),
            "image empty": put("image", ""),
            "containerPort": drop("ports[].containerPort"),
            "port name of two": put("ports", [{"containerPort": 80}, {"name": "a", "containerPort": 80}]),
            "env name": drop("env[].name"),
            "env from nothing": add("env", {"name": "A", "valueFrom": {}}),
            "env value and from": add(
                "env", {"name": "A", "value": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
            ),
            "env from two": add(
                "env",
                {
                    "name": "A",
                    "valueFrom": {
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "secretKeyRef": {"name": "a", "key": "a"},
                    },
                },
            ),
            "secret key": add("env", {"name": "A", "valueFrom": {"secretKeyRef": {"name": "a"}}}),
            "fieldPath": add("env", {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nodeName"}}}),
            "fieldPath missing": add("env", {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1"}}}),
            "resource": add("env", {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}),
            "envFrom nothing": add("envFrom", {}),
            "envFrom two": add("envFrom", {"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}),
        },
    ),
    *cases(
        "security context",
        "container",
        {
            "privileged without escalation": put(
                "securityContext", {"privileged": True, "allowPrivilegeEscalation": False}
            ),
            "admin without escalation": put(
                "securityContext", {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}
            ),
            "runAsUser negative": put("securityContext.runAsUser", -1),
            "runAsGroup negative": put("securityContext.runAsGroup", -5),
            "localhost profile missing": put("securityContext.seccompProfile", {"type": "Localhost"}),
            "profile without localhost": put(
                "securityContext.seccompProfile", {"type": "RuntimeDefault", "localhostProfile": "a.json"}
            ),
            "seccomp without type": put("securityContext.seccompProfile", {"localhostProfile": "a.json"}),
        },
    ),
)
