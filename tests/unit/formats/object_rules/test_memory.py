"""Amounts of memory without the unit that was meant."""

import pytest

from tests.unit.formats.object_rules.judging import Json, deployment, told


@pytest.mark.parametrize(
    ("resources", "wrong"),
    [
        ({"limits": {"memory": "512m"}}, ["limits.memory is 512m"]),
        ({"limits": {"memory": "512"}}, ["limits.memory is 512"]),
        ({"limits": {"memory": 512}}, ["limits.memory is 512"]),
        ({"requests": {"memory": "64k"}}, ["requests.memory is 64k"]),
        ({"limits": {"ephemeral-storage": "1"}}, ["limits.ephemeral-storage is 1"]),
        (
            {"limits": {"memory": "1m"}, "requests": {"memory": "1m"}},
            ["limits.memory is 1m", "requests.memory is 1m"],
        ),
        ({"limits": {"memory": "512Mi", "cpu": "500m"}}, []),
        ({"limits": {"memory": "64Ki"}}, []),
        ({"limits": {"memory": "0"}, "requests": {"memory": 0}}, []),
        ({"limits": {"memory": "many"}}, []),  # told as a wrong type
        ({"limits": None}, []),
    ],
)
def test_amount_of_memory_has_a_unit(resources: Json, wrong: list[str]) -> None:
    found = told("OBJ-027", deployment({"containers": [{"name": "c", "image": "a", "resources": resources}]}))
    assert found == [f"resources.{one}, which is less than 64 KiB" for one in wrong]
