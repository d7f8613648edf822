"""Details of facts about the objects of a deployment: health, what left the bundle, and what has happened to them."""

from collections.abc import Collection, Sequence

from rukpak_py.api.bundle_deployment import KeptReason
from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.api.install_options import matches
from rukpak_py.apply.ownership import adopted
from rukpak_py.controllers.result.progress import Detail, Objects
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import NAMED, counted, named

GENERATED = 5  # values of Secrets that a message about a refused upgrade names

# Health and what left the bundle


class Unhealthy(Detail, frozen=True, kw_only=True):
    """`lines`: one for each object that is not healthy, of `total`. `example`: of the worst, its cause first."""

    lines: tuple[str, ...]
    total: int
    example: str

    def text(self, _: Objects, /) -> str:
        if len(self.lines) == 1:
            return self.lines[0]  # upstream's text
        return "\n".join([self._count, *self.lines])

    def brief(self, _: Objects, /) -> str:
        return self.example if len(self.lines) == 1 else self._count

    @property
    def _count(self) -> str:
        return f"{len(self.lines)} of {counted(self.total)} are not healthy: {self.example}"


class HalfUpgraded(Detail, frozen=True, kw_only=True):
    """An upgrade of which `done` of the `total` objects are in the cluster as `wanted` has them.

    `examples`: some that it wrote.
    """

    done: int
    total: int
    examples: tuple[str, ...]
    installed: str
    wanted: str

    def text(self, _: Objects, /) -> str:
        count = f"all {self.total}" if self.done == self.total else f"{self.done} of {self.total}"
        more = f" and {self.done - len(self.examples)} more" if self.done > len(self.examples) else ""
        return (
            f"{count} objects are those of {self.wanted} ({', '.join(self.examples)}{more}); all others stay as "
            f"{self.installed} has them, drift of both is corrected, and nothing is pruned before the upgrade has ended"
        )


class HeldBack(Detail, frozen=True, kw_only=True):
    """Objects that are kept after some minutes of waiting for health."""

    def text(self, objects: Objects, /) -> str:
        are = "is" if len(objects) == 1 else "are"
        return (
            f"{counted(len(objects))} no longer in the bundle {are} kept until the new content is healthy: "
            f"{named(objects)}; set spec.prune.when to AfterApply to delete now"
        )


class OverBudget(Detail, frozen=True, kw_only=True):
    most: int

    def text(self, objects: Objects, /) -> str:
        are = "is" if len(objects) == 1 else "are"
        return (
            f"{counted(len(objects))} {are} no longer in the bundle, and spec.prune.maxObjects is {self.most}: "
            f"nothing was pruned; raise it to delete {named(objects)}"
        )


class KeptObject(Detail, frozen=True, kw_only=True, omit_defaults=True):
    group: str = ""
    kind: str
    namespace: str
    name: str
    reason: str


class Kept(Detail, frozen=True, kw_only=True):
    kept: tuple[KeptObject, ...]

    def text(self, _: Objects, /) -> str:
        names = (
            f"{_key(one)}{' (its instances are gone)' if one.reason == KeptReason.HAD_INSTANCES else ''}"
            for one in self.kept
        )
        return (
            f"kept {counted(len(self.kept))} no longer in the bundle: {named(names)}; deleted with the "
            'BundleDeployment; to delete earlier, set the annotation core.rukpak.io/prune: "true" on the object, or '
            "prune: true in spec.overrides"
        )


class Copied(Detail, frozen=True, kw_only=True):
    """Objects that carry the marks of the deployment and were not applied for it."""

    def text(self, objects: Objects, /) -> str:
        return (
            f"{named(objects)}: with the labels or the owner reference of this BundleDeployment and not applied for "
            "it, as copies have them; left alone. Remove them (the garbage collector deletes what has the owner "
            "reference with the BundleDeployment)"
        )


class Shared(Detail, frozen=True, kw_only=True):
    """The deployments that have the objects, in their order; `gone`: those of them that do not exist."""

    owners: tuple[str, ...]
    gone: tuple[str, ...] = ()

    def text(self, objects: Objects, /) -> str:
        return f"{self._of_owners(objects)}: in this bundle too, and the same; left as it is{self._taken_over_by}"

    def _of_owners(self, objects: Objects) -> str:
        return named(
            f"{key} belongs to BundleDeployment {owner}{', which does not exist' if owner in self.gone else ''}"
            for key, owner in sorted(zip(objects, self.owners, strict=True))
        )

    @property
    def _taken_over_by(self) -> str:
        return f". Where its owner does not exist, spec.adopt: {Adopt.IF_UNOWNED} takes it over" if self.gone else ""


class SharedDiffers(Shared, frozen=True, kw_only=True):
    """The same, and they are not as this deployment would have them."""

    def text(self, objects: Objects, /) -> str:
        return (
            f"{self._of_owners(objects)}, and not, or no longer, as this bundle has it; left as it is. "
            f"Install bundles with the same CRD in both{self._taken_over_by}"
        )


