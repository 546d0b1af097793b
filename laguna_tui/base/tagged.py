"""The base class of values that stand beside others in what is stored: as JSON, each says which type it is."""

from msgspec import Struct


class Tagged(Struct, frozen=True, tag=True, tag_field="type", omit_defaults=True):
    """A value whose class name is its `type` in JSON. Defaults are left out."""
