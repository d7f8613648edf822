"""The kind BundleInstance: what BundleDeployment was called at first. It is mirrored into one of the same name.

Its spec is that of a BundleDeployment, every field of it, so a mirror needs no translation.
"""

from typing import Annotated

from rukpak_py.api.bundle import Generation, HandledRequest
from rukpak_py.api.bundle_deployment import Judged
from rukpak_py.api.conditions import Conditions, Notes
from rukpak_py.api.deployment_spec import BundleDeploymentSpec
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.schema import ApiType, doc


class BundleInstanceStatus(ApiType, frozen=True, kw_only=True):
    """Copied from the BundleDeployment of the same name."""

    conditions: Annotated[
        Conditions,
        doc(
            "Those of the BundleDeployment, with the generations of this object: `HasValidBundle`, `Installed`,"
            " `Healthy`, `UpgradePending` and `Ready`; `Reconciling` and `Stalled` only while true."
        ),
    ] = ()
    active_bundle: Annotated[str, doc("Name of the Bundle whose content is installed.")] = ""
    installed_bundle_name: Annotated[str, doc("The same, under the name that the field had in this kind.")] = ""
    version: Annotated[str, doc("Version of what is installed.")] = ""
    observed_generation: Generation = -1
    judged: Annotated[
        Judged | None,
        doc(
            "The state of this object that was written while the admission policies of identities stood guard. With an"
            " account, no other is passed on to the BundleDeployment."
        ),
    ] = None
    last_handled_reconcile_at: HandledRequest = ""
    notes: Notes = ()


class BundleInstance(ApiType, frozen=True, kw_only=True):
    """The former name of BundleDeployment. Each has a BundleDeployment of its own name, which does the work."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[BundleDeploymentSpec, doc("Which content to install and how.")]
    status: Annotated[BundleInstanceStatus, doc("Observed state of the installation.")] = BundleInstanceStatus()
