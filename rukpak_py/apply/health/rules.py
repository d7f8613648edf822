"""Rules of well-known custom resources, by what their documentation says about their status.

A kind stands here where the condition Ready alone would be wrong: its controller always reports it, so that without it
nothing was done yet; other conditions or a word say that it works; or it is not Ready while it rests. What is left out
of a rule is a condition that is False, or True, in normal operation: `Active` of a ScaledObject without load, `Issuing`
of a Certificate that is renewed, `Progressing` of a ClusterExtension, `NoWarnings` of a RabbitmqCluster.
"""

from collections.abc import Mapping

from rukpak_py.apply.health.custom_resources import Phase, Rule
from rukpak_py.core.objects import GroupKind

_READY = Rule(wanted=("Ready",))
_FLUX = Rule(wanted=("Ready",), rests=({"spec.suspend": True},))
_FLUX_STATIC = Rule(wanted=("Ready",), is_optional=True, rests=({"spec.suspend": True},))
_STRIMZI = Rule(wanted=("Ready",), unwanted=("NotReady",), rests_by={"strimzi.io/pause-reconciliation": "true"})
_PROMETHEUS = Rule(wanted=("Available", "Reconciled"), rests=({"spec.paused": True},))
_CLUSTER_API = Rule(
    wanted=("Available|Ready",), rests=({"spec.paused": True},), rests_by={"cluster.x-k8s.io/paused": "true"}
)
_KEDA = Rule(wanted=("Ready",), rests_by={"autoscaling.keda.sh/paused": "true"})
_CROSSPLANE_PACKAGE = Rule(wanted=("Installed", "Healthy"), rests_by={"crossplane.io/paused": "true"})
_CROSSPLANE_MANAGED = Rule(wanted=("Synced", "Ready"), is_optional=True, rests_by={"crossplane.io/paused": "true"})
_ECK_UNMANAGED = {"eck.k8s.elastic.co/managed": "false"}
_ELASTIC = Rule(phase=Phase(path="status.health", healthy=frozenset({"green"})), rests_by=_ECK_UNMANAGED)
_ROOK = Rule(phase=Phase(path="status.phase", healthy=frozenset({"Ready", "Connected"})))
_PERCONA = Rule(
    phase=Phase(path="status.state", healthy=frozenset({"ready"})), rests=({"spec.pause": True}, {"spec.paused": True})
)


def _phase(path: str, *healthy: str, fails: tuple[str, ...] = (), message: str = "status.message") -> Rule:
    return Rule(phase=Phase(path=path, healthy=frozenset(healthy), failed=frozenset(fails), message=message))


