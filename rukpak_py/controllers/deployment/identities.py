"""The identity with which a deployment is served: that of its account, as the live spec says at this moment.

No status, history entry or annotation is asked: others may write those. Nothing is written for a deployment whose
account does not exist.
"""

from collections.abc import Callable

from rukpak_py.api.accounts import Account, Mode, effective_account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.names import OPERATOR_ACCOUNT
from rukpak_py.apply.marks import Owner
from rukpak_py.core.errors import AccessError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError, NotFoundError
from rukpak_py.kube.resources import NAMESPACES, SERVICE_ACCOUNTS


class Identities:
    def __init__(
        self,
        client: Client,
        *,
        system_namespace: str,
        default_account: str = "",
        mode: Mode = Mode.CLASSIC,
        gate: Callable[[], None] | None = None,
    ) -> None:
        """`default_account`: name of the account of deployments that name none. Empty: they have the operator's rights.

        It is looked for where the account that a spec names would be. In the narrow mode the operator's rights are no
        deployment's. `gate` raises while no account may be impersonated: nothing is requested as one then.
        """
        self.system_namespace = system_namespace
        self._client = client
        self._default_account = default_account
        self._mode = mode
        self._gate = gate

    @property
    def own(self) -> Account:
        """Account of the operator itself."""
        return Account(self.system_namespace, OPERATOR_ACCOUNT)

    @property
    def is_narrow(self) -> bool:
        """Whether the operator has few rights of its own."""
        return self._mode is Mode.NARROW

    def account_of(self, deployment: BundleDeployment | BundleInstance) -> Account | None:
        """None: the operator acts with its own rights, unless it `refuses`."""
        return effective_account(deployment.spec, default=self._default_account, system_namespace=self.system_namespace)

    def need_proof(self, one: BundleDeployment | BundleInstance) -> bool:
        """Whether it has an account, or once had: the user who took it away may not have been allowed to."""
        return self.account_of(one) is not None or one.status.judged is not None

    def are_own(self, deployment: BundleDeployment) -> bool:
        """Whether the operator's own rights are those of the deployment."""
        return self._mode is Mode.CLASSIC and self.account_of(deployment) is None

    def refuses(self, deployment: BundleDeployment) -> bool:
        """Whether nothing is read or written for the deployment, because no account is there to do it as."""
        return self.is_narrow and self.account_of(deployment) is None

    def client_of(self, deployment: BundleDeployment) -> Client:
        """AccessError: the deployment is refused."""
        account = self.account_of(deployment)
        if account is not None:
            return self._client.acting_as(account.user, gate=self._gate)
        if self.refuses(deployment):
            raise AccessError(f"BundleDeployment {deployment.metadata.name} has no service account to act as")
        return self._client

    async def missing_account(self, deployment: BundleDeployment) -> Account | None:
        """The account of the deployment, where it does not exist. One request, with the operator's own rights.

        RBAC goes by names: its bindings outlive an account, and the API server impersonates one that is gone.
        """
        account = self.account_of(deployment)
        if account is None:
            return None
        try:
            await self._client.get_metadata(SERVICE_ACCOUNTS, account.namespace, account.name)
        except NotFoundError:
            return account
        except ForbiddenError:  # the operator's right to look may have gone with the namespace
            if await self._has_namespace(account.namespace):
                raise
            return account
        return None

    async def _has_namespace(self, name: str) -> bool:
        try:
            await self._client.get_metadata(NAMESPACES, "", name)
        except NotFoundError:
            return False
        return True

    def owner_of(self, deployment: BundleDeployment) -> Owner:
        """The deployment as owner: an account may lack the right to block its deletion."""
        return Owner.of(deployment, blocks_deletion=self.account_of(deployment) is None)
