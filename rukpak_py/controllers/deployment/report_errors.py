"""Errors in place of a report on a deployment, for readers who may not have it, or where there is none.

Where there is no report, the class of the error says why: ContentError, the content is wrong and stays so;
ConflictError, a user has to act first; UnavailableError, there will be one soon; AccessError, the caller may not have
it. Its text is that of the condition, with values of Secrets masked.
"""

from collections.abc import Awaitable, Callable, Sequence

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionStatus, ConditionType
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.secret_mask import SecretMask
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.text import joined

MayImpersonate = Callable[[Account], Awaitable[bool]]

# Causes that last until the content is another
_OF_CONTENT = frozenset({Cause.RENDERING_CONTENT, Cause.VALUES_CONTENT})
# Causes that last until a user acts
_OF_USERS = frozenset(
    {
        Cause.POLICY_MISSING,
        Cause.NOT_JUDGED,
        Cause.VALUES_MISSING,
        Cause.VALUES_DENIED,
        Cause.VALUES_CONFLICT,
        Cause.RENDERING_DENIED,
        Cause.RENDERING_CONFLICT,
        Cause.RENDERING_LOST,
    }
)
NOT_YET = "its content is not unpacked and rendered yet"


async def check_reader(
    identities: Identities, deployment: BundleDeployment, state: DeploymentState, may_impersonate: MayImpersonate
) -> None:
    """AccessError: the caller may not impersonate the account, and would learn what only it may read.

    For a deployment without an account that is the operator's.
    """
    account = identities.account_of(deployment) or identities.own
    if not await may_impersonate(account):
        raise AccessError(f"the report needs the verb impersonate on service account {account}")
    if identities.refuses(deployment):
        name = deployment.metadata.name
        raise ConflictError(f"BundleDeployment {name} has no service account: set spec.serviceAccountName")
    if state.verdict.fact is not None:
        raise error_of([state.verdict.fact], state.mask)


def error_of(facts: Sequence[Fact], mask: SecretMask) -> RukPakError:
    causes = {one.cause for one in facts}
    text = mask.hide(joined(one.text for one in facts if one.text)) or NOT_YET
    if causes & _OF_CONTENT:
        return ContentError(text)
    return ConflictError(text) if causes & _OF_USERS else UnavailableError(text)


def error_of_bundle(bundle: Bundle | None) -> RukPakError:
    """Statuses are masked already."""
    conditions = bundle.status.conditions if bundle is not None else ()
    unpacked, stalled = (find_condition(conditions, one) for one in (ConditionType.UNPACKED, ConditionType.STALLED))
    text = unpacked.message if unpacked is not None and unpacked.message else NOT_YET
    is_stalled = stalled is not None and stalled.status == ConditionStatus.TRUE
    return ContentError(text) if is_stalled else UnavailableError(text)
