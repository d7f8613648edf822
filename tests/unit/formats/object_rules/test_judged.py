"""Objects by their names and labels, of which a hostile bundle has thousands."""

from rukpak_py.formats.documents import Document
from rukpak_py.formats.object_rules.judged import MOST, Judged
from rukpak_py.formats.object_rules.spelling import is_slip
from tests.unit.formats.object_rules.judging import Json, manifest, told

LABELS = {"app": "web", "tier": "front"}


def judged_of(*manifests: Json) -> Judged:
    judged = Judged()
    for index, one in enumerate(manifests):
        judged.add(Document(file="a.yaml", index=index, manifest=one))
    return judged


def pod(name: str, labels: Json, namespace: str = "") -> Json:
    one = manifest("Pod", name, namespace=namespace, spec={"containers": [{"name": "web", "image": "a/b"}]})
    return {**one, "metadata": {**one["metadata"], "labels": labels}}


def service(name: str, namespace: str = "", port: str = "https") -> Json:
    one = manifest("Service", name, namespace=namespace, spec={"ports": [{"port": 443, "name": port}]})
    return {**one, "metadata": {**one["metadata"], "labels": LABELS}}


def test_objects_of_a_name_are_found_in_their_namespace() -> None:
    judged = judged_of(service("web", "one"), service("web", "two"), service("web"))
    assert [one.namespace for one in judged.named("Service", "web", "two")] == ["two", ""]
    assert [one.namespace for one in judged.named("Service", "web", "")] == ["one", "two", ""]
    assert judged.named("Service", "other", "two") == []


def test_pods_are_selected_by_all_labels() -> None:
    others = [pod(f"other-{number}", {"app": "web", "tier": "back"}) for number in range(MOST + 1)]
    judged = judged_of(*others, pod("web", LABELS), pod("elsewhere", LABELS, "one"))
    assert [one.namespace for one in judged.selected(LABELS, "two")] == [""]
    assert [one.namespace for one in judged.selected(LABELS, "")] == ["", "one"]
    assert judged.selected({"app": "web", "tier": 5}, "") == []
    assert judged.selected({}, "") == []


def test_no_object_is_compared_with_thousands() -> None:
    services = [service("web", f"ns-{number}") for number in range(MOST + 1)]
    pods = [pod(f"web-{number}", LABELS) for number in range(MOST + 1)]
    judged = judged_of(*services, *pods)
    assert len(judged.named("Service", "web", "")) == MOST
    assert len(judged.selected(LABELS, "")) == MOST


def test_monitors_are_judged_where_the_services_are_not_thousands() -> None:
    spec = {"selector": {"matchLabels": LABELS}, "endpoints": [{"port": "metrics"}]}
    monitor = manifest("ServiceMonitor", "web", "monitoring.coreos.com/v1", spec=spec)
    services = [service(f"web-{number}") for number in range(MOST + 1)]
    assert len(told("OBJ-022", monitor, *services[1:])) == 1
    assert told("OBJ-022", monitor, *services) == []


def test_names_that_no_server_takes_are_not_compared() -> None:
    assert is_slip("a" * 252 + "b", "a" * 252 + "c")
    assert not is_slip("a" * 253 + "b", "a" * 253 + "c")
