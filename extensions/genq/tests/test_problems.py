"""Training in a configuration: its forms, its values, and its mistakes, refused before anything runs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.config.systems import make_system
from beirflow.core.errors import ConfigError
from beirflow.core.layout import MODEL
from beirflow.extensions.genq.parameters import trained_systems, training_of
from beirflow.families.stage import Task
from tiny_expanders import save_deepct, save_tiny_t5
from workflow_rules import encoding_of

GENERATOR = {"model": "BeIR/query-gen-msmarco-t5-base-v1", "revision": "0" * 40}
BASE = {"model": "some/encoder", "revision": "1" * 40, "max_length": 200}


def configured(**entries: dict[str, Any]) -> Experiment:
    systems = {"base": BASE, **entries}
    return load_experiment({"systems": "genq", "datasets": ["scifact", "climate-fever", "fever"], "custom": {"systems": systems}})


def genq(base: Any = "base", **train: Any) -> dict[str, Any]:
    return {"base": base, "train": {"generator": GENERATOR, **train}}


def test_a_trained_system_is_its_base_with_a_training_of_the_papers_settings() -> None:
    experiment = configured(
        genq=genq(), another=genq(BASE | {"max_length": 100}), shorter={"variant_of": "genq", "dimensions": 8}
    )
    settings, base = (experiment.systems[name].settings for name in ("genq", "base"))
    assert asdict(settings) == asdict(base) | {"name": "genq", "train": asdict(settings.train)}
    assert experiment.systems["another"].settings.max_length == 100
    written = settings.train.added
    assert (written.queries, written.documents, written.top_k, written.top_p) == (5, 100_000, 25, 0.95)
    assert written.revision == GENERATOR["revision"]
    catalogue = load_experiment({})
    assert trained_systems(experiment) == [*trained_systems(catalogue), "genq", "another"]
    assert experiment.expansions.of_kind("queries") == [*catalogue.expansions.of_kind("queries"), written.name]
    again = make_system("genq", {"family": "dense", **{key: value for key, value in asdict(settings).items() if key != "name"}})
    assert again == experiment.systems["genq"]


def test_model_and_vectors_are_those_of_the_dataset() -> None:
    experiment = configured(genq=genq(), shorter={"variant_of": "genq", "dimensions": 8})
    found = [Task(experiment, {"system": system, "dataset": "scifact"}).files(MODEL) for system in ("base", "genq", "shorter")]
    assert found == [["<results>/models/base.json"], *[["<results>/models/genq/scifact.json"]] * 2]
    assert Task(experiment, {"system": "genq", "dataset": "fever"}).files(MODEL) != found[1]
    assert experiment.shared_with("climate-fever") == experiment.shared_with("climate-fever", "base") == "fever"
    assert experiment.shared_with("climate-fever", "genq") is None


def test_a_trained_model_has_no_place_but_next_to_its_record_and_what_it_began_as_has_one() -> None:
    experiment = configured(genq=genq())
    encoder = encoding_of(experiment, "genq", "scifact")
    assert (encoder["model"], encoder["revision"], encoder["max_length"]) == ("", None, 200)
    training = training_of(experiment, "genq", "scifact")
    assert (training["encoder"]["model"], training["encoder"]["revision"]) == (BASE["model"], BASE["revision"])
    assert training["train"]["batch"] == 75
    assert encoding_of(experiment, "genq", "scifact") == encoding_of(configured(genq=genq(batch=20)), "genq", "scifact")


def test_a_draw_of_documents_has_a_name_of_its_own() -> None:
    one, other, seeded = (
        configured(genq=genq(**train)).systems["genq"].settings.added for train in ({}, {"documents": 5}, {"seed": 1})
    )
    assert len({each.name for each in (one, other, seeded)}) == 3


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (genq("bse"), r"custom.systems.genq.base: found 'bse'; expected the settings of .*did you mean 'base'"),
        (genq("bm25"), r"custom.systems.genq.base: found 'bm25'; expected .*a dense system that encodes; allowed"),
        (genq({"model": "x", "poling": "cls"}), r"custom.systems.genq.base.poling: .*did you mean 'pooling'"),
        ({"base": "base", "train": {}}, r"custom.systems.genq.train.generator: missing; this key is required"),
        (genq(batch=1), r"custom.systems.genq.train.batch"),
        (genq(btch=1), r"custom.systems.genq.train.btch: .*did you mean 'batch'"),
        ({"base": "base", "train": {"generator": {"path": "x"}}}, r"generator.path: found 'x'; expected a file of JSON lines"),
        ({"base": "base", "train": {"generator": "some/hub"}}, r"train.generator.model: found 'some/hub'; .* needs 'revision'"),
        (genq(BASE | {"weights": "onnx/model.onnx"}), r"systems.genq.base: .*an ONNX graph; only a single torch transformer"),
        (genq(BASE | {"query_model": "a/b", "query_revision": "2" * 40}), r"genq.base: .*queries have a model of their own"),
        (genq({"encoder": "json:JSONDecoder", "similarity": "dot"}), r"genq.base: .*this is a class of your own"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_its_key(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configured(genq=entry)


def test_queries_can_be_given_in_files(tmp_path: Path) -> None:
    given = {"base": "base", "train": {"generator": {"path": f"{tmp_path}/{{dataset}}.jsonl"}}}
    said = "generator.path: found '.*{dataset}.jsonl'; there is no file .*/scifact.jsonl, which would be what is added"
    with pytest.raises(ConfigError, match=f"genq.train.{said}"):
        configured(genq=given)
    for name in ("scifact", "fever", "climate-fever"):
        (tmp_path / f"{name}.jsonl").touch()
    experiment = configured(genq=given)
    assert experiment.expansions.of_system("genq") == experiment.expansions.of_kind("given")
    assert experiment.expansions.of_kind("queries") == load_experiment({}).expansions.of_kind("queries")


def test_a_generator_that_writes_nothing_and_a_table_of_vectors_are_refused(tmp_path: Path, tiny_bert: Path) -> None:
    system = {"base": {"model": str(tiny_bert), "pooling": "mean", "similarity": "dot"}}
    with pytest.raises(ConfigError, match=r"train.generator.model: found .*of the type 'bert'; queries are written by a T5"):
        configured(genq=system | {"train": {"generator": str(save_deepct(tmp_path / "bert"))}})
    table = tmp_path / "table"
    table.mkdir()
    (table / "modules.json").write_text('[{"type": "sentence_transformers.models.StaticEmbedding", "path": ""}]')
    with pytest.raises(ConfigError, match=r"genq.base: found .*its files have static; only a single torch transformer"):
        configured(genq={"base": {"model": str(table)}, "train": {"generator": str(save_tiny_t5(tmp_path / "t5"))}})
