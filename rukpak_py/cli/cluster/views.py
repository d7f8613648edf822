"""One BundleDeployment with all that belongs to it, read with the rights of the user."""

from rukpak_py.cli.cluster.deployments import DeploymentCommandError, kinds_of_operator
from rukpak_py.diagnosis.model import DeploymentView
from rukpak_py.diagnosis.reading import read_view
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError


async def view_of(client: Client, name: str) -> DeploymentView:
    """DeploymentCommandError: there is none of that name, or not even its kind."""
    try:
        with kinds_of_operator():
            return await read_view(client, name)
    except NotFoundError as error:
        raise DeploymentCommandError(error.message) from error
