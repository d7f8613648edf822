"""The admission webhooks for Bundles and for ConfigMaps. Every replica serves them.

They decide with the pure rules of `api.admission`; what those need to know comes through two ports. Whatever cannot
be judged is refused with a message: a review we do not understand with 400, a port that fails with 503.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from aiohttp import web

from rukpak_py.api.admission import (
    Denials,
    bundle_denials,
    config_map_created_denials,
    config_map_deleted_denials,
    referenced_config_maps,
)
from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.names import BUNDLE_PLURAL, BUNDLE_WEBHOOK_PATH, CONFIG_MAP_WEBHOOK_PATH, GROUP
from rukpak_py.api.reading import read_bundle
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.server.review import AdmissionRequest, ReviewError, answer, read_object, read_review

LOOK_UPS = 16  # at a time, for one review
LOOK_UP_SECONDS = 8.0  # the API server waits for 10
_LOG = logging.getLogger(__name__)

Rule = Callable[[AdmissionRequest], Awaitable[Denials]]
Handler = Callable[[web.Request], Awaitable[web.Response]]


class ConfigMaps(Protocol):
    async def immutable(self, namespace: str, name: str) -> bool | None:
        """The flag of a ConfigMap; None when there is no such ConfigMap."""
        ...


class Bundles(Protocol):
    async def using(self, config_map: str) -> Sequence[str]:
        """The names of the Bundles that refer to a ConfigMap of the system namespace, sorted."""
        ...


class Admission:
    """The rules with what they need to know."""

    def __init__(self, *, system_namespace: str, config_maps: ConfigMaps, bundles: Bundles) -> None:
        self._system_namespace = system_namespace
        self._config_maps = config_maps
        self._bundles = bundles

    async def bundle(self, request: AdmissionRequest) -> Denials:
        _expect(request, GROUP, BUNDLE_PLURAL)
        if request.operation not in {"CREATE", "UPDATE"}:
            return ()
        new = _bundle_spec(request, "object")
        old = _bundle_spec(request, "oldObject") if request.operation == "UPDATE" else None
        flags = await self._flags(referenced_config_maps(new))
        immutable = {name: flag for name, flag in flags.items() if flag is not None}
        return bundle_denials(old=old, new=new, immutable=immutable)

    async def config_map(self, request: AdmissionRequest) -> Denials:
        _expect(request, "", "configmaps")
        if request.namespace != self._system_namespace:
            return ()
        match request.operation:
            case "CREATE":
                config_map = read_object(request.object, "object")
                name = _name(config_map)
                return config_map_created_denials(
                    name=name,
                    immutable=config_map.get("immutable") is True,
                    bundles=await self._bundles.using(name),
                )
            case "DELETE":
                name = request.name or _name(read_object(request.old_object, "oldObject"))
                return config_map_deleted_denials(name=name, bundles=await self._bundles.using(name))
            case _:
                return ()

    async def _flags(self, names: Sequence[str]) -> dict[str, bool | None]:
        """The flags of all these ConfigMaps, some at a time: the API server waits for the answer."""
        turns = asyncio.Semaphore(LOOK_UPS)

        async def flag(name: str) -> bool | None:
            async with turns:
                return await self._config_maps.immutable(self._system_namespace, name)

        try:
            async with asyncio.timeout(LOOK_UP_SECONDS), asyncio.TaskGroup() as group:
                flags = {name: group.create_task(flag(name)) for name in names}
        except TimeoutError as error:
            text = f"the ConfigMaps of the Bundle could not be looked up within {LOOK_UP_SECONDS:g} s; try again"
            raise UnavailableError(text) from error
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return {name: task.result() for name, task in flags.items()}


def webhook_app(admission: Admission, limits: Limits = DEFAULT_LIMITS) -> web.Application:
    """The application that answers reviews on both paths."""
    app = web.Application(client_max_size=limits.review_bytes)
    app.router.add_post(BUNDLE_WEBHOOK_PATH, _handler(admission.bundle, limits))
    app.router.add_post(CONFIG_MAP_WEBHOOK_PATH, _handler(admission.config_map, limits))
    return app


def _handler(rule: Rule, limits: Limits) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return _refusal(413, str(limits.exceeded("review_bytes", "the admission review")))
        try:
            review = read_review(body)
            denials = await rule(review)
        except (ReviewError, ContentError) as error:
            return _refusal(400, str(error))
        except RukPakError as error:
            return _refusal(503, str(error))
        if denials:
            _LOG.info("denied: %s of %s %r: %s", review.operation, review.resource.resource, review.name, denials[0])
        return web.Response(body=answer(review.uid, denials), content_type="application/json")

    return handle


def _refusal(status: int, text: str) -> web.Response:
    _LOG.warning("admission review refused: %s", text)
    return web.Response(status=status, text=text)


def _expect(request: AdmissionRequest, group: str, resource: str) -> None:
    asked = request.resource
    if (asked.group, asked.resource, request.sub_resource) != (group, resource, ""):
        place = "/".join(filter(None, (asked.group, asked.resource, request.sub_resource)))
        raise ReviewError(f"this webhook validates {resource}, not {place!r}")


def _bundle_spec(request: AdmissionRequest, what: str) -> BundleSpec:
    raw = request.object if what == "object" else request.old_object
    return read_bundle(read_object(raw, what)).spec


def _name(manifest: dict[str, Any]) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise ReviewError("the object of the review has no name")
    return name
