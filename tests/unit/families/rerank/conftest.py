"""A model, and chat templates without a process of their own, or in a fork of this one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from beirflow.families.rerank.scorers import prompts
from beirflow.models.computing import chat_template, render_template
from forks import run_in_fork
from tiny_cross_encoder import save_cross_encoder


@pytest.fixture(scope="session")
def tiny_cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a cross-encoder with random weights; not to be changed."""
    return save_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny")


@pytest.fixture
def rendered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render chat templates in this process, since another takes a second to start; what limits that is in test_prompts.py."""
    from transformers.utils.chat_template_utils import render_jinja_template

    def render(_: Path, template: str, conversations: Sequence[Any], variables: Mapping[str, Any]) -> list[str]:
        return render_jinja_template(conversations=conversations, chat_template=template, **variables)[0]

    monkeypatch.setattr(prompts, "render", render)


@pytest.fixture
def rendered_in_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the program that renders chat templates with all its limits, and without the second that it takes to start."""
    import transformers.utils.chat_template_utils  # noqa: F401

    monkeypatch.setattr(chat_template.subprocess, "run", lambda *_, **how: run_in_fork(render_template.main, how["input"]))
    monkeypatch.setattr(render_template, "SECONDS", 1)
