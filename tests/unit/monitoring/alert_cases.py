"""Series that make each alert fire, and those that must not.

Values are in the notation of `promtool test rules`: one each minute from the first, `a+bxN` for N more that grow.
"""

from dataclasses import dataclass, field

Labels = dict[str, str]

RECONCILES = "rukpak_reconcile_duration_seconds_count"
REVIEWS = "rukpak_webhook_request_duration_seconds"
FETCHES = "rukpak_source_fetch_duration_seconds_count"
LAG = "rukpak_event_loop_lag_seconds_bucket"
REQUESTS = "rest_client_requests_total"
LABELS_OF_REQUESTS = 'verb="get", group="", resource="secrets", subresource="", job="core-metrics", instance="a"'
SHOP = {"kind": "BundleDeployment", "name": "shop"}
PENDING = "rukpak_resource_upgrade_pending_since_timestamp_seconds"
READY = 'rukpak_resource_ready{kind="BundleDeployment", name="shop"}'
BUILD = 'rukpak_build_info{version="0", python_version="3", kopf_version="1", job="core-metrics", instance="a"}'


@dataclass(frozen=True, kw_only=True)
class AlertCase:
    """`fires`: minutes, and the labels of the alert then; `silent`: minutes at which it does not fire.

    `value`: the value of the alert as its description has it.
    """

    alert: str
    series: dict[str, str]
    fires: dict[int, Labels] = field(default_factory=dict)
    silent: tuple[int, ...] = ()
    value: str = ""


def _histogram(name: str, labels: str, buckets: dict[str, str]) -> dict[str, str]:
    return {f'{name}{{{labels}, le="{bound}"}}': values for bound, values in buckets.items()}


STALLED = 'rukpak_resource_stalled{kind="BundleDeployment", name="shop"'


def _bundles(source: str, *ready: str) -> dict[str, str]:
    series = dict[str, str]()
    for at, values in enumerate(ready):
        name = f'kind="Bundle", name="b-{at}"'
        series[f'rukpak_resource_info{{{name}, class="c", source="{source}", version=""}}'] = "1x60"
        series[f"rukpak_resource_ready{{{name}}}"] = values
    return series


