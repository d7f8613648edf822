"""Workers for tests of what is read, not of where: calls run in a thread of the test."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.spool import Spool
from rukpak_py.workers.child_process import Reply

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class InThread:
    async def run(
        self, call: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        return await asyncio.to_thread(call, *args, **kwargs)

    async def run_answering(
        self,
        reply: Reply | None,
        call: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        assert reply is None, "nothing asks here"
        return await self.run(call, *args, **kwargs)


WORKERS = InThread()
SPOOL = Spool(DEFAULT_LIMITS)
