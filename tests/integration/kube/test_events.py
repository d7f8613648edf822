"""Events about what happened, where `kubectl describe` finds them."""

from rukpak_py.core.metrics import EVENTS_DROPPED, RequestLabels, request_counts
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.events import BURST, EventRecorder, EventSubject
from rukpak_py.kube.resources import EVENTS
from tests.integration.listing import listed
from tests.waiting import until

BUNDLE = GroupVersionKind("core.rukpak.io", "v1alpha1", "Bundle")


async def written(client: Client, namespace: str, name: str) -> list[dict[str, object]]:
    return await listed(client, EVENTS, namespace, field_selector=f"involvedObject.name={name}")


async def recorded(client: Client, notes: list[tuple[EventSubject, str, str]], **kwargs: float) -> None:
    recorder = EventRecorder(client, component="rukpak", instance="pod-0", **kwargs)  # type: ignore[arg-type] # clock
    recorder.start()
    for about, reason, message in notes:
        recorder.record(about, reason=reason, message=message, type="Warning")
    await recorder.close(180)  # as long as a busy server needs


async def test_an_event_about_a_cluster_scoped_object_goes_to_default(client: Client, namespace: str) -> None:
    about = EventSubject(gvk=BUNDLE, name=f"bundle-{namespace}", uid="u-1")
    await recorded(client, [(about, "Unpacked", "it is unpacked")])

    (event,) = await written(client, "default", about.name)
    assert event["metadata"]["namespace"] == "default"  # type: ignore[index] # an Event
    assert event["involvedObject"] == {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "name": about.name,
        "uid": "u-1",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Unpacked", "it is unpacked")
    assert (event["reportingComponent"], event["count"]) == ("rukpak", 1)


async def test_the_same_event_again_raises_its_count(client: Client, namespace: str) -> None:
    about = EventSubject(gvk=BUNDLE, namespace=namespace, name="b", uid="u")
    before = request_counts()
    await recorded(client, [(about, "Failed", "no")] * 3 + [(about, "Failed", "another text")])

    events = sorted(await written(client, namespace, "b"), key=lambda event: str(event["message"]))
    assert [(event["message"], event["count"]) for event in events] == [("another text", 1), ("no", 3)]
    sent = request_counts() - before
    assert sent[RequestLabels("create", "", "events", "", "201")] == 2
    assert sent[RequestLabels("patch", "", "events", "", "200")] == 2


async def test_an_event_that_was_deleted_meanwhile_is_written_anew(client: Client, namespace: str) -> None:
    about = EventSubject(gvk=BUNDLE, namespace=namespace, name="b", uid="u")
    recorder = EventRecorder(client, component="rukpak")
    recorder.start()
    recorder.record(about, reason="Failed", message="no")
    await until(lambda: recorder.unfinished == 0)
    (event,) = await written(client, namespace, "b")
    await client.delete(EVENTS, namespace, event["metadata"]["name"])  # type: ignore[index] # an Event
    recorder.record(about, reason="Failed", message="no")
    await recorder.close(180)  # as long as a busy server needs

    (event,) = await written(client, namespace, "b")
    assert event["count"] == 1


async def test_one_object_cannot_flood_the_cluster(client: Client, namespace: str) -> None:
    about = EventSubject(gvk=BUNDLE, namespace=namespace, name="b", uid="u")
    other = EventSubject(gvk=BUNDLE, namespace=namespace, name="other", uid="v")
    limited = EVENTS_DROPPED.labels("limited")
    before = limited._value.get()
    notes = [(about, "Failed", f"text {number}") for number in range(BURST + 10)]
    await recorded(client, [*notes, (other, "Failed", "no")], clock=lambda: 0.0)  # type: ignore[arg-type] # stands

    assert len(await written(client, namespace, "b")) == BURST
    assert len(await written(client, namespace, "other")) == 1
    assert limited._value.get() - before == 10


async def test_names_that_no_event_may_have_are_spelt_differently(client: Client, namespace: str) -> None:
    about = EventSubject(gvk=BUNDLE, namespace=namespace, name="system:controller:" + "x" * 240, uid="u")
    await recorded(client, [(about, "Failed", "y" * 5000)])

    (event,) = await written(client, namespace, about.name)
    assert len(str(event["message"])) == 1024


async def test_refused_event_does_not_hold_up_others(client: Client) -> None:
    nowhere = EventSubject(gvk=BUNDLE, namespace="no-such-place", name="b", uid="u")
    somewhere = EventSubject(gvk=BUNDLE, name="after-a-refused-one", uid="u")
    await recorded(client, [(nowhere, "Failed", "no"), (somewhere, "Failed", "no")])

    assert len(await written(client, "default", "after-a-refused-one")) >= 1


async def test_a_thousand_deployments_at_once_lose_no_event(client: Client, namespace: str) -> None:
    """Each deployment and its Bundle tell something at the same moment."""
    count = 2000
    before = {why: EVENTS_DROPPED.labels(why)._value.get() for why in ("full", "limited", "failed")}
    abouts = [
        EventSubject(gvk=BUNDLE, namespace=namespace, name=f"b-{number}", uid=f"u-{number}") for number in range(count)
    ]
    await recorded(client, [(about, "Unpacked", "x" * 200) for about in abouts])

    assert len((await client.list_metadata(EVENTS, namespace)).items) == count
    assert {why: EVENTS_DROPPED.labels(why)._value.get() for why in before} == before
