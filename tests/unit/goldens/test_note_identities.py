"""Identities of facts in `status.notes`: a restarted operator emits no Event for a known one again."""

from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import as_it_is
from rukpak_py.controllers.result.deployment_details import GoingObjects, HiddenKinds
from rukpak_py.controllers.result.hook_details import SupersededHook, SupersededHookEnd, SupersededHookStays
from rukpak_py.controllers.result.object_details import ContestedFields
from rukpak_py.controllers.result.progress import Fact, Words
from rukpak_py.controllers.result.reported_facts import identity_of
from rukpak_py.core.objects import ObjectKey
from tests.unit.goldens.pinned import check

A, B = ObjectKey("", "ConfigMap", "ns", "a"), ObjectKey("apps", "Deployment", "", "b")
FACTS = {
    "without a detail": Fact(cause=Cause.APPLYING),
    "words": Fact(cause=Cause.FETCH_UNAVAILABLE, detail=Words(words="502\nBad Gateway")),
    "words and a line": Fact(cause=Cause.KIND_MISSING, detail=Words(words="a", line="b")),
    "objects in any order": Fact(cause=Cause.REFUSED, detail=Words(words="no"), objects=(B, A)),
    "lists": Fact(cause=Cause.FIELDS_CONTESTED, detail=ContestedFields(managers=(("kubectl", "x"),)), objects=(A,)),
    "a detail in a detail": Fact(
        cause=Cause.DELETING,
        detail=GoingObjects(what="CRD", objects=("a",), hidden=HiddenKinds(unserved=("Widget.example.com",))),
    ),
    "a superseded hook": Fact(cause=Cause.FORMER_HOOK, detail=SupersededHook(event="pre-upgrade"), objects=(B,)),
    "a superseded hook that stays": Fact(
        cause=Cause.FORMER_HOOK_LEFT, detail=SupersededHookStays(event="pre-upgrade", why="a"), objects=(B,)
    ),
    "the end of a superseded hook": Fact(
        cause=Cause.FORMER_HOOK_ENDED, detail=SupersededHookEnd(event="pre-upgrade"), objects=(B,)
    ),
    "health": Fact(cause=Cause.UNHEALTHY, detail=Words(words="0/1"), objects=(A,)),
}


def test_identities() -> None:
    check("identities in status.notes", {name: identity_of(fact, as_it_is) for name, fact in FACTS.items()})


def test_causes_in_notes() -> None:
    check("causes in status.notes", {cause.name: cause.value for cause in Cause})