CASES = [
    AlertCase(
        alert="RukPakOperatorAbsent",
        series={BUILD: "1x10 _x20"},
        fires={22: {}},
        silent=(9, 14, 18),
    ),
    AlertCase(alert="RukPakOperatorAbsent", series={BUILD: "1x10 _x3 1x20"}, silent=(12, 14, 20, 30)),
    AlertCase(
        alert="RukPakNoLeader",
        series={'rukpak_leader{instance="a"}': "1x10 0x20", 'rukpak_leader{instance="b"}': "0x30"},
        fires={17: {}},
        silent=(9, 12, 14),
    ),
    # The leader is replaced again and again, and the next one leads within a minute.
    AlertCase(
        alert="RukPakNoLeader",
        series={'rukpak_leader{instance="a"}': "1 0 " * 15},
        silent=tuple(range(2, 30)),
    ),
    AlertCase(
        alert="RukPakReconcileErrors",
        series={
            f'{RECONCILES}{{kind="BundleDeployment", result="error"}}': "0+1x40",
            f'{RECONCILES}{{kind="BundleDeployment", result="done"}}': "0+4x40",
            f'{RECONCILES}{{kind="Bundle", result="error"}}': "0+1x40",
            f'{RECONCILES}{{kind="Bundle", result="done"}}': "0+100x40",
        },
        fires={30: {"kind": "BundleDeployment"}},
        silent=(8,),
        value="10",
    ),
    # An error now and then, where little is done.
    AlertCase(
        alert="RukPakReconcileErrors",
        series={
            f'{RECONCILES}{{kind="Bundle", result="error"}}': "0x4 1x4 2x4 3x4 4x4 5x4 6x4 7x4",
            f'{RECONCILES}{{kind="Bundle", result="done"}}': "0x40",
        },
        silent=(12, 22, 32),
    ),
    AlertCase(
        alert="RukPakReconcileBug",
        series={f'{RECONCILES}{{kind="Bundle", result="bug"}}': "0x5 1x60"},
        fires={7: {"kind": "Bundle"}},
        silent=(5, 50),
    ),
    AlertCase(
        alert="RukPakEventLoopSlow",
        series=_histogram(
            LAG,
            'job="core-metrics", instance="a"',
            {"0.1": "0+90x40", "0.5": "0+100x40", "1.0": "0+100x40", "+Inf": "0+100x40"},
        ),
        fires={30: {"job": "core-metrics", "instance": "a"}},
        silent=(10,),
        value="460ms",
    ),
    AlertCase(
        alert="RukPakWatchSilent",
        series={
            'rukpak_watch_last_event_timestamp_seconds{group="", resource="secrets", reader="informer", selector="", '
            'job="core-metrics", instance="a"}': "0x40",
            'rukpak_watch_last_event_timestamp_seconds{group="", resource="configmaps", reader="informer", '
            'selector="", job="core-metrics", instance="a"}': "0+60x40",
        },
        fires={17: {"job": "core-metrics", "instance": "a", "resource": "secrets"}},
        silent=(9, 13),
        value="17m 0s",
    ),
    AlertCase(
        alert="RukPakApiServerErrors",
        series={
            BUILD: "1x40",
            f'{REQUESTS}{{{LABELS_OF_REQUESTS}, code="200"}}': "0+80x40",
            f'{REQUESTS}{{{LABELS_OF_REQUESTS}, code="503"}}': "0+10x40",
            f'{REQUESTS}{{{LABELS_OF_REQUESTS}, code="<error>"}}': "0+10x40",
            # Another program of the cluster has the same metric.
            'rest_client_requests_total{code="200", method="GET", job="kubelet", instance="b"}': "0+10000x40",
        },
        fires={25: {}},
        silent=(8,),
        value="20%",
    ),
    AlertCase(
        alert="RukPakApiServerErrors",
        series={
            BUILD: "1x40",
            f'{REQUESTS}{{{LABELS_OF_REQUESTS}, code="200"}}': "0+100x40",
            f'{REQUESTS}{{{LABELS_OF_REQUESTS}, code="404"}}': "0+50x40",
            'rest_client_requests_total{code="503", method="GET", job="kubelet", instance="b"}': "0+10000x40",
        },
        silent=(25, 39),
    ),
    AlertCase(
        alert="RukPakFetchesFailing",
        series={
            f'{FETCHES}{{source="image", result="failed"}}': "0+1x60",
            f'{FETCHES}{{source="image", result="unpacked"}}': "0+5x60",
            f'{FETCHES}{{source="git", result="failed"}}': "0x15 1x45",
        },
        fires={40: {"source": "image"}},
        silent=(10,),
        value="30",
    ),
    # One Bundle with a wrong reference.
    AlertCase(
        alert="RukPakFetchesFailing",
        series={
            f'{FETCHES}{{source="image", result="failed"}}': "0+1x60",
            **_bundles("image", "0x60", "1x60"),
        },
        silent=(20, 40, 59),
    ),
    AlertCase(
        alert="RukPakFetchesFailing",
        series={
            f'{FETCHES}{{source="git", result="failed"}}': "0+1x60",
            **_bundles("git", "0x60", "0x60", "1x60"),
        },
        fires={40: {"source": "git"}},
        value="30",
    ),
    AlertCase(
        alert="RukPakStoreNearlyFull",
        series={
            'rukpak_store_filesystem_free_bytes{store="bundles"}': "5x40",
            'rukpak_store_filesystem_size_bytes{store="bundles"}': "100x40",
            'rukpak_store_filesystem_free_bytes{store="uploads"}': "50x40",
            'rukpak_store_filesystem_size_bytes{store="uploads"}': "100x40",
        },
        fires={20: {"store": "bundles"}},
        silent=(10,),
        value="5%",
    ),
    AlertCase(
        alert="RukPakWebhookFailing",
        series={
            f'{REVIEWS}_count{{webhook="bundles", result="failed"}}': "0+1x40",
            f'{REVIEWS}_count{{webhook="bundles", result="gone"}}': "0+1x40",
            f'{REVIEWS}_count{{webhook="bundles", result="allowed"}}': "0+8x40",
            f'{REVIEWS}_count{{webhook="bundles", result="refused"}}': "0+900x40",  # of strangers
            f'{REVIEWS}_count{{webhook="crds", result="denied"}}': "0+10x40",
            f'{REVIEWS}_count{{webhook="crds", result="refused"}}': "0+90x40",
        },
        fires={25: {"webhook": "bundles"}},
        silent=(8,),
    ),
    AlertCase(
        alert="RukPakWebhookSlow",
        series=_histogram(
            f"{REVIEWS}_bucket",
            'webhook="bundles", result="allowed"',
            {"2.5": "0+50x40", "5.0": "0+50x40", "10.0": "0+100x40", "+Inf": "0+100x40"},
        ),
        fires={25: {"webhook": "bundles"}},
        silent=(8,),
        value="9.5s",
    ),
    AlertCase(
        alert="RukPakWebhookConfigurationWrong",
        series={"rukpak_webhook_configuration_ok": "1x10 0x20"},
        fires={17: {}},
        silent=(9, 14),
    ),
    # A replica that has just begun does not know yet.
    AlertCase(
        alert="RukPakWebhookConfigurationWrong",
        series={
            'rukpak_webhook_configuration_ok{instance="a"}': "1x30",
            'rukpak_webhook_configuration_ok{instance="b"}': "0x30",
        },
        silent=(10, 25),
    ),
    AlertCase(
        alert="RukPakCertificateExpiresSoon",
        series={
            'rukpak_certificate_expiry_timestamp_seconds{name="rukpak-serving"}': "868200x80",  # ten days and 70 min
            'rukpak_certificate_expiry_timestamp_seconds{name="rukpak-ca"}': "2592000x80",
        },
        fires={70: {"name": "rukpak-serving"}},
        silent=(50,),
        value="10d 0h 0m 0s",
    ),
    AlertCase(
        alert="RukPakServingCertificateExpiresSoon",
        series={
            "rukpak_serving_certificate_expiry_timestamp_seconds"
            '{deployment="shop", secret_namespace="web", secret="hooks"}': "868200x80",
        },
        fires={70: {"deployment": "shop", "secret_namespace": "web", "secret": "hooks"}},
        silent=(50,),
        value="10d 0h 0m 0s",
    ),
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={READY: "1x10 0x40"},
        fires={32: SHOP},
        silent=(10, 20, 28),
    ),
    # An object that is Ready from time to time.
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={READY: "0 0 0 1 " * 15},
        silent=(30, 45, 58),
    ),
    # Leadership moves to another replica, and no series is there for three minutes.
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={
            'rukpak_resource_ready{kind="BundleDeployment", name="shop", instance="a"}': "0x12 _x40",
            'rukpak_resource_ready{kind="BundleDeployment", name="shop", instance="b"}': "_x16 0x40",
        },
        fires={22: SHOP},
    ),
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={READY: "0x50", 'rukpak_resource_suspended{kind="BundleDeployment", name="shop"}': "1x50"},
        silent=(30, 49),
    ),
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={
            READY: "0x50",
            'rukpak_resource_stalled{kind="BundleDeployment", name="shop", reason="Conflict"}': "1x50",
            'rukpak_resource_ready{kind="Bundle", name="shop-1"}': "0x50",
        },
        silent=(30, 49),
    ),
    # Stalled in two of three scrapes, and with one reason after the other.
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={READY: "0x60", f'{STALLED}, reason="Conflict"}}': "1 1 _ " * 20},
        fires={30: SHOP, 59: SHOP},
    ),
    AlertCase(
        alert="RukPakDeploymentNotReady",
        series={
            READY: "0x60",
            f'{STALLED}, reason="Conflict"}}': "1 1 1 _ _ _ " * 10,
            f'{STALLED}, reason="ContentError"}}': "_ _ _ 1 1 1 " * 10,
        },
        fires={30: SHOP, 59: SHOP},
    ),
    AlertCase(
        alert="RukPakDeploymentStalled",
        series={'rukpak_resource_stalled{kind="BundleDeployment", name="shop", reason="RolledBack"}': "_x5 1x20"},
        fires={12: {**SHOP, "reason": "RolledBack"}},
        silent=(5, 9),
    ),
    AlertCase(
        alert="RukPakDeploymentStalled",
        series={
            'rukpak_resource_stalled{kind="BundleDeployment", name="shop", reason="RolledBack"}': "1x20",
            'rukpak_resource_suspended{kind="BundleDeployment", name="shop"}': "1x20",
        },
        silent=(15,),
    ),
    AlertCase(
        alert="RukPakUpgradeWaits",
        series={
            f'{PENDING}{{kind="BundleDeployment", name="shop", reason="NotApproved"}}': "-86000x40",
            f'{PENDING}{{kind="BundleDeployment", name="sunday", reason="OutsideWindow"}}': "-90000x40",
        },
        fires={30: {**SHOP, "reason": "NotApproved"}},
        silent=(5, 15),
        value="1d 0h 23m 20s",
    ),
]
