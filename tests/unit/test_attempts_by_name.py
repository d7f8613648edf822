"""Attempts of tenants to get at rights that they lack, by name, and the test of each.

A row says what is attempted, in which file the test is, and a text that is there: the name of a test, or the id of a
row of its table. So an attempt can be found by its name, and none of them loses its test unnoticed.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent / "integration"
ACCOUNTS, MARKS = "tenancy/test_accounts.py", "tenancy/test_operator_only.py"
CONTENT, GAPS = "tenancy/test_content_attempts.py", "tenancy/test_forged_in_gaps.py"
GUARD, STATUSES = "tenancy/test_policy_guard.py", "operator/test_forged_statuses.py"
ATTEMPTS: dict[str, tuple[str, str]] = {
    "an account that the user may not impersonate": (ACCOUNTS, "creates with an account that he may not impersonate"),
    "the account of another namespace": (ACCOUNTS, "creates with an account of another namespace"),
    "the default account of another namespace": (ACCOUNTS, "the default account of the system namespace"),
    "no account, and so the operator's rights": (ACCOUNTS, "creates without an account"),
    "a name that the API server generates": (ACCOUNTS, "creates by generateName"),
    "a template edited by patch": (ACCOUNTS, "changes the template"),
    "a template edited by replace": (ACCOUNTS, "replaces it with another spec"),
    "a template edited by apply": (ACCOUNTS, "applies the same spec, which changes managedFields alone"),
    "a template edited by a BundleInstance": (ACCOUNTS, "changes the template of a BundleInstance"),
    "managed fields emptied": (ACCOUNTS, "empties managedFields"),
    "an annotation: refresh-at": (ACCOUNTS, "sets refresh-at"),
    "an annotation: allow-data-loss": (ACCOUNTS, "sets allow-data-loss"),
    "an annotation: hook settings": (ACCOUNTS, "sets skip-hooks"),
    "an owner reference to what is gone": (ACCOUNTS, "adds an owner reference to a dead uid"),
    "a finalizer added": (ACCOUNTS, "adds a finalizer"),
    "a finalizer removed": (ACCOUNTS, "removes the operator's finalizer"),
    "serviceAccountName removed by an editor": (ACCOUNTS, "takes the account away"),
    "an installNamespace moved": (ACCOUNTS, "changes installNamespace under an account"),
    "another's deployment deleted": (ACCOUNTS, "deletes and orphans"),
    "deletecollection": (ACCOUNTS, "test_a_collection_is_deleted_up_to_the_first_that_is_refused"),
    "a status of a deployment forged": (MARKS, "writes the status of a BundleDeployment"),
    "a history entry forged": (MARKS, "forges what was judged and the history of a BundleDeployment"),
    "a status of a Bundle forged": (STATUSES, "test_forged_digest_is_neither_served_nor_installed"),
    "a source in a status forged": (STATUSES, "test_forged_resolved_source_is_not_asked"),
    "a Bundle forged": (MARKS, "creates a Bundle with our labels"),
    "a Bundle with a forged owner": (MARKS, "creates a Bundle with a BundleDeployment as owner"),
    "an upload Bundle stripped of its owner": (
        "tenancy/test_uploads_of_accounts.py",
        "test_upload_takes_the_right_to_impersonate_and_a_stripped_bundle_is_made_anew",
    ),
    "another tenant's upload": ("tenancy/test_uploads_of_accounts.py", "cannot impersonate service account"),
    "a Bundle made again under a moved branch": ("tenancy/test_moved_branches.py", "is_that_of_the_installed_commit"),
    "a pinned private image by digest": (STATUSES, "test_a_private_image_is_not_handed_out_without_a_login"),
    "a private image that the node has": (
        "api/test_chart_modes.py",
        "test_pull_policy_of_unpack_pods_follows_the_mode",
    ),
    "a Secret of the system namespace in a source": ("tenancy/test_source_secrets.py", "names another Secret"),
    "a Secret of the operator as values": (
        "tenancy/test_values_of_accounts.py",
        "test_a_secret_of_the_operator_is_refused_in_the_namespace_of_an_account_too",
    ),
    "values that the account may not read": (CONTENT, "values_of_a_secret_that_the_account_may_not_read"),
    "a policy removed and put back": (GUARD, "test_a_policy_that_is_removed_and_put_back"),
    "a policy that warns": (GUARD, "a binding that warns"),
    "an account taken away while the policies are gone": (
        GAPS,
        "test_account_that_was_taken_away_with_its_record_stays_in_doubt",
    ),
    "a mirror annotated while the policies are gone": (GAPS, "test_annotation_of_a_mirror_is_not_judged"),
    "a judgement forged while the policies are gone": (GAPS, "test_status_that_says_that_an_edit_was_judged"),
    "objects of another namespace": (CONTENT, "object_in_another_namespace"),
    "objects of another namespace adopted": (CONTENT, "object_of_another_namespace_taken_over"),
    "objects of another namespace pruned": (CONTENT, "object_of_another_namespace_with_forged_marks_pruned"),
    "overrides that replace by force": (CONTENT, "object_of_another_namespace_replaced_by_force"),
    "a binding to cluster-admin": (CONTENT, "binding_of_itself_to_cluster_admin"),
    "a role with more rights": (CONTENT, "role_with_rights_that_the_account_lacks"),
    "hooks elsewhere": (CONTENT, "hook_in_another_namespace"),
    "definitions in crds/": (CONTENT, "crds_folder_with_a_definition"),
    "lookup of what is hidden": (CONTENT, "lookup_of_a_secret_of_its_namespace"),
    "webhooks of a bundle": (CONTENT, "bundle_with_webhooks"),
    "a token of another account": (CONTENT, "token_secret_of_another_account"),
    "a deployment inside a deployment": (CONTENT, "bundle_deployment_that_names_no_account"),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_has_its_test(name: str) -> None:
    path, text = ATTEMPTS[name]
    assert text in (TESTS / path).read_text()
