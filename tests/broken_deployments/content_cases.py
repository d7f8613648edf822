"""Mistakes in a source, and in its content: nothing can be unpacked, or rendered."""

import hashlib

from rukpak_py.api.names import HELM_CLASS, ConditionType, Reason
from rukpak_py.kube.resources import BUNDLES
from tests.broken_deployments.case import Expected, Story, case
from tests.broken_deployments.scene import Scene
from tests.broken_deployments.servers import REPOSITORY, archive, bundle_files, pull_secret, push
from tests.integration.content_clients import Accounts
from tests.integration.images.registry import Registry
from tests.integration.listing import listed
from tests.manifests import Document, config_map
from tests.waiting import eventually

VALID = ConditionType.HAS_VALID_BUNDLE
CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
SCHEMA = '{"properties": {"replicas": {"type": "integer"}}}'
TEMPLATE = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {replicas: {{ .Values.replicas | quote }}}\n"
)


def image(registry: Registry, ref: str, **more: str) -> Document:
    return {"type": "image", "image": {"ref": f"{registry.address}/{ref}", "caBundle": registry.authority, **more}}


@case("the image name is misspelt")
async def image_name_misspelt(scene: Scene) -> Story:
    registry = await scene.servers.registry()
    push(registry, "team/shop", scene.settings())
    await scene.deploy(image(registry, "team/shopp:v1"))
    yield Expected(
        reason=Reason.UNAVAILABLE,
        condition=VALID,
        words=(f"{registry.address}/team/shopp:v1", "404"),
    )
    await scene.change_source(image(registry, "team/shop:v1"))


@case("the tag of the image does not exist")
async def image_tag_missing(scene: Scene) -> Story:
    registry = await scene.servers.registry()
    push(registry, "team/shop", scene.settings())
    await scene.deploy(image(registry, "team/shop:v2"))
    yield Expected(
        reason=Reason.UNAVAILABLE,
        condition=VALID,
        words=(f"{registry.address}/team/shop:v2", "404"),
    )
    await scene.change_source(image(registry, "team/shop:v1"))


@case("the image is private, and there is no pull secret")
async def image_without_pull_secret(scene: Scene) -> Story:
    registry = await scene.servers.registry(is_private=True)
    push(registry, "team/shop", scene.settings())
    await scene.deploy(image(registry, "team/shop:v1"))
    yield Expected(
        reason=Reason.ACCESS_DENIED,
        condition=VALID,
        words=(f"{registry.address}/team/shop:v1", "pullSecret"),
    )
    secret = f"{scene.name}-login"
    await scene.create(pull_secret(registry, secret, scene.system))
    await scene.change_source(image(registry, "team/shop:v1", pullSecret=secret))


@case("the digest of the image is another one")
async def image_digest_wrong(scene: Scene) -> Story:
    registry = await scene.servers.registry()
    digest = push(registry, "team/shop", scene.settings())
    wrong = f"team/shop@sha256:{'0' * 64}"
    await scene.deploy(image(registry, wrong))
    yield Expected(
        reason=Reason.UNAVAILABLE,
        condition=VALID,
        words=(f"{registry.address}/{wrong}", "404"),
    )
    await scene.change_source(image(registry, f"team/shop@{digest}"))


@case("the branch does not exist")
async def git_branch_missing(scene: Scene) -> Story:
    web = await scene.servers.git(bundle_files(scene.settings()))
    git = {"repository": web.url(REPOSITORY), "caBundle": web.ca_bundle}
    await scene.deploy({"type": "git", "git": {**git, "ref": {"branch": "master"}}})
    yield Expected(reason=Reason.UNAVAILABLE, condition=VALID, words=(web.url(REPOSITORY), 'has no branch "master"'))
    await scene.change_source({"type": "git", "git": {**git, "ref": {"branch": "main"}}})


@case("the repository is private, and there is no login")
async def git_without_login(scene: Scene) -> Story:
    web = await scene.servers.git(bundle_files(scene.settings()))
    web.login = ("ann", "of-the-git-server")
    git = {"repository": web.url(REPOSITORY), "caBundle": web.ca_bundle, "ref": {"branch": "main"}}
    await scene.deploy({"type": "git", "git": git})
    yield Expected(reason=Reason.ACCESS_DENIED, condition=VALID, words=(web.url(REPOSITORY), "Secret"))
    secret = f"{scene.name}-login"
    await scene.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret, "namespace": scene.system},
            "stringData": {"username": "ann", "password": "of-the-git-server"},
        }
    )
    await scene.change_source({"type": "git", "git": {**git, "auth": {"secret": {"name": secret}}}})


@case("the URL of the archive answers 404")
async def http_not_found(scene: Scene) -> Story:
    site, ours = await scene.servers.site()
    site.gives("/shop-1.0.tgz", archive(scene.settings()))
    await scene.deploy({"type": "http", "http": {"url": site.url("/shop-1.0.tar.gz"), "caBundle": ours.pem}})
    yield Expected(reason=Reason.UNAVAILABLE, condition=VALID, words=(site.url("/shop-1.0.tar.gz"), "404 Not Found"))
    await scene.change_source({"type": "http", "http": {"url": site.url("/shop-1.0.tgz"), "caBundle": ours.pem}})


