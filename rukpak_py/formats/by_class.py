"""Formats, by the provisioner classes that select them.

The class of a Bundle says what its content is, the class of a BundleDeployment how it is installed. A Bundle of OLM is
installed in two ways: by a deployment of its own class with all its options, or, as the original does it, converted to
plain manifests by a deployment of class plain. A Bundle that no deployment controls is judged as for the latter. Of a
chart both classes are helm: its objects depend on the values of the deployment.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.store import StoredForm
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import Format
from rukpak_py.formats.helm.format import HelmFormat
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.formats.registry_v1.converted import ConvertedFormat
from rukpak_py.formats.registry_v1.format import RegistryV1Format


class Classes(NamedTuple):
    """Two provisioner classes in their modern spelling."""

    bundle: str
    deployment: str = ""  # empty: no deployment controls the Bundle


_FORMATS: Mapping[Classes, Format] = {
    Classes(PLAIN_CLASS, PLAIN_CLASS): PlainFormat(),
    Classes(REGISTRY_CLASS, PLAIN_CLASS): ConvertedFormat(),
    Classes(REGISTRY_CLASS, REGISTRY_CLASS): RegistryV1Format(),
    Classes(HELM_CLASS, HELM_CLASS): HelmFormat(),
}
CLASSES = frozenset(classes.bundle for classes in _FORMATS)


def served_form(bundle_class: str) -> StoredForm:
    """In which form the content of such a Bundle is served to others."""
    return StoredForm.CONVERTED if bundle_class in {REGISTRY_CLASS, HELM_CLASS} else StoredForm.ORIGINAL


def is_nondeterministic(classes: Classes) -> bool:
    """Whether rendering again may give other objects: of random values, the time, or what the cluster serves."""
    return classes.deployment == HELM_CLASS


def format_of_bundle(classes: Classes) -> Format:
    """The format that checks the content of a Bundle. Its deployment reports when it cannot install that format."""
    alone = PLAIN_CLASS if classes.bundle == REGISTRY_CLASS else classes.bundle
    found = _FORMATS.get(classes) or _FORMATS.get(Classes(classes.bundle, alone))
    if found is None:
        raise ContentError(f"the provisioner class {classes.bundle!r} is not served")
    return found


def format_of_deployment(classes: Classes) -> Format:
    """ContentError when a deployment of that class cannot install a Bundle of that class."""
    found = _FORMATS.get(classes)
    if found is None:
        able = sorted(known.deployment for known in _FORMATS if known.bundle == classes.bundle)
        raise ContentError(
            f"a BundleDeployment of class {classes.deployment} cannot install a Bundle of class {classes.bundle}; "
            f"set spec.provisionerClassName to {' or '.join(able)}, or change the class of spec.template"
        )
    return found
