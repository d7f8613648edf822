"""A broken deployment: a typical mistake, the cause that its conditions must name, and the way out.

A case is told by one generator. It makes the mistake, yields what the operator must say, and, when it is resumed,
repairs the mistake as the troubleshooting page tells users to:

    broken = await case.bring(scene)
    await broken.until_told()              broken.expected has the reason, the object and the words
    await broken.repair()
    await broken.until_repaired()
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from rukpak_py.api.names import ConditionType, Reason
from tests.broken_deployments.scene import Scene, condition
from tests.manifests import Document


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The conditions of a broken deployment.

    `reason`: of Ready. `condition`: the one that has the whole message. `object`: the object at fault, as messages name
    it; empty: it is the deployment itself, or its source. `at_fault`: another one, which `why` names instead. `event`:
    reason of an Event about it. `words`: parts of the line of Ready, and of that message; of Ready alone where `whole`
    has the parts of that message, whose text is upstream's. `is_ready`: Ready is True meanwhile. `ends_gone`: the
    repair ends a deletion.
    """

    reason: Reason
    condition: ConditionType
    object: str = ""
    at_fault: str = ""
    event: str = ""
    words: tuple[str, ...]
    whole: tuple[str, ...] = ()
    is_ready: bool = False
    ends_gone: bool = False


Story = AsyncGenerator[Expected, None]


class BrokenDeployment:
    """One that was made, and says what is expected of it."""

    def __init__(self, scene: Scene, expected: Expected, story: Story) -> None:
        self.expected = expected
        self._scene = scene
        self._story = story

    async def until_told(self) -> Document:
        """The deployment as soon as its conditions name the cause."""
        return await self._scene.until(self._is_told, what=f"{self.expected} is told")

    async def repair(self) -> None:
        """Go the way out."""
        async for _ in self._story:
            raise AssertionError("a case yields once")

    async def until_repaired(self) -> None:
        """Wait until the deployment is Ready, or gone where that is the end."""
        await (self._scene.until_gone() if self.expected.ends_gone else self._scene.until_ready())

    def _is_told(self, document: Document) -> bool:
        expected = self.expected
        ready, about = condition(document, ConditionType.READY), condition(document, expected.condition)
        parts = (expected.object, *expected.words)
        return (
            ready.get("reason") == expected.reason
            and (ready.get("status") == "True") is expected.is_ready
            and all(part in ready["message"] for part in parts)
            and all(part in about["message"] for part in expected.whole or parts)
        )


@dataclass(frozen=True, kw_only=True)
class Case:
    """`title`: the mistake in a few words. `runs_pods`: a kubelet has its part, or the scene plays it where none is.

    `needs_policies`: the deployment names an account, so the admission policies of identities have to be in force.
    `needs_helm`: it is a chart.
    """

    name: str
    title: str
    tell: Callable[[Scene], Story]
    runs_pods: bool = False
    needs_policies: bool = False
    needs_helm: bool = False

    async def bring(self, scene: Scene) -> BrokenDeployment:
        """Make the mistake."""
        story = self.tell(scene)
        return BrokenDeployment(scene, await anext(story), story)


def case(
    title: str, *, runs_pods: bool = False, needs_policies: bool = False, needs_helm: bool = False
) -> Callable[[Callable[[Scene], Story]], Case]:
    """Make a case of a generator. Its name is that of the function."""

    def make(tell: Callable[[Scene], Story]) -> Case:
        return Case(
            name=tell.__name__.replace("_", "-"),
            title=title,
            tell=tell,
            runs_pods=runs_pods,
            needs_policies=needs_policies,
            needs_helm=needs_helm,
        )

    return make
