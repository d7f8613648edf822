"""Random packages of a few channels: tangles, prereleases, rebuilds, ranges, deprecations, dangling names."""

from random import Random

from rukpak_py.catalog.model import Catalog, Entry
from tests.unit.catalog.catalogs import catalog, entry


def random_versions(random: Random, number: int) -> list[str]:
    """Distinct texts; some are equal in precedence."""
    found: dict[str, None] = {}
    while len(found) < number:
        text = f"{random.choice('001')}.{random.randrange(4)}.{random.randrange(3)}"
        found[text + random.choice(["", "", "", "-rc.1", "-rc.10", "-alpha", "+1", "+2"])] = None
    return list(found)


def random_range(random: Random, versions: list[str]) -> str:
    low, high = random.choice(versions), random.choice(versions)
    return random.choice(
        [
            f">={low} <{high}",
            f"<{high}",
            f">{low} <={high}",
            f"<{low} || >={high}",
            f">={low} !={high}",
            f"!{low} !{high} <2.0.0",
            low,
            "0.x",
        ]
    )


def random_entry(random: Random, version: str, versions: list[str]) -> Entry:
    return entry(
        version,
        replaces=random.choice(versions) if random.random() < 0.6 else "",
        skips=random.sample(versions, random.randrange(3)) if random.random() < 0.4 else (),
        skip_range=random_range(random, versions) if random.random() < 0.3 else "",
    )


def random_package(random: Random) -> Catalog:
    """Any graph at all: with cycles, with several heads or none."""
    versions = random_versions(random, random.randrange(2, 12))
    known = versions[: max(1, len(versions) - random.randrange(3))]
    channels = {
        name: [random_entry(random, one, versions) for one in random.sample(known, random.randrange(1, len(known) + 1))]
        for name in ("a", "b", "c")[: random.randrange(1, 4)]
    }
    deprecated = {
        one.name.removeprefix("p.v"): f"{one.name} is old"
        for entries in channels.values()
        for one in entries
        if random.random() < 0.15
    }
    without = {one.name.removeprefix("p.v") for one in channels["a"] if random.random() < 0.05}
    return catalog(channels, deprecated=deprecated, without=without)
