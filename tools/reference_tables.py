"""The table of docs/reference.md that no CRD has: our labels, annotations and finalizers.

Names come from the code. A name that is new there, and has no line here, is an error of `make generate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rukpak_py.api import names

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = {"_LABEL": "label", "_ANNOTATION": "annotation", "_FINALIZER": "finalizer"}

# By the constant in `rukpak_py.api.names`: who sets it and on what, and what it means.
MARKS = {
    "OWNER_KIND_LABEL": (
        "operator, on Bundles and installed objects, and on the BundleDeployment of a BundleInstance",
        "`BundleDeployment`; `BundleInstance` on a BundleDeployment.",
    ),
    "OWNER_NAME_LABEL": (
        "operator, on Bundles and installed objects",
        "Name of the BundleDeployment: `kubectl get bundles -l core.rukpak.io/owner-name=NAME`.",
    ),
    "TEMPLATE_HASH_LABEL": ("operator, on Bundles", "Hash of the template that the Bundle was created from."),
    "HOOK_LABEL": (
        "operator, on objects of hooks",
        "UID of the BundleDeployment.",
    ),
    "SERVING_CERTIFICATE_LABEL": (
        "operator, on Secrets that it makes for a bundle's webhooks",
        "Name of the BundleDeployment whose webhooks serve by the certificate.",
    ),
    "APPLIED_ANNOTATION": (
        "operator, on installed objects",
        (
            "For which object of which BundleDeployment it was written, and the SHA-256 digest of the manifest that was"
            " applied last."
        ),
    ),
    "OWNER_UID_ANNOTATION": (
        (
            "operator, on Namespaces, PersistentVolumeClaims, PersistentVolumes and CRDs, and on other objects"
            " of a bundle that outlive their BundleDeployment"
        ),
        "UID of the BundleDeployment. These objects have no owner reference, so Kubernetes does not delete them.",
    ),
    "DELETION_POLICY_ANNOTATION": (
        "operator, beside `owner-uid`",
        (
            "`Delete`: the operator deletes the object when its BundleDeployment is deleted. Without it, the object"
            " outlives the BundleDeployment."
        ),
    ),
    "RELEASED_ANNOTATION": (
        "operator, on objects that left the content and stay",
        (
            "Proves that a BundleDeployment left this very object in the cluster: when it comes back into the content,"
            " it is taken again without `spec.adopt`."
        ),
    ),
    "UNPACK_POD_ANNOTATION": ("unpack pods", "the digest of its spec: the pod is made again when another is wanted"),
    "PRUNE_ANNOTATION": (
        "you, on an object, in the bundle or in the cluster",
        (
            "`true`: delete the object when it leaves the content, also a Namespace, a claim, a volume or a CRD with"
            " instances: for these only where it is set in the cluster. `false`: keep it then; set in the bundle,"
            " also when the BundleDeployment is deleted. `spec.overrides[].prune` wins over it."
        ),
    ),
    "FORCE_ANNOTATION": (
        "you, on an object, in the bundle",
        (
            "`true`: delete and re-create the object when an immutable field changed; not of Namespaces,"
            " PersistentVolumeClaims, PersistentVolumes and CRDs. `spec.overrides[].force` wins over it."
        ),
    ),
    "ALLOW_DATA_LOSS_ANNOTATION": (
        "you, on a BundleDeployment",
        ("`true`: its deletion may delete instances of its CRDs and contents of its Namespaces that are not its own."),
    ),
    "RECONCILE_AT_ANNOTATION": (
        "you, on a BundleDeployment; operator, on objects of hooks",
        (
            "A new value reconciles it now. `status.lastHandledReconcileAt` is the last value that was acted on. On the"
            " object of a hook: the value when it was created."
        ),
    ),
    "APPROVED_ANNOTATION": (
        "you, on a BundleDeployment; `rukpakctl approve` does",
        (
            "The digest of the plan in `status.pendingUpgrade` that may go on; with `,now` behind it outside of its"
            " windows, too. `none` withdraws an approval that no upgrade has used yet; removing the annotation"
            " withdraws nothing."
        ),
    ),
    "CONTENT_DIGEST_ANNOTATION": (
        "`rukpakctl rollback`, on `spec.template` of a BundleDeployment",
        (
            "Its Bundle accepts only the content with this digest. Content that the BundleDeployment had before comes"
            " from the store, whatever its source has now."
        ),
    ),
    "REFRESH_AT_ANNOTATION": (
        "you, on a BundleDeployment",
        (
            "A new value fetches what the source of the template has now, in another Bundle, and installs it."
            " `status.lastHandledRefreshAt` is the last value that was acted on."
        ),
    ),
    "OPERATOR_NAMESPACE_ANNOTATION": (
        "operator, on the CRD of BundleDeployments",
        (
            "System namespace of the operator that leads in this cluster; another one does not, and says so. It is"
            " replaced once the Lease of that operator has not been renewed for a minute."
        ),
    ),
    "SAFE_CRD_UPGRADE_ANNOTATION": (
        "you, on a CRD, or the bundle that has it",
        (
            '`"false"` lets every upgrade of the CRD pass, whatever becomes of its objects. See '
            "[Upgrades of CRDs](crd-upgrades.md)."
        ),
    ),
    "SKIP_HOOKS_ANNOTATION": (
        "you, on a BundleDeployment",
        "`true`: hooks of the chart are not run, also not for its deletion.",
    ),
    "HOSTS_ANNOTATION": (
        "you, on a Secret of the system namespace",
        (
            "Hosts to which a source may send the Secret, separated by commas: `git.example.com` (any port), "
            "`git.example.com:8443`, `*.example.com`. See [Security](../SECURITY.md#which-secret-goes-where)."
        ),
    ),
    "HOOK_RUN_ANNOTATION": (
        "operator, on objects of hooks",
        "For which event of which installation it was created; `status.hooks[].run` says the same.",
    ),
    "SERVING_CERTIFICATE_ANNOTATION": (
        "`--certificates operator`, on Services of webhooks",
        "Name of the Secret for the serving certificate.",
    ),
    "CATALOG_PACKAGE_ANNOTATION": (
        "`rukpakctl catalog install`, on a BundleDeployment",
        "The package of a catalog that it was installed from, for `rukpakctl catalog outdated`.",
    ),
    "CATALOG_CHANNEL_ANNOTATION": (
        "the same",
        "The channel that upgrades follow. Change it to follow another.",
    ),
    "CATALOG_VERSION_ANNOTATION": ("the same", "The version that was asked for."),
    "CATALOG_BUNDLE_ANNOTATION": ("the same", "The name of the bundle that was asked for."),
    "CERTIFICATE_EXPIRY_ANNOTATION": (
        "operator, on Secrets that it makes for a bundle's webhooks",
        "When the serving certificate expires. It is rotated when a third of its life is left.",
    ),
    "TRUSTED_SINCE_ANNOTATION": (
        "operator, on Secrets that it makes for a bundle's webhooks, during a rotation",
        "Since when every caller trusts the next CA. The next certificate is served a minute later.",
    ),
    "INJECT_CA_ANNOTATION": (
        "`--certificates operator`, on webhook configurations and CRDs",
        "`namespace/name` of the Secret whose CA the API server has to trust.",
    ),
    "ORDERED_DELETION_FINALIZER": (
        (
            "operator, on BundleDeployments whose content has custom resources, Namespaces, PersistentVolumeClaims,"
            " PersistentVolumes, CRDs, or hooks for its deletion, and on those that depend on others or that others"
            " depend on"
        ),
        (
            "Custom resources are deleted first, then CRDs, then everything else, Namespaces last; hooks before and"
            " after that."
        ),
    ),
    "UPSTREAM_BUNDLE_FINALIZER": (
        "the original RukPak, on Bundles",
        "Never set. The operator removes it from Bundles that the original left.",
    ),
}
MARKS_HEADER = """\
## Labels, annotations and finalizers

To reconcile a BundleDeployment now:

```sh
kubectl annotate bundledeployment NAME core.rukpak.io/reconcile-at="$(date +%s)" --overwrite
```

To install what a branch, a tag or a URL has now:

```sh
kubectl annotate bundledeployment NAME core.rukpak.io/refresh-at="$(date +%s)" --overwrite
```

| name | kind | who sets it, and where | meaning |
| --- | --- | --- | --- |"""


def marks() -> str:
    return "\n".join([MARKS_HEADER, *(_mark(constant) for constant in _constants()), ""])


def _constants() -> Iterator[str]:
    """Those of our own group, in the order of the module."""
    for constant, value in vars(names).items():
        if constant.endswith(tuple(KINDS)) and str(value).startswith(f"{names.GROUP}/"):
            yield constant


def _mark(constant: str) -> str:
    kind = next(kind for suffix, kind in KINDS.items() if constant.endswith(suffix))
    where, meaning = MARKS[constant]
    return f"| `{getattr(names, constant)}` | {kind} | {where} | {meaning} |"
