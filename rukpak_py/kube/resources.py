"""A kind as the API server serves it: where its objects live and what may be done with them."""

from dataclasses import dataclass
from urllib.parse import quote

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_PLURAL,
    BUNDLE_INSTANCE_KIND,
    BUNDLE_INSTANCE_PLURAL,
    BUNDLE_KIND,
    BUNDLE_PLURAL,
    GROUP,
    VERSION,
)
from rukpak_py.core.objects import RBAC_GROUP, GroupKind, GroupVersionKind, ObjectKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()

    @property
    def group_kind(self) -> GroupKind:
        return self.gvk.group_kind

    def key(self, namespace: str, name: str) -> ObjectKey:
        return ObjectKey(self.gvk.group, self.gvk.kind, namespace if self.namespaced else "", name)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path, quoted. See `is_segment`: not every name is one."""
        parts = ["", "apis", self.gvk.group, self.gvk.version] if self.gvk.group else ["", "api", self.gvk.version]
        if self.namespaced and namespace:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(_segment(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def _segment(name: str) -> str:
    return quote(name, safe="")


def is_segment(name: str) -> bool:
    """May this be a name in a path? The API server's own rule; the rest of a name's syntax is its business."""
    return name not in {".", ".."} and not set(name) & {"/", "%"}


def _core(kind: str, plural: str, *, namespaced: bool = True) -> Resource:
    return Resource(gvk=GroupVersionKind("", "v1", kind), plural=plural, namespaced=namespaced)


BUNDLES = Resource(gvk=GroupVersionKind(GROUP, VERSION, BUNDLE_KIND), plural=BUNDLE_PLURAL, namespaced=False)
BUNDLE_DEPLOYMENTS = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, BUNDLE_DEPLOYMENT_KIND), plural=BUNDLE_DEPLOYMENT_PLURAL, namespaced=False
)
BUNDLE_INSTANCES = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, BUNDLE_INSTANCE_KIND), plural=BUNDLE_INSTANCE_PLURAL, namespaced=False
)
CONFIG_MAPS = _core("ConfigMap", "configmaps")
SECRETS = _core("Secret", "secrets")
RESOURCE_QUOTAS = _core("ResourceQuota", "resourcequotas")
NAMESPACES = _core("Namespace", "namespaces", namespaced=False)
SERVICE_ACCOUNTS = _core("ServiceAccount", "serviceaccounts")
PODS = _core("Pod", "pods")
CLAIMS = _core("PersistentVolumeClaim", "persistentvolumeclaims")
SERVICES = _core("Service", "services")
ENDPOINT_SLICES = Resource(
    gvk=GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice"), plural="endpointslices", namespaced=True
)
EVENTS = _core("Event", "events")
TOKEN_REVIEWS = Resource(
    gvk=GroupVersionKind("authentication.k8s.io", "v1", "TokenReview"), plural="tokenreviews", namespaced=False
)
SUBJECT_ACCESS_REVIEWS = Resource(
    gvk=GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"),
    plural="subjectaccessreviews",
    namespaced=False,
)
SELF_ACCESS_REVIEWS = Resource(
    gvk=GroupVersionKind("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
    plural="selfsubjectaccessreviews",
    namespaced=False,
)
SELF_RULES_REVIEWS = Resource(
    gvk=GroupVersionKind("authorization.k8s.io", "v1", "SelfSubjectRulesReview"),
    plural="selfsubjectrulesreviews",
    namespaced=False,
)
CLUSTER_ROLES = Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", "ClusterRole"), plural="clusterroles", namespaced=False)
ROLES = Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", "Role"), plural="roles", namespaced=True)
CLUSTER_ROLE_BINDINGS = Resource(
    gvk=GroupVersionKind(RBAC_GROUP, "v1", "ClusterRoleBinding"), plural="clusterrolebindings", namespaced=False
)
ROLE_BINDINGS = Resource(gvk=GroupVersionKind(RBAC_GROUP, "v1", "RoleBinding"), plural="rolebindings", namespaced=True)
DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
LEASES = Resource(gvk=GroupVersionKind("coordination.k8s.io", "v1", "Lease"), plural="leases", namespaced=True)
CRDS = Resource(
    gvk=GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    plural="customresourcedefinitions",
    namespaced=False,
)
API_SERVICES = Resource(
    gvk=GroupVersionKind("apiregistration.k8s.io", "v1", "APIService"), plural="apiservices", namespaced=False
)
ADMISSION_POLICIES = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"),
    plural="validatingadmissionpolicies",
    namespaced=False,
)
ADMISSION_POLICY_BINDINGS = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"),
    plural="validatingadmissionpolicybindings",
    namespaced=False,
)


def not_served(resource: Resource) -> str:
    """Advice for when one of our own kinds is not served."""
    gvk = resource.gvk
    return f"the API server does not serve {gvk.kind} ({gvk.api_version}): install config/crds"
