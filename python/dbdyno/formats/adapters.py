"""Pydantic's readers and writers by type, made on first use: a large one takes a tenth of a second,
and most verbs need few of them."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_T = TypeVar("_T")


def adapter(of: type[_T]) -> TypeAdapter[_T]:
    """The reader and writer of a type: a dataclass, or a tuple of them."""
    made: TypeAdapter[_T] = _adapter(cast("Hashable", of))
    return made


@cache
def _adapter(of: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(of)
