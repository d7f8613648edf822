"""Verdicts and rows, from what the API server stores: the conditions of a Bundle or a BundleDeployment."""

from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, ConditionStatus, ConditionType, Reason
from rukpak_py.api.source import Source
from rukpak_py.diagnosis.model import DeploymentSummary, State, Verdict


def verdict_of(obj: Bundle | BundleDeployment | BundleInstance) -> Verdict:
    conditions = obj.status.conditions
    ready = find_condition(conditions, ConditionType.READY)
    if ready is None or obj.status.observed_generation < 0:
        return Verdict(state=State.DELETING if obj.metadata.is_deleted else State.UNKNOWN)
    stalled = find_condition(conditions, ConditionType.STALLED)
    return Verdict(
        state=_state(
            ready.status,
            ready.reason,
            is_deleted=obj.metadata.is_deleted,
            is_stalled=stalled is not None and stalled.status == ConditionStatus.TRUE,
            is_old=obj.status.observed_generation < obj.metadata.generation,
        ),
        reason=ready.reason,
        message=ready.message,
        since=ready.last_transition_time,
    )


def _state(status: str, reason: str, *, is_deleted: bool, is_stalled: bool, is_old: bool) -> State:
    if is_deleted:
        return State.DELETING
    if reason == Reason.SUSPENDED:
        return State.SUSPENDED
    if is_old:  # the status speaks of an older spec
        return State.PROGRESSING
    if is_stalled:
        return State.STALLED
    match status:
        case ConditionStatus.TRUE:
            return State.READY
        case ConditionStatus.FALSE:
            return State.FAILED
        case _:
            return State.PROGRESSING


def summary_of(deployment: BundleDeployment) -> DeploymentSummary:
    spec, status, owner = deployment.spec, deployment.status, deployment.metadata.controller
    source = spec.template.spec.source
    pending = status.pending_upgrade
    return DeploymentSummary(
        name=deployment.metadata.name,
        verdict=verdict_of(deployment),
        class_name=spec.provisioner_class,
        source=source.type,
        reference=reference_of(source),
        version=status.version,
        namespace=spec.install_namespace or status.install_namespace,
        account=spec.service_account_name,
        pending=(pending.version or pending.bundle) if pending is not None else "",
        created=deployment.metadata.creation_timestamp or "",
        instance=owner.name if owner is not None and owner.kind == BUNDLE_INSTANCE_KIND else "",
    )


def reference_of(source: Source) -> str:
    """The source in a line. What a URL holds as user name, password, query or fragment is left out."""
    if source.image is not None:
        return source.image.ref
    if source.git is not None:
        ref = source.git.ref
        return f"{_without_credentials(source.git.repository)} {ref.branch or ref.tag or ref.commit}".rstrip()
    if source.http is not None:
        return _without_credentials(source.http.url)
    return ", ".join(one.config_map.name for one in source.config_maps)


def _without_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", "")) if parts.scheme else url.rpartition("@")[2]


def selected(
    rows: Iterable[DeploymentSummary],
    *,
    search: str = "",
    namespace: str = "",
    class_name: str = "",
    states: Iterable[State] = (),
) -> list[DeploymentSummary]:
    """Rows that match everything that is given, sorted by name."""
    wanted, needle = frozenset(states), search.strip().lower()
    return sorted(
        (
            row
            for row in rows
            if (not namespace or row.namespace == namespace)
            and (not class_name or row.class_name == class_name)
            and (not wanted or row.verdict.state in wanted)
            and needle in f"{row.name}\n{row.reference}\n{row.version}\n{row.verdict.message}".lower()
        ),
        key=lambda row: row.name,
    )
