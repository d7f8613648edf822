"""Details of facts about an installation: obstacles, changes to its objects, and what lasts beside it."""

from rukpak_py.apply.ownership import adopted
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.result.progress import Detail, Objects, Words
from rukpak_py.core.text import counted, joined, named

NOT_FOUND = "required resource not found: "
WAITED_FOR = 10  # objects that a message about a wait names
GENERATED = 5  # values of Secrets that a message about a refused upgrade names
GOING = 5  # objects that a message about a deletion names

SUSPENDED = Words(words=messages.SUSPENDED)
REFETCHING = Words(words=messages.REFETCHING)
RENDERING = Words(words=messages.RENDERING)
RENDERING_LOST = Words(words=messages.RENDERING_LOST)
OPTIONS_LOST = Words(words=messages.OPTIONS_LOST)
ORDER_NOT_KEPT = Words(
    words="with foreground deletion the garbage collector deletes at once: the order of deletion cannot be kept"
)
STATUS_TOO_LARGE = Words(words=messages.STATUS_TOO_LARGE)


class ClassNotServed(Detail, frozen=True, kw_only=True):
    class_name: str

    def text(self, _: Objects, /) -> str:
        return messages.class_not_served(self.class_name)


# Objects that cannot be applied, and why


class ObjectFailures(Detail, frozen=True, kw_only=True):
    """One statement for each object, which names it and says what to do."""

    messages: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return joined(self.messages)


class MissingResources(ObjectFailures, frozen=True, kw_only=True):
    """The same where a kind or a namespace is gone."""

    def text(self, _: Objects, /) -> str:
        return NOT_FOUND + joined(self.messages)


class PruneFailures(ObjectFailures, frozen=True, kw_only=True):
    def text(self, _: Objects, /) -> str:
        return f"could not prune: {joined(self.messages)}"


class HiddenKinds(Detail, frozen=True, kw_only=True):
    unserved: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()

    def text(self, _: Objects, /) -> str:
        parts = [
            f"the API server {problem} {', '.join(sorted(kinds))} at the moment"
            for problem, kinds in (("does not serve", self.unserved), ("cannot list", self.unlisted))
            if kinds
        ]
        return f"{' and '.join(parts)}: objects of these kinds are left as they are until it does"


class ExplainedKinds(Detail, frozen=True, kw_only=True):
    """Kinds that cannot be seen, and why. `denied`: each a refusal of the server. `broken`: API services.

    `rest`: those of which no reason is known.
    """

    denied: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    kinds: tuple[str, ...]
    rest: HiddenKinds | None = None

    def text(self, objects: Objects, /) -> str:
        parts = [
            *(f"a right is missing: {one}; grant that user the verbs list and watch on it" for one in self.denied),
            *(f"{one}; repair or remove it" for one in self.broken),
        ]
        kept = f"objects of the kinds {', '.join(sorted(self.kinds))} are left as they are until then"
        return joined([*parts, kept, *([self.rest.text(objects)] if self.rest is not None else [])])


# Waits


class Applying(Detail, frozen=True, kw_only=True):
    number: int

    def text(self, _: Objects, /) -> str:
        return messages.applying(self.number)


class KindsToCome(Detail, frozen=True, kw_only=True):
    kinds: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        kinds = ", ".join(sorted(self.kinds))
        return f"Waiting: the API server does not serve {kinds} yet, which the bundle brings"


class NewSchema(Detail, frozen=True, kw_only=True):
    """Answers of the server about objects of kinds whose CRDs were changed."""

    answers: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return f"Waiting: the API server does not know the new schema yet: {joined(self.answers)}"


class SlowAnswers(Detail, frozen=True, kw_only=True):
    """`request`: the slowest of the last look; empty: none was that slow. `left`: objects that are still to come."""

    request: str
    seconds: int
    left: int

    def text(self, _: Objects, /) -> str:
        example = f": {self.request} took {self.seconds} s" if self.request else ""
        return (
            f"Waiting: the API server, or an admission webhook that it asks, answers slowly{example}; "
            f"{counted(self.left, 'object')} still to be written. Look at the admission webhooks for these objects"
        )


class PendingObjects(Detail, frozen=True, kw_only=True):
    """Objects that are waited for, in words of the stage that waits."""

    waits: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return f"Waiting: {'; '.join(self.waits[:WAITED_FOR])}"


