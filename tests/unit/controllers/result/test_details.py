"""The texts that are made of facts: for the condition that they are about, and the line for Ready and Events."""

import pytest
from msgspec import structs

from rukpak_py.controllers.result import bundle_details as bundles
from rukpak_py.controllers.result import dependency_details as dependencies
from rukpak_py.controllers.result import deployment_details as deployments
from rukpak_py.controllers.result import hook_details as hooks
from rukpak_py.controllers.result import object_details as objects
from rukpak_py.controllers.result import policy_details as policies
from rukpak_py.controllers.result import upgrade_details as upgrades
from rukpak_py.controllers.result.progress import NO_DETAIL, Detail, Words
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.hook import HookEvent

A, B = ObjectKey("", "ConfigMap", "ns", "a"), ObjectKey("", "ConfigMap", "ns", "b")
JOB = ObjectKey("batch", "Job", "ns", "j")
HIDDEN = deployments.HiddenKinds(unserved=("Widget.example.com",), unlisted=("B.x", "A.x"))
HIDDEN_TEXT = (
    "the API server does not serve Widget.example.com at the moment and the API server cannot list A.x, B.x at the "
    "moment: objects of these kinds are left as they are until it does"
)
UPGRADE = upgrades.UpgradePending(
    deployment="d",
    bundle="b2",
    version="2.0.0",
    digest="sha256:1",
    counts="1 object changed",
    verdict="NeedsReview",
    reviews=("ClusterRole x is new",),
)
KEPT = objects.KeptObject(kind="Namespace", namespace="", name="n", reason="HoldsObjects")

