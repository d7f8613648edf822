"""The operator's settings: flags, and the same names as environment variables `RUKPAK_…`; flags win.

The names that the original had are kept where the thing still exists.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Never

from rukpak_py import __version__
from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import CLUSTER_DOMAIN, CONTENT_SERVICE, DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.upgrades import Approval
from rukpak_py.controllers.deployment.lookups import FLAG
from rukpak_py.core.limits import DEFAULT_LIMITS, LIMIT_NAMES, Limits, description_of, parse_limit
from rukpak_py.kube.config import SERVICE_ACCOUNT
from rukpak_py.operator import flag_values as values
from rukpak_py.operator.unpack_settings import add_unpack_flags, pod_settings
from rukpak_py.server.listener import Address
from rukpak_py.sources.addresses import Network, parse_networks
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.image.reference import parse_registries
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
    parser = _parser(environ)
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


class _Parser(argparse.ArgumentParser):
    """One line for what is wrong: in the log of a pod the usage, 60 flags long, would bury it."""

    def error(self, message: str) -> Never:
        self.exit(2, f"error: {' '.join(message.split())}; {self.prog} --help lists the flags\n")


class _FromVariable(str):
    """A default that an environment variable has set."""

    __slots__ = ()


def _parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rukpak-operator",
        description="Unpacks Bundles and installs BundleDeployments.",
        epilog="Every flag can be given as an environment variable: --log-level as RUKPAK_LOG_LEVEL, and so on.",
    )
    parser.add_argument("--version", action="version", version=f"rukpak-py {__version__}")

    def add(flag: str, default: object, about: str, *, type: Callable[[str], object] = str, **more: object) -> None:  # noqa: A002 - as argparse has it
        variable = "RUKPAK_" + flag.lstrip("-").replace("-", "_").upper()

        def read(text: str) -> object:
            try:
                return type(str(text))  # not the subclass, which orjson refuses
            except argparse.ArgumentTypeError as error:
                if not isinstance(text, _FromVariable):
                    raise
                raise argparse.ArgumentTypeError(f"{error} (from the variable {variable})") from error

        given = environ.get(variable)
        chosen = _FromVariable(given) if given else default
        parser.add_argument(flag, default=chosen, type=read, help=f"{about} (default: {default or 'none'})", **more)  # type: ignore[arg-type]

    add(
        "--system-namespace",
        _own_namespace(),
        "namespace of the operator: of the ConfigMaps of Bundles, its Secrets and its Lease",
        type=values.namespace,
    )
    add(
        "--mode",
        Mode.CLASSIC,
        "classic: BundleDeployments without a service account are served with the operator's own rights; narrow: they "
        "are refused, and the operator needs few rights (the chart has both); the admission policies of the cluster "
        "say the same",
        type=values.one_of(*Mode),
    )
    add(
        "--default-service-account",
        "",
        "name of the service account of BundleDeployments that name none: in spec.installNamespace, else in the system "
        "namespace; the admission policies of the cluster say the same",
        type=values.account,
    )
    add(
        "--least-approval",
        Approval.AUTOMATIC,
        "least spec.upgrades.approval with which a user without the verb approve may create a BundleDeployment: "
        "Automatic, WhenSafe or Manual; the admission policies of the cluster say the same",
        type=values.one_of(*Approval),
    )
    add(
        "--default-install-namespace",
        "",
        "namespace of objects that name none, of BundleDeployments without spec.installNamespace; without it the "
        "system namespace. What is installed moves when it changes",
        type=values.optional_namespace,
    )
    add(
        "--cluster-domain",
        CLUSTER_DOMAIN,
        "domain of the Services of the cluster, for the certificates that the operator makes",
        type=values.domain,
    )
    add(
        "--leader-elect",
        "false",
        "lead only while holding the Lease core.rukpak.io",
        type=values.flag,
        nargs="?",
        const=True,
    )
    add("--provisioner-storage-dir", "/var/cache/bundles", "directory of unpacked content", type=Path)
    add("--upload-storage-dir", "/var/cache/uploads", "directory of uploaded content", type=Path)
    add("--http-bind-address", ":8443", "address of content and uploads, over TLS", type=values.address)
    add(
        "--http-external-address",
        "",
        "URL under which clients reach --http-bind-address, the beginning of status.contentURL; without it the Service "
        "in a cluster, and localhost elsewhere",
        type=values.url,
    )
    add(
        "--page",
        "false",
        "serve the page at /ui/ of --http-bind-address, to users whose bearer token comes with each request (see "
        "docs/page.md)",
        type=values.flag,
        nargs="?",
        const=True,
    )
    add("--page-troubleshooting-url", "", "URL of docs/troubleshooting.md, where you serve it, for links of the page")
    add("--health-probe-bind-address", ":8081", "address of /healthz and /readyz", type=values.address)
    add("--metrics-bind-address", ":8080", "address of /metrics", type=values.address)
    add(
        "--per-object-metrics",
        "true",
        "export metrics of each Bundle and BundleDeployment; false: only how many there are (see docs/metrics.md)",
        type=values.flag,
        nargs="?",
        const=True,
    )
    add("--webhook-bind-address", ":9443", "address of the admission webhooks", type=values.address)
    add(
        "--webhook-url",
        "",
        "URL at which the API server reaches the webhooks, when the operator does not run in the cluster",
    )
    add(
        "--webhook-client-ca",
        None,
        "file with the certificates, in PEM, of the authority that signs the API server's client certificate; with it "
        "only reviews of a client with such a certificate are answered (see docs/webhooks.md)",
        type=Path,
    )
    add(
        "--webhook-client-names",
        "",
        "common names of that client certificate, separated by commas, one of which it must have; without them it may "
        "have any",
        type=values.names,
    )
    add(
        "--shutdown-delay",
        "0",
        "seconds for which the webhooks are served at least after SIGTERM; in a cluster, where clients learn late that "
        "this replica stops, a few",
        type=values.delay,
    )
    add(
        "--kubeconfig",
        None,
        "kubeconfig file; without it KUBECONFIG, the service account of the pod, or ~/.kube/config",
        type=Path,
    )
    add(
        "--allow-source-addresses",
        "",
        "addresses and networks, separated by commas, that http and git sources may fetch from although they are "
        "loopback, link-local or metadata addresses",
        type=values.parsed(parse_networks),
    )
    add(
        "--plain-http-registries",
        "",
        "registries of images (HOST or HOST:PORT), separated by commas, that are asked without TLS where they have "
        "none, as those on loopback are",
        type=values.parsed(parse_registries),
    )
    add(
        "--bind-secrets-to-hosts",
        "false",
        "send a Secret that a source names only to hosts in its annotation core.rukpak.io/hosts; without it a Warning "
        "names what would be refused; always in mode narrow",
        type=values.flag,
        nargs="?",
        const=True,
    )
    add(
        "--allow-plain-http-credentials",
        "false",
        "send the credentials of git and http sources over http too, where everybody on the way can read them",
        type=values.flag,
        nargs="?",
        const=True,
    )
    add_unpack_flags(add)
    add("--helm", "", "path of the helm that renders charts; without it the one on PATH")
    add(
        "--hook-timeout",
        "300",
        "seconds in which a hook of a chart must end; a Job with a longer activeDeadlineSeconds has that time",
        type=values.hook_timeout,
    )
    add(
        "--reapply-interval",
        "86400",
        "seconds after which everything of a BundleDeployment is applied again, also what looks unchanged; 0 for never",
        type=values.interval,
    )
    add(
        FLAG,
        "",
        "namespaces, separated by commas, whose Secrets the templates of every chart may look up, beside those of the "
        "namespace of its release; * for all of them",
        type=values.lookup_namespaces,
    )
    add("--log-level", "info", "debug, info, warning or error", type=values.one_of("debug", "info", "warning", "error"))
    add("--log-format", "text", "text or json", type=values.one_of("text", "json"))
    for name in LIMIT_NAMES:
        flag = f"--limit-{name.replace('_', '-')}"
        add(flag, str(getattr(DEFAULT_LIMITS, name)), f"limit: {description_of(name)}", type=values.parsed(parse_limit))
    return parser


def _own_namespace() -> str:
    try:
        return (SERVICE_ACCOUNT / "namespace").read_text().strip() or DEFAULT_SYSTEM_NAMESPACE
    except OSError:
        return DEFAULT_SYSTEM_NAMESPACE