class SharedUnowned(Detail, frozen=True, kw_only=True):
    """Objects that another deployment had for this one, and does not have any more."""

    def text(self, objects: Objects, /) -> str:
        return (
            f"{named(sorted(objects))}: in this bundle too, and not, or no longer, managed by a BundleDeployment; "
            f"left as it is. spec.adopt: {Adopt.IF_UNOWNED} takes it over, {Adopt.FORCE} also from another tool"
        )


class ReducedHistory(Detail, frozen=True, kw_only=True):
    """`line`: of `changes.reduced_text`."""

    line: str

    def text(self, _: Objects, /) -> str:
        return self.line


class UnmatchedOverride(Detail, frozen=True, kw_only=True):
    """An entry of `spec.overrides`; `line`: of `unmatched_overrides`."""

    line: str

    def text(self, _: Objects, /) -> str:
        return self.line


def unmatched_overrides(
    overrides: Sequence[Override], keys: Collection[ObjectKey], install_namespace: str
) -> list[str]:
    """A line for each entry of `spec.overrides` that is about none of these objects."""
    found = [
        f"spec.overrides[{number}] ({_key(one)}) matches no object of the bundle and no kept object; "
        "check kind, namespace and name, or remove the entry"
        for number, one in enumerate(overrides)
        if not any(matches(one, key, install_namespace=install_namespace) for key in keys)
    ]
    more = len(found) - NAMED
    return [*found[:NAMED], *([f"spec.overrides[]: {more} more entries match nothing"] if more > 0 else [])]


class UnmatchedPatches(Detail, frozen=True, kw_only=True):
    """Entries of `spec.patches`: each with its place and its target."""

    entries: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return (
            f"{named(self.entries)}: no object of the bundle matches; check group, kind, namespace, name and labels, "
            "or remove the entry"
        )


class ContestedFields(Detail, frozen=True, kw_only=True):
    """The field managers that keep changing each object, in the order of the objects."""

    managers: tuple[tuple[str, ...], ...]

    def text(self, objects: Objects, /) -> str:
        return (
            f"{self._each(objects)}; reverting at most once a minute. Stop it, remove the field from the bundle, or "
            "name it in spec.overrides[].ignore"
        )

    def _each(self, objects: Objects) -> str:
        return "; ".join(
            f"{' and '.join(managers) or 'another client'} {'keep' if len(managers) > 1 else 'keeps'} changing {key}"
            for key, managers in sorted(zip(objects, self.managers, strict=True))
        )


class ContestedCertificates(ContestedFields, frozen=True, kw_only=True):
    """The same of Secrets with serving certificates, and of what carries their CA."""

    def text(self, objects: Objects, /) -> str:
        return (
            f"{self._each(objects)}; its serving certificate or caBundle is restored at most once a minute, and until "
            "then the API server cannot call the webhook. Stop it"
        )


# What has happened to objects


class RevertedDrift(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return f"reverted drift on {counted(len(objects))}: {named(objects)}"


class Pruned(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return f"deleted {named(objects)}, no longer in the bundle"


class Released(Detail, frozen=True, kw_only=True):
    """`why`: what says that they stay; empty: they existed before, or outlive the deployment for another reason."""

    why: str = ""

    def text(self, objects: Objects, /) -> str:
        why = f" ({self.why})" if self.why else ""
        return f"left {named(objects)} in the cluster, no longer managed{why}"


class Replaced(Detail, frozen=True, kw_only=True):
    why: str

    def text(self, objects: Objects, /) -> str:
        return f"deleted and re-created {named(objects)}: {self.why}"


class Adopted(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return adopted(objects)


class GeneratedValues(Detail, frozen=True, kw_only=True):
    """`keys`: of Secrets, as messages name them; `entries`: as the configuration lists them, in the same order.

    `error`: why what is installed cannot be rendered once more, so that nothing tells which of them are generated.
    """

    keys: tuple[str, ...]
    entries: tuple[str, ...]
    error: str = ""

    def text(self, _: Objects, /) -> str:
        why = f" (what is installed cannot be rendered to compare: {self.error})" if self.error else ""
        keep = "to keep them, set them in spec.config.values or spec.config.valuesFrom"
        accept = f"to accept new ones, set spec.config.acceptNewSecrets: [{', '.join(self.entries)}]"
        what = "values that may be generated" if self.error else "generated values"
        return f"{what} would be replaced: {named(self.keys, most=GENERATED)}; {keep}; {accept}{why}"


class RenewedCertificates(Detail, frozen=True, kw_only=True):
    """`keys`: of Secrets."""

    keys: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return f"generated certificates and private keys are renewed: {named(self.keys)}"


class Withdrawn(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return f"deleted {named(sorted(objects))}, created by the installation that was refused"


def _key(one: KeptObject | Override) -> ObjectKey:
    return ObjectKey(one.group, one.kind, one.namespace, one.name)
