"""Answers of `rukpakctl why`: about one BundleDeployment with its objects, or about all of them by their conditions."""

from dataclasses import replace

from rukpak_py.cli.cluster.deployments import kinds_of_operator
from rukpak_py.cli.cluster.views import view_of
from rukpak_py.cli.reports.why import Answer
from rukpak_py.core.errors import RukPakError
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.logs import ContainerLog, read_log
from rukpak_py.diagnosis.model import DeploymentView, FailedContainer
from rukpak_py.diagnosis.reading import read_deployments
from rukpak_py.diagnosis.verdicts import summary_of
from rukpak_py.kube.client import Client


async def answer_about(client: Client, name: str, *, with_log: bool) -> Answer:
    answer = answer_of(await view_of(client, name))
    return replace(answer, log=await _log(client, answer.found.container)) if with_log else answer


def answer_of(view: DeploymentView) -> Answer:
    return Answer(name=view.summary.name, found=explain(view), unread=view.unread)


async def answers_about_all(client: Client) -> list[Answer]:
    """Answers about those that are not ready, by name. Their objects are not read."""
    answers = list[Answer]()
    with kinds_of_operator():
        async for deployment in read_deployments(client):
            summary = summary_of(deployment)
            if not summary.verdict.state.is_at_rest:
                view = DeploymentView(deployment=deployment, summary=summary)
                answers.append(Answer(name=summary.name, found=explain(view)))
    return sorted(answers, key=lambda one: one.name)


async def _log(client: Client, container: FailedContainer | None) -> ContainerLog | str:
    if container is None:
        return "no container is known to have failed"
    if not container.name:
        return f"Pod {container.namespace}/{container.pod} has no container that has run: {container.reason}"
    try:
        return await read_log(client, container)
    except RukPakError as error:
        return str(error)
