"""Secret values of deployments, taken out of their texts at the border: status, Events, log.

Server messages quote names, labels and kinds, and a template makes those of any value; what a stage says is therefore
never shown as it is. A mask belongs to one deployment and hides nothing of another one.

The values that were found last count, and those before them: objects that are named after former values are pruned, and
told of, when the new ones are there. So do those that templates have looked up in Secrets. What an earlier process knew
is not known. Values of ConfigMaps are no secret, and neither is what the BundleDeployment itself says.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TypeAlias

from msgspec import to_builtins

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.core.masking import Mask
from rukpak_py.formats.helm.request import ValuesDocument, leaves_of, secret_values

Hide: TypeAlias = Callable[[str, str], str]  # of the deployment with this uid, in this text
RENDERINGS = 4  # whose lookups are remembered: of what is wanted, what is installed, and edits in between
_Documents: TypeAlias = tuple[ValuesDocument, ...]


class SecretMask:
    def __init__(self) -> None:
        self._latest: _Documents = ()
        self._former: _Documents = ()
        self._looked_up: deque[_Documents] = deque(maxlen=RENDERINGS)
        self._generation: int | None = None
        self._mask: Mask | None = None

    def learn(self, deployment: BundleDeployment, documents: Iterable[ValuesDocument]) -> None:
        """Learn the current secret values of the deployment."""
        found = tuple(documents) or self._latest  # without any, objects of the former ones may still be there
        if found != self._latest:
            self._latest, self._former = found, self._latest or self._former
        elif self._generation == deployment.metadata.generation:
            return
        self._make(deployment)

    def learn_looked_up(self, deployment: BundleDeployment, documents: Iterable[ValuesDocument]) -> None:
        """A rendering saw these, whatever came of it. Texts of the renderings before it may be shown still."""
        found = tuple(documents)
        if found and found not in self._looked_up:
            self._looked_up.append(found)
            self._make(deployment)

    def _make(self, deployment: BundleDeployment) -> None:
        self._generation = deployment.metadata.generation
        public = [deployment.metadata.name, *map(str, leaves_of(to_builtins(deployment.spec)))]
        self._mask = Mask(secret_values((*self._latest, *self._former, *chain(*self._looked_up))), public)

    def hide(self, text: str) -> str:
        return self._mask.hide(text) if self._mask is not None else text


def as_it_is(_uid: str, text: str) -> str:
    return text
