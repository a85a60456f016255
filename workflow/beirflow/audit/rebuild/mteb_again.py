"""MTEB's forms of the results, made again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from beirflow.audit.rebuild.made_again import other_page
from beirflow.audit.rebuild.paper_again import Step
from beirflow.catalogue.catalogue import load_catalogue
from beirflow.files import layout
from beirflow.report.mteb import export_mteb, write_model_index


@dataclass(frozen=True)
class MtebAgain:
    """Makes results in the forms of MTEB again.

    Attributes:
        source: A folder in which links lead to the results.
        target: Where to write.
        rows: By dataset its corpora.
    """

    source: Path
    target: Path
    rows: Mapping[str, Sequence[str]]

    def step(self, path: str) -> Step | None:
        """Return the functions that rebuild a file and compare it.

        Args:
            path: Its path below the results.

        Returns:
            Both; None for what is no such file, or a task of none of these datasets.
        """
        index, result = layout.MODEL_INDEX.names_in(path), layout.MTEB_RESULT.names_in(path)
        if index:
            return partial(self._index, index["system"]), other_page
        dataset = self._datasets.get(result["task"]) if result else None
        return (partial(self._result, result["system"], dataset), other_page) if result and dataset else None

    @property
    def _datasets(self) -> dict[str, str]:
        """By task, its dataset or forum."""
        tasks = load_catalogue().mteb
        names = [name for row, corpora in self.rows.items() for name in dict.fromkeys((row, *corpora))]
        return {tasks[name].name: name for name in names if name in tasks}

    def _to(self, path: str) -> str:
        (self.target / path).parent.mkdir(parents=True, exist_ok=True)
        return str(self.target / path)

    def _result(self, system: str, dataset: str) -> None:
        task = load_catalogue().mteb[dataset]
        export_mteb(
            task=task.name,
            language=task.language,
            means_path=str(self.source / layout.METRICS(system=system, dataset=dataset)),
            corpus_paths=[str(self.source / layout.CORPUS(dataset=name)) for name in self.rows.get(dataset, [dataset])],
            result_path=self._to(layout.MTEB_RESULT(system=system, task=task.name)),
        )

    def _index(self, system: str) -> None:
        tasks = load_catalogue().mteb
        write_model_index(
            system=system,
            result_paths=[str(self.source / layout.MTEB_RESULT(system=system, task=task)) for task in self._datasets],
            datasets={task.name: task.dataset for task in tasks.values()},
            left_out=[row for row in self.rows if row not in tasks],
            index_path=self._to(layout.MODEL_INDEX(system=system)),
        )
