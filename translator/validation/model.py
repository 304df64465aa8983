"""Models of mappings: classes whose annotations say what a mapping holds, and pydantic's core reads it by them.

Pydantic itself is not imported here: that takes as long as all else that a short command does. Its core reads by the
schemas that are made here, of the few kinds of annotations that job files and site profiles need.
Source: pydantic, `pydantic_core.core_schema`.
"""

from __future__ import annotations

from inspect import get_annotations
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic_core import SchemaValidator

from .marks import Key, Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from .marks import Schema

_REQUIRED: Any = object()
_PLAIN: dict[Any, str] = {Any: "any", str: "str", int: "int", bool: "bool"}


class Field:
    """Hold what a model says of one key: how it is written, and what may be there."""

    def __init__(self, annotation: Any, default: Any, alias: str, description: str, *, check_default: bool) -> None:
        self.annotation = annotation
        self.default = default
        self.alias = alias
        self.description = description
        self._check_default = check_default

    @property
    def is_required(self) -> bool:
        """Whether the key must be there."""
        return self.default is _REQUIRED

    def schema(self, models: dict[str, Schema]) -> Schema:
        """Return the schema of the field; those of models in it are put into `models`."""
        schema = _schema(self.annotation, models)
        if not self.is_required:
            schema = {"type": "default", "schema": schema, "default": self.default}
            schema["validate_default"] = self._check_default
        return {"type": "model-field", "schema": schema, "validation_alias": self.alias}


class _Fields:
    """Stand for the fields of a model by name: annotations are read when they are first wanted.

    What is written in capitals is a constant of the class.
    """

    def __get__(self, instance: object, owner: type[Model]) -> dict[str, Field]:
        (base,) = owner.__bases__
        if not issubclass(base, Model):
            return {}
        if "_fields" not in vars(owner):
            own = get_annotations(owner, eval_str=True)
            owner._fields = {
                **base.model_fields,
                **{name: _field(owner, name, hint) for name, hint in own.items() if not name.isupper()},
            }
        return owner._fields


class Model:
    """A mapping with the keys of its fields; what it has beside them is called as it is in pydantic.

    `extra` says whether there may be other keys, `camel` whether keys are written in camelCase: both hold for the
    classes below as well. An instance is made of a mapping by `model_validate`, or of nothing: then its fields have
    their defaults, and are not there where they have none.
    """

    __slots__ = ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")
    __pydantic_extra__: dict[str, Any] | None
    __pydantic_fields_set__: set[str]
    extra: ClassVar[Literal["allow", "forbid"]] = "forbid"
    _camel: ClassVar[bool] = True
    _fields: ClassVar[dict[str, Field]]
    _validator: ClassVar[SchemaValidator]
    model_fields = _Fields()

    def __init_subclass__(cls, *, extra: Literal["allow", "forbid"] | None = None, camel: bool | None = None) -> None:
        """Take what a class says of its keys."""
        if extra is not None:
            cls.extra = extra
        if camel is not None:
            cls._camel = camel

    def __init__(self) -> None:
        """Have the defaults, which nobody changes."""
        self.__pydantic_extra__ = {} if self.extra == "allow" else None
        self.__pydantic_fields_set__ = set()
        fields = type(self).model_fields
        vars(self).update((name, field.default) for name, field in fields.items() if not field.is_required)

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """Return the model of a mapping. Raises `ValidationError` with all that is wrong in it."""
        if "_validator" not in vars(cls):
            cls._validator = SchemaValidator(core_schema(cls))
        made: Self = cls._validator.validate_python(value)
        return made

    @property
    def model_fields_set(self) -> set[str]:
        """The names of the fields that the mapping has."""
        return self.__pydantic_fields_set__

    @property
    def model_extra(self) -> dict[str, Any] | None:
        """The other keys of the mapping; None where there may be none."""
        return self.__pydantic_extra__

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields by name."""
        return iter(vars(self).items())

    def __eq__(self, other: object) -> bool:
        """Compare the fields and the other keys."""
        if type(other) is not type(self):
            return NotImplemented
        return (vars(self), self.model_extra) == (vars(other), other.model_extra)

    def __hash__(self) -> int:
        """Return the same for all of a class: a default that has no hash is copied by pydantic's core each time."""
        return hash(type(self))

    def __repr__(self) -> str:
        """Show the fields."""
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in self)})"


def core_schema(model: type[Model]) -> Schema:
    """Return what pydantic's core reads a model by. Models in it are defined once."""
    models: dict[str, Schema] = {}
    return {"type": "definitions", "schema": _schema(model, models), "definitions": list(models.values())}


def tag_of(model: type[Model]) -> str | None:
    """Return the key by which a model is told from the others of a union: the one whose type is a `Literal`."""
    return next((name for name, field in model.model_fields.items() if get_origin(field.annotation) is Literal), None)


def _field(model: type[Model], name: str, hint: Any) -> Field:
    key = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Key)), Key())
    first, *others = name.split("_")
    camel = first + "".join(word.title() for word in others)
    return Field(
        hint,
        getattr(model, name, _REQUIRED),
        key.alias or (camel if model._camel else name),  # noqa: SLF001
        key.description,
        check_default=key.check_default,
    )


def _schema(hint: Any, models: dict[str, Schema]) -> Schema:
    """Return the schema of an annotation."""
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Model):
        return _reference(hint, models)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _marked(*inner, models=models)
    if origin is Literal:
        return {"type": "literal", "expected": list(inner)}
    if origin is list:
        return {"type": "list", "items_schema": _schema(inner[0], models)}
    if origin is dict:
        return {
            "type": "dict",
            "keys_schema": _schema(inner[0], models),
            "values_schema": _schema(inner[1], models),
        }
    assert origin in (Union, UnionType), hint
    return _union(inner, models)


def _marked(hint: Any, *marks: Any, models: dict[str, Schema]) -> Schema:
    if isinstance(marks[0], Validator):  # which takes the place of the annotation
        made: Schema = {}
    else:
        made = _schema(hint, models)
    for mark in marks:
        made = mark.schema(made)
    return made


def _union(kinds: tuple[Any, ...], models: dict[str, Schema]) -> Schema:
    """Return the schema of what may be null, or of models that a key tells apart."""
    some = [kind for kind in kinds if kind is not type(None)]
    if len(some) < len(kinds):
        (kind,) = some
        return {"type": "nullable", "schema": _schema(kind, models)}
    choices: Schema = {}
    tag = tag_of(some[0])
    for model in some:
        made = _reference(model, models)
        choices.update(dict.fromkeys(get_args(model.model_fields[tag].annotation), made))
    return {"type": "tagged-union", "discriminator": tag, "choices": choices}


def _reference(model: type[Model], models: dict[str, Schema]) -> Schema:
    """Return what stands for a model, whose schema is among `models`."""
    # The core and the JSON schema take their names from it.
    ref = f"{model.__module__}.{model.__qualname__}:{id(model)}"
    if ref not in models:
        models[ref] = {}  # to be defined once
        fields = {name: field.schema(models) for name, field in model.model_fields.items()}
        models[ref] = {
            "type": "model",
            "cls": model,
            "schema": {"type": "model-fields", "fields": fields, "extra_behavior": model.extra},
            "config": {"extra_fields_behavior": model.extra},
            "ref": ref,
        }
    return {"type": "definition-ref", "schema_ref": ref}
