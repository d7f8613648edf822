"""The status of a deployment whose whole status does not fit into its object: what is installed, and short texts.

etcd takes 1.5 MiB for one object, which spec, annotations and status share. A status that is refused for its size would
leave the former one in its place, which may say `Ready=True` of a spec that was never looked at. What the next look
needs stays: kinds, kept objects, hooks, digests, and the options of what is installed, their values as a digest.
"""

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation
from rukpak_py.api.conditions import (
    BUNDLE_DEPLOYMENT_CONDITIONS,
    Conditions,
    Summary,
    brief,
    complete,
    summarise,
)
from rukpak_py.api.install_options import with_config_digest
from rukpak_py.api.names import ConditionType, Reason
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.history_size import History, reduced

_OVERALL = frozenset({ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED})


def minimal_status(
    before: BundleDeploymentStatus, wanted: BundleDeploymentStatus, *, generation: int, now: str
) -> BundleDeploymentStatus:
    """`wanted`: the whole one. `before`: what it would replace; the times of its transitions go on."""
    return replace(
        wanted,
        conditions=_conditions(before.conditions, wanted.conditions, generation, now),
        observed_generation=generation,
        history=minimal_history(wanted.history),
        hooks=tuple(replace(one, message=brief(one.message)) for one in wanted.hooks),
    )


def _conditions(before: Conditions, wanted: Conditions, generation: int, now: str) -> Conditions:
    """Ready says that it is too large, whatever it would say else: there is no room for more."""
    aspects = (replace(one, message=brief(one.message)) for one in wanted if one.type not in _OVERALL)
    overall = (one for one in before if one.type in _OVERALL)
    conditions = summarise(
        (*aspects, *overall),
        Summary.STALLED,
        reason=Reason.STATUS_TOO_LARGE,
        message=messages.STATUS_TOO_LARGE,
        generation=generation,
        now=now,
    )
    return complete(conditions, BUNDLE_DEPLOYMENT_CONDITIONS, generation=generation, now=now)


def minimal_history(history: History) -> History:
    return tuple(_without_values(reduced(entry, is_active=at == 0)) for at, entry in enumerate(history))


def _without_values(entry: Installation) -> Installation:
    return replace(entry, options=with_config_digest(entry.options)) if entry.options is not None else entry
