"""Small charts for tests: a good one by default, with the files that a test is about.

chart({"templates/a.yaml": config_map("a")})
chart({"Chart.yaml": None})                                 None removes a file
chart({"templates/a.yaml": config_map("a")}, root="web")    below a directory
"""

import io
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import HelmRendering, render_chart
from rukpak_py.formats.helm.request import HelmRequest

METADATA = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
NAMESPACE = "shop"
Files = Mapping[str, str | bytes | None]


def chart(files: Files | None = None, *, root: str = "") -> Tree:
    builder = TreeBuilder()
    for path, content in {"Chart.yaml": METADATA, **(files or {})}.items():
        if content is not None:
            builder.add(f"{root}/{path}" if root else path, content.encode() if isinstance(content, str) else content)
    return builder.build()


def metadata(name: str, **more: str) -> str:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n" + "".join(f"{key}: {text}\n" for key, text in more.items())


def config_map(name: str, value: str = '""', **annotations: str) -> str:
    """`value` is what a template prints: `.Values.a`."""
    noted = ", ".join(f'"{key.replace("_", "-")}": "{text}"' for key, text in annotations.items())
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{{noted}}}}}\n"
        f"data:\n  value: {{{{ print {value} | quote }}}}\n"
    )


def crd(name: str, value: str = "") -> str:
    """A file for crds/, which is no template."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: '{value}'}}\n"


def hook(name: str, events: str, **more: str) -> str:
    """`weight`, `delete_policy`."""
    return config_map(name, **{"helm.sh/hook": events, **{f"helm.sh/hook-{key}": text for key, text in more.items()}})


def job_hook(name: str, events: str, **more: str) -> str:
    """A Job whose pods fit no node, so a test decides how they end."""
    annotations = {
        "helm.sh/hook": events,
        **{f"helm.sh/hook-{key}".replace("_", "-"): text for key, text in more.items()},
    }
    noted = ", ".join(f'"{key}": "{text}"' for key, text in annotations.items())
    pod = (
        'restartPolicy: Never, nodeSelector: {example.com/never: "true"}, '
        "containers: [{name: main, image: registry.example.com/none}]"
    )
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{{noted}}}}}\n"
        f"spec: {{backoffLimit: 0, template: {{spec: {{{pod}}}}}}}\n"
    )


def packed(files: Mapping[str, str], *, root: str = "sub/") -> bytes:
    """An archive as `helm package` makes it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{root}{path}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content.encode()))
    return archive.getvalue()


def rendered(helm: HelmProgram, tree: Tree, limits: Limits = DEFAULT_LIMITS, **request: Any) -> HelmRendering:
    return render_chart(tree, HelmRequest(**{"namespace": NAMESPACE, **request}), helm, limits=limits)


def value_of(rendering: HelmRendering, name: str) -> Any:
    """`data.value` of the ConfigMap of that name."""
    (found,) = (made.manifest() for made in rendering.objects if made.head.name == name)
    return found["data"]["value"]


def limited(**limits: int) -> Limits:
    return replace(DEFAULT_LIMITS, **limits)
