"""Mistakes in Services, Ingresses and NetworkPolicies."""

from bench.mutations.changes import both, cases, drop, put, twice

_BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
_PEERS = "spec.ingress"


def _ingress_path(**changes: object) -> object:
    path = {"path": "/", "pathType": "Prefix", "backend": _BACKEND} | changes
    return [{"http": {"paths": [{key: value for key, value in path.items() if value is not None}]}}]


CASES = (
    *cases("kinds and versions", "Ingress", {"removed": put("apiVersion", "networking.k8s.io/v1beta1")}),
    *cases(
        "wrong type",
        "Service",
        {
            "ports mapping": put("spec.ports", {"http": 80}, {"port": 80}),
            "port string": put("spec.ports[].port", "80", "http"),
            "nodePort string": put("spec.ports[].nodePort", "30080"),
            "selector list": put("spec.selector", ["app"], [{"app": "a"}]),
            "selector mapping": put("spec.selector", {"matchLabels": {"app": "a"}}),
            "selector number": put("spec.selector.version", 1, True),
            "externalIPs string": put("spec.externalIPs", "10.0.0.1"),
            "targetPort mapping": put("spec.ports[].targetPort", {"name": "http"}, True),
            "publish string": put("spec.publishNotReadyAddresses", "true"),
        },
    ),
    *cases(
        "enumeration",
        "Service",
        {
            "type": put("spec.type", "clusterIP", "Loadbalancer", "NodePorts", "Headless", "nodePort"),
            "protocol": put("spec.ports[].protocol", "tcp", "HTTP", "Http"),
            "sessionAffinity": put("spec.sessionAffinity", "clientIP", "IP", "true"),
            "externalTrafficPolicy": both(
                put("spec.type", "NodePort"), put("spec.externalTrafficPolicy", "local", "Global")
            ),
            "internalTrafficPolicy": put("spec.internalTrafficPolicy", "local"),
            "ipFamilyPolicy": put("spec.ipFamilyPolicy", "DualStack", "singleStack"),
            "ipFamilies": put("spec.ipFamilies", ["ipv4"], ["IPV4"]),
        },
    ),
    *cases(
        "ports",
        "Service",
        {
            "out of range": put("spec.ports[].port", 0, 65536, -80),
            "targetPort out of range": put("spec.ports[].targetPort", 0, 70000, -1),
            "targetPort name": put("spec.ports[].targetPort", "http_api", "HTTP", "8080", "metrics-endpoint-1"),
            "name": put("spec.ports[].name", "http_api", "HTTP", "web.http", "-a"),
            "second without name": put("spec.ports", [{"port": 80}, {"port": 81}]),
            "nodePort of a ClusterIP": put("spec", {"ports": [{"port": 80, "nodePort": 30080}]}),
            "nodePort out of range": put("spec", {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
            "missing": drop("spec.ports"),
            "empty": put("spec.ports", []),
            "port missing": drop("spec.ports[].port"),
        },
    ),
    *cases(
        "keys twice",
        "Service",
        {
            "ports": twice("spec.ports"),
            "port and protocol": put("spec.ports", [{"name": "a", "port": 80}, {"name": "b", "port": 80}]),
            "name": put("spec.ports", [{"name": "a", "port": 80}, {"name": "a", "port": 81}]),
        },
    ),
    *cases(
        "addresses",
        "Service",
        {
            "clusterIP": put("spec.clusterIP", "none", "10.0.0", "10.0.0.300", "web"),
            "externalIPs": put("spec.externalIPs", ["localhost"], ["127.0.0.1"], ["10.0.0.1/24"]),
            "loadBalancerSourceRanges": put(
                "spec", {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerSourceRanges": ["10.0.0.0"]}
            ),
            "externalName": put("spec", {"type": "ExternalName"}, {"type": "ExternalName", "externalName": "a_b!"}),
            "external headless": put("spec", {"type": "LoadBalancer", "clusterIP": "None", "ports": [{"port": 80}]}),
            "affinity timeout": put(
                "spec",
                {
                    "sessionAffinity": "ClientIP",
                    "ports": [{"port": 80}],
                    "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}},
                },
            ),
            "policy of a ClusterIP": put("spec", {"externalTrafficPolicy": "Local", "ports": [{"port": 80}]}),
        },
    ),
    *cases(
        "names",
        "Service",
        {
            "digit first": put("metadata.name", "1-web", "9web"),
            "dot": put("metadata.name", "web.api"),
            "long": put("metadata.name", "w" * 64),
            "selector value": put("spec.selector.app", "a b", "x" * 64),
            "selector key": put("spec.selector", {"app name": "x"}),
        },
    ),
    *cases(
        "ingress",
        "Ingress",
        {
            "pathType missing": put("spec.rules", _ingress_path(pathType=None)),
            "pathType": put("spec.rules", _ingress_path(pathType="prefix"), _ingress_path(pathType="Regex")),
            "backend missing": put("spec.rules", _ingress_path(backend=None)),
            "old backend": put("spec.rules", _ingress_path(backend={"serviceName": "web", "servicePort": 80})),
            "path relative": put("spec.rules", _ingress_path(path="web"), _ingress_path(path="/a//b")),
            "port name and number": put(
                "spec.rules",
                _ingress_path(backend={"service": {"name": "web", "port": {"name": "http", "number": 80}}}),
            ),
            "port missing": put("spec.rules", _ingress_path(backend={"service": {"name": "web"}})),
            "port out of range": put(
                "spec.rules", _ingress_path(backend={"service": {"name": "web", "port": {"number": 70000}}})
            ),
            "port string": put(
                "spec.rules", _ingress_path(backend={"service": {"name": "web", "port": {"number": "80"}}})
            ),
            "port plain": put("spec.rules", _ingress_path(backend={"service": {"name": "web", "port": 80}})),
            "service name": put(
                "spec.rules", _ingress_path(backend={"service": {"name": "My_Web", "port": {"number": 80}}})
            ),
            "host": put("spec.rules[].host", "Example.com", "http://example.com", "a_b.com", "*.*.com", "10.0.0.1"),
            "host with port": put("spec.rules[].host", "example.com:80"),
            "rules mapping": put("spec.rules", {"host": "a.com"}),
            "spec empty": put("spec", {}),
            "tls hosts string": put("spec.tls", [{"hosts": "a.com", "secretName": "a"}]),
            "tls host": put("spec.tls", [{"hosts": ["A_B"], "secretName": "a"}]),
            "tls secret": put("spec.tls", [{"hosts": ["a.com"], "secretName": "My_Secret"}]),
            "paths empty": put("spec.rules", [{"host": "a.com", "http": {"paths": []}}]),
            "class": put("spec.ingressClassName", "My_Class", ""),
            "default backend": put("spec.defaultBackend", {}, {"service": {"port": {"number": 80}}}),
        },
    ),
    *cases(
        "network policies",
        "NetworkPolicy",
        {
            "policyTypes": put("spec.policyTypes", ["ingress"], ["Ingres"], ["Both"], ["Ingress", "Egress", "All"]),
            "policyTypes string": put("spec.policyTypes", "Ingress"),
            "cidr": put(
                _PEERS, [{"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}], [{"from": [{"ipBlock": {"cidr": "10.0/8"}}]}]
            ),
            "cidr mask": put(_PEERS, [{"from": [{"ipBlock": {"cidr": "10.0.0.0/33"}}]}]),
            "except outside": put(_PEERS, [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]}]),
            "except string": put(_PEERS, [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": "10.1.0.0/16"}}]}]),
            "block and selector": put(_PEERS, [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}]),
            "peer empty": put(_PEERS, [{"from": [{}]}]),
            "protocol": put(
                _PEERS, [{"ports": [{"port": 80, "protocol": "tcp"}]}], [{"ports": [{"protocol": "ICMP"}]}]
            ),
            "port": put(_PEERS, [{"ports": [{"port": 0}]}], [{"ports": [{"port": 70000}]}]),
            "port name": put(_PEERS, [{"ports": [{"port": "http_api"}]}], [{"ports": [{"port": "80"}]}]),
            "endPort": put(_PEERS, [{"ports": [{"port": 90, "endPort": 80}]}], [{"ports": [{"endPort": 80}]}]),
            "endPort of a name": put(_PEERS, [{"ports": [{"port": "http", "endPort": 80}]}]),
            "operator": put(
                "spec.podSelector", {"matchExpressions": [{"key": "a", "operator": "Eq", "values": ["b"]}]}
            ),
            "selector value": put("spec.podSelector", {"matchLabels": {"app": "a b"}}),
            "from mapping": put(_PEERS, [{"from": {"podSelector": {}}}]),
            "ports numbers": put(_PEERS, [{"ports": [80]}]),
            "selector flat": put("spec.podSelector", {"matchLabels": "app"}),
        },
    ),
)
