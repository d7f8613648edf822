"""Real bundles and charts of many kinds, each with a second version, for deployments that live through an upgrade."""

from pathlib import Path

from rukpak_py.api.names import HELM_CLASS, REGISTRY_CLASS
from rukpak_py.kube.resources import CRDS, NAMESPACES
from tests.corpus.bundle_versions import next_version
from tests.corpus.real_bundles import RealBundle
from tests.helm_oracle.cases import own_cases
from tests.integration.operator.charts_of_kinds import written_charts
from tests.integration.operator.installed_content import InstalledContent

# Charts of the suite whose Jobs it ends, or that come as a directory.
ONLY_IN_THE_SUITE = frozenset({"hooks", "ignored-files"})
FEW = (
    "009-aqua-operator-certified-2022.4.848",  # twelve CRDs; fields that Deployments do not have
    "011-bonree-operator-1.1.0",  # PodDisruptionBudget, a mutating webhook
    "029-fujitsu-enterprise-postgres-operator-with-cg-module-v5.1.0",  # all modes but all namespaces, ServiceMonitor
    "040-ibm-data-reporter-operator-2.24.4",  # requires a kind; a Secret
    "046-instana-agent-operator-v2.0.1",  # a conversion webhook
    "053-leaksignal-operator-1.6.1",  # PriorityClass
    "087-strategy-operator-26.5.0",  # a single namespace only
    "093-truenas-csi-0.1.0",  # NetworkPolicy
    "148-beegfs-csi-driver-operator-1.8.0",  # its own namespace only
    "209-prometheus-exporter-operator-0.3.4",  # ServiceMonitor
    "216-silicom-sts-operator-0.0.1",  # requires two kinds; dependencies
)
# Content that no account could install on this API server.
REFUSED = frozenset(
    {
        "089-tenant-operator-v0.3.16",  # a webhook for Namespaces, which refuses all of them while no pod answers
        "121-ack-iam-controller-0.0.15",  # an instance without required fields
        "151-cluster-aas-operator-0.1.1",  # objects without apiVersion
        "161-ecr-secret-operator-0.3.2",  # an instance with a field that its CRD does not have
        "163-ecr-secret-operator-0.4.1",  # the same
        "143-apicast-community-operator-0.4.0",  # CRDs of v1beta1, as the others
        "155-community-kubevirt-hyperconverged-1.2.0",
        "167-ember-csi-community-operator-0.0.1",
        "173-grafana-operator-3.8.0",
        "175-hyperfoil-bundle-0.5.1",
        "177-ibmcloud-operator-0.1.3",
        "193-multicluster-operators-subscription-0.2.4",
        "211-reportportal-operator-0.0.5",
        "229-cockroachdb-2.1.1",
        "231-gitlab-runner-operator-1.1.0",
        "235-reportportal-operator-0.0.5",
        "241-prometheus-0.32.1",
        "243-couchbase-enterprise-1.2.2",
        "245-mongodb-enterprise-1.3.1",
    }
)


def content_of_bundle(bundle: RealBundle, folder: Path) -> InstalledContent:
    watched = bundle.watch_namespaces
    return InstalledContent(
        name=bundle.deployment,
        provisioner=REGISTRY_CLASS,
        first=bundle.path,
        second=next_version(bundle.path, folder / bundle.name),
        flags=[f"--watch-namespace={one}" for one in watched or ()],
        spec={"watchNamespaces": list(watched)} if watched else {},
    )


def content_of_chart(name: str, folder: Path, mark: str) -> InstalledContent:
    first, second = written_charts(folder, name, mark)
    spec = {"adopt": "IfUnowned"} if name == "brought" else {}
    full = f"{name}-{mark}"
    flags = [f"--release-name={full}"]
    return InstalledContent(
        name=full,
        provisioner=HELM_CLASS,
        first=first,
        second=second,
        flags=flags,
        spec=spec,
        outliving=frozenset({NAMESPACES.group_kind, CRDS.group_kind}),  # as helm leaves those of crds/
    )


def contents_of_suite(folder: Path, helm: Path, mark: str) -> list[InstalledContent]:
    """The charts that helm and the operator are compared by, which look things up, keep passwords and run hooks."""
    return [
        InstalledContent(
            name=f"s-{case.release}-{mark}",
            provisioner=HELM_CLASS,
            first=folder / case.first.version / case.chart,
            second=folder / case.second.version / case.chart,
            spec={"config": {"values": dict(case.values), **case.config}},
        )
        for case in own_cases(folder, helm)
        if case.chart not in ONLY_IN_THE_SUITE
    ]
