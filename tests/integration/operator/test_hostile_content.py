"""Content that is small and becomes large: refused, and the operator neither grows nor stands still."""

import re
from pathlib import Path

import orjson
import pytest

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map

MOST_GROWTH = 50  # MiB
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def strings(copies: int) -> str:
    """60 KB that become `copies` times 6 MB."""
    return f'{HEAD}x0: &a0 "{"a" * 60_000}"\nx1: &a1 [{",".join(["*a0"] * 100)}]\nx2: [{",".join(["*a1"] * copies)}]\n'


def members(copies: int) -> str:
    """An object of `copies` thousand maps."""
    return f"{HEAD}x0: &a0 [{','.join(['{a: 1}'] * 1000)}]\nx1: [{','.join(['*a0'] * copies)}]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            strings(60),
            "YAML with its aliases expanded exceeds the limit of 64 MiB (RUKPAK_LIMIT_RENDERED_BYTES",
        ),
        (strings(9), "the JSON of ConfigMap a exceeds the limit of 3 MiB (RUKPAK_LIMIT_OBJECT_BYTES sets it)"),
        (members(600), "document contains excessive aliasing"),
    ],
    ids=["342 MiB", "57 MiB", "1.8 million nodes"],
)
async def test_a_few_kilobytes_that_become_hundreds_of_megabytes(
    tenant: Tenant, operator: Operator, text: str, told: str
) -> None:
    await tenant.publish("good", [config_map("one", tenant.namespace)])
    await tenant.deploy("good", name=f"{tenant.name}-good")
    await tenant.ready(name=f"{tenant.name}-good")
    before, late = peak(operator), await stalls(operator)
    source = {"metadata": {"name": "hostile"}, "immutable": True, "data": {"a.yaml": text}}
    await tenant.admin.create(CONFIG_MAPS, tenant.system, orjson.dumps(source))

    await tenant.deploy("hostile")
    await tenant.until(lambda one: condition(one, "Stalled").get("status") == "True", what="Stalled")

    (bundle,) = (await tenant.owned(BUNDLES)).values()
    assert bundle["status"]["phase"] == "Failing"
    assert condition(bundle, "Stalled")["reason"] == "ContentError"
    assert told in condition(bundle, "Unpacked")["message"]
    assert peak(operator) - before <= MOST_GROWTH
    assert await stalls(operator) == late
    await tenant.publish("after", [config_map("two", tenant.namespace)])
    await tenant.deploy("after")
    await tenant.ready()


async def stalls(operator: Operator) -> float:
    """How often its event loop was late for more than half a second."""
    text = await operator.metrics()  # once, because it counts ten times a second
    counts = dict(re.findall(r'^rukpak_event_loop_lag_seconds_bucket{le="(\S+)"} (\S+)$', text, re.MULTILINE))
    return float(counts["+Inf"]) - float(counts["0.5"])


def peak(operator: Operator) -> int:
    """MiB of the operator's own process, the most that it ever had."""
    status = Path(f"/proc/{operator.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+([0-9]+) kB", status)
    assert found is not None
    return int(found[1]) // 1024
