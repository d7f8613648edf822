"""`status.history[]`: options and their digests, and digests of what is secret."""

import msgspec

from rukpak_py.api.bundle_deployment import RecordedOptions, RecordedValues
from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.install_options import (
    InstallOptions,
    config_digest,
    mean_the_same,
    recorded,
    restore,
    without_nulls,
)
from rukpak_py.api.reading import to_json
from rukpak_py.core.keyed_digests import DigestKey
from tests.unit.goldens.pinned import check, subjects

VALUES = (
    RecordedValues(kind="Secret", name="s", key="values.yaml", digest="hmac-sha256:1:2", current_digest="x"),
    RecordedValues(kind="ConfigMap", name="c", key="k", digest="sha256:3"),
)
FULL = InstallOptions(
    install_namespace="ns",
    create_namespace=True,
    provisioner_class_name="core-rukpak-io-helm",
    watch_namespaces=("a", "b"),
    overrides=(Override(group="apps", kind="Deployment", namespace="n", name="web", prune=False, force=True),),
    config={"values": {"ä": [1, 2.5, None, True]}, "b": "x"},
    values_from=VALUES,
)
LARGE = InstallOptions(config={"values": "x" * 70_000})  # more than the 64 KiB that a status records


def test_options_in_the_history() -> None:
    found = {
        "every option, as it is recorded": to_json(recorded(FULL)),
        "fields of a configuration that is too large": sorted(to_json(recorded(LARGE))),
        "without any": to_json(recorded(InstallOptions())),
    }
    check("status.history[].options", found)


def test_options_as_the_former_release_recorded_them() -> None:
    """It is read, and not written: with the nulls that a status has lost, where the spec has them still."""
    pinned = subjects()["status.history[].options, former form"]["values"]
    (stored,) = pinned.values()
    former = msgspec.convert(without_nulls(stored), RecordedOptions)
    assert restore(former, FULL) == FULL
    assert mean_the_same(former, recorded(FULL))


def test_digests_of_options() -> None:
    found = {
        "of every option": FULL.digest,
        "of none": InstallOptions().digest,
        "of the configuration": config_digest(FULL.config),
        "of a configuration that is too large": config_digest(LARGE.config),
        "of no configuration": config_digest(None),
    }
    check("digests of options", found)


def test_digests_of_what_is_secret() -> None:
    key = DigestKey(bytes(range(32)))
    found = {
        "id of the key": key.id,
        "of one part": key.digest(b"rendering"),
        "of two parts": key.digest(b"rendering", b"sha256:11"),
        "of the same bytes in other parts": key.digest(b"renderingsha256:11"),
    }
    check("keyed digests", found)