class GoingObjects(Detail, frozen=True, kw_only=True):
    """`objects`: names, with what holds them. `left`: instances that hold a CRD. `hidden`: kinds that are not seen."""

    what: str
    objects: tuple[str, ...]
    left: tuple[str, ...] = ()
    hidden: HiddenKinds | None = None

    def text(self, objects: Objects, /) -> str:
        going = f"waiting for {counted(len(self.objects), self.what)} to be deleted: {named(self.objects, GOING)}"
        hidden = [self.hidden.text(objects)] if self.hidden is not None else []
        return "; ".join([going, *self.left, *hidden])


class DataLoss(Detail, frozen=True, kw_only=True):
    """`losses`: what of others a deletion would delete, each with what it is in or of."""

    losses: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return messages.data_loss(self.losses)


class Orphaned(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return messages.orphaned(objects)


# Health and what left the bundle


class Unhealthy(Detail, frozen=True, kw_only=True):
    """`lines`: one for each object that is not healthy, of `total`. `example`: the worst of them."""

    lines: tuple[str, ...]
    total: int
    example: str

    def text(self, _: Objects, /) -> str:
        return messages.unhealthy_text(self.lines, self.total, self.example)


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
    def text(self, objects: Objects, /) -> str:
        return messages.held_back(objects)


class OverBudget(Detail, frozen=True, kw_only=True):
    most: int

    def text(self, objects: Objects, /) -> str:
        return messages.over_budget(objects, self.most)


class KeptObject(Detail, frozen=True, kw_only=True, omit_defaults=True):
    group: str = ""
    kind: str
    namespace: str
    name: str
    reason: str


class Kept(Detail, frozen=True, kw_only=True):
    kept: tuple[KeptObject, ...]

    def text(self, _: Objects, /) -> str:
        return messages.kept_text(self.kept)


class Copied(Detail, frozen=True, kw_only=True):
    """Objects that carry the marks of the deployment and were not applied for it."""

    def text(self, objects: Objects, /) -> str:
        return messages.copied(objects)


class Shared(Detail, frozen=True, kw_only=True):
    """The deployments that have the objects, in their order; `gone`: those of them that do not exist."""

    owners: tuple[str, ...]
    gone: tuple[str, ...] = ()

    def text(self, objects: Objects, /) -> str:
        return messages.shared(dict(zip(objects, self.owners, strict=True)), self.gone)


class SharedDiffers(Shared, frozen=True, kw_only=True):
    """The same, and they are not as this deployment would have them."""

    def text(self, objects: Objects, /) -> str:
        return messages.shared_differs(dict(zip(objects, self.owners, strict=True)), self.gone)


class SharedUnowned(Detail, frozen=True, kw_only=True):
    """Objects that another deployment had for this one, and does not have any more."""

    def text(self, objects: Objects, /) -> str:
        return messages.shared_unowned(objects)


class ReducedHistory(Detail, frozen=True, kw_only=True):
    """`line`: as `history_size.reduced_text` has it."""

    line: str

    def text(self, _: Objects, /) -> str:
        return self.line


class UnmatchedOverride(Detail, frozen=True, kw_only=True):
    """An entry of `spec.overrides`; `line`: as `messages.unmatched_overrides` has it."""

    line: str

    def text(self, _: Objects, /) -> str:
        return self.line


class ContestedFields(Detail, frozen=True, kw_only=True):
    """The field managers that keep changing each object, in the order of the objects."""

    managers: tuple[tuple[str, ...], ...]

    def text(self, objects: Objects, /) -> str:
        return messages.kept_changing(dict(zip(objects, self.managers, strict=True)))


class ContestedCertificates(ContestedFields, frozen=True, kw_only=True):
    """The same of Secrets with serving certificates, and of what carries their CA."""

    def text(self, objects: Objects, /) -> str:
        return messages.certificates_kept_changing(dict(zip(objects, self.managers, strict=True)))


# What has happened to objects


class RevertedDrift(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return messages.reverted_drift(objects)


class Pruned(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return f"deleted {named(objects)}, no longer in the bundle"


class Released(Detail, frozen=True, kw_only=True):
    """`why`: what says that they stay; empty: they existed before, or outlive the deployment for another reason."""

    why: str = ""

    def text(self, objects: Objects, /) -> str:
        return messages.released(objects, self.why)


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
