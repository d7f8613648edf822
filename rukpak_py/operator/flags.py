"""The operator's flags. Each can be given as an environment variable `RUKPAK_…`, too; the flag wins."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Never

from rukpak_py import __version__
from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import CLUSTER_DOMAIN, DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.api.upgrades import Approval
from rukpak_py.controllers.deployment.lookups import FLAG
from rukpak_py.core.limits import DEFAULT_LIMITS, LIMIT_NAMES, description_of, parse_limit
from rukpak_py.kube.config import SERVICE_ACCOUNT
from rukpak_py.operator import flag_values as values
from rukpak_py.operator.unpack_settings import add_unpack_flags
from rukpak_py.sources.addresses import parse_networks
from rukpak_py.sources.image.reference import parse_registries


class _Parser(argparse.ArgumentParser):
    """One line for what is wrong: in the log of a pod the usage, 60 flags long, would bury it."""

    def error(self, message: str) -> Never:
        self.exit(2, f"error: {' '.join(message.split())}; {self.prog} --help lists the flags\n")


class _FromVariable(str):
    """A default that an environment variable has set."""

    __slots__ = ()


def flag_parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
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
