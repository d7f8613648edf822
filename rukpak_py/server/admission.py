"""The admission webhooks for Bundles and for ConfigMaps, and what all webhooks share. Every replica serves them.

They decide with the pure rules of `api.admission`; what those need to know comes through two ports. Whatever cannot
be judged is refused with a message: a review we do not understand with 400, a port that fails with 503.

A review says which ConfigMaps exist and which of them are immutable, and which Bundles use one. With `ReviewClients`
only a client with a certificate of the API server's is told that, and the body of another's request is never read.
A connection is kept only for a client whose review was judged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rukpak_py.api.admission import (
    Decision,
    bundle_denials,
    config_map_created_denials,
    config_map_deleted_denials,
    denials_without_look_ups,
    referenced_config_maps,
)
from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.names import BUNDLE_PLURAL, BUNDLE_WEBHOOK_PATH, CONFIG_MAP_WEBHOOK_PATH, CRD_WEBHOOK_PATH, GROUP
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, KIB, LimitError, Limits
from rukpak_py.core.logs import BoundedLog, OnceLog
from rukpak_py.core.metrics import WEBHOOK_SECONDS
from rukpak_py.core.text import shown
from rukpak_py.server.access import identity_of
from rukpak_py.server.listener import PortSettings, admit, receiving
from rukpak_py.server.review import (
    AdmissionRequest,
    BundleObject,
    ConfigMapObject,
    LateError,
    ReviewError,
    ReviewsInFlight,
    answer,
    read_body,
    read_object,
    read_review,
)

LOOK_UPS = 16  # at a time, for one review
LARGE_OBJECT = 64 * KIB
LOOK_UP_SECONDS = 8.0  # the API server waits for 10
IDLE_SECONDS = 120.0  # an API server ends connections that it has not used for 90 s; it must be the one that does
_LOG = logging.getLogger(__name__)

Rule = Callable[[AdmissionRequest], Awaitable[Decision]]


class ConfigMaps(Protocol):
    async def immutable(self, name: str) -> bool | None:
        """The flag of a ConfigMap of the system namespace; None when there is no such ConfigMap."""
        ...


class Bundles(Protocol):
    async def using(self, config_map: str) -> Sequence[str]:
        """The names of the Bundles that refer to a ConfigMap of the system namespace, sorted."""
        ...


@dataclass(frozen=True, kw_only=True)
class ReviewClients:
    """The clients that may ask for reviews: those with a certificate of the authority that the port trusts.

    `names`: common names, one of which the certificate must have; empty: any.
    """

    names: frozenset[str] = frozenset()

    def refusal(self, request: web.Request) -> tuple[int, str] | None:
        """The status and the text for a client that may not ask."""
        transport = request.transport
        identity = identity_of(transport.get_extra_info("peercert") if transport is not None else None)
        if identity is None:
            text = "reviews need a client certificate of the API server (--webhook-client-ca); see docs/webhooks.md"
            return 401, text
        if self.names and identity.user not in self.names:
            text = f"the client certificate of {shown(identity.user)!r} may not ask for reviews"
            return 403, f"{text} (--webhook-client-names); see docs/webhooks.md"
        return None


class Admission:
    """The rules with what they need to know."""

    def __init__(
        self,
        *,
        system_namespace: str,
        config_maps: ConfigMaps,
        bundles: Bundles,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._system_namespace = system_namespace
        self._config_maps = config_maps
        self._bundles = bundles
        self._limits = limits
        self._reading = asyncio.Lock()

    async def bundle(self, request: AdmissionRequest) -> Decision:
        expect(request, GROUP, BUNDLE_PLURAL)
        if request.operation not in {"CREATE", "UPDATE"}:
            return Decision()
        new = await self._bundle_spec(request.object, "object")
        old = await self._bundle_spec(request.old_object, "oldObject") if request.operation == "UPDATE" else None
        if denials := denials_without_look_ups(old=old, new=new):
            return Decision(denials=denials)
        flags = await self._flags(referenced_config_maps(new))
        immutable = {name: flag for name, flag in flags.items() if flag is not None}
        return Decision(denials=bundle_denials(old=old, new=new, immutable=immutable))

    async def config_map(self, request: AdmissionRequest) -> Decision:
        expect(request, "", "configmaps")
        if request.namespace != self._system_namespace:
            return Decision()
        match request.operation:
            case "CREATE":
                config_map = read_object(request.object, "object", ConfigMapObject)
                name = _name(config_map)
                bundles, immutable = await self._bundles.using(name), config_map.immutable is True
                return Decision(denials=config_map_created_denials(name=name, immutable=immutable, bundles=bundles))
            case "DELETE":
                name = request.name or _name(read_object(request.old_object, "oldObject", ConfigMapObject))
                return Decision(denials=config_map_deleted_denials(name=name, bundles=await self._bundles.using(name)))
            case _:
                return Decision()

    async def _bundle_spec(self, raw: msgspec.Raw, what: str) -> BundleSpec:
        """Read the spec of a Bundle, up to the size of an object: items are made before they can be counted.

        No API server sends a larger one. Large specs are read one after the other, each in a turn of the event loop of
        its own: a hundred that arrive together would hold everything else up.
        """
        size = len(memoryview(raw))
        if size > self._limits.object_bytes:
            raise self._limits.exceeded("object_bytes", f"{what} of the review")
        if size > LARGE_OBJECT:
            async with self._reading:
                await asyncio.sleep(0)
                return read_object(raw, what, BundleObject).spec
        return read_object(raw, what, BundleObject).spec

    async def _flags(self, names: Sequence[str]) -> dict[str, bool | None]:
        """The flags of all these ConfigMaps, some at a time: the API server waits for the answer."""
        flags: dict[str, bool | None] = {}
        left = iter(names)
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS), asyncio.TaskGroup() as workers:
                for _ in range(min(LOOK_UPS, len(names))):
                    workers.create_task(self._look_up(left, flags))
        except TimeoutError as error:
            text = f"the ConfigMaps of the Bundle could not be looked up within {LOOK_UP_SECONDS:g} s; try again"
            raise UnavailableError(text) from error
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return flags

    async def _look_up(self, left: Iterator[str], flags: dict[str, bool | None]) -> None:
        for name in left:
            flags[name] = await self._config_maps.immutable(name)


def webhook_port(limits: Limits, clients: ReviewClients | None = None) -> PortSettings:
    """Clients that need a certificate, and have not shown one, get half of the places."""
    places = limits.webhook_connections
    return PortSettings(
        name="webhooks",
        connections=places,
        strangers=places if clients is None else places // 2,
        request_seconds=limits.request_seconds,
        idle_seconds=IDLE_SECONDS,
    )


def webhook_app(
    admission: Admission,
    limits: Limits = DEFAULT_LIMITS,
    clients: ReviewClients | None = None,
    *,
    crds: Rule | None = None,
    reviews: ReviewsInFlight | None = None,
) -> web.Application:
    """The application that answers reviews, on a path for each rule. `clients`: who may ask; None: anyone."""
    app = web.Application()
    reviews = reviews or ReviewsInFlight(limits)
    rules: dict[str, tuple[str, Rule]] = {
        BUNDLE_WEBHOOK_PATH: ("bundles", admission.bundle),
        CONFIG_MAP_WEBHOOK_PATH: ("configmaps", admission.config_map),
    }
    if crds is not None:
        rules[CRD_WEBHOOK_PATH] = ("crds", crds)
    for path, (name, rule) in rules.items():
        app.router.add_post(path, _Webhook(name, rule, reviews, limits, clients).handle)
    return app


class _Webhook:
    def __init__(
        self, name: str, rule: Rule, reviews: ReviewsInFlight, limits: Limits, clients: ReviewClients | None
    ) -> None:
        """`name`: of the rule, in metrics."""
        self._name = name
        self._rule = rule
        self._reviews = reviews
        self._limits = limits
        self._clients = clients
        self._refusals = BoundedLog(_LOG)
        self._denials = OnceLog(_LOG)

    async def handle(self, request: web.Request) -> web.Response:
        began, result = perf_counter(), "failed"
        try:
            response, result = await self._answer(request)
        except asyncio.CancelledError:
            result = "gone"
            raise
        finally:
            WEBHOOK_SECONDS.labels(self._name, result).observe(perf_counter() - began)
        return response

    async def _answer(self, request: web.Request) -> tuple[web.Response, str]:
        """The answer, and the result as the metric has it."""
        if self._clients is not None:
            if (refusal := self._clients.refusal(request)) is not None:
                return self._refused(*refusal), "refused"
            admit(request)
        with self._reviews.reception(_ender(request)) as reception:
            try:
                with receiving(request):
                    body = await read_body(request, reception, self._reviews, self._limits)
                return await self._judge(body)
            except LateError as error:
                return self._refused(408, str(error)), "refused"
            except LimitError as error:
                return self._refused(413, str(error)), "refused"
            except (ReviewError, ContentError, web.RequestPayloadError, HttpProcessingError) as error:
                return self._refused(400, str(error)), "refused"
            except RukPakError as error:
                return self._refused(503, str(error)), "failed"

    async def _judge(self, body: bytes) -> tuple[web.Response, str]:
        review = read_review(body)
        decision = await self._rule(review)
        subject = shown(review.operation), shown(review.resource.resource), shown(review.namespace), shown(review.name)
        if decision.denials:
            operation, resource, _, name = subject
            self._denials.tell(subject, f"denied: {operation} of {resource} {name!r}: {shown(decision.denials[0])}")
        else:
            self._denials.over(subject)
        response = web.Response(body=answer(review.uid, decision), content_type="application/json")
        return response, "denied" if decision.denials else "allowed"

    def _refused(self, status: int, text: str) -> web.Response:
        text = shown(text)
        self._refusals.warning("admission review refused: %s", text)
        response = web.Response(status=status, text=text)
        response.force_close()
        return response


def _ender(request: web.Request) -> Callable[[], None]:
    """Make the function that ends a review which gives way: its body, its look-ups and its connection."""
    task = asyncio.current_task()

    def end() -> None:
        if task is not None:
            task.cancel()
        if request.transport is not None:
            request.transport.abort()

    return end


def expect(request: AdmissionRequest, group: str, resource: str) -> None:
    asked = request.resource
    if (asked.group, asked.resource, request.sub_resource) != (group, resource, ""):
        place = "/".join(filter(None, (asked.group, asked.resource, request.sub_resource)))
        raise ReviewError(f"this webhook validates {resource}, not {shown(place)!r}")


def _name(config_map: ConfigMapObject) -> str:
    if not config_map.metadata.name:
        raise ReviewError("the object of the review has no name")
    return config_map.metadata.name
