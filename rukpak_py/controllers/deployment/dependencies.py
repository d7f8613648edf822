"""Which deployments depend on which, by `spec.dependsOn`, and what that makes wait.

* What a deployment brings is applied for the first time once all its dependencies are Ready; an upgrade waits, too.
  What has begun goes on, and drift is corrected whatever becomes of them.
* Deployments that are deleted together go in reverse order. A dependent that stays holds nothing back, nor does one in
  a cycle with the deployment, and none for longer than `HELD_SECONDS`: it may belong to another tenant.
* All of it is read from the cache. Events wake those that wait; nothing polls.
* Of a dependency its name is told, and whether it is Ready: it may belong to another tenant.
"""

from collections.abc import Iterable

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionStatus, ConditionType
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.facts import in_seconds, look_again
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import read_clock
from rukpak_py.controllers.result.dependency_details import DependentsLeft, UnmetDependencies
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

HELD_SECONDS = 300.0  # that a deletion waits for dependents
TOGETHER_SECONDS = 2.0  # between the requests of a client that deletes several


class Dependencies:
    def __init__(self, deployments: Cache[BundleDeployment]) -> None:
        self._deployments = deployments
        self._dependents: dict[str, set[str]] = {}  # names, by the name that they depend on
        self._known: dict[str, frozenset[str]] = {}  # dependencies, by name

    # The index

    def seen(self, deployment: BundleDeployment) -> None:
        self._replace(deployment.metadata.name, dependencies_of(deployment))

    def gone(self, deployment: BundleDeployment) -> None:
        if deployment.metadata.name not in self._deployments:  # else another one has the name by now
            self._replace(deployment.metadata.name, frozenset())

    def dependents_of(self, name: str) -> frozenset[str]:
        return frozenset(self._dependents.get(name, ()))

    def have_order(self, deployment: BundleDeployment) -> bool:
        """Whether its deletion may have to wait for others, or others for it."""
        return bool(deployment.spec.depends_on) or bool(self._dependents.get(deployment.metadata.name))

    def _replace(self, name: str, names: frozenset[str]) -> None:
        former = self._known.pop(name, frozenset())
        if names:
            self._known[name] = names
        for one in former - names:
            self._dependents[one].discard(name)
            if not self._dependents[one]:
                del self._dependents[one]
        for one in names - former:
            self._dependents.setdefault(one, set()).add(name)

    # What waits

    def unmet(self, deployment: BundleDeployment) -> Fact | None:
        """Fact about dependencies that an installation waits for; None: all are Ready."""
        cycle = self._in_cycle(deployment)
        others = sorted(dependencies_of(deployment) - cycle)
        missing = tuple(name for name in others if name not in self._deployments)
        unready = tuple(name for name in others if name not in missing and not self._is_ready(name))
        if not (cycle or missing or unready):
            return None
        detail = UnmetDependencies(
            deployment=deployment.metadata.name, cycle=tuple(sorted(cycle)), missing=missing, unready=unready
        )
        wakes = {key_of(name) for name in (*missing, *unready)}
        if cycle:
            wakes |= {key_of(name) for name in self._reached_from(cycle)}  # any of them may leave it
        cause = Cause.DEPENDENCY_NOT_READY
        if cycle or missing:
            cause = Cause.DEPENDENCY_CYCLE if cycle else Cause.DEPENDENCY_MISSING
        return Fact(cause=cause, detail=detail, wakes=frozenset(wakes))

    def first_install_waits(self, deployment: BundleDeployment) -> Fact | None:
        status = deployment.status
        has_begun = status.history or status.kinds or status.hooks or status.running_hook
        return None if has_begun or not deployment.spec.depends_on else self.unmet(deployment)

    def unusable(self, deployment: BundleDeployment) -> Fact | None:
        """Note of what is installed: its next upgrade could never begin."""
        fact = self.unmet(deployment) if deployment.spec.depends_on else None
        if fact is None or fact.cause is Cause.DEPENDENCY_NOT_READY:
            return None
        return Fact(cause=Cause.DEPENDENCY_UNUSABLE, detail=fact.detail, wakes=fact.wakes)

    def deletion_waits(self, deployment: BundleDeployment) -> Fact | None:
        """Fact about dependents that are deleted first; those that may be about to be are awaited for a moment."""
        deleted_for = read_clock().seconds_since(deployment.metadata.deletion_timestamp or "")
        cycle = self._reached_from(dependencies_of(deployment))
        names = sorted(self.dependents_of(deployment.metadata.name) - cycle - {deployment.metadata.name})
        found = [one for one in map(self._deployments.get, names) if one is not None]
        going = tuple(one.metadata.name for one in found if one.metadata.is_deleted)
        if going and deleted_for < HELD_SECONDS:
            return Fact(
                cause=Cause.DELETING,
                detail=DependentsLeft(names=going),
                at=in_seconds(HELD_SECONDS - deleted_for),
                wakes=frozenset(map(key_of, going)),
            )
        if found and not going and deleted_for < TOGETHER_SECONDS:
            return look_again(TOGETHER_SECONDS - deleted_for)
        return None

    def _is_ready(self, name: str) -> bool:
        found = self._deployments.get(name)
        return found is not None and is_ready(found)

    def _in_cycle(self, deployment: BundleDeployment) -> frozenset[str]:
        """Its dependencies that depend on it in turn."""
        name = deployment.metadata.name
        return frozenset(one for one in dependencies_of(deployment) if one == name or name in self._reached_from({one}))

    def _reached_from(self, names: Iterable[str]) -> frozenset[str]:
        """These, what they depend on, and so on."""
        reached, left = set[str](), list(names)
        while left:
            name = left.pop()
            if name not in reached:
                reached.add(name)
                left += self._known.get(name, ())
        return frozenset(reached)


def dependencies_of(deployment: BundleDeployment) -> frozenset[str]:
    return frozenset(one.name for one in deployment.spec.depends_on)


def is_ready(deployment: BundleDeployment) -> bool:
    """Whether it is Ready with its spec as it is now. While an upgrade of it waits, it is Ready with what it had."""
    ready = find_condition(deployment.status.conditions, ConditionType.READY)
    is_observed = deployment.status.observed_generation == deployment.metadata.generation
    is_true = ready is not None and ready.status == ConditionStatus.TRUE
    is_upgraded = deployment.status.pending_upgrade is None
    return is_true and is_observed and is_upgraded and not deployment.metadata.is_deleted


def may_end_waits(deployment: BundleDeployment) -> bool:
    """Whether its event is news for deployments that wait for it: it is Ready, or has another spec."""
    return is_ready(deployment) or deployment.status.observed_generation != deployment.metadata.generation


def key_of(name: str) -> ObjectKey:
    return BUNDLE_DEPLOYMENTS.key("", name)
