"""The generated table of Go's types, and what the codecs take for granted about it."""

from rukpak_py.formats.registry_v1.typed import shapes
from rukpak_py.formats.registry_v1.typed.codecs import codec
from rukpak_py.formats.registry_v1.typed.restore import TypeDefect, restore
from rukpak_py.formats.registry_v1.typed.shapes import Own, Struct

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
        field.shape.go
        for name, (_, definition) in TABLE.items()
        if isinstance(definition, list)
        for field in shapes.fields(name)
        if field.omits_zero
    }
    assert omitting == {"v1.Time", "release.OperatorRelease"}


def test_no_struct_has_two_members_of_one_name() -> None:
    for name, (_, definition) in TABLE.items():
        if isinstance(definition, list):
            names = [field.name for field in shapes.fields(name)]
            assert len(names) == len(set(names)), name


def test_names_that_two_packages_use_are_told_apart_and_printed_as_go_does() -> None:
    assert shapes.shape("core.ResourceList").go == "v1.ResourceList"
    assert shapes.shape("operators.ResourceList") == Struct("operators.ResourceList", "v1alpha1.ResourceList")


def test_expressions_read_as_go_writes_them() -> None:
    assert shapes.shape("map[ResourceName]Quantity").go == "map[v1.ResourceName]resource.Quantity"
    assert shapes.shape("[]*Container").go == "[]*v1.Container"
    assert shapes.shape("Quantity") == Own("Quantity", "resource.Quantity")
    assert shapes.shape("ValidationRules").go == "v1.ValidationRules"


def test_what_others_decode_is_there() -> None:
    names = {"ClusterServiceVersion", "CustomResourceDefinition", "Deployment", "DeploymentSpec", "PodSpec"}
    names |= {"Toleration", "ResourceRequirements", "EnvVar", "EnvFromSource", "Volume", "VolumeMount", "Affinity"}
    names |= {"PolicyRule", "RuleWithOperations", "ObjectMeta", "LabelSelector"}
    assert names <= set(TABLE)
