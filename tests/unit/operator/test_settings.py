"""Flags, the same names in the environment, and one line for what does not fit."""

from ipaddress import ip_network
from pathlib import Path

import pytest

from rukpak_py.api.accounts import Mode
from rukpak_py.api.upgrades import Approval
from rukpak_py.core.limits import LIMIT_NAMES, Limits
from rukpak_py.operator.settings import read_settings
from rukpak_py.server.listener import Address
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.image.unpack_methods import ImageUnpack
from rukpak_py.sources.logins import LoginPolicy

NOTHING: dict[str, str] = {}

FITTING = [
    ("--system-namespace", "other", "system_namespace", "other"),
    ("--leader-elect", "true", "leader_elect", True),
    ("--provisioner-storage-dir", "/data", "storage_dir", Path("/data")),
    ("--upload-storage-dir", "/up", "upload_dir", Path("/up")),
    ("--http-bind-address", "127.0.0.1:4", "content", Address(host="127.0.0.1", port=4)),
    ("--http-external-address", "https://rukpak.example.com:8/", "content_url", "https://rukpak.example.com:8"),
    ("--health-probe-bind-address", "127.0.0.1:1", "probes", Address(host="127.0.0.1", port=1)),
    ("--metrics-bind-address", "[::1]:2", "metrics", Address(host="::1", port=2)),
    ("--per-object-metrics", "false", "per_object_metrics", False),
    ("--page", "true", "page", True),
    ("--page-troubleshooting-url", "https://h/t", "page_troubleshooting", "https://h/t"),
    ("--webhook-bind-address", ":3", "webhook", Address(host=None, port=3)),
    ("--webhook-url", "https://h:1", "webhook_url", "https://h:1"),
    ("--shutdown-delay", "2.5", "shutdown_delay", 2.5),
    ("--kubeconfig", "/k", "kubeconfig", Path("/k")),
    (
        *("--allow-source-addresses", "127.0.0.0/8, ::1", "allow_source_addresses"),
        (ip_network("127.0.0.0/8"), ip_network("::1")),
    ),
    ("--plain-http-registries", "a:5000, b.lan", "plain_http_registries", frozenset({"a:5000", "b.lan"})),
    ("--allow-plain-http-credentials", "true", "logins", LoginPolicy(allow_plain_http_credentials=True)),
    ("--bind-secrets-to-hosts", "true", "logins", LoginPolicy(bind_secrets_to_hosts=True)),
    ("--image-unpack", "pod", "image_unpack", ImageUnpack.POD),
    ("--hook-timeout", "60", "hook_timeout", 60.0),
    ("--reapply-interval", "0", "reapply_interval", 0.0),
    ("--log-level", "debug", "log_level", "debug"),
    ("--mode", "narrow", "mode", Mode.NARROW),
    ("--default-install-namespace", "apps", "default_namespace", "apps"),
    ("--cluster-domain", "corp.example", "cluster_domain", "corp.example"),
    ("--least-approval", "WhenSafe", "least_approval", Approval.WHEN_SAFE),
    ("--log-format", "json", "log_format", "json"),
]
WRONG = [
    ("--system-namespace", "Not_A_Name"),
    ("--system-namespace", "a" * 64),
    ("--leader-elect", "perhaps"),
    ("--health-probe-bind-address", "8081"),
    ("--metrics-bind-address", ":65536"),
    ("--per-object-metrics", "some"),
    ("--page", "perhaps"),
    ("--webhook-bind-address", "host:"),
    ("--http-external-address", "http://plain.example.com"),
    ("--http-external-address", "https://h/path"),
    ("--shutdown-delay", "-1"),
    ("--shutdown-delay", "21"),
    ("--shutdown-delay", "nan"),
    ("--allow-source-addresses", "localhost"),
    ("--allow-source-addresses", "10.0.0.1/8"),
    ("--plain-http-registries", "http://a"),
    ("--plain-http-registries", "a/b"),
    ("--allow-plain-http-credentials", "perhaps"),
    ("--bind-secrets-to-hosts", "git.example.com"),
    ("--image-unpack", "pods"),
    ("--hook-timeout", "0"),
    ("--reapply-interval", "1d"),
    ("--hook-timeout", "5m"),
    ("--hook-timeout", "86401"),
    ("--unpack-pods", "delete"),
    ("--unpack-pull-policy", "Never"),
    ("--unpack-image", "Not An Image"),
    ("--unpack-pod-pull-secrets", "Not_A_Name"),
    ("--image-platform", "windows/amd64"),
    ("--image-platform", "amd64"),
    ("--unpack-pod-node-selector", "no-value"),
    ("--unpack-pod-node-selector", "a b=c"),
    ("--unpack-pod-tolerations", "{}"),
    ("--unpack-pod-tolerations", "[1]"),
    ("--unpack-pod-resources", "[]"),
    ("--unpack-pod-resources", "{"),
    ("--log-level", "verbose"),
    ("--mode", "wide"),
    ("--default-install-namespace", "Not_A_Name"),
    ("--cluster-domain", ".corp"),
    ("--cluster-domain", "a" * 151),
    ("--least-approval", "manual"),
    ("--log-level", "DEBUG"),
    ("--log-format", "xml"),
    ("--limit-archive-bytes", "0"),
    ("--limit-archive-bytes", "-1"),
    ("--limit-archive-bytes", "64Mi"),
]


