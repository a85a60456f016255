"""The interface of a form of dense systems, by which an extension makes a model for each dataset (:mod:`.formed`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from beirflow.core.extensions import forms
from beirflow.families.formed import key_in, value_in
from beirflow.families.system import Setting


class Form:
    """A form with its settings, described without importing what computes; every default means "nothing"."""

    rule: ClassVar[str]  # that makes the model
    spare: ClassVar[float] = 0.0  # bytes that an unfinished job needs, over those of the weights
    most_documents: ClassVar[int]  # of a corpus that its job reads by default

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def problem(self, base: Any) -> Setting | None:
        """Return a setting that prevents that a model is made from a base; None if it can be made."""
        return None

    def given_files(self, dataset: str) -> dict[str, Path]:
        """Return files outside the results that the model is made from, by the keys of the settings that name them."""
        return {}


def form_in(settings: Mapping[str, Any]) -> Form | None:
    """Return the form in the settings of a system; None if its model is the same for all datasets."""
    key = key_in(settings)
    return None if key is None else kind_of(key)(value_in(settings))


def kind_of(key: str) -> type[Form]:
    """Return the class of the form of a key."""
    kind: type[Form] = forms()[key].about()
    return kind


def kinds() -> list[type[Form]]:
    """Return the classes of all forms."""
    return [kind_of(key) for key in forms()]