_BY_GROUP: Mapping[str, Mapping[str, Rule]] = {
    "acid.zalan.do": {"postgresql": _phase("status.PostgresClusterStatus", "Running", fails=("CreateFailed",))},
    "agent.k8s.elastic.co": {"Agent": _ELASTIC},
    "apiextensions.crossplane.io": {"CompositeResourceDefinition": Rule(wanted=("Established",))},
    "apm.k8s.elastic.co": {"ApmServer": _ELASTIC},
    "argoproj.io": {
        "Application": _phase(
            "status.health.status", "Healthy", "Suspended", fails=("Degraded",), message="status.health.message"
        ),
        "Rollout": Rule(
            phase=Phase(path="status.phase", healthy=frozenset({"Healthy"}), failed=frozenset({"Degraded"})),
            rests=({"spec.paused": True},),
        ),
        "Workflow": _phase("status.phase", "Succeeded", fails=("Failed", "Error")),
    },
    "beat.k8s.elastic.co": {"Beat": _ELASTIC},
    "bitnami.com": {"SealedSecret": Rule(wanted=("Synced",))},
    "cdi.kubevirt.io": {
        "DataVolume": _phase(
            "status.phase", "Succeeded", "WaitForFirstConsumer", "PendingPopulation", "Paused", fails=("Failed",)
        )
    },
    "ceph.rook.io": dict.fromkeys(
        ("CephBlockPool", "CephCluster", "CephFilesystem", "CephObjectStore", "CephObjectStoreUser"), _ROOK
    ),
    "cert-manager.io": {
        **dict.fromkeys(("Certificate", "ClusterIssuer", "Issuer"), _READY),
        "CertificateRequest": Rule(wanted=("Ready",), failing=("Denied", "InvalidRequest")),
    },
    "cluster.x-k8s.io": dict.fromkeys(("Cluster", "MachineDeployment", "MachinePool"), _CLUSTER_API),
    "controlplane.cluster.x-k8s.io": {"KubeadmControlPlane": _CLUSTER_API},
    "elasticsearch.k8s.elastic.co": {
        # Yellow for ever on one node: the replicas of its indices have no place.
        "Elasticsearch": Rule(
            phase=Phase(path="status.health", healthy=frozenset({"green", "yellow"})), rests_by=_ECK_UNMANAGED
        )
    },
    "enterprisesearch.k8s.elastic.co": {"EnterpriseSearch": _ELASTIC},
    "eventing.knative.dev": dict.fromkeys(("Broker", "Trigger"), _READY),
    "external-secrets.io": dict.fromkeys(
        ("ClusterExternalSecret", "ClusterSecretStore", "ExternalSecret", "PushSecret", "SecretStore"), _READY
    ),
    "gateway.networking.k8s.io": {
        "Gateway": Rule(wanted=("Accepted", "Programmed")),
        "GatewayClass": Rule(wanted=("Accepted",)),
    },
    "helm.toolkit.fluxcd.io": {"HelmRelease": _FLUX},
    "image.toolkit.fluxcd.io": dict.fromkeys(("ImagePolicy", "ImageRepository", "ImageUpdateAutomation"), _FLUX),
    "jaegertracing.io": {"Jaeger": _phase("status.phase", "Running", fails=("Failed",))},
    "jobset.x-k8s.io": {"JobSet": Rule(wanted=("Completed",), failing=("Failed",))},
    "k8s.keycloak.org": {
        "Keycloak": Rule(wanted=("Ready",), unwanted=("HasErrors",)),
        "KeycloakRealmImport": Rule(wanted=("Done",), unwanted=("HasErrors",)),
    },
    "kafka.strimzi.io": {
        **dict.fromkeys(
            (
                "Kafka",
                "KafkaBridge",
                "KafkaConnect",
                "KafkaConnector",
                "KafkaMirrorMaker",
                "KafkaMirrorMaker2",
                "KafkaTopic",
                "KafkaUser",
            ),
            _STRIMZI,
        ),
        "KafkaRebalance": Rule(wanted=("ProposalReady|Ready|Stopped",), unwanted=("NotReady",)),
    },
    "keda.sh": dict.fromkeys(("ScaledJob", "ScaledObject"), _KEDA),
    "kibana.k8s.elastic.co": {"Kibana": _ELASTIC},
    "kubevirt.io": {
        "VirtualMachine": Rule(
            wanted=("Ready",),
            rests=({"spec.running": False}, {"spec.runStrategy": "Halted"}, {"spec.runStrategy": "Manual"}),
        )
    },
    "kustomize.toolkit.fluxcd.io": {"Kustomization": _FLUX},
    "logstash.k8s.elastic.co": {"Logstash": _ELASTIC},
    "minio.min.io": {"Tenant": _phase("status.currentState", "Initialized")},
    "mongodbcommunity.mongodb.com": {"MongoDBCommunity": _phase("status.phase", "Running")},
    "monitoring.coreos.com": dict.fromkeys(
        ("Alertmanager", "Prometheus", "PrometheusAgent", "ThanosRuler"), _PROMETHEUS
    ),
    "notification.toolkit.fluxcd.io": {"Alert": _FLUX_STATIC, "Provider": _FLUX_STATIC, "Receiver": _FLUX},
    "olm.operatorframework.io": {
        "ClusterCatalog": Rule(wanted=("Serving",), rests=({"spec.availabilityMode": "Unavailable"},)),
        "ClusterExtension": Rule(wanted=("Installed",)),
    },
    "operators.coreos.com": {
        "CatalogSource": _phase("status.connectionState.lastObservedState", "READY"),
        "ClusterServiceVersion": _phase("status.phase", "Succeeded", fails=("Failed",)),
        "Subscription": Rule(
            failing=("InstallPlanFailed",),
            unwanted=("ResolutionFailed",),
            phase=Phase(path="status.state", healthy=frozenset({"AtLatestKnown"}), failed=frozenset({"UpgradeFailed"})),
            rests=(
                {
                    "spec.installPlanApproval": "Manual",
                    "status.state": "UpgradePending",
                    "status.installedCSV": ...,
                },
            ),
        ),
    },
    "pkg.crossplane.io": dict.fromkeys(("Configuration", "Function", "Provider"), _CROSSPLANE_PACKAGE),
    "postgresql.cnpg.io": {"Cluster": _READY},
    "psmdb.percona.com": {"PerconaServerMongoDB": _PERCONA},
    "pxc.percona.com": {"PerconaXtraDBCluster": _PERCONA},
    "rabbitmq.com": {"RabbitmqCluster": Rule(wanted=("AllReplicasReady", "ReconcileSuccess"))},
    "ray.io": {
        "RayCluster": Rule(
            phase=Phase(path="status.state", healthy=frozenset({"ready"}), message="status.reason"),
            rests=({"spec.suspend": True},),
        )
    },
    "serving.knative.dev": dict.fromkeys(("Configuration", "Route", "Service"), Rule(wanted=("Ready",), fails=True)),
    "snapshot.storage.k8s.io": {"VolumeSnapshot": _phase("status.readyToUse", "true", message="status.error.message")},
    "source.toolkit.fluxcd.io": {
        **dict.fromkeys(("Bucket", "GitRepository", "HelmChart", "OCIRepository"), _FLUX),
        "HelmRepository": _FLUX_STATIC,  # of the type oci it has no status
    },
    "tekton.dev": dict.fromkeys(("PipelineRun", "TaskRun"), Rule(wanted=("Succeeded",), fails=True)),
    "templates.gatekeeper.sh": {"ConstraintTemplate": _phase("status.created", "true")},
    "velero.io": {"BackupStorageLocation": _phase("status.phase", "Available")},
}
RULES: Mapping[GroupKind, Rule] = {
    GroupKind(group, kind): rule for group, kinds in _BY_GROUP.items() for kind, rule in kinds.items()
}
ROUTES = frozenset(
    GroupKind("gateway.networking.k8s.io", kind)
    for kind in ("GRPCRoute", "HTTPRoute", "TCPRoute", "TLSRoute", "UDPRoute")
)
_MANAGED_GROUPS = (".crossplane.io", ".upbound.io")


def rule_of(kind: GroupKind) -> Rule | None:
    """None: no rule of its own."""
    if kind.group.endswith(_MANAGED_GROUPS):
        return RULES.get(kind, _CROSSPLANE_MANAGED)
    return RULES.get(kind)
