"""Permissions that the account of a deployment needs, for users who give them to it.

They are those of what the template asks for, and those of what is installed: an upgrade also corrects and prunes that.
Where there is no report, `report_errors` says why.
"""

import msgspec

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.permissions.installer import Needs, rules_by_scope
from rukpak_py.apply.permissions.permission import Json, Permission, reduced
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.external_values import ExternalValues, values_fact
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.permission_review import PermissionReview, lookup_permissions, values_permissions
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.report_errors import MayImpersonate, check_reader, error_of, error_of_bundle
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES

Found = tuple[list[tuple[Attempt, Rendered]], RukPakError | None]  # or why there is none


class PermissionReport(msgspec.Struct, frozen=True, kw_only=True):
    """Rules are by namespace; the empty one is the whole cluster.

    `namespaces`: those that the content brings. `watched`: the operator's own needs, to see what is installed, and
    `unwatched`: those of them that it lacks; an operator with wide rights has none. `is_complete`: else the wanted
    content cannot be rendered yet, as long as the account may not read values, or what templates look up.
    """

    account: Account | None  # None: the deployment has none, and the operator's rights
    namespaces: list[str]
    rules: dict[str, list[Json]]
    missing: dict[str, list[Json]]
    operator: Account
    watched: dict[str, list[Json]]
    unwatched: dict[str, list[Json]]
    is_complete: bool


class PermissionReports:
    def __init__(
        self,
        identities: Identities,
        client: Client,
        *,
        deployments: Cache[BundleDeployment],
        states: DeploymentStates,
        templates: Templates,
        values: ExternalValues,
        attempts: AttemptFactory,
        rendering: RenderingStage,
        review: PermissionReview,
    ) -> None:
        self._identities = identities
        self._client = client
        self._deployments = deployments
        self._states = states
        self._templates = templates
        self._values = values
        self._attempts = attempts
        self._rendering = rendering
        self._review = review

    async def of(self, name: str, may_impersonate: MayImpersonate) -> PermissionReport | None:
        """None: there is no such deployment."""
        deployment = self._deployments.get(name)
        state = self._states.of(deployment.metadata.uid) if deployment is not None else None
        if deployment is None or state is None:
            return None
        await check_reader(self._identities, deployment, state, may_impersonate)
        found, failure = await self._found(deployment, state)
        needed = {*values_permissions(state.values.objects), *lookup_permissions(state.lookups)}
        missing = set(await self._unread(deployment, needed))
        if failure is not None and not missing:
            raise failure
        watched, namespaces = set[Permission](), set[str]()
        for attempt, rendered in found:
            needs = self._review.needs(attempt, rendered)
            needed |= needs.least
            watched |= needs.watched if self._identities.is_narrow else frozenset()
            if attempt.account is not None:
                lacking = await self._review.missing(attempt, rendered, None, self._identities.client_of(deployment))
                missing |= lacking.missing if lacking is not None else frozenset()
            namespaces |= {key.name for key in rendered.keys if key.group_kind == NAMESPACES.group_kind}
        return PermissionReport(
            account=self._identities.account_of(deployment),
            namespaces=sorted(namespaces),
            rules=rules_by_scope(reduced(needed)),
            missing=rules_by_scope(reduced(missing)),
            operator=self._identities.own,
            watched=rules_by_scope(watched),
            unwatched=rules_by_scope(await self._unwatched(watched)),
            is_complete=failure is None and found[0][0].is_wanted,
        )

    async def _unread(self, deployment: BundleDeployment, needed: set[Permission]) -> frozenset[Permission]:
        """Permissions that the account lacks to read values, and what templates look up."""
        account = self._identities.account_of(deployment)
        if account is None or not needed:
            return frozenset()
        needs = Needs(permissions=frozenset(needed))
        return await missing_permissions(self._identities.client_of(deployment), needs, namespace=account.namespace)

    async def _unwatched(self, watched: set[Permission]) -> frozenset[Permission]:
        if not watched:
            return frozenset()
        needs = Needs(permissions=frozenset(watched))
        return await missing_permissions(self._client, needs, namespace=self._identities.system_namespace)

    async def _found(self, deployment: BundleDeployment, state: DeploymentState) -> Found:
        try:
            contents = await self._contents(deployment, state)
            return [(attempt, await self._rendered(attempt, state)) for attempt in contents], None
        except RukPakError as error:
            return [], error

    async def _rendered(self, attempt: Attempt, state: DeploymentState) -> Rendered:
        rendered = await self._rendering.rendered(attempt)
        if isinstance(rendered, Rendered):
            return rendered
        raise error_of(rendered.facts, state.mask)

    async def _contents(self, deployment: BundleDeployment, state: DeploymentState) -> list[Attempt]:
        """The wanted content, and the installed one where it is another."""
        values = await self._values.of(deployment, state)
        bundle, active = self._templates.find(deployment, state.template_hash(deployment)), None
        installed = self._templates.active(deployment)
        if installed is not None and installed.status.digest:
            active = self._attempts.active(deployment, installed, state, values)
        if bundle is None or not bundle.status.is_unpacked or values.error is not None:
            if active is not None:
                return [active]
            if values.error is None:
                raise error_of_bundle(bundle)
            raise error_of([values_fact(values.error, values.objects)], state.mask)
        wanted = self._attempts.wanted(deployment, bundle, state, values)
        return [wanted, *([active] if active is not None and active.content != wanted.content else [])]
