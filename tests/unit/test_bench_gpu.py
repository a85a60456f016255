"""The benchmark of the GPU: its texts are as long as it says, its arithmetic is right, and all of it runs on the CPU."""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from attend_in_turn import attend_in_turn
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from bench.gpu import job, jobs, models
from bench.gpu.command_line import PARTS, main
from bench.gpu.encoding import agree, padding
from bench.gpu.workload import Setting, Shape, make_texts, save_model, token_counts

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


def test_packed_and_padded_vectors_are_compared(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("beirflow.models.encoders.encoder.can_pack", lambda *_: True)
    monkeypatch.setattr("beirflow.models.computing.packed_attention.attend", attend_in_turn)
    texts = make_texts(token_counts(30, TINY.positions), TINY)
    found = padding(Setting(torch.device("cpu"), "float32", TINY, folder, texts, 0.05, 1, 8, 1))
    assert found["relative_error"]["max"] < 1e-5
    with pytest.raises(AssertionError, match=r"relative error is 0\.5"):
        agree(np.full((1, 4), 1.5), np.ones((1, 4)), "bfloat16")


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
    assert "| share of the matrix products' rate |" in page
    assert "| padding | not run: nothing is packed" in page
