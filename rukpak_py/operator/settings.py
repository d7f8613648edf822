"""The operator's settings: flags, and the same names as environment variables `RUKPAK_…`; flags win.

The names that the original had are kept where the thing still exists.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import CONTENT_SERVICE
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.upgrades import Approval
from rukpak_py.core.limits import LIMIT_NAMES, Limits
from rukpak_py.operator.flags import flag_parser
from rukpak_py.operator.unpack_settings import pod_settings
from rukpak_py.server.listener import Address
from rukpak_py.sources.addresses import Network
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.image.unpack_methods import ImageUnpack
from rukpak_py.sources.logins import LoginPolicy


@dataclass(frozen=True, kw_only=True)
class Settings:
    system_namespace: str
    mode: Mode
    default_account: str
    least_approval: Approval
    default_install_namespace: str
    cluster_domain: str
    leader_elect: bool
    storage_dir: Path
    upload_dir: Path
    content: Address
    content_url: str
    page: bool
    page_troubleshooting: str
    probes: Address
    metrics: Address
    per_object_metrics: bool
    webhook: Address
    webhook_url: str
    webhook_client_ca: Path | None
    webhook_client_names: frozenset[str]
    shutdown_delay: float
    kubeconfig: Path | None
    log_level: str
    log_format: str
    pod_name: str
    pod_address: str
    allow_source_addresses: tuple[Network, ...]
    plain_http_registries: frozenset[str]
    logins: LoginPolicy
    image_unpack: ImageUnpack
    unpack_pods: PodSettings
    helm: str
    hook_timeout: float
    reapply_interval: float
    lookup_secrets_in: frozenset[str]
    limits: Limits

    @property
    def installation(self) -> Installation:
        """Values that the admission policies of the cluster depend on."""
        return Installation(
            system_namespace=self.system_namespace,
            mode=self.mode,
            default_account=self.default_account,
            least_approval=self.least_approval,
        )

    @property
    def default_namespace(self) -> str:
        """Where objects go for which neither their BundleDeployment nor their content names a namespace."""
        return self.default_install_namespace or self.system_namespace

    @property
    def external_url(self) -> str:
        """URL under which clients reach content and uploads."""
        if self.content_url:
            return self.content_url
        if self.pod_address:
            return f"https://{CONTENT_SERVICE}.{self.system_namespace}.svc"
        return f"https://localhost:{self.content.port}"


def read_settings(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> Settings:
    """Ends the process with one line and exit code 2 when something does not fit."""
    parser = flag_parser(environ)
    given = vars(parser.parse_args(arguments))
    if given["webhook_client_names"] and not given["webhook_client_ca"]:
        parser.error("argument --webhook-client-names: it needs --webhook-client-ca, too")
    limits = Limits(**{name: given[f"limit_{name}"] for name in LIMIT_NAMES})
    return Settings(
        system_namespace=given["system_namespace"],
        mode=Mode(given["mode"]),
        default_account=given["default_service_account"],
        least_approval=Approval(given["least_approval"]),
        default_install_namespace=given["default_install_namespace"],
        cluster_domain=given["cluster_domain"],
        leader_elect=given["leader_elect"],
        storage_dir=given["provisioner_storage_dir"],
        upload_dir=given["upload_storage_dir"],
        content=given["http_bind_address"],
        content_url=given["http_external_address"],
        page=given["page"],
        page_troubleshooting=given["page_troubleshooting_url"],
        probes=given["health_probe_bind_address"],
        metrics=given["metrics_bind_address"],
        per_object_metrics=given["per_object_metrics"],
        webhook=given["webhook_bind_address"],
        webhook_url=given["webhook_url"],
        webhook_client_ca=given["webhook_client_ca"],
        webhook_client_names=given["webhook_client_names"],
        shutdown_delay=given["shutdown_delay"],
        kubeconfig=given["kubeconfig"],
        log_level=given["log_level"],
        log_format=given["log_format"],
        pod_name=environ.get("POD_NAME") or f"local-{os.getpid()}",
        pod_address=environ.get("POD_IP", ""),
        allow_source_addresses=given["allow_source_addresses"],
        plain_http_registries=given["plain_http_registries"],
        logins=LoginPolicy(
            bind_secrets_to_hosts=given["bind_secrets_to_hosts"] or given["mode"] == Mode.NARROW,
            allow_plain_http_credentials=given["allow_plain_http_credentials"],
        ),
        image_unpack=ImageUnpack(given["image_unpack"]),
        unpack_pods=pod_settings(given),
        helm=given["helm"],
        hook_timeout=given["hook_timeout"],
        reapply_interval=given["reapply_interval"],
        lookup_secrets_in=given["lookup_secrets_in"],
        limits=limits,
    )