TEXTS: list[tuple[Detail, tuple[ObjectKey, ...], str]] = [
    (NO_DETAIL, (), ""),
    (Words(words="a\nb"), (), "a\nb"),
    (
        policies.PoliciesMissing(problems=("A x does not exist", "B y: spec.z is missing")),
        (),
        (
            "no service account is impersonated, because the policies are not in force: A x does not exist, and 1 "
            "more. Run helm upgrade or kubectl apply with the release of this operator (kubectl replace, where others "
            "added entries)"
        ),
    ),
    (bundles.Unpacking(source="http"), (), ""),
    (bundles.ContentPending(source="image", message="Back-off"), (), "Back-off"),
    (
        bundles.OtherContentFound(found="d2", unpacked="d1"),
        (),
        (
            "the unpacked content is lost, and the source has other content now: restore the old content in the "
            "source, or create a new Bundle (found d2, unpacked d1)"
        ),
    ),
    (
        bundles.OtherThanNamed(found="d2", named="d1"),
        (),
        (
            "the source has other content than the annotation core.rukpak.io/content-digest of spec.template names: "
            "remove the annotation to have what the source has now, or restore the old content in the source "
            "(found d2, named d1)"
        ),
    ),
    (
        bundles.OtherThanInstalled(found="d2", installed="d1"),
        (),
        (
            "the source has other content now than what is installed by this Bundle: restore the old content in the "
            f"source, or {bundles.REFRESH} (found d2, installed d1)"
        ),
    ),
    (
        bundles.InstalledContentGone(words="404", pin="commit 1234"),
        (),
        f"404; commit 1234 was asked for, because it is installed: restore it in the source, or {bundles.REFRESH}",
    ),
    (
        bundles.ContentMissing(why="502"),
        (),
        "the unpacked content is lost, and cannot be fetched again yet: 502",
    ),
    (
        bundles.DigestReplaced(recorded="d1"),
        (),
        (
            "status.digest was changed, and is not the digest of the content that was unpacked: set it back to d1, or "
            "delete the Bundle (a BundleDeployment creates its Bundle again)"
        ),
    ),
    (
        bundles.UploadLost(unpacked="d1"),
        (),
        "the uploaded content is lost: upload the same content again, or create a new Bundle (unpacked d1)",
    ),
    (
        bundles.SpecReplaced(),
        (),
        (
            "bundle.spec was changed although it is immutable; the content that was unpacked before stays. Restore the "
            "old spec, or create a new Bundle"
        ),
    ),
    (bundles.WaitingForBundle(bundle="b", why="x"), (), "Waiting for the b Bundle to be unpacked"),
    (
        bundles.BundleOfOtherClass(bundle="b", class_name="x"),
        (),
        'Waiting for the b Bundle to be unpacked; this operator does not serve its class "x"',
    ),
    (
        bundles.UnknownClass(class_name="core-rukpak-io-plian", field="spec.x"),
        (),
        (
            'there is no provisioner class "core-rukpak-io-plian" (did you mean "core-rukpak-io-plain"?): '
            "set spec.x to one of core-rukpak-io-plain, core-rukpak-io-registry, core-rukpak-io-helm"
        ),
    ),
    (
        bundles.UnknownClass(class_name="x", field="spec.x", is_immutable=True),
        (),
        (
            'there is no provisioner class "x": set spec.x of a new Bundle to one of core-rukpak-io-plain, '
            "core-rukpak-io-registry, core-rukpak-io-helm"
        ),
    ),
    (bundles.BundleFails(bundle="b"), (), "Failed to unpack the b Bundle"),
    (bundles.BundleFails(bundle="b", why="x\ny"), (), "Failed to unpack the b Bundle: x\ny"),
    (
        bundles.InstalledBundleMissing(bundle="b", why="x"),
        (),
        "Bundle b, whose content is installed, does not exist: drift is not corrected; x",
    ),
    (
        bundles.InstalledBundleFails(bundle="b", why="x"),
        (),
        "Bundle b, whose content is installed, cannot be unpacked: drift is not corrected; x",
    ),
    (
        bundles.InstalledBundleReplaced(bundle="b"),
        (),
        (
            "Bundle b was created again with content other than what is installed: drift is not corrected; restore "
            "its source, or correct the new spec.template"
        ),
    ),
    (deployments.SUSPENDED, (), "spec.suspend is true: nothing is applied, corrected or pruned"),
    (
        deployments.ClassNotServed(class_name="x"),
        (),
        (
            'this operator does not serve the class "x"; nothing is applied, corrected or pruned until '
            "spec.provisionerClassName names a class that is served"
        ),
    ),
    (deployments.STATUS_TOO_LARGE, (), deployments.STATUS_TOO_LARGE.words),
    (
        objects.Copied(),
        (A, B),
        (
            "ConfigMap ns/a, ConfigMap ns/b: with the labels or the owner reference of this BundleDeployment and "
            "not applied for it, as copies have them; left alone. Remove them (the garbage collector deletes what"
            " has the owner reference with the BundleDeployment)"
        ),
    ),
    (
        objects.Shared(owners=("a", "b")),
        (A, B),
        (
            "ConfigMap ns/a belongs to BundleDeployment a, ConfigMap ns/b belongs to BundleDeployment "
            "b: in this bundle too, and the same; left as it is"
        ),
    ),
    (
        objects.SharedDiffers(owners=("a", "b"), gone=("b",)),
        (A, B),
        (
            "ConfigMap ns/a belongs to BundleDeployment a, ConfigMap ns/b belongs to BundleDeployment "
            "b, which does not exist, and not, or no longer, as this bundle has it; left as it is. Install "
            "bundles with the same CRD in both. Where its owner does not exist, spec.adopt: IfUnowned takes it "
            "over"
        ),
    ),
    (
        objects.SharedUnowned(),
        (A, B),
        (
            "ConfigMap ns/a, ConfigMap ns/b: in this bundle too, and not, or no longer, managed by a "
            "BundleDeployment; left as it is. spec.adopt: IfUnowned takes it over, Force also from another tool"
        ),
    ),
    (objects.ReducedHistory(line="status.history …"), (), "status.history …"),
    (deployments.ObjectFailures(messages=("x", "y")), (A, B), "x && y"),
    (deployments.MissingResources(messages=("x", "y")), (A, B), "required resource not found: x && y"),
    (
        deployments.AccountMissing(account="shop/installer"),
        (),
        (
            "ServiceAccount shop/installer does not exist: nothing is applied, corrected or pruned until it does. "
            "Create it, or name another one in spec.serviceAccountName"
        ),
    ),
    (
        deployments.NotDeletedInOrder(account="shop/installer", deployment="web", why=("x", "y")),
        (),
        (
            "waiting for rights of service account shop/installer: give them back, or run kubectl rukpak release web, "
            "which leaves the rest to the garbage collector: x && y"
        ),
    ),
    (deployments.PruneFailures(messages=("x", "y")), (A, B), "could not prune: x && y"),
    (HIDDEN, (), HIDDEN_TEXT),
    (
        deployments.MissingWatchRights(
            denied=("no right",), kinds=("Secret in namespace b",), rights=(("no right", "bind a Role"),), rest=HIDDEN
        ),
        (),
        (
            "a right is missing: no right; bind a Role"
            f" && objects of the kinds Secret in namespace b are left as they are until then && {HIDDEN_TEXT}"
        ),
    ),
    (
        deployments.ExplainedKinds(
            denied=('User "x" cannot list things',), broken=("APIService v1.y is gone",), kinds=("C", "D"), rest=HIDDEN
        ),
        (),
        (
            'a right is missing: User "x" cannot list things; grant that user the verbs list and watch on it'
            " && APIService v1.y is gone; repair or remove it"
            f" && objects of the kinds C, D are left as they are until then && {HIDDEN_TEXT}"
        ),
    ),
    (deployments.Applying(number=1), (), "Applying 1 object"),
    (
        deployments.KindsToCome(kinds=("B.x", "A.x")),
        (),
        "Waiting: the API server does not serve A.x, B.x yet, which the bundle brings",
    ),
    (
        deployments.NewSchema(answers=("x", "y")),
        (),
        "Waiting: the API server does not know the new schema yet: x && y",
    ),
    (
        deployments.ChangedObjects(answers=("x", "y")),
        (),
        "Waiting: another client changes what is being applied; trying again: x && y",
    ),
    (
        deployments.SlowAnswers(request="apply ConfigMap a/b", seconds=9, left=2),
        (),
        (
            "Waiting: the API server, or an admission webhook that it asks, answers slowly: apply ConfigMap a/b took"
            " 9 s; 2 objects still to be written. Look at the admission webhooks for these objects"
        ),
    ),
    (
        deployments.PendingObjects(waits=tuple("abcdefghijkl")),
        (),
        "Waiting: a; b; c; d; e; f; g; h; i; j",
    ),
    (
        deployments.GoingObjects(what="CRD", objects=("a", "b", "c", "d", "e", "f"), left=("2 Widget left: x",)),
        (),
        "waiting for 6 CRDs to be deleted: a, b, c, d, e and 1 more; 2 Widget left: x",
    ),
    (
        deployments.GoingObjects(what="object", objects=("a",), hidden=HIDDEN),
        (),
        f"waiting for 1 object to be deleted: a; {HIDDEN_TEXT}",
    ),
    (objects.Unhealthy(lines=("a: x",), total=3, example="a: x"), (A,), "a: x"),
    (
        objects.Unhealthy(lines=("a: x", "b: y"), total=3, example="b: y"),
        (A, B),
        "2 of 3 objects are not healthy: b: y\na: x\nb: y",
    ),
    (
        objects.HeldBack(),
        (A,),
        (
            "1 object no longer in the bundle is kept until the new content is healthy: ConfigMap ns/a; set "
            "spec.prune.when to AfterApply to delete now"
        ),
    ),
    (
        objects.OverBudget(most=0),
        (A, B),
        (
            "2 objects are no longer in the bundle, and spec.prune.maxObjects is 0: nothing was pruned; raise it "
            "to delete ConfigMap ns/a, ConfigMap ns/b"
        ),
    ),
    (
        objects.Kept(kept=(KEPT,)),
        (),
        (
            "kept 1 object no longer in the bundle: Namespace n; deleted with the BundleDeployment; to delete "
            'earlier, set the annotation core.rukpak.io/prune: "true" on the object, or prune: true in '
            "spec.overrides"
        ),
    ),
    (objects.UnmatchedOverride(line="spec.overrides[0] …"), (), "spec.overrides[0] …"),
    (
        objects.ContestedFields(managers=(("kubectl",), ())),
        (A, B),
        (
            "kubectl keeps changing ConfigMap ns/a; another client keeps changing ConfigMap ns/b; reverting at most "
            "once a minute. Stop it, remove the field from the bundle, or name it in spec.overrides[].ignore"
        ),
    ),
    (
        objects.ContestedCertificates(managers=(("kubectl",),)),
        (A,),
        (
            "kubectl keeps changing ConfigMap ns/a; its serving certificate or caBundle is restored at most once a "
            "minute, and until then the API server cannot call the webhook. Stop it"
        ),
    ),
    (
        objects.HalfUpgraded(done=3, total=4, examples=("x", "y"), installed="b1", wanted="b2"),
        (),
        (
            "3 of 4 objects are those of b2 (x, y and 1 more); all others stay as b1 has them, drift of both is "
            "corrected, and nothing is pruned before the upgrade has ended"
        ),
    ),
    (
        objects.HalfUpgraded(done=2, total=2, examples=("x", "y"), installed="b1", wanted="b2"),
        (),
        (
            "all 2 objects are those of b2 (x, y); all others stay as b1 has them, drift of both is corrected, and "
            "nothing is pruned before the upgrade has ended"
        ),
    ),
    (objects.RevertedDrift(), (A, B), "reverted drift on 2 objects: ConfigMap ns/a, ConfigMap ns/b"),
    (objects.Pruned(), (A, B), "deleted ConfigMap ns/a, ConfigMap ns/b, no longer in the bundle"),
    (objects.Released(why="x"), (A,), "left ConfigMap ns/a in the cluster, no longer managed (x)"),
    (objects.Replaced(why="x"), (A,), "deleted and re-created ConfigMap ns/a: x"),
    (
        deployments.DataLoss(losses=("x", "y")),
        (A,),
        (
            "the deletion waits, because it would delete what others have: x; y. Delete or move that, or set the "
            'annotation core.rukpak.io/allow-data-loss: "true" on the BundleDeployment'
        ),
    ),
    (
        deployments.Orphaned(),
        (A, B),
        (
            "left 2 objects in the cluster, as a deletion that orphans asks: ConfigMap ns/a, ConfigMap ns/b; a "
            "BundleDeployment of the same name takes them again"
        ),
    ),
    (objects.Adopted(), (B, A), "adopted 2 objects: ConfigMap ns/a, ConfigMap ns/b"),
    (
        objects.GeneratedValues(keys=("Secret ns/a, key k",), entries=("a/k",)),
        (),
        (
            "generated values would be replaced: Secret ns/a, key k; to keep them, set them in "
            "spec.config.values or spec.config.valuesFrom; to accept new ones, set spec.config.acceptNewSecrets: [a/k]"
        ),
    ),
    (
        objects.RenewedCertificates(keys=("Secret ns/a, key tls.crt", "Secret ns/a, key tls.key")),
        (),
        ("generated certificates and private keys are renewed: Secret ns/a, key tls.crt, Secret ns/a, key tls.key"),
    ),
    (
        objects.Withdrawn(),
        (B, A),
        "deleted ConfigMap ns/a, ConfigMap ns/b, created by the installation that was refused",
    ),
    (hooks.RunningHook(event=HookEvent.PRE_INSTALL), (JOB,), "the pre-install hook Job.batch/ns/j is running"),
    (
        hooks.RunningHook(event=HookEvent.PRE_INSTALL, begins_again=True),
        (JOB,),
        f"the pre-install hook Job.batch/ns/j is running; {hooks.HOOKS_BEGIN_AGAIN.words}",
    ),
    (hooks.HookNotRun(event=HookEvent.PRE_INSTALL, why="x"), (JOB,), "pre-install hook: x"),
    (
        hooks.FailedHook(event=HookEvent.PRE_INSTALL, why="x"),
        (JOB,),
        (
            "the pre-install hook Job.batch/ns/j failed: x. Look at the logs of its pods; to run it again, set "
            "the annotation core.rukpak.io/reconcile-at to a new value, or change spec.template or spec.config"
        ),
    ),
    (
        hooks.FailedHook(event=HookEvent.PRE_INSTALL, why="x", is_lost=True),
        (JOB,),
        (
            "the pre-install hook Job.batch/ns/j failed: x, and the rendering that it is of is lost: rendering "
            "the chart again gives different objects. Look at the logs of its pods; to begin the installation "
            "again, with the hooks of the new rendering, set the annotation core.rukpak.io/reconcile-at to a new "
            "value, or change spec.template or spec.config"
        ),
    ),
    (
        hooks.SupersededHook(event="pre-install"),
        (JOB,),
        (
            "the pre-install hook Job.batch/ns/j of an installation that was given up is still running. The "
            "operator waits for it to end, because it may be half a migration. To go on at once, look at its "
            "logs, then delete it"
        ),
    ),
    (
        hooks.SupersededHookStays(event="pre-install", why="x"),
        (JOB,),
        ("Job.batch/ns/j, a pre-install hook of an installation that was given up, has ended and cannot be deleted: x"),
    ),
    (
        hooks.SupersededHookEnd(event="pre-install", why="x"),
        (JOB,),
        "the pre-install hook Job.batch/ns/j of an installation that was given up has failed: x",
    ),
    (hooks.UnknownHooks(), (), hooks.HOOKS_UNKNOWN),
    (hooks.UnknownHooks(why="x"), (), f"{hooks.HOOKS_UNKNOWN}: x"),
    (
        UPGRADE,
        (),
        (
            "the upgrade to b2 (2.0.0) waits for an approval; `rukpakctl plan d` shows its plan, and `rukpakctl "
            "approve d` approves it\nIt is 1 object changed; verdict NeedsReview\n- ClusterRole x is new"
        ),
    ),
    (
        upgrades.OutsideWindow(**structs.asdict(UPGRADE), opens="2026-11-29T01:00:00Z"),
        (),
        (
            "the upgrade to b2 (2.0.0) waits for its window, which opens at 2026-11-29T01:00:00Z; to begin at once, "
            "approve it with `rukpakctl approve d --now`\nIt is 1 object changed; verdict NeedsReview\n"
            "- ClusterRole x is new"
        ),
    ),
    (
        upgrades.UpgradeRolledBack(bundle="b2", revision=1, reason="1 of 2 objects is not healthy"),
        (),
        (
            "the upgrade to b2 was not healthy in time and was undone: revision 1 is installed again, and the upgrade "
            "is not tried again until its content or its options change (it failed with: 1 of 2 objects is not healthy)"
        ),
    ),
    (
        upgrades.RollbackRefused(bundle="b2", reason="x"),
        (),
        (
            "the upgrade to b2 was not healthy in time and stays, because the revision before it cannot be installed "
            "again: x"
        ),
    ),
    (
        upgrades.DependencyNotReady(**structs.asdict(UPGRADE), unmet="waiting for spec.dependsOn: x is not Ready"),
        (),
        (
            "the upgrade to b2 (2.0.0) may not begin: waiting for spec.dependsOn: x is not Ready\nIt is 1 object "
            "changed; verdict NeedsReview\n- ClusterRole x is new"
        ),
    ),
    (
        dependencies.UnmetDependencies(deployment="d", cycle=("a",), missing=("b", "c"), unready=("e", "f")),
        (),
        (
            "spec.dependsOn has a cycle: d depends on a, and that, directly or through others, on d; remove one of "
            "these dependencies; spec.dependsOn names b, c: no such BundleDeployment exists, or this operator does not "
            "serve its class; create it, or correct the name; waiting for spec.dependsOn: e, f are not Ready with "
            "their specs as they are now"
        ),
    ),
    (
        dependencies.DependentsLeft(names=("a", "b")),
        (),
        "waiting for a, b to be deleted, which depend on it; at most five minutes",
    ),
    (
        objects.UnmatchedPatches(entries=("spec.patches[0] (Secret ns/x)", "spec.patches[2] (Deployment.apps/*)")),
        (),
        (
            "spec.patches[0] (Secret ns/x), spec.patches[2] (Deployment.apps/*): no object of the bundle matches; "
            "check group, kind, namespace, name and labels, or remove the entry"
        ),
    ),
    (hooks.HooksLeft(why=("x",)), (JOB,), "could not delete the hook Job.batch/ns/j: x"),
]


