"""Plans as `rukpakctl plan` reads them; only the port-forward is not there, which needs a kubelet."""

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import CONTENT_SERVICE, SecretName
from rukpak_py.apply.upgrade_document import PlannedObject, UpgradeDocument
from rukpak_py.cli.cluster.plans import planned_upgrade
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, load_connection
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.unit.cli.content_servers import Direct


async def plan_for(
    tenant: Tenant,
    plane: ControlPlane,
    operator: Operator,
    *,
    name: str = "",
    client: Client | None = None,
    connection: Connection | None = None,
) -> UpgradeDocument:
    """`name`: of the deployment, unless it is that of the tenant. `client`, `connection`: of the user, or the admin."""
    at = OperatorAt(namespace=tenant.system, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))
    connection = connection or await load_connection(plane.kubeconfig)
    session = ClusterSession(client or tenant.admin, connection, at, way=Direct(port=operator.content_port))
    return await planned_upgrade(session, name or tenant.name)


def by_name(plan: UpgradeDocument) -> dict[str, PlannedObject]:
    return {f"{one.object.kind}/{one.object.name}": one for one in plan.objects}


def fields_of(one: PlannedObject) -> dict[str, tuple[str | None, str | None]]:
    return {field.path: (field.old, field.new) for field in one.fields}
