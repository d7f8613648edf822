"""Requests of users to the operator: suspend a BundleDeployment or resume it, reconcile it, or fetch it anew.

Written with the rights of the user to what users edit, which may be a BundleInstance. A request is a new value of an
annotation; the status of the BundleDeployment says which one was handled last.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import first_line
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, REFRESH_AT_ANNOTATION, SourceType
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.cli.cluster.deployments import TRIES, DeploymentCommandError, EditedDeployment, read_deployment
from rukpak_py.cli.cluster.field_owners import other_owners
from rukpak_py.cli.cluster.following import follow
from rukpak_py.cli.cluster.waiting import WaitError, why_of
from rukpak_py.diagnosis.states import State
from rukpak_py.diagnosis.verdicts import verdict_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

_REFUSALS = {State.SUSPENDED, State.DELETING}  # states in which no request is handled
_ENDS = {*_REFUSALS, State.STALLED, State.FAILED}


class Request(StrEnum):
    RECONCILE = RECONCILE_AT_ANNOTATION
    REFRESH = REFRESH_AT_ANNOTATION

    def handled(self, deployment: BundleDeployment) -> str:
        """The value that was handled last."""
        status = deployment.status
        return status.last_handled_reconcile_at if self is Request.RECONCILE else status.last_handled_refresh_at


@dataclass(frozen=True, kw_only=True)
class Suspended:
    """`others`: clients that may set the field again, as a message names them."""

    edited: EditedDeployment
    is_changed: bool
    others: tuple[str, ...] = ()


async def suspend(client: Client, name: str, *, suspended: bool) -> Suspended:
    """Suspend it, or resume it."""
    for _ in range(TRIES):
        found = await read_deployment(client, name)
        if found.edited.spec.suspend is suspended:
            return Suspended(edited=found, is_changed=False)
        others = tuple(other_owners(found, [("spec", "suspend")]))
        try:
            await found.patch(client, {"spec": {"suspend": True if suspended else None}})
        except StaleError:
            continue
        return Suspended(edited=found, is_changed=True, others=others)
    raise DeploymentCommandError(f"{found.title} keeps changing; run the command again")


async def request(client: Client, name: str, what: Request) -> tuple[EditedDeployment, str]:
    """Ask for it; the value of the annotation, which is the time."""
    value = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    for _ in range(TRIES):
        found = await read_deployment(client, name)
        if what is Request.REFRESH and found.edited.spec.template.spec.source.type == SourceType.UPLOAD:
            raise DeploymentCommandError(
                f"{found.title} has uploaded content, which has no source to fetch it from: "
                f"upload other content with rukpakctl run {name} DIRECTORY"
            )
        try:
            await found.patch(client, {"metadata": {"annotations": {what.value: value}}})
        except StaleError:
            continue
        return found, value
    raise DeploymentCommandError(f"{found.title} keeps changing; run the command again")


def never_moves(found: EditedDeployment) -> str:
    """Why a refresh fetches the same content again; empty: it may fetch other content."""
    source = found.edited.spec.template.spec.source
    if not source.is_pinned:
        return ""
    return "its source is pinned, so a refresh fetches the same content again: change spec.template for other content"


async def wait_until_handled(
    client: Client, name: str, what: Request, value: str, *, seconds: float, tell: Callable[[str], None]
) -> str:
    """Wait until the request is handled, and then until nothing is under way; the state in a line.

    WaitError: it is not ready then, or not within the time.
    """
    said = ""
    try:
        async with (
            asyncio.timeout(seconds),
            aclosing(follow(client, BUNDLE_DEPLOYMENTS, read_bundle_deployment, name=name)) as seen,
        ):
            async for one in seen:
                deployment = one.objects.get(name)
                if deployment is None:
                    raise WaitError(f"{name} was deleted")
                verdict = verdict_of(deployment)
                is_handled = what.handled(deployment) == value
                text = f"{verdict.state} ({verdict.reason}: {first_line(verdict.message)})"
                if is_handled and verdict.state is State.READY:
                    return text
                if text != said:
                    said = text
                    tell(text)
                if verdict.state in (_ENDS if is_handled else _REFUSALS):
                    raise WaitError(f"{name} is {await why_of(client, name, otherwise=text)}")
    except TimeoutError:
        pass
    why = await why_of(client, name, otherwise=said)
    raise WaitError(f"{name} is not ready within {seconds:g} s: {why}")
