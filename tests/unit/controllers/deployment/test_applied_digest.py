"""The digest in the status tells states apart; one of the former form proves what it proved."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.names import HELM_CLASS
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.applied_digest import applied_digest, former_applied_digest, proves
from rukpak_py.controllers.deployment.state_parts import ContentKey
from tests.unit.apply.lives import live, owned
from tests.unit.controllers.deployment.parts import content_key, ours

CONTENT = content_key()
OTHER_CONTENTS = (
    content_key("sha256:2"),
    content_key(install_namespace=""),
    content_key(makes_namespace=True),
    content_key(prunes=False),
    content_key(options="sha256:x"),
    content_key(bundle_class=HELM_CLASS),
    ContentKey(deployment="another", digest="sha256:1", install_namespace="ns"),
)
HERE = (*ours("a", "b").values(),)
CHANGED = (
    HERE[:1],
    (),
    (HERE[0], live(**owned("b", annotations={"core.rukpak.io/applied": "x"}))),
    (HERE[0], live(**owned("b", managedFields=[]))),
    (HERE[0], live(**owned("c"))),
)
forms = pytest.mark.parametrize("compute", [applied_digest, former_applied_digest], ids=["present", "former"])
Compute = Callable[..., str]


@forms
def test_a_digest_is_of_what_was_applied_and_of_what_became_of_it(compute: Compute) -> None:
    digest = compute(HERE, CONTENT)
    assert compute(reversed(HERE), CONTENT) == digest, "the order of the watch does not matter"
    replaced = [live(**owned(one.key.name, resourceVersion="99", uid="new")) for one in HERE]
    assert compute(replaced, CONTENT) == digest
    assert compute(replaced, CONTENT, with_uids=True) != compute(HERE, CONTENT, with_uids=True)
    others = [compute(lives, CONTENT) for lives in CHANGED] + [compute(HERE, content) for content in OTHER_CONTENTS]
    assert len({digest, *others}) == 1 + len(others)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.lists(st.sampled_from("abc"), max_size=3))
def test_no_two_states_share_a_digest(one: list[str], other: list[str]) -> None:
    same = applied_digest(ours(*one).values(), CONTENT) == applied_digest(ours(*other).values(), CONTENT)
    assert same is (set(one) == set(other))


@forms
@pytest.mark.parametrize("with_uids", [False, True])
def test_both_forms_prove_that_nothing_drifted(compute: Compute, *, with_uids: bool) -> None:
    recorded = compute(HERE, CONTENT, with_uids=with_uids)
    assert proves(recorded, HERE, CONTENT, with_uids=with_uids)
    assert not proves(recorded, HERE, CONTENT, with_uids=not with_uids)
    assert not [lives for lives in CHANGED if proves(recorded, lives, CONTENT, with_uids=with_uids)]
    assert not [content for content in OTHER_CONTENTS if proves(recorded, HERE, content, with_uids=with_uids)]


@pytest.mark.parametrize("lives", [HERE, ()])
def test_forms_are_told_apart_and_a_digest_without_its_version_proves_nothing(lives: Iterable[ObservedObject]) -> None:
    lives = tuple(lives)
    present, former = applied_digest(lives, CONTENT), former_applied_digest(lives, CONTENT)
    assert present.split(":")[0] == "v2"
    assert former.split(":")[0] == "sha256"
    recorded = ("", "v2:" + former, present.removeprefix("v2:"), present.replace("v2:", "v3:"), "v2:sha256:", "sha256:")
    assert not [one for one in recorded if proves(one, lives, CONTENT)]
