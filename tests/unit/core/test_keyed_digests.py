"""Digests that only who has the key can compute, and that say which key it was."""

from rukpak_py.core.keyed_digests import DigestKey, are_comparable, key_id

ONE, OTHER = DigestKey(b"1" * 32), DigestKey(b"2" * 32)


def test_the_digest_of_the_same_is_the_same_in_every_release() -> None:
    """Another one would count every installed chart as changed."""
    expected = "hmac-sha256:978a3a60:7fab7a06a03d7c3d83cdd235ec325a07fd0a12db1299283f10976cbd81f887b6"
    assert ONE.digest(b"values", b"Secret", b"a") == expected


def test_parts_do_not_run_together() -> None:
    digests = {ONE.digest(*parts) for parts in ((b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""))}
    assert len(digests) == 4


def test_a_digest_names_its_key_and_does_not_tell_it() -> None:
    digest = ONE.digest(b"x")
    assert key_id(digest) == ONE.id != OTHER.id
    assert "1" * 8 not in repr(ONE)
    assert DigestKey.new() != DigestKey.new()


def test_only_digests_of_one_key_can_be_compared() -> None:
    assert are_comparable(ONE.digest(b"x"), ONE.digest(b"y"))
    assert not are_comparable(ONE.digest(b"x"), OTHER.digest(b"x"))
    assert not are_comparable(ONE.digest(b"x"), "sha256:" + "0" * 64)
    assert are_comparable("sha256:" + "0" * 64, "")
