"""Mutants, drawn from a seed: each is a source with one case applied at one place.

The cases take turns, so every family has mutants; a case that fits no source has none. A set that is kept back has all
cases; the first set has those that are not only for the other one.
"""

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from bench.mutations import (
    anywhere_cases,
    api_cases,
    chart_cases,
    container_cases,
    network_cases,
    object_cases,
    pod_cases,
    role_cases,
    workload_cases,
)
from bench.mutations.changes import Case, Document, targets
from bench.mutations.sources import Place, Sort, Source, sources

MANIFEST_CASES: tuple[Case, ...] = (
    *pod_cases.CASES,
    *container_cases.CASES,
    *workload_cases.CASES,
    *object_cases.CASES,
    *network_cases.CASES,
    *role_cases.CASES,
    *api_cases.CASES,
    *anywhere_cases.CASES,
)
CASES: tuple[Case, ...] = (*MANIFEST_CASES, *chart_cases.CASES)
MOST_TURNS = 30
MORE_ANYWHERE = 4  # these few cases stand for all fields


@dataclass(frozen=True, kw_only=True)
class Mutant:
    source: Source
    case: Case
    place: str
    files: Mapping[str, bytes] = field(repr=False)


def mutants(
    sort: Sort, number: int, *, seed: int, is_kept_back: bool, families: Sequence[str] = ()
) -> Iterator[Mutant]:
    """At most so many. No two are the same."""
    fit = [
        case
        for case in (*CASES, *anywhere_cases.CASES * MORE_ANYWHERE)
        if (is_kept_back or not case.is_kept_back)
        and (not families or case.family in families)
        and (sort is Sort.CHARTS or case.target != chart_cases.TARGET)
    ]
    fit.sort(key=lambda case: (case.family, case.target, case.name))
    Random(f"{seed}/{sort}").shuffle(fit)  # a small number has some of each family
    found = sources(sort, is_kept_back=is_kept_back, random=Random(f"{seed}/{sort}/{is_kept_back}"))
    return itertools.islice(draw(found, fit, seed), number)


def draw(found: Sequence[Source], fit: Sequence[Case], seed: int, *, turns: int = MOST_TURNS) -> Iterator[Mutant]:
    """The mutants of the cases in turns, until no case has a new one or the turns end."""
    seen: set[tuple[str, str, bytes]] = set()
    catalogues = [(source, _catalogue(source)) for source in found]
    for turn in range(turns):
        for number, case in enumerate(fit):
            random = Random(f"{seed}/{case.family}/{case.target}/{case.name}/{turn}/{number}")
            mutant = _some_mutant(case, random.sample(catalogues, len(catalogues)), random)
            if mutant is None:
                continue
            changed = next(iter(_changed(mutant)), "")
            identity = (mutant.source.name, changed, mutant.files.get(changed, b""))
            if identity not in seen:
                seen.add(identity)
                yield mutant


def _changed(mutant: Mutant) -> Iterator[str]:
    for path, content in mutant.files.items():
        if mutant.source.files.get(path) != content:
            yield path


Catalogue = dict[str, list[tuple[Place, Document, int]]]


def _catalogue(source: Source) -> Catalogue:
    """The places in a source for each target; the number counts the parts of one manifest with that target."""
    catalogue: Catalogue = {}
    for place, manifest in source.places():
        counts: dict[str, int] = {}
        for target, _ in targets(manifest):
            catalogue.setdefault(target, []).append((place, manifest, counts.get(target, 0)))
            counts[target] = counts.get(target, 0) + 1
    return catalogue


def _some_mutant(case: Case, catalogues: Sequence[tuple[Source, Catalogue]], random: Random) -> Mutant | None:
    for source, catalogue in catalogues:
        if case.target == chart_cases.TARGET:
            mutant = _of_texts(case, source, random) if source.is_text else None
        else:
            mutant = _of_manifests(case, source, catalogue.get(case.target, []), random)
        if mutant is not None:
            return mutant
    return None


def _of_manifests(
    case: Case, source: Source, places: Sequence[tuple[Place, Document, int]], random: Random
) -> Mutant | None:
    for place, manifest, number in random.sample(places, min(len(places), 5)):
        changed = copy.deepcopy(manifest)
        part = [one for target, one in targets(changed) if target == case.target][number]
        if not case.change(part, random):
            continue
        files = source.with_manifest(place, changed)
        if files[place.file] != source.files[place.file]:
            return Mutant(source=source, case=case, place=f"{place} {place.kind}", files=files)
    return None


def _of_texts(case: Case, source: Source, random: Random) -> Mutant | None:
    texts = {path: content.decode() for path, content in source.files.items()}
    if not case.change(texts, random):
        return None
    files = {path: text.encode() for path, text in texts.items()}
    mutant = Mutant(source=source, case=case, place="", files=files)
    changed = ", ".join(_changed(mutant))
    return Mutant(source=source, case=case, place=changed, files=files) if changed else None
