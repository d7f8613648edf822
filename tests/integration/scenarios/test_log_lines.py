"""A failure that lasts is one line of the log, by the room that it is about, with its reason as a field."""

from tests.integration.scenarios.stage import Check, Stage, says


def lines(stage: Stage, *texts: str) -> list[str]:
    log = stage.operator.log.read_text(errors="replace")
    return [line for line in log.splitlines() if all(text in line for text in texts)]


def handled(value: str) -> Check:
    return lambda one: one["status"].get("lastHandledReconcileAt") == value


async def test_content_that_is_wrong_is_logged_once(stage: Stage) -> None:
    name = await stage.deploy(
        {
            "type": "configMaps",
            "configMaps": [{"configMap": {"name": await stage.files({"a": "kind: ["})}, "path": "manifests"}],
        }
    )
    await stage.until_deployment(name, says("Ready", "False", "ContentError"))
    await stage.run_kubectl("annotate", "bundledeployment", name, "core.rukpak.io/reconcile-at=now")
    await stage.until_deployment(name, handled("now"))
    await stage.barrier()
    (line,) = lines(stage, name, "UnpackFailed")
    assert " rukpak_py.controllers.bundle: Bundle " in line


async def test_a_denial_is_logged_once_for_each_object_and_text(stage: Stage) -> None:
    """The operator is denied its own Bundle at each attempt."""
    source = {"type": "configMaps", "configMaps": [{"configMap": {"name": "x"}, "path": "../outside"}]}
    name = await stage.deploy(source)
    await stage.until_deployment(name, says("Ready", "False"))
    for value in ("one", "two"):
        await stage.run_kubectl(
            "annotate", "--overwrite", "bundledeployment", name, f"core.rukpak.io/reconcile-at={value}"
        )
        await stage.until_deployment(name, handled(value))
    await stage.barrier()
    assert len(lines(stage, name, "denied: CREATE of bundles")) == 1
