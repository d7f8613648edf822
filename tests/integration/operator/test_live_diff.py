"""`rukpakctl diff`: a folder, or what the template asks for, against the cluster, with the rights of the user."""

from pathlib import Path

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import CONTENT_SERVICE, SecretName
from rukpak_py.apply.upgrade_document import PlannedObject
from rukpak_py.cli.cluster import live_diff
from rukpak_py.cli.cluster.deployments import read_deployment
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.cli.cluster.wanted_content import GivenContent
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from rukpak_py.sources.local import open_content
from tests.integration.command_line import Done, rukpakctl
from tests.integration.operator.granting import written_bundle
from tests.integration.operator.olm import files_of, published
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, manifest, workload
from tests.unit.cli.content_servers import Direct

PASSWORDS = ("password-of-one", "password-of-two")


def content(tenant: Tenant, version: str, password: str, *names: str) -> list[Document]:
    return [
        config_map("a", tenant.namespace, version=version, same="same"),
        manifest("v1", "Secret", "s", tenant.namespace, stringData={"password": password}),
        workload("web", tenant.namespace),
        *(config_map(name, tenant.namespace) for name in names),
    ]


def folder(path: Path, documents: list[Document]) -> Path:
    return written_bundle(path, {"manifests/all.yaml": "\n---\n".join(orjson.dumps(one).decode() for one in documents)})


async def installed(tenant: Tenant) -> None:
    await tenant.publish("one", content(tenant, "one", PASSWORDS[0], "gone"))
    await tenant.deploy("one")
    await tenant.until(lambda found: condition(found, "Installed").get("status") == "True", what="it is installed")


async def diff(plane: ControlPlane, tenant: Tenant, *arguments: str) -> Done:
    return await rukpakctl(plane, "diff", tenant.name, *arguments, f"--system-namespace={tenant.system}")


async def test_folder_is_compared_with_the_cluster_and_nothing_is_written(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    await installed(tenant)
    before = await tenant.owned(CONFIG_MAPS, SECRETS)
    path = folder(tmp_path / "two", content(tenant, "two", PASSWORDS[1], "b"))
    done = await diff(plane, tenant, str(path))
    assert (done.returncode, done.stderr) == (1, "")
    assert [line for line in done.stdout.splitlines() if "hmac" not in line] == [
        f"  - ConfigMap {tenant.namespace}/gone: deleted",
        f"  ~ ConfigMap {tenant.namespace}/a",
        '      ~ data.version: "one" → "two"',
        f"  ~ Secret {tenant.namespace}/s",
        f"  + ConfigMap {tenant.namespace}/b",
        "",
        "1 object created, 2 objects changed, 1 object deleted",
    ]
    assert "~ data.password: hmac-sha256:" in done.stdout
    assert not [one for one in (*PASSWORDS, "cGFzc3dvcmQ") if one in done.stdout]
    assert await tenant.owned(CONFIG_MAPS, SECRETS) == before


async def test_installed_content_has_no_difference_until_another_client_makes_one(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    await installed(tenant)
    path = str(folder(tmp_path / "one", content(tenant, "one", PASSWORDS[0], "gone")))
    done = await diff(plane, tenant, path)
    assert (done.returncode, done.stdout) == (0, "no differences\n"), done.stderr
    await operator.stop()
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "a", b'{"data":{"version":"edited","other":"theirs"}}')
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "gone")
    done = await diff(plane, tenant, path, "-o", "json")
    assert done.returncode == 1
    objects = {one["object"]["name"]: one for one in orjson.loads(done.stdout)["objects"]}
    assert {name: one["action"] for name, one in objects.items()} == {"a": "changed", "gone": "created"}
    assert [(one["path"], one["old"], one["new"]) for one in objects["a"]["fields"]] == [
        ("data.version", '"edited"', '"one"')
    ]


