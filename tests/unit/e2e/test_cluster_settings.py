"""Kernel settings are as before once the last cluster is gone."""

from pathlib import Path

import pytest

from e2e.cluster import machine, settings

NAME = "kernel/panic"


@pytest.fixture
def panic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A setting of a machine that is a folder."""
    monkeypatch.setattr(settings, "SYSCTL", tmp_path / "sys")
    monkeypatch.setattr(machine, "RUN", tmp_path)
    monkeypatch.setattr(settings, "is_root_on_linux", lambda: True)
    setting = tmp_path / "sys" / NAME
    setting.parent.mkdir(parents=True)
    setting.write_text("0\n")
    return setting


def cluster(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_kernel_settings_are_restored(panic: Path, tmp_path: Path) -> None:
    one = cluster(tmp_path, "one")
    settings.record_settings(one)
    panic.write_text("10")
    settings.restore_settings(one)
    assert panic.read_text() == "0"
    assert not list(tmp_path.glob("rukpak-settings*"))


def test_the_last_of_two_clusters_restores_what_was_before_the_first(panic: Path, tmp_path: Path) -> None:
    one, two = cluster(tmp_path, "one"), cluster(tmp_path, "two")
    settings.record_settings(one)
    panic.write_text("10")
    settings.record_settings(two)
    settings.restore_settings(one)
    assert panic.read_text() == "10"
    settings.restore_settings(two)
    assert panic.read_text() == "0"


def test_cluster_whose_state_was_removed_is_not_waited_for(panic: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "removed", cluster(tmp_path, "two")
    settings.record_settings(one)
    settings.record_settings(two)
    panic.write_text("10")
    settings.restore_settings(two)
    assert panic.read_text() == "0"


def test_settings_are_left_alone_without_root(panic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "is_root_on_linux", lambda: False)
    settings.record_settings(tmp_path)
    settings.restore_settings(tmp_path)
    assert not list(tmp_path.glob("rukpak-settings*"))
