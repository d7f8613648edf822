"""The operator's admission policies in a cluster: are they stored as shipped, and does the API server enforce them?

The whole spec is compared, because a policy that differs in a single field may let everything through. That proves what
is stored. A probe proves the rest: an object that the policies refuse to every user, created in a dry run.
"""

from typing import Any

import msgspec

from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.api.policies.document import POLICY_KIND, Document
from rukpak_py.api.policies.installation import Installation
from rukpak_py.core.errors import AccessError
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.core.text import excerpt
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError, NotFoundError
from rukpak_py.kube.metadata import Metadata, decode_metadata
from rukpak_py.kube.resources import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    BUNDLE_DEPLOYMENTS,
    BUNDLES,
    Resource,
)

SHOWN = 60  # characters of a value, or of an answer


def policy_resource(document: Document) -> Resource:
    return ADMISSION_POLICIES if document["kind"] == POLICY_KIND else ADMISSION_POLICY_BINDINGS


def policy_key(document: Document) -> ObjectKey:
    return policy_resource(document).key("", document["metadata"]["name"])


def probed_resource(probe: Document) -> Resource:
    return BUNDLES if probe["kind"] == BUNDLE_KIND else BUNDLE_DEPLOYMENTS


async def stored_policy(client: Client, document: Document) -> Metadata | str:
    """Metadata of one that is as it should be, else a sentence about what is wrong. ApiError: it cannot be read."""
    key = policy_key(document)
    try:
        body = await client.get(policy_resource(document), "", key.name)
    except NotFoundError:
        return f"{key} does not exist"
    difference = difference_of(document["spec"], msgspec.json.decode(body).get("spec"), "spec")
    return f"{key}: {difference}" if difference else decode_metadata(body)


async def probe_problem(client: Client, installation: Installation, probe: Document) -> str:
    """Empty: the policies refused the probe. The client needs the right to create its kind."""
    resource = probed_resource(probe)
    named = f"the API server does not enforce them for {resource.plural}"
    try:
        await client.create(resource, "", canonical_json(probe), dry_run=True)
    except (AccessError, InvalidError) as error:
        answer = str(error)
        return "" if installation.answer in answer else f"{named}, it answers: {excerpt(answer, SHOWN)}"
    return f"{named}: is its admission plugin ValidatingAdmissionPolicy switched off, or are they a moment old?"


def difference_of(wanted: Any, live: Any, path: str) -> str:
    """Words about the first field that differs; empty where there is none."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for name in sorted(wanted.keys() | live.keys()):
            within = f"{path}.{name}"
            if name not in live:
                return f"{within} is missing"
            if name not in wanted:
                return f"{within} is set, and should not be"
            if found := difference_of(wanted[name], live[name], within):
                return found
        return ""
    if isinstance(wanted, list) and isinstance(live, list):
        if len(wanted) != len(live):
            return f"{path} has {len(live)} entries, and should have {len(wanted)}"
        pairs = enumerate(zip(wanted, live, strict=True))
        return next((found for n, (a, b) in pairs if (found := difference_of(a, b, f"{path}[{n}]"))), "")
    return (
        "" if wanted == live else f"{path} is {excerpt(str(live), SHOWN)}, and should be {excerpt(str(wanted), SHOWN)}"
    )
