"""One attempt to bring content into the cluster, or to keep it: for whom, which content, and with which options.

The wanted content has the options of the spec, the installed one those that it was installed with. Values that were
found belong to the options that have their digests, and to no others.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import structs

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, CompletedObject, Installation, InstallOutcome
from rukpak_py.api.install_options import InstallOptions, identities, installed_options, options_of, records_config
from rukpak_py.api.installed import Installed, installed_of
from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.marks import Owner
from rukpak_py.controllers.deployment.external_values import NO_VALUES, FoundValues
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.kinds import recorded_kinds
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.state_parts import ContentFacts, ContentKey, Subject
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.by_class import Classes, is_nondeterministic
from rukpak_py.formats.format import ChartRenderer
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.kube.resources import NAMESPACES

HAVE_FAILED = frozenset({InstallOutcome.FAILED, InstallOutcome.ROLLED_BACK})  # to install these again is no way back


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """`install_namespace` empty: the content chooses.

    `makes_namespace`: the install namespace is ours to create and keep. `values`: what the options know by digest.
    `is_wanted`: by the spec, and not only installed now or formerly. `undoes`: it goes back, because of this upgrade.
    """

    deployment: BundleDeployment
    bundle: Bundle
    options: InstallOptions
    install_namespace: str
    makes_namespace: bool
    state: DeploymentState
    values: tuple[ValuesDocument, ...] = ()
    is_wanted: bool = False
    undoes: RolledBack | None = None
    account: Account | None = None  # whose rights it has; None: the operator's

    @property
    def owner(self) -> Owner:
        return Owner.of(self.deployment, blocks_deletion=self.account is None)

    @property
    def is_leading(self) -> bool:
        """Whether it decides what is in the cluster next, and not only keeps what is installed."""
        return self.is_wanted or self.undoes is not None

    @cached_property
    def installed(self) -> Installed | None:
        """Installation in the status, which may have other content than this attempt."""
        return installed_of(self.deployment.status)

    @property
    def completed(self) -> tuple[CompletedObject, ...]:
        """Objects that have ended, as found last: an object may go before the status could be written."""
        return self.deployment.status.completed if self.state.completed is None else self.state.completed

    @property
    def facts(self) -> ContentFacts | None:
        """None: not rendered by this process yet."""
        return self.state.facts.get(self.content)

    @property
    def namespace(self) -> str:
        """Namespace of objects that name none."""
        return self.install_namespace or self.chosen_namespace

    @property
    def chosen_namespace(self) -> str:
        """Namespace that the rendered content chose; after a restart that of the status. Empty: it does not choose."""
        if self.facts is not None:
            return self.facts.namespace
        return "" if self.install_namespace else self.deployment.status.install_namespace

    @property
    def classes(self) -> Classes:
        return Classes(self.bundle.spec.provisioner_class, self.options.provisioner_class)

    @property
    def is_nondeterministic(self) -> bool:
        """A second rendering may give other objects, so the first one is kept."""
        return is_nondeterministic(self.classes)

    @property
    def lacks_values(self) -> bool:
        """Values that the options know by digest cannot be had any more: only a kept rendering says what they gave."""
        return len(self.values) < len(self.options.values_from)

    @property
    def content(self) -> ContentKey:
        """Key of the objects that are wanted."""
        bundle, deployment = self.classes
        return ContentKey(
            deployment=self.deployment.metadata.uid,
            digest=self.bundle.status.digest,
            install_namespace=self.install_namespace,
            makes_namespace=self.makes_namespace,
            prunes=self.deployment.spec.prune.enabled,
            options=structs.replace(self.options, install_namespace="", create_namespace=False).digest,
            bundle_class=bundle if bundle != deployment else "",
        )

    @property
    def subject(self) -> Subject:
        """Subject of an answer that holds: the same content, for the same account, judged as strictly."""
        return self.content, self.account, self.deployment.spec.crd_safety

    @property
    def warnings(self) -> dict[ObjectKey, str]:
        """Warnings of the gates that let this content pass, not told yet."""
        passed = (one for one in self.state.passed_gates.values() if one.subject == self.subject)
        return {key: text for one in passed for key, text in one.warnings.items()}

    @property
    def is_settled(self) -> bool:
        """Everything of this content, with these options, was applied."""
        return self.state.is_applied(self.content)

    @property
    def applies_all(self) -> bool:
        """Apply objects without a difference, too: a webhook may have changed one in a request of another client, which
        leaves no trace in `managedFields`.
        """
        return self.is_settled and bool(self.state.applied.again)

    @property
    def is_untouched(self) -> bool:
        """Whether no other content was applied since this one was: what differs is drift."""
        return self.state.is_untouched(self.content)

    def makes(self, obj: Object) -> bool:
        """Whether this is the install namespace that is ours; where content ships it, it is the content's, kept."""
        head = obj.head
        is_namespace = head.gvk.group_kind == NAMESPACES.group_kind and head.name == self.install_namespace
        return self.makes_namespace and is_namespace

    def of_bundle(self, bundle: Bundle) -> "Attempt":
        """The same with the content of another Bundle."""
        return replace(self, bundle=bundle, is_wanted=False)


