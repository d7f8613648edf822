"""Which BundleDeployments that labels name do not exist: they were renamed, or deleted with `--cascade=orphan`.

One live GET of the metadata for each name, whatever the class of that deployment, and only for names that objects
without a controller carry. A name that cannot be asked for counts as existing: the error ends the attempt.
"""

from collections.abc import Iterable

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


async def missing_deployments(client: Client, lives: Iterable[ObservedObject], owner: Owner) -> frozenset[str]:
    missing: set[str] = set()

    async def get(name: str) -> None:
        try:
            await client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)
        except NotFoundError:
            missing.add(name)

    await run_bounded(get, sorted(deployments_to_ask_for(lives, owner)))
    return frozenset(missing)


def deployments_to_ask_for(lives: Iterable[ObservedObject], owner: Owner) -> set[str]:
    """Names in labels that alone make these objects somebody else's."""
    return {
        live.labelled_for
        for live in lives
        if live.controller is None and live.owner_uid != owner.uid and live.labelled_for not in {"", owner.name}
    }
