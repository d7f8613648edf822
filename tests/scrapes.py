"""Samples of a scrape, as tests compare them."""

from prometheus_client.parser import text_string_to_metric_families

from rukpak_py.core import metrics

Labels = frozenset[tuple[str, str]]


def samples(name: str, text: str = "") -> dict[Labels, float]:
    """All samples of this name, by their labels. Default: the samples of this process."""
    return {
        frozenset(sample.labels.items()): sample.value
        for family in text_string_to_metric_families(text or metrics.render().decode())
        for sample in family.samples
        if sample.name == name
    }


def value(name: str, /, **labels: str) -> float:
    """The value of one sample of this process; 0 where there is none."""
    return samples(name).get(frozenset(labels.items()), 0.0)