def options_of_active(deployment: BundleDeployment) -> InstallOptions | None:
    """The options that what is installed was installed with. None: they are known by a digest only, and are lost."""
    installed, spec_options = installed_of(deployment.status), options_of(deployment.spec)
    if installed is None or installed.entry is None:
        return spec_options
    return installed_options(installed.entry, spec_options)


class AttemptFactory:
    def __init__(
        self,
        inventory: Inventory,
        has_namespace: Callable[[str], bool],
        identities: Identities,
        *,
        default_namespace: str = "",
    ) -> None:
        """`default_namespace`: of objects for which neither spec nor content names one. Empty: the system namespace."""
        self._inventory = inventory
        self._has_namespace = has_namespace
        self._identities = identities
        self._default_namespace = default_namespace or identities.system_namespace

    def wanted(
        self, deployment: BundleDeployment, bundle: Bundle, state: DeploymentState, found: FoundValues
    ) -> Attempt:
        options = structs.replace(options_of(deployment.spec), values_from=found.recorded)
        return replace(self._attempt(deployment, bundle, options, state, found), is_wanted=True)

    def active(
        self, deployment: BundleDeployment, bundle: Bundle, state: DeploymentState, found: FoundValues = NO_VALUES
    ) -> Attempt | None:
        """None: the options that it was installed with are lost."""
        options = options_of_active(deployment)
        return self._attempt(deployment, bundle, options, state, found) if options is not None else None

    def former(
        self,
        deployment: BundleDeployment,
        bundle: Bundle,
        entry: Installation,
        state: DeploymentState,
        found: FoundValues,
    ) -> Attempt | None:
        """Attempt of an entry of the history. None: its options are lost."""
        options = installed_options(entry, options_of(deployment.spec))
        return self._attempt(deployment, bundle, options, state, found) if options is not None else None

    def _attempt(
        self,
        deployment: BundleDeployment,
        bundle: Bundle,
        options: InstallOptions,
        state: DeploymentState,
        found: FoundValues,
    ) -> Attempt:
        chooses = bundle.spec.provisioner_class == REGISTRY_CLASS and not options.install_namespace
        namespace = "" if chooses else options.install_namespace or self._default_namespace
        known = self._inventory.get(NAMESPACES.key("", namespace))
        if known is not None:
            is_ours = known.owner_uid == deployment.metadata.uid
        else:  # after a restart the status says it until the watch does
            is_recorded = NAMESPACES.group_kind in recorded_kinds(deployment)
            is_ours = is_recorded and not self._inventory.is_listed(NAMESPACES.group_kind)
        return Attempt(
            deployment=deployment,
            bundle=bundle,
            options=options,
            install_namespace=namespace,
            makes_namespace=options.create_namespace and (is_ours or not self._has_namespace(namespace)),
            state=state,
            account=self._identities.account_of(deployment),
            values=found.documents if identities(found.recorded) == identities(options.values_from) else (),
        )


def is_rendering_of(entry: Installation, attempt: Attempt) -> bool:
    """Whether content and options are those of an entry of the history, as far as a rendering depends on them."""
    options = attempt.options
    return (
        entry.options is not None
        and entry.digest == attempt.bundle.status.digest
        and entry.options.install_namespace == options.install_namespace
        and records_config(entry.options, options.config)
        and identities(entry.options.values_from) == identities(options.values_from)
    )


def installed_entry(attempt: Attempt) -> Installation | None:
    """Entry of the installed content. None: the attempt is about other content."""
    entry = attempt.installed.entry if attempt.installed is not None else None
    if entry is None or entry.bundle != attempt.bundle.metadata.name or not is_rendering_of(entry, attempt):
        return None
    return entry


def former_entry(attempt: Attempt) -> Installation | None:
    """Latest entry of content that was installed before what is installed, where the attempt goes back to it."""
    installed = attempt.installed
    former = installed.history[1:] if installed is not None else ()
    if attempt.undoes is None:
        former = tuple(entry for entry in former if entry.outcome not in HAVE_FAILED)
    return next((entry for entry in former if is_rendering_of(entry, attempt)), None)


def is_of_former_release(attempt: Attempt) -> bool:
    """Whether it is what a release of the operator has installed that knew neither the cluster nor settings."""
    entry = installed_entry(attempt)
    return entry is not None and entry.renderer == ChartRenderer.OFFLINE


def installed_rendering(attempt: Attempt) -> str:
    """The digest of what is installed; empty when the attempt is about something else."""
    entry = installed_entry(attempt)
    return entry.rendering_digest if entry is not None else ""
