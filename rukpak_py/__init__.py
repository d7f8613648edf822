"""Install content on Kubernetes, keep it there, upgrade and remove it, safely.

What is public here is imported when it is used: importing the package costs nothing.
"""

TYPE_CHECKING = False  # type checkers know better; importing `typing` would not be free
if TYPE_CHECKING:
    from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
    from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
    from rukpak_py.core.limits import Limits
    from rukpak_py.library import Rendering, diff, inspect, permissions, render, rendering, validate

__version__ = "0.1.0"
__all__ = [
    "AccessError",
    "ContentError",
    "Finding",
    "InvalidBundleError",
    "Limits",
    "Rendering",
    "Severity",
    "UnavailableError",
    "diff",
    "inspect",
    "permissions",
    "render",
    "rendering",
    "validate",
]

_HOMES = {
    "AccessError": "rukpak_py.core.errors",
    "ContentError": "rukpak_py.core.errors",
    "Finding": "rukpak_py.core.findings",
    "InvalidBundleError": "rukpak_py.core.findings",
    "Limits": "rukpak_py.core.limits",
    "Rendering": "rukpak_py.library",
    "Severity": "rukpak_py.core.findings",
    "UnavailableError": "rukpak_py.core.errors",
    "diff": "rukpak_py.library",
    "inspect": "rukpak_py.library",
    "permissions": "rukpak_py.library",
    "render": "rukpak_py.library",
    "rendering": "rukpak_py.library",
    "validate": "rukpak_py.library",
}

if not TYPE_CHECKING:  # which would believe in every name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - see the docstring

        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
