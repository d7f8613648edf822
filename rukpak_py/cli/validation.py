"""Several bundles checked at once, each in one of a few processes; reports come in the order of the paths.

A process that dies (of too little memory, say) costs its bundle and those behind it in the queue of processes, not the
program: these are told as bundles that cannot be read.
"""

import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rukpak_py import library
from rukpak_py.cli.linting import comments, fixes, repository
from rukpak_py.cli.linting.chosen_rules import ALL_RULES, ChosenRules
from rukpak_py.cli.reports.report import CommandReport, Described
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.findings import Profile
from rukpak_py.core.limits import Limits
from rukpak_py.formats.former_ids import former_ids_of

if TYPE_CHECKING:
    from rukpak_py.library.opened import OpenedBundle

PROFILES = ("default", "opm", "operatorhub", "community", "bundle-objects", "practices", "olmv1")
SUITES = {"operatorframework": "operatorhub"}  # names that operator-sdk has for several validators -> our profile
_WORTH_A_PROCESS = 4  # bundles; a process costs as much as checking a few of them


@dataclass(frozen=True, kw_only=True)
class Checks:
    """Settings of a validation, the same for all bundles."""

    format_name: str | None = None
    profiles: tuple[str, ...] = ()
    is_strict: bool = False
    categories: frozenset[str] = frozenset()  # of the catalog; empty: those of OperatorHub.io
    chosen: ChosenRules = ALL_RULES


def reports_of(
    bundles: Sequence[tuple[str, Checks]], *, jobs: int | None = None
) -> Generator[CommandReport, None, None]:
    """Check the bundles in order. Callers that stop reading close the generator: the other bundles are not checked."""
    jobs = min(jobs or os.cpu_count() or 1, len(bundles) // _WORTH_A_PROCESS)
    if jobs <= 1:
        for path, checks in bundles:
            yield report_of(path, checks)
    else:
        yield from _in_processes(bundles, jobs)


def report_of(path: str, checks: Checks) -> CommandReport:
    try:
        return report_of_opened(path, opened_bundle(path, checks), checks)
    except RukPakError as error:
        said = str(error).removeprefix(f"{path}: ")
        return CommandReport(path=path, failure=": ".join(filter(None, (said, repository.advice(path)))))


def opened_bundle(path: str, checks: Checks) -> "OpenedBundle":
    return library.open_bundle(path, format=checks.format_name, limits=Limits.from_environment(), registries=True)


def report_of_opened(path: str, opened: "OpenedBundle", checks: Checks) -> CommandReport:
    profiles = (*checks.profiles, *(["strict"] if checks.is_strict else []))
    findings = opened.findings(profiles, categories=checks.categories)
    told = fixes.without_impossible(comments.without_ignored(findings, opened.tree), opened.tree)
    if opened.image is not None or not opened.is_directory:  # its files lie in layers, or in an archive
        told = [replace(one, fix=None) for one in told]
    if said := repository.advice(path):  # whatever is told follows from that it is no bundle
        told = [replace(one, hint=f"{said[0].upper()}{said[1:]}.") for one in told]
    return CommandReport(path=path, format=opened.format.value, findings=checks.chosen.of(told))


def _in_processes(bundles: Sequence[tuple[str, Checks]], jobs: int) -> Iterator[CommandReport]:
    import multiprocessing  # noqa: PLC0415 - one bundle does not need it
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - one bundle does not need it
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - one bundle does not need it

    # Forked where that is safe (no thread runs yet): the children share what is imported here.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    # A terminal sends Ctrl-C to all of them; it is this process that ends the others.
    executor = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        waiting = [executor.submit(report_of, path, checks) for path, checks in bundles]
        for (path, _), future in zip(bundles, waiting, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield CommandReport(
                    path=path, failure="the process that checked it died, possibly because it ran out of memory"
                )
    finally:
        executor.shutdown(cancel_futures=True)


def described_rules() -> dict[str, Described]:
    """All rules, by id."""
    from rukpak_py.formats import validation  # noqa: PLC0415 - only some outputs show them
    from rukpak_py.formats.registry_v1.reading import DEFECT_KINDS  # noqa: PLC0415 - see above
    from rukpak_py.formats.registry_v1.rules import rule_sets  # noqa: PLC0415 - see above
    from rukpak_py.formats.rules import Rule, RuleOfReading, severity_in  # noqa: PLC0415 - see above

    def described(rule: Rule[Any] | RuleOfReading, origin: str, profile: str = "") -> Described:
        return Described(
            title=rule.title,
            hint=rule.hint,
            severity=severity_in({Profile.DEFAULT}, rule.severity, rule.error_only_in),
            former_ids=former_ids_of(rule.id),
            may_be_error=isinstance(rule, Rule) and rule.may_be_error,
            error_only_in=rule.error_only_in,
            profile=profile,
            origin=origin,
        )

    found = {kind.id: described(kind, "rukpak-py") for kind in DEFECT_KINDS}
    return found | {
        rule.id: described(rule, rule.origin, rule_sets.PROFILE_OF.get(family.title, ""))
        for family in validation.ALL_FAMILIES
        for rule in family.rules
    }
