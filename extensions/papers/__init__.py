"""Papers as files: one command compares their printed values with computed ones and gives a verdict on each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Command, Extension, Page
from beirflow.core.keys import Text
from beirflow.core.patterns import Pattern, patterns_in
from beirflow.extensions.papers import layout

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("catalogue/*.yaml"))
"""Names of the papers of the project, by their files."""


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    papers: list[Text] = field(default_factory=list)
    """Files of papers of your own, whose values are compared with the results; the name of each is that of its file."""


def _check(experiment: Any, problems: Any) -> None:
    for path in map(Path, experiment.config["papers"]):
        if not path.is_file() or path.suffix != ".yaml":
            problems.add("papers", str(path), "expected a file of a paper that ends in .yaml; there is none")
        elif path.stem in NAMES:
            problems.add("papers", str(path), f"there is a paper {path.stem} already; rename the file")


def _names(experiment: Any) -> list[str]:
    return [*NAMES, *(Path(path).stem for path in experiment.config["papers"])]


def _printed(name: str) -> Mapping[str, Any]:
    from beirflow.core.digests import file_digest
    from beirflow.extensions.papers.files import FOLDER

    return {"printed": {f"{name}.yaml": file_digest(FOLDER / f"{name}.yaml")}}


PAGES = {name: Pattern(layout.PAGE(paper=name)) for name in NAMES}

EXTENSION = Extension(
    folder=Path(__file__).parent,
    keys=Keys,
    patterns=patterns_in(layout),
    targets={"papers/{paper}": (layout.PAGE, "printed values beside computed ones")},
    names={"paper": _names},
    pages={Pattern(layout.RECORD(paper=each)): Page(page, each, partial(_printed, each)) for each, page in PAGES.items()},
    commands={"paper": Command(f"{__name__}.commands.paper")},
    check=_check,
    without_influence=("papers",),
)
