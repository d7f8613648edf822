"""Values of charts that stand in Secrets and ConfigMaps: what `spec.config.valuesFrom` refers to, found and digested.

With an account they are in its namespace and are read with its rights, else in the system namespace. A namespace other
than that one is recorded: values that move are other values.

Found before an attempt is made, because their digests are part of its options: other values are other options, and go
the way of every upgrade. What they hold is in memory as long as the deployment is there, and nowhere else: it is kept
out of all that is said about the deployment (`SecretMask`).

What is missing or wrong is an `error` and not an exception: what is installed is kept meanwhile.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment, RecordedValues
from rukpak_py.api.install_options import recognised
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import HELM_CLASS
from rukpak_py.controllers.deployment.facts import error_fact
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.ports import DigestKeys, ValuesObject, ValuesObjects
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import VALUES_ERRORS
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import joined
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.formats.helm.settings import ValuesReference, place, references_of
from rukpak_py.kube.client import Client


class ValuesMissingError(UnavailableError):
    """A Secret, a ConfigMap or a key of one is not there; a watch shows when it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundValues:
    """Values in the order of the references, without missing optional ones. With an `error` both are empty, and
    `objects` are the Secrets and ConfigMaps that it is about.
    """

    recorded: tuple[RecordedValues, ...] = ()
    documents: tuple[ValuesDocument, ...] = ()
    error: RukPakError | None = None
    objects: tuple[ObjectKey, ...] = ()


NO_VALUES = FoundValues()


def values_fact(error: RukPakError, objects: tuple[ObjectKey, ...]) -> Fact:
    """A watch shows when what is missing is there."""
    fact = dataclasses.replace(error_fact(VALUES_ERRORS, error), objects=objects)
    return dataclasses.replace(fact, cause=Cause.VALUES_MISSING) if isinstance(error, ValuesMissingError) else fact


class ExternalValues:
    def __init__(
        self, objects: ValuesObjects, keys: DigestKeys, states: DeploymentStates, *, identities: Identities
    ) -> None:
        self._objects = objects
        self._keys = keys
        self._identities = identities
        self._states = states

    async def of(self, deployment: BundleDeployment, state: DeploymentState) -> FoundValues:
        spec, about = deployment.spec, tuple[ObjectKey, ...]()
        try:
            references = references_of(spec.config or {}) if spec.provisioner_class == HELM_CLASS else ()
            account = self._identities.account_of(deployment)
            if state.values.refer_to(frozenset(_object(one, account) for one in references)):
                self._retain()
            if not references:
                return NO_VALUES
            client = self._identities.client_of(deployment)
            answers = list[ValuesDocument | str]()
            for one in references:
                about = (self._key(one, account),)
                answers.append(await self._document(one, account, client))
            pairs = list(zip(references, answers, strict=True))
            about = tuple(dict.fromkeys(self._key(one, account) for one, answer in pairs if _is_missing(one, answer)))
            found, about = _demanded(pairs), ()
            key = await self._keys.get()
        except RukPakError as error:
            return FoundValues(error=error, objects=about)
        if state.has_ended:  # while its values were read
            self._retain()
            return NO_VALUES
        state.mask.learn(deployment, (document for reference, document in found if reference.is_secret))
        installed = installed_of(deployment.status)
        options = installed.entry.options if installed is not None and installed.entry is not None else None
        namespace = self._namespace_of(account)
        elsewhere = namespace if namespace != self._identities.system_namespace else ""
        digested = [_digested(reference, document, key, namespace=elsewhere) for reference, document in found]
        state.values.latest = recognised(digested, options.values_from if options is not None else ())
        return FoundValues(recorded=state.values.latest, documents=tuple(document for _, document in found))

    def drop_former(self, deployment: BundleDeployment, state: DeploymentState, *, is_proven: bool) -> None:
        """Forget what was read as another account than the spec names now, and everything while none may be used."""
        account = self._identities.account_of(deployment)
        kept = frozenset(one for one in state.values.objects if one.account == account and (is_proven or not account))
        if kept != state.values.objects:
            state.values.objects = kept
            self._retain()

    def ended(self, _uid: str) -> None:
        """Forget the objects that no other deployment refers to."""
        self._retain()

    def _retain(self) -> None:
        self._objects.retain(frozenset[ValuesObject]().union(*(state.values.objects for state in self._states)))

    def _namespace_of(self, account: Account | None) -> str:
        return account.namespace if account is not None else self._identities.system_namespace

    def _key(self, reference: ValuesReference, account: Account | None) -> ObjectKey:
        return ObjectKey("", reference.kind, self._namespace_of(account), reference.name)

    async def _document(
        self, reference: ValuesReference, account: Account | None, client: Client
    ) -> "ValuesDocument | str":
        """Read the document; where it is missing, return a sentence that says so."""
        name = self._key(reference, account)
        data = await self._objects.read(_object(reference, account), client)
        if data is None:
            return f"{name} does not exist; create it, or set optional to true"
        if reference.key not in data:
            return f'{name} has no key "{reference.key}"; add it, or set key to one that it has'
        return ValuesDocument(document=data[reference.key], origin=f"{name}, key {reference.key}", is_secret=True)


Found = list[tuple[ValuesReference, ValuesDocument]]


def _is_missing(reference: ValuesReference, answer: ValuesDocument | str) -> bool:
    return isinstance(answer, str) and not reference.is_optional


def _demanded(pairs: Sequence[tuple[ValuesReference, ValuesDocument | str]]) -> Found:
    missing = [f"{place(number)}: {pair[1]}" for number, pair in enumerate(pairs) if _is_missing(*pair)]
    if missing:
        raise ValuesMissingError(joined(missing))
    return [(reference, answer) for reference, answer in pairs if isinstance(answer, ValuesDocument)]


def _object(one: ValuesReference, account: Account | None) -> ValuesObject:
    return ValuesObject(one.kind, one.name, account)


def _digested(one: ValuesReference, document: ValuesDocument, key: DigestKey, *, namespace: str) -> RecordedValues:
    """The name takes part: equal values of two objects must not look equal. `namespace` empty: the system namespace."""
    value = document.document if isinstance(document.document, bytes) else b""
    place = [namespace.encode()] if namespace else []
    digest = key.digest(b"values", one.kind.encode(), one.name.encode(), one.key.encode(), value, *place)
    return RecordedValues(kind=one.kind, name=one.name, key=one.key, digest=digest, namespace=namespace)
