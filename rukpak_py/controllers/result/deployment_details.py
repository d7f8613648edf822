"""Details of facts about an installation: what its objects cannot be applied for, and what is waited for."""

from rukpak_py.api.names import ALLOW_DATA_LOSS_ANNOTATION
from rukpak_py.controllers.result.bundle_details import NOT_CORRECTED
from rukpak_py.controllers.result.progress import Detail, Objects, Words
from rukpak_py.core.text import counted, joined, named

NOT_FOUND = "required resource not found: "
WAITED_FOR = 10  # objects that a message about a wait names
GOING = 5  # objects that a message about a deletion names

SUSPENDED = Words(words="spec.suspend is true: nothing is applied, corrected or pruned")
ACCOUNT_REQUIRED = Words(
    words="no service account is named, and the operator, in its mode narrow, acts as no other: nothing is read, "
    "applied, corrected, pruned or deleted until spec.installNamespace and spec.serviceAccountName name one, or the "
    "operator has a default (--default-service-account)"
)
REFETCHING = Words(words="Re-fetching bundle content")
RENDERING = Words(words="Rendering bundle content")
RENDERING_LOST = Words(
    words="the rendering that was installed is lost, and rendering the chart again gives different objects"
    f"{NOT_CORRECTED}change spec.template or spec.config to render it anew"
)
OPTIONS_LOST = Words(
    words="the options that the active bundle was installed with are lost, because status.history has only their "
    "digest: nothing is corrected until the bundle of the template is installed"
)
ORDER_NOT_KEPT = Words(
    words="with foreground deletion the garbage collector deletes at once: the order of deletion cannot be kept"
)
STATUS_TOO_LARGE = Words(
    words="the object is too large for the API server with its whole status, so status.history has no templates and "
    "values: shorten spec.config, annotations or the template"
)


class ClassNotServed(Detail, frozen=True, kw_only=True):
    class_name: str

    def text(self, _: Objects, /) -> str:
        return (
            f'this operator does not serve the class "{self.class_name}"; nothing is applied, corrected or pruned '
            "until spec.provisionerClassName names a class that is served"
        )


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
            *self._missing_rights(),
            *(f"{one}; repair or remove it" for one in self.broken),
        ]
        kept = f"objects of the kinds {', '.join(sorted(self.kinds))} are left as they are until then"
        return joined([*parts, kept, *([self.rest.text(objects)] if self.rest is not None else [])])

    def _missing_rights(self) -> list[str]:
        return [f"a right is missing: {one}; grant that user the verbs list and watch on it" for one in self.denied]


class MissingWatchRights(ExplainedKinds, frozen=True, kw_only=True):
    """The same of an operator with few rights. `rights`: each refusal, and how to give the right."""

    rights: tuple[tuple[str, str], ...]

    def _missing_rights(self) -> list[str]:
        return [f"a right is missing: {refusal}; {grant}" for refusal, grant in self.rights]


class AccountMissing(Detail, frozen=True, kw_only=True):
    account: str

    def text(self, _: Objects, /) -> str:
        return (
            f"ServiceAccount {self.account} does not exist: nothing is applied, corrected or pruned until it does. "
            "Create it, or name another one in spec.serviceAccountName"
        )


class NotDeletedInOrder(Detail, frozen=True, kw_only=True):
    """A deletion whose account is gone, or lacks a right. The way out stands before why: long lines are cut."""

    account: str
    deployment: str
    why: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return (
            f"waiting for rights of service account {self.account}: give them back, or run kubectl rukpak release "
            f"{self.deployment}, which leaves the rest to the garbage collector: {joined(self.why)}"
        )


# Waits


class Applying(Detail, frozen=True, kw_only=True):
    number: int

    def text(self, _: Objects, /) -> str:
        return f"Applying {counted(self.number)}"


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


class ChangedObjects(Detail, frozen=True, kw_only=True):
    """Answers of the server about objects that another client changed or deleted while they were applied."""

    answers: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        return f"Waiting: another client changes what is being applied; trying again: {joined(self.answers)}"


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
        return (
            f"the deletion waits, because it would delete what others have: {'; '.join(self.losses)}. Delete or move "
            f'that, or set the annotation {ALLOW_DATA_LOSS_ANNOTATION}: "true" on the BundleDeployment'
        )


class Orphaned(Detail, frozen=True, kw_only=True):
    def text(self, objects: Objects, /) -> str:
        return (
            f"left {counted(len(objects))} in the cluster, as a deletion that orphans asks: {named(objects)}; "
            "a BundleDeployment of the same name takes them again"
        )
