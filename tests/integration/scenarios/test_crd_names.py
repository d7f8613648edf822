"""A CRD whose names another CRD of its group has is never established: the reason is told, and its end noticed."""

from rukpak_py.kube.resources import CRDS
from tests.integration.scenarios.stage import Document, Stage, definition, says


def with_short_name(crd: Document) -> Document:
    crd["spec"]["names"]["shortNames"] = ["short"]
    return crd


async def test_crd_with_taken_names_is_told_and_established_once_they_are_free(stage: Stage) -> None:
    theirs = with_short_name(definition(stage.group, "Gadget"))
    await stage.create(CRDS, "", theirs)
    await stage.deploy(await stage.content(with_short_name(definition(stage.group))))
    key = f"CustomResourceDefinition.apiextensions.k8s.io/widgets.{stage.group}"
    told = says("Installed", "False", "InstallFailed", f"{key} is not established", '"short" is already in use')
    await stage.until_deployment(stage.name, told)
    await stage.client.delete(CRDS, "", f"gadgets.{stage.group}")
    await stage.until_ready(stage.name)
