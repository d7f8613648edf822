"""A Kubernetes on the machine at hand: `python -m e2e.cluster up`.

In this order: the cluster of `KUBECONFIG` (only when `RUKPAK_USE_KUBECONFIG=1`), kind when it is usable,
else a cluster built from Go modules. Everything that a cluster makes lies in its state directory, and
`down` takes away exactly that. Needs the standard library and `cryptography`, and Go to build.

Inside tests: `ControlPlane.start(directory)` from `e2e.cluster.control_plane` gives a private API server.
"""