async def test_content_is_compared_with_the_patches_of_the_deployment(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    documents = content(tenant, "one", PASSWORDS[0])
    await tenant.publish("one", documents)
    patch = {"target": {"kind": "ConfigMap", "name": "a"}, "patch": "data: {version: patched}"}
    await tenant.deploy("one", patches=[patch])
    await tenant.until(lambda found: condition(found, "Installed").get("status") == "True", what="it is installed")
    done = await diff(plane, tenant, str(folder(tmp_path / "one", documents)))
    assert (done.returncode, done.stdout) == (0, "no differences\n"), done.stderr


async def test_objects_that_the_server_or_ownership_refuses_are_named(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    await installed(tenant)
    foreign = orjson.dumps(config_map("foreign", tenant.namespace))
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, foreign)
    wanted = content(tenant, "one", PASSWORDS[0], "gone", "foreign")
    wanted[2]["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    wanted += [config_map("x", "missing-namespace"), manifest("example.com/v1", "Missing", "m", tenant.namespace)]
    done = await diff(plane, tenant, str(folder(tmp_path / "two", wanted)))
    assert done.returncode == 1, done.stderr
    assert f"! ConfigMap {tenant.namespace}/foreign: refused" in done.stdout
    assert "is not managed by anyone" in done.stdout
    assert f"! Deployment.apps/{tenant.namespace}/web: refused" in done.stdout
    assert "! Missing.example.com/" in done.stdout
    assert "+ ConfigMap missing-namespace/x" in done.stdout


async def test_rights_are_those_of_the_user(tenant: Tenant, operator: Operator, tmp_path: Path) -> None:
    await installed(tenant)
    deployment = (await read_deployment(tenant.admin, tenant.name)).deployment
    found = open_content(folder(tmp_path / "two", content(tenant, "two", PASSWORDS[1])))
    given = GivenContent(tree=found.tree, is_directory=found.is_directory)
    user = tenant.admin.acting_as(f"system:serviceaccount:{tenant.namespace}:default")
    with pytest.raises(ForbiddenError, match="cannot list resource"):
        await live_diff.compare(user, deployment, given, system_namespace=tenant.system)


async def of_template(tenant: Tenant, plane: ControlPlane, operator: Operator) -> list[PlannedObject]:
    at = OperatorAt(namespace=tenant.system, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))
    connection = await load_connection(plane.kubeconfig)
    cluster = ClusterSession(tenant.admin, connection, at, way=Direct(port=operator.content_port))
    deployment = (await read_deployment(tenant.admin, tenant.name)).deployment
    given = await live_diff.content_of_template(cluster, deployment)
    objects, _ = await live_diff.compare(cluster.client, deployment, given, system_namespace=tenant.system)
    return objects


async def test_without_a_path_the_content_of_the_template_is_compared(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await installed(tenant)
    assert await of_template(tenant, plane, operator) == []
    await tenant.publish("two", content(tenant, "two", PASSWORDS[0], "gone"))
    await tenant.deploy("two", upgrades={"approval": "Manual"})
    await tenant.until(
        lambda found: condition(found, "UpgradePending").get("status") == "True", what="an upgrade waits"
    )
    (changed,) = await of_template(tenant, plane, operator)
    assert (changed.object.name, [field.path for field in changed.fields]) == ("a", ["data.version"])


async def test_olm_bundle_is_converted_as_the_deployment_asks(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    spec = await published(tenant, tenant.name)
    await tenant.deploy(**{**spec, "watchNamespaces": [tenant.namespace]})
    await tenant.ready()
    tree = files_of(tenant.name)
    path = written_bundle(tmp_path / "same", {file: tree[file] for file in tree})
    done = await diff(plane, tenant, str(path))
    assert (done.returncode, done.stdout) == (0, "no differences\n"), done.stderr
    done = await diff(plane, tenant)
    assert done.returncode == 3
    assert f'give its path or image, or use "rukpakctl plan {tenant.name}"' in done.stderr
