"""The identity with which a deployment is served: that of its account, as the live spec says at this moment.

No status, history entry or annotation is asked: others may write those. An account that is named and does not exist
changes nothing of that, so the API server refuses all requests.
"""

from rukpak_py.api.accounts import Account, effective_account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.marks import Owner
from rukpak_py.kube.client import Client


class Identities:
    def __init__(self, client: Client, *, system_namespace: str, default_account: str = "") -> None:
        """`default_account`: name of the account of deployments that name none. Empty: they have the operator's rights.

        It is looked for where the account that a spec names would be.
        """
        self.system_namespace = system_namespace
        self._client = client
        self._default_account = default_account

    def account_of(self, deployment: BundleDeployment) -> Account | None:
        """None: the operator acts with its own rights."""
        return effective_account(deployment.spec, default=self._default_account, system_namespace=self.system_namespace)

    def client_of(self, deployment: BundleDeployment) -> Client:
        account = self.account_of(deployment)
        return self._client.acting_as(account.user) if account is not None else self._client

    def owner_of(self, deployment: BundleDeployment) -> Owner:
        """The deployment as owner: an account may lack the right to block its deletion."""
        return Owner.of(deployment, blocks_deletion=self.account_of(deployment) is None)
