"""An apply refused because a webhook rewrites a field that never changes: the object stays, and nothing fails."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.names import Reason
from rukpak_py.apply.object_writer import ObjectWriter
from rukpak_py.apply.plan import Action, Change
from rukpak_py.apply.results import ChangeSet
from rukpak_py.apply.target import LastApplied, Target
from rukpak_py.core.logs import JsonFormatter, about
from rukpak_py.kube.errors import Cause, ErrorAnswer, InvalidError
from rukpak_py.kube.resources import Resource
from tests.unit.apply.lives import CONFIG_MAP, OWNER, desired, key, live, owned

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}, "data": {"a": "1"}}
IMMUTABLE = Cause(field="data", message="field is immutable when `immutable` is set")


class RefusingClient:
    async def apply(self, *_: object, **__: object) -> None:
        answer = ErrorAnswer(subject="apply ConfigMap ns/a", status=422, message="refused", causes=[IMMUTABLE])
        raise InvalidError(answer)


def target() -> Target:
    client: Any = RefusingClient()
    maps = Resource(gvk=CONFIG_MAP, plural="configmaps", namespaced=True)
    return Target(owner=OWNER, last_applied=LastApplied(), resource_of=lambda _: maps, client=client)


async def test_object_that_is_left_as_it_is_is_logged_once_and_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    wanted, ports = desired(MAP), dict[str, Any](inventory=None)
    change = Change(action=Action.AGAIN, desired=wanted, payload=wanted.payload, live=live(**owned()))
    writer, change_set, where = ObjectWriter(ports["inventory"]), ChangeSet(), target()
    with about("BundleDeployment", "with-a-rewritten-field"):
        for _ in range(3):
            where.last_applied.again.add(key())
            await writer.write(where, change, change_set)
    (record,) = caplog.records
    assert "ConfigMap ns/a is left as it is" in record.getMessage()
    assert orjson.loads(JsonFormatter().format(record))["reason"] == Reason.FIELDS_CONTESTED
    assert change_set.failures == []
    assert where.last_applied.again == set()
