"""Details of facts about deployments that others depend on. Of those nothing but the names is told."""

from rukpak_py.controllers.result.progress import Detail, Objects
from rukpak_py.core.text import named


class UnmetDependencies(Detail, frozen=True, kw_only=True):
    """Names in `spec.dependsOn` of the deployment. `cycle`: those that depend on it in turn."""

    deployment: str
    cycle: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unready: tuple[str, ...] = ()

    def text(self, _: Objects, /) -> str:
        parts = []
        if self.cycle:
            parts.append(
                f"spec.dependsOn has a cycle: {self.deployment} depends on {named(self.cycle)}, and that, directly or "
                f"through others, on {self.deployment}; remove one of these dependencies"
            )
        if self.missing:
            parts.append(
                f"spec.dependsOn names {named(self.missing)}: no such BundleDeployment exists, or this operator does "
                "not serve its class; create it, or correct the name"
            )
        if self.unready:
            whose = "its spec as it is" if len(self.unready) == 1 else "their specs as they are"
            parts.append(
                f"waiting for spec.dependsOn: {named(self.unready)} {_are(self.unready)} not Ready with {whose} now"
            )
        return "; ".join(parts)


class DependentsLeft(Detail, frozen=True, kw_only=True):
    names: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return (
            f"waiting for {named(self.names)} to be deleted, which {'depends' if len(self.names) == 1 else 'depend'} "
            "on it; at most five minutes"
        )


def _are(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"
