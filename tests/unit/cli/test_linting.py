"""Validation of a repository: which bundles, with which settings, comments and known findings."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from rukpak_py.cli.linting.baseline import Baseline
from rukpak_py.cli.linting.comments import without_ignored
from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.content import yaml
from rukpak_py.core.findings import Finding, Severity
from tests.unit.bundles import bundle
from tests.unit.cli.running import SAMPLES, CommandLine

ROOT = SAMPLES.parents[1]
PAGE = ROOT / "docs/checking-a-repository.md"
CSV = "manifests/csv.yaml"


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def wrong(files: dict[str, bytes]) -> dict[str, bytes]:
    """The bundle with a number in the place of a string, which is an error."""
    text = files[CSV].decode()
    assert "replicas: 1\n" in text
    return files | {CSV: text.replace("replicas: 1\n", "replicas: many\n").encode()}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two good bundles and one with an error, and things that are no bundles."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"operators/README.md": b"", "operators/.hidden/x/manifests/a.yaml": b"", "ci/x.yaml": b"a: b"})
    for name in ("one/1.0.0", "two/1.0.0"):
        write(tmp_path / "operators" / name, dict(bundle()))
    write(tmp_path / "operators/bad/1.0.0", wrong(dict(bundle())))
    return tmp_path


def concise(rukpakctl: CommandLine, *arguments: str) -> list[str]:
    lines: list[str] = rukpakctl("bundle", "validate", "-o", "concise", *arguments).out.splitlines()
    return lines


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_bundles_below_a_directory_are_checked(rukpakctl: CommandLine, repository: Path) -> None:
    ran = rukpakctl("bundle", "validate", "--recursive", "operators")
    assert ran.status == 1
    names = [line.partition(" (")[0] for line in ran.out.splitlines() if line.startswith("operators/")]
    assert names == ["operators/bad/1.0.0", "operators/one/1.0.0", "operators/two/1.0.0"]
    assert "1 of 3 bundles refused" in ran.out


def test_bundle_without_manifests_is_found(rukpakctl: CommandLine, repository: Path) -> None:
    write(repository / "operators/none/1.0.0", {"metadata/annotations.yaml": bundle()["metadata/annotations.yaml"]})
    assert "operators/none/1.0.0 (registry+v1): 1 error" in rukpakctl("bundle", "validate", "-r", "operators").out


def test_directory_without_a_bundle_is_an_error(rukpakctl: CommandLine, repository: Path) -> None:
    ran = rukpakctl("bundle", "validate", "--recursive", "ci")
    assert (ran.status, ran.err) == (
        3,
        "Error: ci: there is no bundle in it: no directory with manifests/, metadata/annotations.yaml or Chart.yaml\n",
    )


def test_directory_of_bundles_comes_with_the_advice_to_search_it(
    rukpakctl: CommandLine, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    ran = rukpakctl("bundle", "validate", "operators")
    assert ran.status == 1
    named = "operators/bad/1.0.0, operators/one/1.0.0, operators/two/1.0.0"
    assert f"  hint: Bundles are below it: {named}; --recursive checks them.\n" in ran.out


def test_many_findings_are_counted_by_rule(rukpakctl: CommandLine, repository: Path) -> None:
    before = rukpakctl("bundle", "validate", "-r", "operators").out
    assert " x RV1-" not in before
    for number in range(20):
        write(repository / f"operators/one/2.{number}", wrong(dict(bundle())))
    lines = rukpakctl("bundle", "validate", "-r", "operators").out.splitlines()
    assert "21 x RV1-903  A field has a value of the wrong type" in lines
    assert lines[-1].startswith("21 of 23 bundles refused: ")


def test_quiet_tells_errors_alone(rukpakctl: CommandLine, repository: Path) -> None:
    assert rukpakctl("bundle", "validate", "-q", "operators/one/1.0.0", "operators/two/1.0.0").out == ""
    out = rukpakctl("bundle", "validate", "-qr", "operators").out
    assert "operators/one" not in out
    assert "warning  " not in out
    assert "  error  " in out
    assert out.splitlines()[-1] == "1 of 3 bundles refused: 1 error"  # warnings are not counted


class TestChangedSince:
    def test_bundles_that_a_branch_touches_are_checked(self, rukpakctl: CommandLine, repository: Path) -> None:
        git("init", "-q", "-b", "main")
        git("add", "-A")
        git("commit", "-qm", "all")
        git("checkout", "-qb", "change")
        write(repository / "operators/one/1.1.0", dict(bundle()))
        git("add", "-A")
        git("commit", "-qm", "one")
        git("checkout", "-q", "main")
        write(repository / "operators/bad/1.0.0", {"metadata/more.yaml": b""})  # on main, since
        git("add", "-A")
        git("commit", "-qm", "bad")
        git("checkout", "-q", "change")
        write(repository / "operators/two/1.0.0", {"README.md": b"not committed"})
        ran = rukpakctl("bundle", "validate", "--changed-since", "main", ".", "-o", "json")
        assert [one["path"] for one in json.loads(ran.out)["bundles"]] == ["operators/one/1.1.0", "operators/two/1.0.0"]

    def test_branch_that_touches_no_bundle_says_so(self, rukpakctl: CommandLine, repository: Path) -> None:
        git("init", "-q", "-b", "main")
        git("add", "-A")
        git("commit", "-qm", "all")
        ran = rukpakctl("bundle", "validate", "--changed-since", "main", ".")
        assert (ran.status, ran.out) == (0, "no bundle has a changed file\n")
        assert rukpakctl("bundle", "validate", "--changed-since", "main", ".", "--quiet").out == ""

    @pytest.mark.parametrize(("revision", "said"), [("absent", "absent"), ("--output=x", "is no revision")])
    def test_revision_that_is_none_is_told(
        self, rukpakctl: CommandLine, repository: Path, revision: str, said: str
    ) -> None:
        git("init", "-q", "-b", "main")
        git("commit", "--allow-empty", "-qm", "all")
        ran = rukpakctl("bundle", "validate", f"--changed-since={revision}", ".")
        assert ran.status == 3
        assert said in ran.err
        assert not (repository / "x").exists()


class TestSettings:
    def test_nearest_file_counts_and_the_command_line_is_added(self, rukpakctl: CommandLine, repository: Path) -> None:
        before = concise(rukpakctl, "-r", "operators")
        rules = {line.split()[2] for line in before}
        assert "RV1-903" in rules
        write(repository, {"operators/.rukpakctl.yaml": b"validate: {ignore: [RV1-903]}"})
        assert not [line for line in concise(rukpakctl, "-r", "operators") if "RV1-903" in line]
        write(repository, {"operators/bad/.rukpakctl.yaml": b"validate: {strict: false}"})
        assert concise(rukpakctl, "-r", "operators") == before
        assert concise(rukpakctl, "-r", "operators", "--ignore", "RV1") == []
        write(repository, {"operators/bad/.rukpakctl.yaml": b"validate: {ignore: [RV1]}"})
        assert concise(rukpakctl, "-r", "operators", "--no-settings") == before

    def test_search_ends_at_the_repository(self, rukpakctl: CommandLine, repository: Path) -> None:
        write(repository, {".rukpakctl.yaml": b"validate: {ignore: [RV1]}", "operators/.git": b"gitdir: elsewhere"})
        assert concise(rukpakctl, "-r", "operators")

    def test_suites_of_operator_sdk_are_names_of_profiles(self, rukpakctl: CommandLine, repository: Path) -> None:
        rules = ("operators/one/1.0.0", "--select", "RV1-6")
        ours = concise(rukpakctl, *rules, "--profile", "operatorhub")
        assert ours
        assert concise(rukpakctl, *rules) == []
        assert concise(rukpakctl, *rules, "--profile", "operatorframework") == ours
        write(repository, {".rukpakctl.yaml": b"validate: {profiles: [operatorframework]}"})
        assert concise(rukpakctl, *rules) == ours

    def test_levels(self, rukpakctl: CommandLine, repository: Path) -> None:
        write(repository, {".rukpakctl.yaml": b"validate: {levels: [warning=RV1-903]}"})
        assert rukpakctl("bundle", "validate", "operators/bad/1.0.0", "--select", "RV1-903").status == 0
        ran = rukpakctl("bundle", "validate", "operators/bad/1.0.0", "--select", "RV1-903", "-W", "error=RV1-9")
        assert (ran.status, "1 error" in ran.out) == (1, True)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("validate: {ignor: [x]}", "there is no setting validate.ignor; did you mean ignore?"),
            ("lint: {}", "there is no setting lint; there are validate"),
            ("validate: {ignore: RV1}", "validate.ignore must be a list of strings"),
            ("validate: {strict: yes please}", "validate.strict must be true or false"),
            ("validate: {ignore: [RV9]}", "there is no rule RV9"),
            ("validate: {levels: [RV1]}", "'RV1' is no level of a rule: use error=RULE or warning=RULE"),
            ("validate: {profiles: [best]}", "there is no profile best"),
            ("validate: {categories: [a]}", "validate.categories must be the path of a file"),
            ("validate: [", "yaml: line "),
            ("- validate", "it must be a mapping"),
        ],
    )
    def test_wrong_settings_are_refused(
        self, rukpakctl: CommandLine, repository: Path, content: str, said: str
    ) -> None:
        write(repository, {".rukpakctl.yaml": content.encode()})
        ran = rukpakctl("bundle", "validate", "operators/one/1.0.0")
        assert (ran.status, ran.out) == (3, "")
        assert ran.err.startswith(f"Error: {repository}/.rukpakctl.yaml: ")
        assert said in ran.err


class TestBaseline:
    def test_known_findings_are_left_out_and_new_ones_are_not(self, rukpakctl: CommandLine, repository: Path) -> None:
        assert rukpakctl("bundle", "validate", "-r", "operators", "--write-baseline", "ci/known.json").status == 0
        ran = rukpakctl("bundle", "validate", "-r", "operators", "--baseline", "ci/known.json")
        assert (ran.status, " known" in ran.out, "  error  " in ran.out) == (0, True, False)
        known = repository / "operators/bad/1.0.0" / CSV
        known.write_text("# a line more\n" + known.read_text())
        write(repository / "operators/worse/1.0.0", wrong(dict(bundle())))
        lines = concise(rukpakctl, "-r", "operators", "--baseline", "ci/known.json", "-q")
        assert len(lines) == 1
        assert lines[0].startswith("operators/worse/1.0.0/manifests/csv.yaml:")

    def test_baseline_counts_from_any_directory(
        self, rukpakctl: CommandLine, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rukpakctl("bundle", "validate", "-r", "operators", "--write-baseline", "known.json")
        monkeypatch.chdir(repository / "operators/bad")
        assert rukpakctl("bundle", "validate", "1.0.0", "--baseline", "../../known.json").status == 0

    def test_former_ids_of_rules_are_known(self, tmp_path: Path) -> None:
        line = "a.yaml spec.containers[0].image: image"
        bundles = {(tmp_path / "one").name: [f"RV1-970 {line}", f"RV1-999 {line}"]}
        write(tmp_path, {"known.json": json.dumps({"version": 1, "bundles": bundles}).encode(), "one/x": b""})
        image = Finding(
            rule="OBJ-013", severity=Severity.ERROR, message="image", file="a.yaml", path="spec.containers[0].image"
        )
        found = CommandReport(path=str(tmp_path / "one"), findings=[image, image])
        told = Baseline(tmp_path / "known.json").new_in(found)
        assert (told.known, told.findings) == (1, [image])

    @pytest.mark.parametrize(
        "content", [b"", b"[]", b'{"version": 2, "bundles": {}}', b'{"version": 1, "bundles": []}']
    )
    def test_file_that_is_no_baseline_is_refused(
        self, rukpakctl: CommandLine, repository: Path, content: bytes
    ) -> None:
        write(repository, {"known.json": content})
        ran = rukpakctl("bundle", "validate", "operators/one/1.0.0", "--baseline", "known.json")
        assert ran.status == 3
        assert "known.json is no baseline" in ran.err


def finding(line: int, rule: str = "RV1-001") -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, message="m", file="a.yaml", line=line)


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("a: 1 # rukpakctl: ignore RV1-001 for a reason", {1}),
        ("a: 1  #rukpakctl:ignore RV1-001", {1}),
        ("# rukpakctl: ignore RV1\na: 1\nb: 1", {2}),
        ("# rukpakctl: ignore OBJ,rv1-001\n# more\na: 1", {3}),
        ("# rukpakctl: ignore RV1\n\na: 1", {2}),
        ("a: 1 # rukpakctl: ignore RV1-002", set()),
        ("a: x#rukpakctl: ignore RV1-001", set()),
        ("a: 1 # rukpakctl: ignore", set()),
    ],
)
def test_comments(text: str, ignored: set[int]) -> None:
    lines = range(1, text.count("\n") + 2)
    left = without_ignored([finding(line) for line in lines], {"a.yaml": text.encode()})
    assert {one.line for one in left} == set(lines) - ignored


def test_comment_with_a_former_id_counts() -> None:
    found = Finding(rule="OBJ-013", severity=Severity.ERROR, message="m", file="a.yaml", line=1)
    assert without_ignored([found], {"a.yaml": b"a: 1 # rukpakctl: ignore RV1-970"}) == []


def test_comment_of_a_manifest_leaves_its_finding_out(rukpakctl: CommandLine, repository: Path) -> None:
    assert rukpakctl("bundle", "validate", "operators/bad/1.0.0").status == 1
    csv = repository / "operators/bad/1.0.0" / CSV
    csv.write_text(csv.read_text().replace("replicas: many", "replicas: many # rukpakctl: ignore RV1-9 a trial"))
    ran = rukpakctl("bundle", "validate", "operators/bad/1.0.0", "-o", "concise")
    assert "RV1-903" not in ran.out


def test_settings_of_the_page_are_settings(rukpakctl: CommandLine, repository: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (settings,) = [one for one in blocks if one.startswith("validate:")]
    write(repository, {".rukpakctl.yaml": settings.encode(), "ci/categories.json": b'{"categories": ["Games"]}'})
    assert rukpakctl("bundle", "validate", "operators/one/1.0.0").status != 3


def test_hook_of_the_repository_is_a_command(rukpakctl: CommandLine, repository: Path) -> None:
    (hook,) = yaml.load((ROOT / ".pre-commit-hooks.yaml").read_bytes())
    program, *arguments = hook["entry"].split()
    assert program == "rukpakctl"
    assert rukpakctl(*arguments, "--ignore=RV1-9").status == 0
    assert rukpakctl(*arguments).status == 1
