"""The generated table of Go's types, and what the codecs take for granted about it."""

from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.codecs import codec
from rukpak_py.formats.go_types.restore import TypeDefect, restore
from rukpak_py.formats.go_types.shapes import List, Map, Own, Pointer, Scalar, Struct

TABLE = shapes._table()


def test_every_type_can_be_compiled_and_has_a_zero_value_that_it_accepts() -> None:
    for name in TABLE.keys() - {"OperatorRelease"}:  # Go writes an empty one, and refuses to read it
        zero = codec(shapes.shape(name)).zero()
        defects: list[TypeDefect] = []
        assert restore(zero, name, keep_unknown=False, defects=defects, unknown=[]) == zero
        assert defects == []


def test_only_two_types_are_left_out_when_they_are_zero() -> None:
    """Codecs leave out what is falsy then, which is right for these."""
    omitting = {
        field.shape
        for name, (_, definition) in TABLE.items()
        if isinstance(definition, list)
        for field in shapes.fields(name)
        if field.omits_zero
    }
    assert omitting == {Own("Time"), Own("OperatorRelease")}


def test_no_struct_has_two_members_of_one_name() -> None:
    for name, (_, definition) in TABLE.items():
        if isinstance(definition, list):
            names = [field.name for field in shapes.fields(name)]
            assert len(names) == len(set(names)), name


def test_names_that_two_packages_use_are_told_apart() -> None:
    assert shapes.shape("core.ResourceList") == Map(Own("Quantity"))
    assert shapes.shape("operators.ResourceList") == Struct("operators.ResourceList")


def test_expressions_are_read() -> None:
    assert shapes.shape("[]*Container") == List(Pointer(Struct("Container")))
    assert shapes.shape("Quantity") == Own("Quantity")
    assert shapes.shape("map[string]UID") == Map(Scalar("string"))


def test_types_that_other_modules_decode_are_in_the_table() -> None:
    names = {"ClusterServiceVersion", "CustomResourceDefinition", "Deployment", "DeploymentSpec", "PodSpec"}
    names |= {"Toleration", "ResourceRequirements", "EnvVar", "EnvFromSource", "Volume", "VolumeMount", "Affinity"}
    names |= {"PolicyRule", "RuleWithOperations", "ObjectMeta", "LabelSelector"}
    assert names <= set(TABLE)
