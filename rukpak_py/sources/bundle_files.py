"""Which files of a checkout or an image a bundle or a chart is read from; all else may be of any size and state."""

from rukpak_py.sources.image.layers import below

MANIFESTS = "manifests"
CHART = "Chart.yaml"

demanded = below(MANIFESTS, "metadata")
_of_bundles = below(MANIFESTS, "metadata", "tests/scorecard")
_of_charts = below(
    *(CHART, "Chart.lock", "values.yaml", "values.schema.json", "requirements.yaml", ".helmignore"),
    *("templates", "charts", "crds"),
)


def of_bundle(path: str) -> bool:
    return _of_bundles(path) or ("/" not in path and "Dockerfile" in path)


def of_bundle_or_chart(path: str) -> bool:
    return of_bundle(path) or _of_charts(path)
