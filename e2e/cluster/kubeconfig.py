"""Kubeconfigs with embedded credentials: one file is all a client needs. JSON, which is YAML too."""

import base64
import json
from pathlib import Path

from e2e.cluster.files import write_private
from e2e.cluster.pki import KeyPair

NAME = "rukpak"


def write_kubeconfig(path: Path, *, server: str, authority: bytes, user: str, pair: KeyPair) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": server, "certificate-authority-data": _base64(authority)}}],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _base64(pair.certificate),
                    "client-key-data": _base64(pair.key),
                },
            }
        ],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": user}}],
        "current-context": NAME,
    }
    write_private(path, json.dumps(document, indent=2) + "\n")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
