"""What runs again, and what does not."""

from pathlib import Path

from workflow_runs import Workflow


def test_a_changed_cutoff_evaluates_again_and_encodes_nothing(workflow: Workflow) -> None:
    workflow.run("results/summary.csv")
    workflow.config["cutoffs"] = [1, 5, 10]
    assert workflow.planned("results/summary.csv") == {"evaluate_run": 1, "summarize": 1}
    workflow.config["cutoffs"] = [1, 10, 20]
    workflow.config |= {"device": "auto", "token_budget": 64, "mirrors": ["http://127.0.0.1:9"]}
    assert workflow.planned("results/summary.csv") == {}
    workflow.config["precision"] = "bfloat16"
    assert workflow.planned("results/summary.csv")["encode_chunk"] == 3


def test_an_edit_to_the_encoder_encodes_again_and_one_to_the_summary_does_not(workflow: Workflow, own_copy: Path) -> None:
    workflow.repository = own_copy
    workflow.run("results/summary.csv")
    assert workflow.planned("results/summary.csv") == {}
    package = own_copy / "workflow/beirflow"
    (package / "summary.py").write_text((package / "summary.py").read_text() + "\n# edited\n")
    assert workflow.planned("results/summary.csv") == {"summarize": 1}
    (package / "progress.py").write_text((package / "progress.py").read_text() + "\n# edited\n")
    assert workflow.planned("results/summary.csv") == {"summarize": 1}
    (package / "encoder.py").write_text((package / "encoder.py").read_text() + "\n# edited\n")
    assert workflow.planned("results/summary.csv")["encode_chunk"] == 3
    assert "prepare_corpus" not in workflow.planned("results/summary.csv")


def test_other_weights_under_the_same_path_encode_again(workflow: Workflow, tmp_path: Path) -> None:
    from tiny_bert import save_tiny_bert

    model = save_tiny_bert(tmp_path / "model")
    workflow.config["custom"]["systems"]["tiny"]["model"] = str(model)
    workflow.run("results/summary.csv")
    before = workflow.result("embeddings/tiny/small/chunk-0.npy").read_bytes()
    save_tiny_bert(model, seed=1)
    workflow.run("results/summary.csv")
    assert workflow.result("embeddings/tiny/small/chunk-0.npy").read_bytes() != before
