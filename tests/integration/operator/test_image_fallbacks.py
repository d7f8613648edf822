"""`--image-unpack=auto`: what becomes of images that a registry does not give to the operator, and of all others.

There is a node, so pods are created, but no kubelet: the test says what one would.
"""

import base64
from collections.abc import AsyncIterator

import orjson
import pytest

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import PODS, SECRETS, SERVICE_ACCOUNTS, Resource
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.unit.web_servers import Answer, Asked
from tests.waiting import until_gone

NODES = Resource(gvk=GroupVersionKind("", "v1", "Node"), plural="nodes", namespaced=False)
PASSWORD = "s3cret"
LOGIN = f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"
RETRY_SECONDS = 60.0  # between two attempts while a node pulls


@pytest.fixture
async def fetched(tenant: Tenant, admin: Client, operators: StartOperator) -> AsyncIterator[Fetching]:
    """The operator runs, and the node goes before another one takes the control plane for one with nodes."""
    await admin.create(NODES, "", orjson.dumps({"metadata": {"name": tenant.name}}))
    try:
        operator = operators(arguments=[LOOPBACK])
        await operator.start()
        async with fetching(tenant) as one:
            yield one
    finally:
        await admin.delete(NODES, "", tenant.name)


async def pods(fetched: Fetching) -> list[str]:
    found = (await fetched.tenant.admin.list_metadata(PODS, fetched.tenant.system)).items
    return [one.metadata.name for one in found]


async def kubelet_says(fetched: Fetching, name: str, message: str) -> None:
    waiting = {"reason": "ErrImagePull", "message": message}
    container = {"name": "bundle", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    status = {"phase": "Pending", "containerStatuses": [{**container, "state": {"waiting": waiting}}]}
    await fetched.tenant.admin.patch_status(PODS, fetched.tenant.system, name, orjson.dumps({"status": status}))


def says(bundle: Document, kind: str, status: str, *texts: str) -> bool:
    """The texts, in this order, from the start of the message."""
    found = condition(bundle, kind)
    message = found.get("message", "")
    places = [message.find(text) for text in texts]
    return found.get("status") == status and places[0] == 0 and places == sorted(places)


async def test_a_mistyped_tag_is_told_first_and_sends_no_other_image_to_a_pod(fetched: Fetching) -> None:
    good = fetched.image("v1")
    ref = f"{good['image']['ref']}-mistyped"
    mistyped = await fetched.bundle("mistyped", {"type": "image", "image": {"ref": ref}})
    told = "the registry answers GET with 404: "
    await fetched.until(mistyped, lambda one: says(one, "Unpacked", "False", told), what="has the direct cause")
    assert await pods(fetched) == [mistyped]
    await kubelet_says(fetched, mistyped, f'failed to pull and unpack image "{ref}": {ref}: not found')
    await fetched.until(
        mistyped,
        lambda one: says(one, "Ready", "Unknown", told, " && the node cannot pull the image: not found"),
        what="has both",
    )
    others = [await fetched.bundle("corrected", good), await fetched.bundle("another", fetched.image("v2"))]
    await fetched.until_unpacked(*others)
    assert await pods(fetched) == [mistyped]
    fetched.image("v1-mistyped")
    await fetched.until(
        mistyped, lambda one: says(one, "Ready", "True", "Successfully unpacked"), what="sees the tag", seconds=90
    )
    await until_gone(fetched.tenant.admin, PODS, fetched.tenant.system, mistyped)


@pytest.mark.parametrize("of", ["the Bundle", "the service account"])
async def test_a_secret_that_comes_is_used_at_once(fetched: Fetching, of: str) -> None:
    def private(asked: Asked) -> Answer | None:
        return None if asked.login == LOGIN else Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})

    fetched.registry.answer = private
    image = fetched.image("v1")
    missing = f'get secret {fetched.tenant.system}/later: Secret "later" not found'
    refusal = f"{fetched.registry.address} refuses: "
    expected = [refusal, missing]
    if of == "the Bundle":
        image["image"]["pullSecret"] = "later"
        expected = [missing, refusal]
    else:
        account = b'{"imagePullSecrets":[{"name":"later"}]}'
        await fetched.tenant.admin.patch(SERVICE_ACCOUNTS, fetched.tenant.system, "default", account)
    name = await fetched.bundle("private", image)
    await fetched.until(name, lambda one: says(one, "Ready", "Unknown", *expected), what="names the Secret")
    auths = {"auths": {fetched.registry.address: {"username": "me", "password": PASSWORD}}}
    data = {".dockerconfigjson": base64.b64encode(orjson.dumps(auths)).decode()}
    secret = {"metadata": {"name": "later"}, "type": "kubernetes.io/dockerconfigjson", "data": data}
    await fetched.tenant.admin.create(SECRETS, fetched.tenant.system, orjson.dumps(secret))
    await fetched.until(
        name,
        lambda one: says(one, "Ready", "True", "Successfully unpacked"),
        what="is unpacked",
        seconds=RETRY_SECONDS / 4,
    )
