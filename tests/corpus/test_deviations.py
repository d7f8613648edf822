"""Without parity every difference to the reference renderer is one that we want, and it is counted."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.sources.local import open_tree
from tests.corpus.canonical_form import Json, line_of
from tests.corpus.deviations import OBJECTS, ONLY_OURS, REFUSALS, Case, is_of_trimmed_name
from tests.corpus.place import CORPUS, GOLDENS, needs_corpus

SUFFIX = ".suc.json.gz"
pytestmark = needs_corpus
PROVIDERS = {
    "cert-manager": Certificates.CERT_MANAGER,
    "service-ca": Certificates.OPENSHIFT,
    "none": Certificates.NONE,
}

SAMPLE = 582  # bundles
# In how many bundles of the sample each deviation shows, in any of the renders of their goldens and by default.
COUNTS = {
    "accounts_of_deployments": 2,
    "different_objects_of_one_name": 1,
    "duplicates_are_merged": 11,
    "integers_that_do_not_fit": 1,
    "is_of_trimmed_name": 1,
    "namespace_of_autoscalers": 1,
    "no_namespace_on_webhook_configurations": 61,
    "old_definitions_stay_as_they_are": 25,
    "own_namespace_by_default": 76,
    "owned_api_services": 1,
    "port_443_when_it_is_omitted": 3,
    "several_csvs": 2,
    "unknown_fields_of_definitions": 1,
    "unknown_fields_of_pods": 8,
    "webhooks_without_certificates": 69,
    "wrong_types_that_reach_no_object": 21,
}


def test_every_difference_is_a_deviation_of_the_contract() -> None:
    counts: Counter[str] = Counter()
    unexplained: dict[str, list[str]] = {}
    names = sorted(path.name.removesuffix(SUFFIX) for path in GOLDENS.glob(f"*{SUFFIX}"))
    for name in names:
        seen: set[str] = set()
        found = [problem for case in cases(name) for problem in differences(case, seen)]
        counts.update(seen)
        if found:
            unexplained[name] = found
    assert unexplained == {}
    if len(names) == SAMPLE:
        assert counts == COUNTS


def cases(name: str) -> Iterator[Case]:
    """As its goldens were rendered, and with the bundle's own choice of what it watches."""
    golden = json.loads(gzip.decompress((GOLDENS / f"{name}{SUFFIX}").read_bytes()))
    options = list(dict.fromkeys(map(options_of, golden["renders"])))
    case = Case.of(open_tree(CORPUS / "bundles" / name), options[0])
    for chosen in [*options, replace(options[0], watch_namespaces=None)]:
        yield replace(case, options=chosen)


def options_of(render: Json) -> RenderOptions:
    return RenderOptions(
        install_namespace=render.get("install_namespace") or "demo-system",  # what cannot be read has none
        watch_namespaces=tuple(render.get("targets") or ()),
        certificates=PROVIDERS[render["cert"]],
    )


def differences(case: Case, seen: set[str]) -> Iterator[str]:
    theirs, ours = case.rendered_by_reference(), case.rendered()
    match theirs, ours:
        case list(), list():
            yield from difference_of_objects(theirs, ours, case, seen)
        case list(), str():
            signs = [sign.__name__ for sign, word in REFUSALS.items() if sign(case) and word in ours]
            seen.update(signs)
            if len(signs) != 1:
                yield f"only we refuse: {ours}"
        case str(), list():
            yield from difference_without_cause(theirs, ours, case, seen)
        case str(), str() if not case.reference.defects:
            yield from difference_of_refusals(theirs, ours, case, seen)


def difference_without_cause(refusal: str, ours: list[Json], case: Case, seen: set[str]) -> Iterator[str]:
    """Without what the reference alone refuses, both render the same."""
    causes = {row.__name__: changed for row in ONLY_OURS if (changed := row(refusal, case)) is not None}
    seen.update(causes)
    if len(causes) != 1:
        yield f"only the reference refuses: {refusal}"
        return
    changed = next(iter(causes.values()))
    theirs = changed.rendered_by_reference()
    if isinstance(theirs, str):
        yield f"the reference refuses this too: {theirs}"
    else:
        yield from difference_of_objects(theirs, ours, changed, seen)


def difference_of_refusals(theirs: str, ours: str, case: Case, seen: set[str]) -> Iterator[str]:
    """Texts of the reference that ours lacks, unless we refuse earlier; unreadable bundles are compared elsewhere."""
    earlier = [sign.__name__ for sign, word in REFUSALS.items() if sign(case) and word in ours]
    seen.update(earlier)
    for line in theirs.splitlines():
        if is_of_trimmed_name(line):
            seen.add(is_of_trimmed_name.__name__)
        elif line not in ours and not earlier:
            yield f"we do not say: {line}"


def difference_of_objects(theirs: list[Json], ours: list[Json], case: Case, seen: set[str]) -> Iterator[str]:
    for row in OBJECTS:
        changed = row(theirs, case)
        if changed != theirs:
            seen.add(row.__name__)
        theirs = changed
    if theirs == ours:
        return  # without their lines, which take longer
    expected, given = lines(theirs), lines(ours)
    yield from (f"{case.options.watch_namespaces}: missing {line}" for line in expected - given)
    yield from (f"{case.options.watch_namespaces}: added {line}" for line in given - expected)


def lines(objects: list[Json]) -> Counter[str]:
    return Counter(line_of(obj)[1] for obj in objects)
