"""When a policy last changed, and what is known before the first check."""

import asyncio
from typing import Any

import pytest

from rukpak_py.api.policies.installation import Installation
from rukpak_py.controllers import policy_guard
from rukpak_py.controllers.policy_guard import PolicyGuard, last_change
from rukpak_py.core.errors import AccessError
from rukpak_py.kube.errors import UnprovenIdentityError
from rukpak_py.kube.metadata import ManagedFields, Metadata
from tests.unit.controllers.fakes import FakeClient


@pytest.mark.parametrize(
    ("generation", "times", "expected"),
    [(1, ["2023-11-14T22:14:20Z"], 0.0), (2, ["2023-11-14T22:13:25Z", "2023-11-14T22:13:30Z"], 10.0), (2, [], 99.0)],
    ids=["as created", "changed", "its times are lost"],
)
def test_last_change_is_what_the_server_says(generation: int, times: list[str], expected: float) -> None:
    began = 1_700_000_000.0
    metadata = Metadata(
        generation=generation,
        creation_timestamp="2023-11-14T22:13:20Z",
        sent_managed_fields=[ManagedFields(time=one) for one in times],
    )
    assert last_change(metadata, began + 99.0) == began + expected


async def test_account_is_not_impersonated_before_a_check_and_no_right_is_said_to_be_missing() -> None:
    client: Any = FakeClient()
    installation = Installation(system_namespace="rukpak-system")
    guard = PolicyGuard(client, installation, is_needed=lambda: True, on_change=lambda: None)
    with pytest.raises(UnprovenIdentityError) as refused:
        guard.demand()
    assert not isinstance(refused.value, AccessError)


@pytest.mark.parametrize("age", [0.0, float("inf")], ids=["new", "of unknown age"])
async def test_policies_are_no_older_than_they_were_when_they_were_read(
    monkeypatch: pytest.MonkeyPatch, age: float
) -> None:
    """The API server is slow, and they are created while it is asked: every server has to take them up from then on."""
    created = "2023-11-14T22:13:20Z"
    made_at = -1.0

    async def read(*_: object) -> Metadata:
        nonlocal made_at
        await asyncio.sleep(0.01)
        made_at = asyncio.get_running_loop().time()
        return Metadata(uid="u", generation=1, creation_timestamp=created)

    async def time(*_: object) -> float:
        return 1_700_000_000.0 + age

    async def refused(*_: object) -> str:
        return ""

    monkeypatch.setattr(policy_guard, "stored_policy", read)
    monkeypatch.setattr(policy_guard, "server_time", time)
    monkeypatch.setattr(policy_guard, "probe_problem", refused)
    client: Any = FakeClient()
    installation = Installation(system_namespace="rukpak-system")
    guard = PolicyGuard(client, installation, is_needed=lambda: True, on_change=lambda: None)
    monkeypatch.setattr(guard, "_start", lambda: None)
    standing = await guard.standing(after=0.0)
    assert standing.is_in_force
    assert standing.since >= made_at
