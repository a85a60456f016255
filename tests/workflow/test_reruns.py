"""Jobs that run again after a change, and jobs that do not."""

from pathlib import Path

from workflow_runs import Workflow

SUMMARY = "results/summary.csv"


def test_only_a_change_of_what_decides_a_result_computes_it_again(finished: Workflow) -> None:
    finished.config["cutoffs"] = [1, 5, 10]
    assert finished.planned(SUMMARY) == {"evaluate_run": 1, "summarize": 1}
    finished.config |= {
        "cutoffs": [1, 10, 20],
        "device": "auto",
        "jobs_per_gpu": 2,
        "token_budget": 64,
        "mirrors": ["http://127.0.0.1:9"],
    }
    assert finished.planned(SUMMARY) == {}
    finished.config["precision"] = "bfloat16"
    assert finished.planned(SUMMARY)["encode_chunk"] == 3
    finished.config |= {"precision": "float32", "chunk_documents": 15}
    planned = finished.planned(SUMMARY)
    assert (planned["prepare_corpus"], planned["encode_chunk"]) == (1, 2)


def test_an_edit_to_the_encoder_encodes_again_and_one_to_the_summary_does_not(finished: Workflow, own_copy: Path) -> None:
    finished.repository = own_copy
    package = own_copy / "src/beirflow"
    encoder = package / "models/encoders/encoder.py"
    encoder.write_text('"""Other words."""\n\n# And more.\n' + encoder.read_text())
    for name in ("evaluation/summary", "core/progress"):
        (package / f"{name}.py").write_text((package / f"{name}.py").read_text() + "\nedited = True\n")
        assert finished.planned(SUMMARY) == {"summarize": 1}
    encoder.write_text(encoder.read_text() + "\nedited = True\n")
    planned = finished.planned(SUMMARY)
    assert planned["encode_chunk"] == 3
    assert "prepare_corpus" not in planned
