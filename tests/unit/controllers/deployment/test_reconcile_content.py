"""What becomes of an API server that refuses to show what is there."""

from typing import Any

import pytest

from rukpak_py.api.conditions import Summary
from rukpak_py.controllers.deployment.reconcile_content import ERRORS_QUIET_SECONDS, ContentReconciler
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.outcome import DONE, retry
from rukpak_py.kube.errors import ForbiddenError
from tests.unit.controllers.deployment.parts import attempt, controlled_clock
from tests.unit.controllers.fakes import refusal

ERROR = refusal(ForbiddenError, "may not get widgets")


class Visibility:
    """The first stage; its result ends the reconcile."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def of_owned(self, *_: object) -> StageResult:
        if self.error is not None:
            raise self.error
        return StageResult(outcome=DONE)


async def test_requests_that_fail_are_reported_when_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, visibility = controlled_clock(monkeypatch), Visibility()
    stages: dict[str, Any] = dict.fromkeys(("inventory", "rendering", "planner", "gates", "applier", "finish"))
    content = ContentReconciler(visibility=visibility, **stages)  # type: ignore[arg-type]  # all that is asked
    one = attempt()

    async def fails_at_first() -> None:
        visibility.error = ERROR
        with pytest.raises(ForbiddenError):
            await content.reconcile_content(one, None)
        clock.now += ERRORS_QUIET_SECONDS

    await fails_at_first()
    result = await content.reconcile_content(one, None)
    assert result.outcome == retry()
    assert result.report is not None
    assert (result.report.summary, result.report.message) == (Summary.RETRYING, str(ERROR))

    visibility.error = None
    assert await content.reconcile_content(one, None) == StageResult(outcome=DONE)
    await fails_at_first()
