"""The engine as a library: bundles checked, rendered and described without a cluster, and without asyncio.

    >>> import rukpak_py
    >>> [finding.message for finding in rukpak_py.validate("docs/samples/greeter-v1")]
    []
    >>> [made["kind"] for made in rukpak_py.render("docs/samples/greeter-v1", watch_namespaces=["team-a"])]
    ['ServiceAccount', 'Role', 'RoleBinding', 'CustomResourceDefinition', 'Deployment']

A bundle is a path (a directory, a tar archive, an OCI image layout) or the files themselves: a mapping of path to
bytes. An image of a registry is pulled with `registries=True` only.

Errors are those of `rukpak_py.core.errors`: a `ContentError` says why content is no bundle or cannot be rendered so; an
`InvalidBundleError` is one that holds Findings; an `UnavailableError` may go away. A mistake of the caller is a
TypeError or a ValueError.
"""

from rukpak_py.library.functions import diff, inspect, permissions, render, rendering, validate
from rukpak_py.library.opened import ChartOptions, ChartValues, OpenedBundle, Rendering, open_bundle

__all__ = [
    "ChartOptions",
    "ChartValues",
    "OpenedBundle",
    "Rendering",
    "diff",
    "inspect",
    "open_bundle",
    "permissions",
    "render",
    "rendering",
    "validate",
]
