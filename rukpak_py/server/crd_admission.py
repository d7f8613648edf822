"""The admission webhook for CRDs that a BundleDeployment owns: updates by others lose and freeze no stored objects.

It asks what the gate of an upgrade asks. The operator's own writes, which that gate has judged, do not come here: the
match conditions of the configuration leave its field managers out.

It fails open, as its configuration does: what cannot be checked, or not in time, passes with a warning that says so.

Any client that reaches the port may send a review, and would read objects by its answers. So the old CRD is the one in
the cluster, which must have our label; only its objects are read. Unless clients have shown a certificate, no answer
depends on the values of these objects, only on their names, their fields and the types of those. One review is judged
at a time, and others wait: a large schema takes a hundred MiB. It keeps its turn until its thread has ended.
"""

import asyncio
import logging

import msgspec

from rukpak_py.api.admission import Decision
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, OWNER_KIND_LABEL, SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.apply.crd_review import CrdReview, review_upgrade
from rukpak_py.apply.crd_safety.definition import UnreadableDefinitionError
from rukpak_py.apply.preflight.crd_safety import refusal_text
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.text import excerpt
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CRDS
from rukpak_py.server.admission import expect
from rukpak_py.server.review import AdmissionRequest, ReviewError

SECONDS = 8.0  # the API server waits for 10
PARTS = 100_000  # mappings, lists and what commas separate; of 1.5 MiB, the most that etcd takes, one in 16 bytes
WARNING_CHARACTERS = 400  # an API server cuts those of an answer that has more than 4096 in all
WARNINGS = 10
DENIAL_CHARACTERS = 8000
_LOG = logging.getLogger(__name__)


class UncheckedError(RukPakError):
    """The update passes unchecked; the text says why."""


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Outline(msgspec.Struct):
    metadata: _Metadata


class CrdUpdates:
    def __init__(
        self, client: Client, *, reads_values: bool, limits: Limits = DEFAULT_LIMITS, seconds: float = SECONDS
    ) -> None:
        """`client` reads as the operator. `reads_values`: only the API server is answered, so answers may say more."""
        self._client = client
        self._reads_values = reads_values
        self._limits = limits
        self._seconds = seconds
        self._turn = asyncio.Lock()

    async def judge(self, request: AdmissionRequest) -> Decision:
        expect(request, CRDS.gvk.group, CRDS.plural)
        if request.operation != "UPDATE":
            return Decision()
        if not memoryview(request.object):
            raise ReviewError("the review has no object")
        review = asyncio.create_task(self._review(request))
        review.add_done_callback(_ask_for_error)
        try:
            await asyncio.wait({review}, timeout=self._seconds)
            if not review.done():
                return _unchecked(request.name, f"this took more than {self._seconds:g} s")
            return self._decision(request.name, review.result())
        except (RukPakError, UnreadableDefinitionError) as error:
            return _unchecked(request.name, str(error))
        except Exception:  # noqa: BLE001 - a bug of ours stops no update
            _LOG.exception("this is a bug: an update of CRD %r could not be checked", request.name[:253])
            return _unchecked(request.name, "the check failed; see the log of the operator")
        finally:
            review.cancel()

    async def _review(self, request: AdmissionRequest) -> CrdReview | None:
        """None: no CRD of ours is updated."""
        async with self._turn:
            try:
                live = await self._client.get(CRDS, "", request.name)
            except NotFoundError:
                return None
            if not _is_owned(live):
                return None
            new = bytes(request.object)
            if len(new) > self._limits.object_bytes:
                raise self._limits.exceeded("object_bytes", "the CRD")
            if sum(map(new.count, (b"{", b"[", b","))) > PARTS:
                raise UncheckedError(f"its schemas have more than {PARTS} parts")
            return await review_upgrade(self._client, live, new, reads_values=self._reads_values)

    def _decision(self, name: str, review: CrdReview | None) -> Decision:
        if review is None:
            return Decision()
        if review.unlisted is not None:
            return _unchecked(name, f"its objects could not be listed: {review.unlisted}")
        if review.loses or review.breaks:
            switch = f'to disable this validation, set the "{SAFE_CRD_UPGRADE_ANNOTATION}" annotation to "false"'
            about = f'failed to validate safety of UPDATE for CRD "{name}" (NOTE: {switch})'
            return Decision(denials=(excerpt(f"{about}: {refusal_text(review, review.breaks)}", DENIAL_CHARACTERS),))
        return Decision(warnings=tuple(_warning(one) for one in (*review.warns, *review.not_checked)[:WARNINGS]))


def _is_owned(crd: bytes) -> bool:
    labels = msgspec.json.decode(crd, type=_Outline).metadata.labels or {}
    return labels.get(OWNER_KIND_LABEL) == BUNDLE_DEPLOYMENT_KIND


def _unchecked(name: str, why: str) -> Decision:
    return Decision(warnings=(_warning(f'CRD "{name}" was updated without a check of its stored objects: {why}'),))


def _warning(text: str) -> str:
    return excerpt(" ".join(text.split()), WARNING_CHARACTERS)


def _ask_for_error(task: asyncio.Task[CrdReview | None]) -> None:
    if not task.cancelled():
        task.exception()