@pytest.mark.parametrize(("detail", "objects", "text"), TEXTS, ids=lambda one: type(one).__name__)
def test_details_have_their_texts(detail: Detail, objects: tuple[ObjectKey, ...], text: str) -> None:
    assert detail.text(objects) == text


BRIEF: list[tuple[Detail, str]] = [
    (Words(words="a\nb"), "a"),
    (Words(words="a\nb", line="c\nd"), "c"),
    (bundles.Unpacking(source="http"), "Unpacking the http Bundle"),
    (bundles.ContentPending(source="image", message="a\nb"), "a"),
    (bundles.ContentPending(source="image", message="a", line="b\nc"), "b"),
    (bundles.ContentPending(source="image"), "Waiting for the content of the image Bundle"),
    (bundles.WaitingForBundle(bundle="b"), "Waiting for the b Bundle to be unpacked"),
    (bundles.WaitingForBundle(bundle="b", why="x\ny"), "Waiting for its Bundle to be unpacked: x"),
    (bundles.BundleFails(bundle="b", why="x\ny"), "Failed to unpack its Bundle: x"),
]


@pytest.mark.parametrize(("detail", "line"), BRIEF, ids=lambda one: type(one).__name__)
def test_where_one_line_has_room(detail: Detail, line: str) -> None:
    assert detail.brief(()) == line


def test_every_detail_has_a_text() -> None:
    def below(kind: type[Detail]) -> set[type[Detail]]:
        return {kind, *(one for child in kind.__subclasses__() for one in below(child))}

    assert {type(detail) for detail, _, _ in TEXTS} == below(Detail) - {Detail, objects.KeptObject}
    with pytest.raises(NotImplementedError):
        KEPT.text(())
