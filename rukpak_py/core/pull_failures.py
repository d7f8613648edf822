"""The cause in the message of a kubelet that cannot pull an image.

The kubelet, the CRI and containerd each put the reference in front of it, so a line of 300 characters may hold nothing
else. Only texts for people are made of it, and nothing is decided by it.
"""

import re
from typing import Final

PULLING: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})  # reasons of a container that waits for its image
_LONGEST: Final = 4096  # characters that are looked at; kubelets send up to some hundreds
_WRAPPER: Final = re.compile(
    r'Back-off pulling image "(?P<kubelet>[^"]*)"(?:: )?'
    r"|(?:ErrImagePull|ImagePullBackOff): "
    r"|rpc error: code = \w+ desc = "
    r'|failed to (?:pull and unpack image|pull image|resolve reference|resolve image) "(?P<runtime>[^"]*)": '
    r"|(?:Error response from daemon|failed to resolve image|failed to do request): "
)


def cause_of_pull(message: str) -> str:
    """The cause; empty where the message has none."""
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]} …"
    rest, references = message, dict[str, None]()
    while (found := _WRAPPER.match(rest)) is not None:
        references |= dict.fromkeys(reference for reference in found.groups() if reference)
        rest = rest[found.end() :]
    for reference in references:  # containerd: `REFERENCE: not found`
        rest = rest.removeprefix(f"{reference}: ")
    return rest
