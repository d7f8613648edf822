"""The source of a Bundle's content: a union of five, named by `type`. It asks the members that are set."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar

from msgspec.structs import replace

from rukpak_py.api.schema import ApiType, CelRule, doc
from rukpak_py.api.source_types import (
    CONFIG_MAPS_AT_MOST,
    LONGEST_PATH,
    SPECS,
    ConfigMapSource,
    GitSource,
    HttpSource,
    ImageSource,
    SourceSpec,
    UploadSource,
)
from rukpak_py.core.gojson import Fields


class Source(ApiType, frozen=True, kw_only=True):
    """Where the content comes from. Set `type` and the one member of that name."""

    type: Annotated[str, doc("Which member is set: `image`, `git`, `configMaps`, `upload` or `http`.")]
    image: Annotated[ImageSource | None, doc("Content of a container image.")] = None
    git: Annotated[GitSource | None, doc("Content of a git repository.")] = None
    config_maps: Annotated[
        tuple[ConfigMapSource, ...], doc("Content of ConfigMaps, in this order.", maxItems=CONFIG_MAPS_AT_MOST)
    ] = ()
    upload: Annotated[UploadSource | None, doc("Content that a client uploads.")] = None
    http: Annotated[HttpSource | None, doc("Content of an archive on a web server.")] = None

    rules: ClassVar[tuple[CelRule, ...]] = tuple(spec.rule() for spec in SPECS.values())

    @property
    def secret_names(self) -> frozenset[str]:
        """Secrets of the system namespace that it names, in whichever member."""
        return frozenset(name for _, one in self._members() for name in one.secrets) - {""}

    @property
    def pin(self) -> str:
        """Name of a resolved source in a message, where a reference that moves was resolved. Empty: there is none."""
        spec = SPECS.get(self.type)
        members = sorted((one for _, one in self._members()), key=lambda one: spec is None or not isinstance(one, spec))
        return next((one.pin for one in members if one.pin), "")

    @property
    def is_pinned(self) -> bool:
        """Whether it says which content it is: an image by digest, a commit, an archive with its checksum."""
        spec = SPECS.get(self.type)
        return any(one.is_pinned for _, one in self._members() if spec is not None and isinstance(one, spec))

    def canonical(self) -> Fields:
        fields = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        members = {name: _canonical(getattr(self, field)) for name, field in fields if field != "type"}
        return Fields.of(type=self.type) + Fields.non_empty(**members)

    def is_directory(self, artifact_type: str) -> bool:
        """Whether the content is no archive as `helm package` makes it: charts are loaded differently.

        `artifact_type`: as in the status of a Bundle.
        """
        spec = SPECS.get(self.type)
        return not (artifact_type or (spec is not None and spec.is_archive))

    def version(self, resolved: "Source | None") -> str:
        """Version of content that says none itself."""
        for name in self.__struct_fields__:
            if isinstance(mine := getattr(self, name), SourceSpec):
                return mine.version(getattr(resolved, name, None))
        return ""

    def without_ca_bundles(self) -> "Source":
        """The source for a status: certificates are long, the spec has them, and kubectl prints all of this."""
        return self._merged(
            self, lambda one, _: replace(one, ca_bundle="") if "ca_bundle" in one.__struct_fields__ else one
        )

    def pinned_as(self, resolved: "Source | None") -> "Source":
        """The same source, with the digest of an image or the commit that others may have written."""
        if resolved is None or resolved.type != self.type:
            return self
        return self._merged(resolved, lambda mine, other: mine.pinned_as(other))

    def accessed_as(self, spec: "Source") -> "Source":
        """The recorded source, fetched with the access that the spec has now."""
        return self._merged(spec, lambda mine, other: mine.accessed_as(other))

    def excesses(self) -> tuple[str, ...]:
        """Members that exceed a bound, whatever the type is: all of them would be compared and looked at."""
        if len(self.config_maps) > CONFIG_MAPS_AT_MOST:
            count = f"{len(self.config_maps)} items; at most {CONFIG_MAPS_AT_MOST} are allowed"
            return (f"bundle.spec.source.configmaps has {count}",)
        return tuple(
            f"{field}.{name} is invalid: it has {len(path)} characters; at most {LONGEST_PATH} are allowed"
            for field, one in self._members()
            for name in one.paths
            if len(path := getattr(one, name)) > LONGEST_PATH
        )

    def denials(self) -> tuple[str, ...]:
        """The reasons to refuse it, whatever ConfigMaps it names. A type that is not known passes."""
        spec = SPECS.get(self.type)
        if spec is None:
            return ()
        found = [one for _, one in self._members() if isinstance(one, spec)]
        return tuple(denial for one in found for denial in one.denials()) if found else (spec.unset(),)

    def config_map_denials(self, immutable: Mapping[str, bool]) -> tuple[str, ...]:
        """Problems of the ConfigMaps. `immutable`: as in `admission.bundle_denials`."""
        items = enumerate(self.config_maps)
        return tuple(denial for index, one in items for denial in one.looked_up_denials(_item(index), immutable))

    def _members(self) -> Iterator[tuple[str, SourceSpec]]:
        """The members that are set, with the names that the webhook gives their fields; each ConfigMap is one."""
        for name in self.__struct_fields__:
            if isinstance(one := getattr(self, name), SourceSpec):
                yield f"bundle.spec.source.{name}", one
        yield from ((_item(index), one) for index, one in enumerate(self.config_maps))

    def _merged(self, other: "Source", merge: Callable[[SourceSpec, SourceSpec], SourceSpec]) -> "Source":
        """The source, merged with another for each member that both have."""
        merged = {}
        for name in self.__struct_fields__:
            mine, others = getattr(self, name), getattr(other, name)
            if isinstance(mine, SourceSpec) and isinstance(others, SourceSpec):
                merged[name] = merge(mine, others)
        return replace(self, **merged)


def _item(index: int) -> str:
    return f"bundle.spec.source.configmaps[{index}]"


def _canonical(member: SourceSpec | tuple[SourceSpec, ...] | None) -> object:
    return [one.canonical() for one in member] if isinstance(member, tuple) else member and member.canonical()
