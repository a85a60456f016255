"""The benchmark of the GPU: its texts are as long as it says, its arithmetic is right, and all of it runs on the CPU."""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModel

from attend_in_turn import attend_in_turn
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from bench.gpu import encoding, job, jobs, models, workload
from bench.gpu.busy import largest
from bench.gpu.command_line import PARTS, main
from bench.gpu.encoding import agree, padding, relative_errors
from bench.gpu.rates import flops_per_token, hours_for_beir, matrix_parameters, union_seconds
from bench.gpu.workload import NotRunError, Setting, Shape, evenly, make_texts, save_model, token_counts

TINY = Shape(layers=2, dim=32, heads=2, vocabulary=400, positions=64)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("bench") / "model", TINY)


def test_token_counts_are_those_of_beir() -> None:
    counts = token_counts(100_000)
    assert counts.mean() == pytest.approx(92, abs=3)
    assert (counts.min() >= 3, counts.max()) == (True, 512)
    assert (np.diff(counts) <= 0).all()
    assert (counts == 512).mean() < 0.01


def test_texts_have_the_tokens_that_were_drawn(folder: Path) -> None:
    counts = token_counts(300, TINY.positions)
    texts = make_texts(counts, TINY)
    system = EncoderSettings(name="tiny", model=str(folder), max_length=TINY.positions, pooling="mean")
    encoder = TransformersEncoder(system, folder, device="cpu", precision="float32", token_budget=4096)
    ids = [*encoder.backbone.token_ids(texts)]
    assert [len(row) for row in ids] == counts.tolist()
    assert encoder.backbone.tokenizer.unk_token_id not in np.concatenate(ids)
    assert len(TINY.pieces) == len(set(TINY.pieces)) == TINY.vocabulary


def test_the_default_shape_has_the_matrices_of_bert_base() -> None:
    assert matrix_parameters(Shape()) == 84_934_656
    assert len(Shape().pieces) == len(set(Shape().pieces)) == 30_522


def test_flops_are_those_that_torch_counts(folder: Path) -> None:
    """Texts one by one, without padding; the pooler, which sees one token a text, is none of ours."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False).eval()
    counts = np.array([64, 40, 3])
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        for count in counts.tolist():
            model(input_ids=torch.zeros(1, count, dtype=torch.long))
    assert flops_per_token(TINY, counts) * counts.sum() == pytest.approx(counter.get_total_flops(), rel=1e-9)


def test_hours_are_those_of_all_documents() -> None:
    assert hours_for_beir(33.86e6 / 1800) == pytest.approx(0.5)


def test_the_union_of_intervals_counts_what_overlaps_once() -> None:
    starts, ends = np.array([5.0, 0.0, 1.0, 2.0, 9.0]), np.array([6.0, 4.0, 2.0, 4.5, 9.5])
    assert union_seconds(starts, ends) == pytest.approx(4.5 + 1 + 0.5)
    assert union_seconds(starts[:0], ends[:0]) == 0


def test_distances_between_vectors() -> None:
    expected = np.array([[3.0, 4.0], [0.0, 2.0]])
    np.testing.assert_allclose(relative_errors(expected + np.array([[0.0, 1.0], [0.0, 0.0]]), expected), [0.2, 0])


def test_a_sample_is_spread_evenly() -> None:
    assert evenly("abcdefghi", 3) == ["a", "e", "i"]
    assert evenly("abc", 10) == ["a", "b", "c"]


def test_without_the_peer_its_part_says_so(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(workload, "find_spec", lambda _: None)
    setting = Setting(torch.device("cpu"), "float32", TINY, folder, ["a"], 0.1, 1, 8, 1)
    with pytest.raises(NotRunError, match="sentence_transformers is not installed"):
        encoding.compare_with_peer(setting)


def test_packed_and_padded_vectors_are_compared(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("beirflow.models.encoders.encoder.can_pack", lambda *_: True)
    monkeypatch.setattr("beirflow.models.computing.packed_attention.attend", attend_in_turn)
    texts = make_texts(token_counts(30, TINY.positions), TINY)
    found = padding(Setting(torch.device("cpu"), "float32", TINY, folder, texts, 0.05, 1, 8, 1))
    assert found["relative_error"]["max"] < 1e-5
    with pytest.raises(AssertionError, match=r"relative error is 0\.5"):
        agree(np.full((1, 4), 1.5), np.ones((1, 4)), "bfloat16")


def test_kernels_are_listed_by_their_share_of_the_time() -> None:
    events = [{"name": name, "dur": duration} for name, duration in (("a", 1.0), ("b", 6.0), ("a", 3.0))]
    assert list(largest(events).items()) == [("b", 0.6), ("a", 0.4)]


def run(output: Path, *arguments: str) -> tuple[int, dict[str, object], str]:
    sizes = "--layers 1 --dim 32 --heads 2 --vocabulary 400 --positions 64 --matrix 64 --documents 60 --queries 5"
    status = main([*sizes.split(), "--device", "cpu", "--seconds", "0.05", "--passes", "1", "--output", str(output), *arguments])
    (found,) = output.glob("*.json")
    return status, json.loads(found.read_text()), found.with_suffix(".md").read_text()


def test_all_of_it_runs_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    monkeypatch.setattr(job, "THREADS", 1)
    monkeypatch.setattr(models, "OF_A_DOCUMENT", 2)
    monkeypatch.setattr("beirflow.run.job.surroundings", lambda _: nullcontext())

    def in_this_process(setting: Setting, folder: Path, what: str, count: int) -> float:
        for number in range(count):
            job.main(what, str(folder), "cpu", setting.precision, str(number))
        return 1.0

    monkeypatch.setattr(jobs, "seconds_of_jobs", in_this_process)
    status, found, page = run(tmp_path)
    assert (status, found["failed"]) == (0, {})
    assert set(found["figures"]) | set(found["not_run"]) == set(PARTS)
    assert all(
        found["figures"][part]["tokens_per_second"] > 0 for part in ("splade", "cross-encoder", "writing", "training", "jobs")
    )
    assert found["figures"]["search"]["parts"]["first pass"] > 0
    assert "| minutes for MS MARCO, 6,980 queries |" in page
    assert found["figures"]["throughput"]["truncated"] >= 1
    assert found["not_run"]["busy"] == "not run: there is no CUDA device here"
    assert "| share of the matrix products' rate |" in page
    assert "| padding | not run: nothing is packed" in page


def test_the_share_is_of_the_products_in_the_same_precision(tmp_path: Path) -> None:
    _, found, _ = run(tmp_path, "--precision", "float32", "--only", "matrices", "throughput")
    figures = found["figures"]["throughput"]
    flops = figures["flops_per_token"] * figures["tokens_per_second"]
    assert figures["share_of_matrix_rate"] == pytest.approx(flops / found["figures"]["matrices"]["float32"])


def test_a_job_that_fails_is_no_measurement(folder: Path, tmp_path: Path) -> None:
    setting = Setting(torch.device("cpu"), "float32", TINY, folder, ["a"], 0.1, 1, 8, 1)
    with pytest.raises(RuntimeError, match=r"encode_queries ended with status 1: .*encoder\.json"):
        jobs.seconds_of_jobs(setting, tmp_path, "encode_queries", 1)


def test_a_part_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no memory\nand more")

    monkeypatch.setattr("bench.gpu.encoding.matrix_rate", broken)
    status, found, page = run(tmp_path, "--only", "matrices", "search")
    assert status == 1
    assert "search" in found["figures"]
    assert "**FAILED**: RuntimeError: no memory" in page
