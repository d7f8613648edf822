"""The cause in what a kubelet says about an image that it cannot pull.

The kubelet, the CRI and containerd each put the reference in front of it, so a line of 300 characters may hold nothing
else. Only texts for people are made of it, and nothing is decided by it.
"""

import re
from typing import Final

_LONGEST: Final = 4096  # characters that are looked at; kubelets send up to some hundreds
_WRAPPER: Final = re.compile(
    r'Back-off pulling image "(?P<kubelet>[^"]*)"(?:: )?'
    r"|(?:ErrImagePull|ImagePullBackOff): "
    r"|rpc error: code = \w+ desc = "
    r'|failed to (?:pull and unpack image|pull image|resolve reference|resolve image) "(?P<runtime>[^"]*)": '
    r"|(?:Error response from daemon|failed to resolve image|failed to do request): "
)
_CANNOT: Final = "the node cannot pull the image"


def cause_of_pull(message: str) -> str:
    """The cause, for one line; without one, just that the node cannot pull the image."""
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]} …"
    rest, references = message, dict[str, None]()
    while (found := _WRAPPER.match(rest)) is not None:
        references |= dict.fromkeys(reference for reference in found.groups() if reference)
        rest = rest[found.end() :]
    for reference in references:  # containerd: `REFERENCE: not found`
        rest = rest.removeprefix(f"{reference}: ")
    return f"{_CANNOT}: {rest}" if rest else _CANNOT