def variable(flag: str) -> str:
    return "RUKPAK_" + flag.removeprefix("--").replace("-", "_").upper()


def test_nothing_has_to_be_given() -> None:
    settings = read_settings([], NOTHING)
    assert settings.system_namespace == "rukpak-system"
    assert settings.limits == Limits()
    assert (settings.leader_elect, settings.kubeconfig, settings.webhook_url) == (False, None, "")
    assert settings.pod_name.startswith("local-")


@pytest.mark.parametrize(("flag", "text", "name", "value"), FITTING)
def test_every_setting_is_a_flag_and_a_variable(flag: str, text: str, name: str, value: object) -> None:
    assert getattr(read_settings([f"{flag}={text}"], NOTHING), name) == value
    assert getattr(read_settings([flag, text], NOTHING), name) == value
    assert getattr(read_settings([], {variable(flag): text}), name) == value


def test_settings_of_unpack_pods_are_read_from_flags_and_the_environment() -> None:
    given = {
        "--unpack-pods": "keep",
        "--unpack-pull-policy": "IfNotPresent",
        "--unpack-image": "example.com/tool:1",
        "--unpack-pod-pull-secrets": "one, two",
        "--image-platform": "linux/arm64",
        "--unpack-pod-node-selector": "disk=ssd, example.com/zone=",
        "--unpack-pod-tolerations": '[{"key": "a", "operator": "Exists"}]',
        "--unpack-pod-resources": '{"limits": {"memory": "1Gi"}}',
    }
    wanted = PodSettings(
        tool_image="example.com/tool:1",
        platform=Platform(os="linux", architecture="arm64"),
        keep=True,
        pull_policy="IfNotPresent",
        pull_secrets=("one", "two"),
        node_selector={"disk": "ssd", "example.com/zone": ""},
        tolerations=[{"key": "a", "operator": "Exists"}],
        resources={"limits": {"memory": "1Gi"}},
    )
    assert read_settings([f"{flag}={text}" for flag, text in given.items()], NOTHING).unpack_pods == wanted
    assert read_settings([], {variable(flag): text for flag, text in given.items()}).unpack_pods == wanted


@pytest.mark.parametrize(
    ("arguments", "policy"),
    [
        ([], ""),
        (["--mode=narrow"], "Always"),
        (["--mode=narrow", "--unpack-pull-policy=IfNotPresent"], "IfNotPresent"),
        (["--unpack-pull-policy=Always"], "Always"),
    ],
)
def test_nodes_always_ask_the_registry_in_mode_narrow_unless_a_flag_says_otherwise(
    arguments: list[str], policy: str
) -> None:
    assert read_settings(arguments, NOTHING).unpack_pods.pull_policy == policy


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_every_limit_is_a_flag_and_a_variable(name: str) -> None:
    flag = "--limit-" + name.replace("_", "-")
    for settings in (read_settings([flag, "7"], NOTHING), read_settings([], {variable(flag): "7"})):
        assert getattr(settings.limits, name) == 7


