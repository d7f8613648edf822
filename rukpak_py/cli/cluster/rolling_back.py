"""`rukpakctl rollback`: sets the spec of a BundleDeployment back to a revision of its history.

The template, its source as it was resolved then, and the options of the revision come back; the account and
`spec.upgrades` stay. To the operator it is an upgrade like any other, through all gates. A client that owns what would
change would set it again, and so would Flux or Argo CD: then the change belongs into Git.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rukpak_py.api.bundle_deployment import BundleDeployment, Installation, InstallOutcome
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate
from rukpak_py.api.install_options import ACCEPT_NEW_SECRETS, InstallOptions, installed_options, options_of
from rukpak_py.api.installed import Installed, installed_of
from rukpak_py.api.names import CONTENT_DIGEST_ANNOTATION, HELM_CLASS
from rukpak_py.api.reading import to_json
from rukpak_py.api.template_hash import bundle_name, template_hash_of
from rukpak_py.cli.cluster.deployments import TRIES, DeploymentCommandError, EditedDeployment, read_deployment
from rukpak_py.cli.cluster.field_owners import other_owners
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import StaleError

_LOST = "does not have its template and its options any more, because the history is limited in size"
Spec = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rollback:
    """`change`: fields of the spec as they are to be; None: the field goes. `owners`: who would set them again."""

    read: EditedDeployment
    entry: Installation
    change: Mapping[str, Any]
    owners: tuple[str, ...] = ()

    @property
    def manifest(self) -> Spec:
        """The change as it belongs into Git."""
        return {
            "apiVersion": self.read.resource.gvk.api_version,
            "kind": self.read.resource.gvk.kind,
            "metadata": {"name": self.read.name},
            "spec": msgspec.json.decode(msgspec.json.encode(dict(self.change))),  # lists, and not tuples
        }


async def find(client: Client, name: str, revision: int | None = None) -> Rollback:
    """`revision` None: the one before. DeploymentCommandError: there is none to go back to, or it is lost."""
    return rollback_of(await read_deployment(client, name), revision)


async def roll_back(client: Client, rollback: Rollback) -> None:
    """Make the change that was shown. The operator writes to the object, too: what was read may be older."""
    found = rollback
    for _ in range(TRIES):
        try:
            await found.read.edit_spec(client, found.change)
        except StaleError:
            found = await find(client, rollback.read.deployment.metadata.name, rollback.entry.revision)
            if (found.change, found.owners) != (rollback.change, rollback.owners):
                raise DeploymentCommandError(
                    f"{found.read.title} was changed meanwhile, and nothing is set back; run the command again"
                ) from None
            continue
        return
    raise DeploymentCommandError(f"{rollback.read.title} keeps changing; run the command again")


def rollback_of(read: EditedDeployment, revision: int | None = None) -> Rollback:
    deployment, name = read.deployment, read.deployment.metadata.name
    installed = installed_of(deployment.status)
    if installed is None or not installed.history:
        raise DeploymentCommandError(f"BundleDeployment {name} has no history: nothing was installed so far")
    entry = _entry(deployment, installed, revision)
    options = installed_options(entry, options_of(read.edited.spec))
    if entry.template is None or options is None:
        raise DeploymentCommandError(f"revision {entry.revision} of BundleDeployment {name}: status.history {_LOST}")
    change = _change(read.edited.spec, _template(entry.template, entry.digest), options)
    if not change:
        raise DeploymentCommandError(
            f"{read.title} asks for revision {entry.revision} already: its template and options are those of it"
        )
    return Rollback(
        read=read, entry=entry, change=change, owners=tuple(other_owners(read, [("spec", field) for field in change]))
    )


def _entry(deployment: BundleDeployment, installed: Installed, revision: int | None) -> Installation:
    """The entry to go back to: where the spec asks for something else, what is installed; else the one before.

    One that was undone, because it was not healthy in time, has to be asked for.
    """
    history, name = installed.history, deployment.metadata.name
    if revision is None:
        at = 0 if _is_upgrading(deployment, history[0]) else 1
        if at >= len(history):
            raise DeploymentCommandError(f"BundleDeployment {name} has only revision {history[0].revision}")
        found = next((one for one in history[at:] if one.outcome != InstallOutcome.ROLLED_BACK), None)
        if found is None:
            undone = ", ".join(str(one.revision) for one in history[at:])
            raise DeploymentCommandError(
                f"BundleDeployment {name}: all revisions before were rolled back ({undone}); name one with --to"
            )
        return found
    found = next((one for one in history if one.revision == revision), None)
    if found is None:
        known = ", ".join(str(one.revision) for one in history)
        raise DeploymentCommandError(f"BundleDeployment {name} has no revision {revision}; its revisions are {known}")
    return found


def _is_upgrading(deployment: BundleDeployment, latest: Installation) -> bool:
    if bundle_name(deployment.metadata.name, template_hash_of(deployment)) != latest.bundle:
        return True
    wanted = options_of(deployment.spec)
    options = installed_options(latest, wanted)
    return options is None or msgspec.structs.replace(options, values_from=()) != wanted


def _template(template: BundleTemplate, digest: str) -> BundleTemplate:
    """With the digest of its content where the source does not say which content it is."""
    if template.spec.source.is_pinned:
        return template
    annotations = {**template.metadata.annotations, CONTENT_DIGEST_ANNOTATION: digest}
    return msgspec.structs.replace(
        template, metadata=msgspec.structs.replace(template.metadata, annotations=annotations)
    )


def _change(spec: BundleDeploymentSpec, template: BundleTemplate, options: InstallOptions) -> Spec:
    """Fields that mean the same stay as they are written."""
    present, now = to_json(spec), options_of(spec)
    config = dict(options.config or {})
    if options.provisioner_class == HELM_CLASS and ACCEPT_NEW_SECRETS in (spec.config or {}):
        config[ACCEPT_NEW_SECRETS] = (spec.config or {})[ACCEPT_NEW_SECRETS]
    wanted = (
        ("template", to_json(template), spec.template == template),
        ("provisionerClassName", options.provisioner_class, spec.provisioner_class == options.provisioner_class),
        ("config", config or None, now.config == options.config),
        ("installNamespace", options.install_namespace or None, now.install_namespace == options.install_namespace),
        ("createNamespace", options.create_namespace or None, now.create_namespace == options.create_namespace),
        (
            "watchNamespaces",
            list(options.watch_namespaces) or None,
            now.watch_namespaces == options.watch_namespaces,
        ),
        ("overrides", [to_json(one) for one in options.overrides] or None, now.overrides == options.overrides),
        ("patches", [to_json(one) for one in options.patches] or None, now.patches == options.patches),
    )
    return {field: value for field, value, is_same in wanted if not is_same and (value is not None or field in present)}
