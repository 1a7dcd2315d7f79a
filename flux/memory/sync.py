"""Methods that are called directly, or awaited as `method.aio(...)`: the same code in a thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class SyncAndAio(Generic[P, R]):
    """A bound method: `method(...)` blocks, `await method.aio(...)` does not."""

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    async def aio(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(self._function, *args, **kwargs)


class also_aio(Generic[P, R]):
    """Decorator of a method that is to have `.aio`."""

    def __init__(self, function: Callable[Concatenate[Any, P], R]) -> None:
        self.function = function
        functools.update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type) -> SyncAndAio[P, R]:
        return SyncAndAio(
            functools.wraps(self.function)(functools.partial(self.function, self._first(instance, owner)))
        )

    def _first(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"{self.function.__name__} is a method of an opened {owner.__name__}")
        return instance


class class_also_aio(also_aio[P, R]):
    """Decorator of a class method that is to have `.aio`."""

    def _first(self, instance: Any, owner: type) -> Any:
        return owner


class ByReceiver:
    """A name that is one method of the class, and another one of its instances."""

    def __init__(self, of_class: str, of_instance: str) -> None:
        self.of_class, self.of_instance = of_class, of_instance

    def __get__(self, instance: Any, owner: type) -> Callable[..., Any]:
        found: Callable[..., Any] = (
            getattr(owner, self.of_class) if instance is None else getattr(instance, self.of_instance)
        )
        return found