def test_no_address_is_allowed_by_an_empty_flag() -> None:
    assert read_settings(["--allow-source-addresses="], NOTHING).allow_source_addresses == ()
    assert read_settings([], NOTHING).allow_source_addresses == ()


def test_a_flag_wins_over_the_environment() -> None:
    assert read_settings(["--log-level", "error"], {"RUKPAK_LOG_LEVEL": "debug"}).log_level == "error"


@pytest.mark.parametrize("flag", [flag for flag, *_ in FITTING])
def test_an_empty_variable_says_nothing(flag: str) -> None:
    assert read_settings([], {variable(flag): ""}) == read_settings([], NOTHING)


@pytest.mark.parametrize(("flag", "text"), WRONG)
@pytest.mark.parametrize("way", ["flag", "variable"])
def test_unfitting_values_end_with_one_line(flag: str, text: str, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_settings([f"{flag}={text}"], NOTHING) if way == "flag" else read_settings([], {variable(flag): text})
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: argument {flag}: ")
    assert told.endswith("; rukpak-operator --help lists the flags\n")
    assert told.count("\n") == 1
    assert text in told
    assert (f"(from the variable {variable(flag)})" in told) == (way == "variable")


def test_a_wrong_variable_does_not_count_beside_its_flag() -> None:
    assert read_settings(["--log-level", "error"], {"RUKPAK_LOG_LEVEL": "verbose"}).log_level == "error"


@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["stray"], ["stray\nline"], ["--log-level"]])
def test_unknown_arguments_end_with_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_settings(arguments, NOTHING)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert arguments[0].split()[0] in told


@pytest.mark.parametrize(("arguments", "leads"), [(["--leader-elect"], True), (["--leader-elect=false"], False)])
def test_a_switch_may_stand_alone(arguments: list[str], *, leads: bool) -> None:
    assert read_settings(arguments, NOTHING).leader_elect is leads


def test_help_tells_defaults_and_variables(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_settings(["--help"], NOTHING)
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "RUKPAK_LOG_LEVEL" in text
    assert "(default: :8081)" in text


def test_the_pod_is_known_from_its_own_variables() -> None:
    settings = read_settings([], {"POD_NAME": "core-1", "POD_IP": "10.0.0.1"})
    assert (settings.pod_name, settings.pod_address) == ("core-1", "10.0.0.1")


@pytest.mark.parametrize(
    ("arguments", "pod", "url"),
    [
        ([], "10.0.0.1", "https://core.rukpak-system.svc"),
        (["--system-namespace=other"], "10.0.0.1", "https://core.other.svc"),
        ([], "", "https://localhost:8443"),
        (["--http-bind-address=127.0.0.1:7"], "", "https://localhost:7"),
        (["--http-external-address=https://c.example.com"], "10.0.0.1", "https://c.example.com"),
    ],
)
def test_the_external_url_follows_from_flags_and_the_pod_address(arguments: list[str], pod: str, url: str) -> None:
    assert read_settings(arguments, {"POD_IP": pod}).external_url == url


def test_clients_of_the_webhook_are_read_from_flags_and_the_environment() -> None:
    assert (read_settings([], {}).webhook_client_ca, read_settings([], {}).webhook_client_names) == (None, frozenset())
    names = {"RUKPAK_WEBHOOK_CLIENT_NAMES": "kube-apiserver, system:admin,"}
    settings = read_settings(["--webhook-client-ca=/ca.crt"], names)
    assert settings.webhook_client_ca == Path("/ca.crt")
    assert settings.webhook_client_names == {"kube-apiserver", "system:admin"}


def test_names_of_clients_need_their_authority(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_settings(["--webhook-client-names=kube-apiserver"], {})
    assert "argument --webhook-client-names: it needs --webhook-client-ca, too" in capsys.readouterr().err


def test_mode_narrow_binds_secrets_to_hosts() -> None:
    assert read_settings(["--mode=narrow"], NOTHING).logins.bind_secrets_to_hosts
    assert not read_settings(["--mode=classic"], NOTHING).logins.bind_secrets_to_hosts