@case("the archive has another checksum")
async def http_checksum_wrong(scene: Scene) -> Story:
    site, ours = await scene.servers.site()
    body = archive(scene.settings())
    site.gives("/shop.tgz", body)
    http = {"url": site.url("/shop.tgz"), "caBundle": ours.pem}
    await scene.deploy({"type": "http", "http": {**http, "sha256": "0" * 64}})
    yield Expected(reason=Reason.CONTENT_ERROR, condition=VALID, words=(site.url("/shop.tgz"), "sha256"))
    await scene.change_source({"type": "http", "http": {**http, "sha256": hashlib.sha256(body).hexdigest()}})


@case("the ConfigMap with the content does not exist")
async def config_map_missing(scene: Scene) -> Story:
    name = scene.content_name()
    await scene.deploy({"type": "configMaps", "configMaps": [{"path": "manifests", "configMap": {"name": name}}]})
    yield Expected(
        reason=Reason.UNAVAILABLE,
        condition=VALID,
        words=(f"{scene.system}/{name}", "not found"),
    )
    made = config_map(name, scene.system, **{"settings.yaml": archive_text(scene.settings())})
    await scene.create({**made, "immutable": True})


@case("the content has no objects")
async def content_without_objects(scene: Scene) -> Story:
    await scene.deploy(await scene.files({"objects.yaml": "# nothing here yet\n"}))
    yield Expected(reason=Reason.CONTENT_ERROR, condition=VALID, words=("found zero objects",))
    await scene.change_source(await scene.source(scene.settings()))


@case("a manifest is invalid YAML")
async def manifest_invalid_yaml(scene: Scene) -> Story:
    await scene.deploy(await scene.files({"web.yaml": "kind: ConfigMap\n\tapiVersion: v1\n"}))
    yield Expected(reason=Reason.CONTENT_ERROR, condition=VALID, words=("web.yaml", "line 2"))
    await scene.change_source(await scene.source(scene.settings()))


@case("nothing was uploaded")
async def upload_not_sent(scene: Scene) -> Story:
    await scene.deploy({"type": "upload", "upload": {}})
    yield Expected(
        reason=Reason.UNPACK_PENDING, condition=ConditionType.READY, words=("waiting for bundle to be uploaded",)
    )
    accounts = Accounts(kubectl=scene.kubectl, namespace=scene.namespace, url=scene.content_url, system=scene.system)
    uploader = await accounts.caller("uploader", "bundle-uploader")

    async def bundle() -> str:
        found = await listed(scene.client, BUNDLES, label_selector=f"core.rukpak.io/owner-name={scene.name}")
        return found[0]["metadata"]["name"] if found else ""

    answer = await uploader.put(await eventually(bundle, what="there is a Bundle"), archive(scene.settings()))
    assert answer.status == 201, answer.text


@case("a value of a chart has the wrong type", needs_helm=True)
async def chart_values_refused(scene: Scene) -> Story:
    await scene.deploy(
        await chart(scene), provisioner=HELM_CLASS, installNamespace=scene.namespace, config={"values": "replicas: two"}
    )
    yield Expected(reason=Reason.CONTENT_ERROR, condition=VALID, words=("replicas", "integer"))
    await scene.patch(config={"values": "replicas: 2"})


@case("the Secret with the values of a chart does not exist", needs_helm=True)
async def chart_values_missing(scene: Scene) -> Story:
    secret = f"{scene.name}-values"
    values_from = [{"kind": "Secret", "name": secret}]
    await scene.deploy(
        await chart(scene),
        provisioner=HELM_CLASS,
        installNamespace=scene.namespace,
        config={"valuesFrom": values_from},
    )
    yield Expected(
        reason=Reason.UNAVAILABLE,
        condition=VALID,
        object=f"Secret {scene.system}/{secret}",
        words=("does not exist",),
    )
    await scene.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret, "namespace": scene.system},
            "stringData": {"values.yaml": "replicas: 2"},
        }
    )


async def chart(scene: Scene) -> Document:
    """A chart in ConfigMaps, whose values have a schema."""
    files = {
        "web": {"Chart.yaml": CHART, "values.schema.json": SCHEMA, "values.yaml": "replicas: 1\n"},
        "web/templates": {"settings.yaml": TEMPLATE},
    }
    items = []
    for path, data in files.items():
        name = scene.content_name()
        await scene.create({**config_map(name, scene.system, **data), "immutable": True})
        items.append({"path": path, "configMap": {"name": name}})
    return {"type": "configMaps", "configMaps": items}


def archive_text(document: Document) -> str:
    return bundle_files(document)["manifests/objects.yaml"].decode()


CASES = (
    image_name_misspelt,
    image_tag_missing,
    image_without_pull_secret,
    image_digest_wrong,
    git_branch_missing,
    git_without_login,
    http_not_found,
    http_checksum_wrong,
    config_map_missing,
    content_without_objects,
    manifest_invalid_yaml,
    upload_not_sent,
    chart_values_refused,
    chart_values_missing,
)
