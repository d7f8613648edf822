"""`rukpakctl catalog install` from the question to the answer: resolve, take the digest, and print or apply.

Every outcome of it is a sentence and an exit status: nothing newer is a success, and a bundle that the catalog cannot
give is no failure of the command.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_PLURAL, GROUP
from rukpak_py.api.upgrades import Approval
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.installed import Installed, find_installed
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.resolution import Reason, Resolution
from rukpak_py.catalog.upgrades.resolve import resolve
from rukpak_py.cli.catalogs.install_modes import watch_problem
from rukpak_py.cli.catalogs.installing import (
    InstallFields,
    annotations_of,
    manifest_of,
    pinned_image,
)
from rukpak_py.cli.catalogs.resolving import print_refusal
from rukpak_py.cli.reports.resolution import edge_text, warnings_of
from rukpak_py.cli.terminal import (
    Exit,
    clean,
    print_error,
    print_hint,
    print_json,
    print_lines,
    print_warning,
    print_yaml,
)
from rukpak_py.core.limits import Limits
from rukpak_py.core.text import named

if TYPE_CHECKING:
    from rukpak_py.cli.cluster.deployments import EditedDeployment
    from rukpak_py.cli.cluster.installed_packages import PackageOfDeployment


_MOST_NAMED: Final = 3


@dataclass(frozen=True, kw_only=True)
class InstallQuestion:
    """Which bundle is wanted, and how it is installed."""

    packages: Mapping[str, PackageIndex]
    package: str
    channel: str | None
    version_range: str | None
    installed: str | None
    name: str
    fields: InstallFields
    allow_tag: bool
    output: str
    limits: Limits

    def answer(self, installed: Installed | str | None = None, channel: str | None = None) -> Resolution | Refusal:
        """Resolve from what is installed; a channel that was typed wins over the recorded one."""
        return resolve(
            self.packages,
            self.package,
            channel=self.channel if self.channel is not None else channel,
            version_range=self.version_range,
            installed=installed if installed is not None else self.installed,
        )

    def image(self, found: Resolution) -> str:
        return pinned_image(found.bundle, allow_tag=self.allow_tag, limits=self.limits)

    def warn_of_install_modes(self, found: Resolution) -> None:
        if problem := watch_problem(found.bundle, self.fields.watch_namespaces, self.fields.install_namespace):
            print_warning(problem)

    def print_change(self, manifest: object) -> None:
        if self.output == "json":
            print_json(manifest)
        else:
            print_yaml([manifest])


def print_manifest(question: InstallQuestion) -> int:
    """Without a cluster."""
    found = question.answer()
    if isinstance(found, Refusal):
        return print_refusal(found)
    if not found.bundle.image:
        return _print_no_image(found)
    if found.stays:
        print_warning(f"{_nothing_newer(found)}: this is the manifest of what is installed")
    _print_warnings(found)
    question.warn_of_install_modes(found)
    question.print_change(manifest_of(question.name, question.image(found), annotations_of(found), question.fields))
    return Exit.OK


def apply(question: InstallQuestion, *, dry_run: bool, force: bool) -> int:
    """Create the BundleDeployment, or upgrade the one that is there."""
    from rukpak_py.cli.cluster import catalog_installs as installs  # noqa: PLC0415 - manifests need no cluster
    from rukpak_py.cli.cluster.deployments import DeploymentCommandError, find_deployment  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    read = with_client(partial(find_deployment, name=question.name))
    present = installs.installed_package(read, question.package) if read else None
    known = present.known_as(question.packages.get(question.package)) if present and present.is_installed else None
    channel = present.channel if present else None
    if read is not None and question.installed is not None and not _is_meant(question, known):
        has = f"has installed {known.text}" if known is not None else "has installed nothing"
        raise DeploymentCommandError(
            f"BundleDeployment {question.name} {has}, not {question.installed}: leave out --from"
        )
    found = question.answer(known, channel)
    if isinstance(found, Refusal):
        return _print_refusal(found, channel if question.channel is None else None)
    if found.stays and read is not None and present is not None:
        return _stay(question, found, read, present, dry_run=dry_run, force=force)
    if not found.bundle.image:
        return _print_no_image(found)
    _print_warnings(found)
    image = question.image(found)
    if read is None:
        return _create(question, found, image, dry_run=dry_run)
    return _upgrade(question, found, read, image, present, dry_run=dry_run, force=force)


def _is_meant(question: InstallQuestion, known: Installed | None) -> bool:
    """Whether --from names what is installed, by its name or its version."""
    index = question.packages.get(question.package)
    if known is None or index is None or question.installed is None:
        return False
    typed, installed = (find_installed(index, one) for one in (Installed.of(question.installed), known))
    if isinstance(typed, Refusal) or isinstance(installed, Refusal):
        return question.installed in {known.name, known.version}
    return typed.text == installed.text or question.installed in {known.name, known.version}


def _stay(
    question: InstallQuestion,
    found: Resolution,
    read: "EditedDeployment",
    present: "PackageOfDeployment",
    *,
    dry_run: bool,
    force: bool,
) -> int:
    """Nothing newer than what is installed. Another channel that was typed is recorded."""
    source = read.edited.spec.template.spec.source.image
    if present.awaited not in {"", found.bundle.name}:
        print_lines([clean(f"BundleDeployment {question.name}: {_nothing_newer(found)}")])
        click.echo(
            f"Nothing was changed: it asks for {clean(present.awaited)}, which is not installed yet. "
            "To go back to what is installed: rukpakctl rollback",
            err=True,
        )
        return Exit.NO
    if question.channel is not None and question.channel != present.channel and source is not None:
        return _upgrade(question, found, read, source.ref, present, dry_run=dry_run, force=force)
    print_lines([clean(f"BundleDeployment {question.name}: {_nothing_newer(found)}")])
    return Exit.OK


def _create(question: InstallQuestion, found: Resolution, image: str, *, dry_run: bool) -> int:
    from rukpak_py.cli.cluster import catalog_installs as installs  # noqa: PLC0415 - manifests need no cluster
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    question.warn_of_install_modes(found)
    manifest = manifest_of(question.name, image, annotations_of(found), question.fields)
    if dry_run:
        question.print_change(manifest)
        return Exit.OK
    with_client(partial(installs.create, manifest=manifest))
    where = f"{BUNDLE_DEPLOYMENT_PLURAL}.{GROUP}/{question.name}"
    print_lines([clean(f"{where} created: {found.bundle.name} of channel {found.channels[0]}")])
    return Exit.OK


def _upgrade(
    question: InstallQuestion,
    found: Resolution,
    read: "EditedDeployment",
    image: str,
    present: "PackageOfDeployment | None",
    *,
    dry_run: bool,
    force: bool,
) -> int:
    from rukpak_py.cli.cluster import catalog_installs as installs  # noqa: PLC0415 - manifests need no cluster
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    for field in installs.fields_left_alone(read, question.fields):
        print_warning(f"{read.title}: spec.{field} stays as it is, because this is an upgrade")
    change = installs.upgrade_of(read, image, annotations_of(found))
    if change is None:
        waits = "" if present and present.is_installed else ", and has installed nothing yet"
        print_lines([clean(f"{read.title} asks for {found.bundle.name} already{waits}")])
        return Exit.OK
    for owner in change.owners:
        print_warning(f"{read.title}: {owner}, and may set it again")
    if dry_run:
        question.print_change(change.manifest)
        return Exit.OK
    if change.owners and not force:
        question.print_change(change.manifest)
        click.echo("Nothing was changed. Make this change in Git, or use --force.", err=True)
        return Exit.NO
    with_client(partial(installs.upgrade, wanted=change))
    where = f"{read.resource.plural}.{read.resource.gvk.group}/{read.name}"
    if found.stays:
        print_lines([clean(f"{where} stays at {found.bundle.name}, and follows channel {found.channels[0]} now")])
        return Exit.OK
    print_lines([_upgraded(where, found, present.awaited if present else "")])
    if read.edited.spec.suspend:
        print_warning(f"{read.title} is suspended: nothing is installed until spec.suspend is false")
    if read.edited.spec.upgrades.approval != Approval.AUTOMATIC:
        print_lines([clean(f"It may wait for an approval: rukpakctl approve {question.name}")])
    return Exit.OK


def _upgraded(where: str, found: Resolution, awaited: str) -> str:
    """`awaited`: the bundle that it asked for and has not installed."""
    if found.installed is None or found.edge is None:
        name = found.bundle.name
        changed = f"set from {awaited} to {name}" if awaited else f"set to {name}"
        return clean(f"{where} {changed}: nothing was installed yet")
    return clean(f"{where} set from {found.installed.text} to {found.bundle.name}: {edge_text(found.edge)}")


def _print_warnings(found: Resolution) -> None:
    for text in warnings_of(found):
        print_warning(text)


def _print_no_image(found: Resolution) -> int:
    name, why = found.bundle.name, "has no image of bundle"
    objects = ", only its objects, which cannot be installed" if found.bundle.has_objects else ""
    print_error(f'the catalog {why} "{name}"{objects}')
    print_hint(
        "push the bundle as an image, and name it in the catalog: "
        "rukpakctl catalog render BUNDLE --image-template TEMPLATE"
    )
    return Exit.NO


def _nothing_newer(found: Resolution) -> str:
    """The result for an installed bundle that stays, with the bundles that are higher."""
    higher = {
        "no edge leads from it to": [one.bundle for one in found.passed_over if one.reason is Reason.NO_EDGE],
        "the range leaves out": [one.bundle for one in found.passed_over if one.reason is Reason.OUT_OF_RANGE],
    }
    told = [f"; {why} {named(bundles, _MOST_NAMED)}" for why, bundles in higher.items() if bundles]
    return f"nothing newer than {found.bundle.name} in channel {', '.join(found.channels)}{''.join(told)}"


def _print_refusal(refused: Refusal, annotated: str | None) -> int:
    status = print_refusal(refused)
    if annotated and refused.cause is Cause.UNKNOWN_CHANNEL:
        print_hint("the BundleDeployment was installed from that channel; choose another with --channel")
    return status
