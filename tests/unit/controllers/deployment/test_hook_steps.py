"""The next step at one event, from its hooks and the records of those that have ended."""

from collections.abc import Sequence

import pytest

from rukpak_py.api.hook_status import HookRecord, HookResult
from rukpak_py.controllers.deployment.hooks.runs import EventHooksDone, EventHooksFailed, ExecuteHook, next_step
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from tests.unit.controllers.values import hook_record

BEFORE, SUCCEEDED, FAILED = DeletePolicy.BEFORE_HOOK_CREATION, DeletePolicy.HOOK_SUCCEEDED, DeletePolicy.HOOK_FAILED
ASKED = "now"  # by the annotation; a record that has it answers the request
EARLIER = "earlier"
API = {
    "Job": "batch/v1",
    "ConfigMap": "v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
}


def hook(name: str, kind: str = "Job", *, policies: Sequence[DeletePolicy] = (BEFORE,), namespace: str = "") -> Hook:
    place = {"namespace": namespace} if namespace else {}
    manifest = {"apiVersion": API[kind], "kind": kind, "metadata": {"name": name, **place}}
    made = Object.from_manifest(manifest)
    return Hook(object=made, events=frozenset({HookEvent.PRE_INSTALL}), delete_policies=frozenset(policies))


def record(
    of: Hook, result: HookResult = HookResult.SUCCEEDED, *, asked: str = ASKED, namespace: str = "ns"
) -> HookRecord:
    head = of.object.head
    return hook_record(
        group=head.gvk.group,
        version=head.gvk.version,
        kind=head.gvk.kind,
        namespace=head.namespace or namespace,
        name=head.name,
        uid=f"uid-of-{head.name}",
        result=result,
        reconcile_at=asked,
    )


ONE, TWO = hook("one"), hook("two")
ACCOUNT = hook("account", "ConfigMap", policies=(BEFORE, SUCCEEDED))
GOES, GOES_TOO = hook("goes", policies=(SUCCEEDED,)), hook("goes-too", policies=(SUCCEEDED, FAILED))
STAYS = hook("stays", "CustomResourceDefinition", policies=(SUCCEEDED,))
ROLE = hook("role", "ClusterRole")
FAR = hook("one", namespace="far")
OLD = record(ACCOUNT, asked=EARLIER)
BAD = HookResult.FAILED


@pytest.mark.parametrize(
    ("hooks", "records", "expected"),
    [
        ([], [], EventHooksDone()),
        ([ONE, TWO], [], ExecuteHook(hook=ONE)),
        ([ONE, TWO], [record(ONE)], ExecuteHook(hook=TWO)),
        ([ONE, TWO], [record(TWO)], ExecuteHook(hook=ONE)),
        ([ONE, TWO], [record(ONE), record(TWO)], EventHooksDone()),
        ([ONE, TWO], [record(ONE, asked=EARLIER), record(TWO)], EventHooksDone()),
        ([FAR], [record(ONE)], ExecuteHook(hook=FAR)),
        ([FAR, ONE], [record(FAR), record(ONE)], EventHooksDone()),
        ([ROLE], [record(ROLE, namespace="")], EventHooksDone()),
        # failures and requests
        ([ONE, TWO], [record(ONE, BAD)], EventHooksFailed(record=record(ONE, BAD))),
        ([ONE, TWO], [record(ONE), record(TWO, BAD)], EventHooksFailed(record=record(TWO, BAD))),
        ([ONE], [record(ONE, BAD, asked=EARLIER)], ExecuteHook(hook=ONE, failed=record(ONE, BAD, asked=EARLIER))),
        # deletions: at the end only
        ([GOES, ONE], [record(GOES)], ExecuteHook(hook=ONE)),
        ([GOES, ONE], [record(GOES), record(ONE)], EventHooksDone(delete=(record(GOES),))),
        ([GOES, STAYS], [record(GOES), record(STAYS)], EventHooksDone(delete=(record(GOES),))),
        (
            [GOES, ONE],
            [record(GOES), record(ONE, BAD)],
            EventHooksFailed(record=record(ONE, BAD), delete=(record(GOES),)),
        ),
        (
            [GOES, GOES_TOO],
            [record(GOES), record(GOES_TOO, BAD)],
            EventHooksFailed(record=record(GOES_TOO, BAD), delete=(record(GOES), record(GOES_TOO, BAD))),
        ),
        ([GOES], [record(GOES, BAD)], EventHooksFailed(record=record(GOES, BAD))),
        # again: what a Job needs and was deleted comes back, what has run is not run again
        ([ACCOUNT, ONE], [OLD, record(ONE, BAD, asked=EARLIER)], ExecuteHook(hook=ACCOUNT)),
        (
            [ACCOUNT, ONE],
            [record(ACCOUNT), record(ONE, BAD, asked=EARLIER)],
            ExecuteHook(hook=ONE, failed=record(ONE, BAD, asked=EARLIER)),
        ),
        (
            [GOES, ONE],
            [record(GOES, asked=EARLIER), record(ONE, BAD, asked=EARLIER)],
            ExecuteHook(hook=ONE, failed=record(ONE, BAD, asked=EARLIER)),
        ),
        ([ACCOUNT, ONE], [OLD, record(ONE)], EventHooksDone(delete=(OLD,))),
    ],
)
def test_next_step_follows_from_hooks_and_records(
    hooks: list[Hook], records: list[HookRecord], expected: object
) -> None:
    assert next_step(hooks, records, namespace="ns", asked=ASKED) == expected


def test_annotation_that_is_removed_is_no_request() -> None:
    failed = record(ONE, BAD, asked=EARLIER)
    assert next_step([ONE], [failed], namespace="ns", asked="") == EventHooksFailed(record=failed)
