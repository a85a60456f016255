"""The repository keeps its own rules: short files, thin adapters, one set of pins, nothing undocumented."""

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from beirflow.jobs.lifetime import end_with_this_process

REPOSITORY = Path(__file__).parents[2]
ADAPTERS = sorted((REPOSITORY / "workflow/scripts").glob("*.py"))
RULE_FILES = sorted((REPOSITORY / "workflow/rules").glob("*.smk"))
SCHEMAS = sorted((REPOSITORY / "workflow/schemas").glob("*.yaml"))


def rules() -> dict[str, str]:
    """The text of every rule with an output, by name."""
    text = "\n".join(path.read_text() for path in RULE_FILES)
    return dict(re.findall(r"^rule (\w+):\n((?:(?: .*)?\n)*)", text + "\n", re.MULTILINE))


def pins(text: str) -> set[str]:
    return set(re.findall(r"[\w.-]+==[\w.]+", text))


@pytest.mark.parametrize(
    ("path", "lines"),
    [("Snakefile", 40), ("workflow/rules/common.smk", 90), *((str(path.relative_to(REPOSITORY)), 20) for path in ADAPTERS)],
)
def test_what_should_be_short_is_short(path: str, lines: int) -> None:
    assert len((REPOSITORY / path).read_text().splitlines()) <= lines


def test_every_rule_has_its_adapter_and_every_adapter_its_rule() -> None:
    assert [path.stem for path in ADAPTERS] == sorted(rules())
    for name, text in rules().items():
        assert f'"../scripts/{name}.py"' in text


@pytest.mark.parametrize("directive", ["output:", "log:", "benchmark:", "params:", "conda:", "message:"])
def test_every_rule_says_what_a_reader_and_an_auditor_need(directive: str) -> None:
    # Those that look at results as they lie there declare no output, so that they always run and their pages survive a failure.
    looking = ["audit", "compare"] if directive in ("output:", "benchmark:") else []
    assert [name for name, text in rules().items() if f"    {directive}" not in text] == looking


def test_every_rule_but_the_download_depends_on_its_code() -> None:
    without = [name for name, text in rules().items() if f'code=code_version("{name}")' not in text]
    assert without == ["download_dataset"]


def shell_commands(text: str) -> list[str]:
    """What Snakemake would hand to a shell."""
    return re.findall(r"^\s*(shell\s*[:(].*)", text, re.MULTILINE)


def test_no_rule_hands_commands_to_a_shell() -> None:
    """The prefix of every command, in the Snakefile, ends with exec: of several commands only the first would run."""
    assert "shell.prefix(end_with_this_process())" in (REPOSITORY / "Snakefile").read_text()
    assert end_with_this_process().endswith(" exec ")
    for text in ('rule a:\n    shell:\n        "true; false"', 'rule a:\n    run:\n        shell("true; false")'):
        assert shell_commands(text)
    assert [found for path in (REPOSITORY / "Snakefile", *RULE_FILES) for found in shell_commands(path.read_text())] == []


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_defines_nothing_and_does_nothing_when_it_is_imported(path: Path) -> None:
    kinds = {type(node) for node in ast.parse(path.read_text()).body}
    assert kinds == {ast.Expr, ast.ImportFrom, ast.If}


@pytest.mark.parametrize("name", ["audit", "data", "encode", "report"])
def test_conda_environments_have_the_pins_of_the_requirements(name: str) -> None:
    found = pins((REPOSITORY / f"envs/{name}.yaml").read_text())
    assert found
    assert found <= pins((REPOSITORY / "envs/requirements.txt").read_text())


def properties(schema: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every key that a schema defines, with what it says of it."""
    found = []
    if isinstance(schema, dict):
        for name, value in schema.get("properties", {}).items():
            found.append((f"{path}.{name}", value))
        for name, value in schema.items():
            found += properties(value, f"{path}.{name}")
    return found


def objects(schema: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every object of a schema whose keys are listed."""
    if not isinstance(schema, dict):
        return []
    own = [(path, schema)] if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" else []
    return own + [found for name, value in schema.items() for found in objects(value, f"{path}.{name}")]


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_every_key_is_described_and_no_other_is_allowed(path: Path) -> None:
    schema = yaml.safe_load(path.read_text())
    bare = [name for name, value in properties(schema) if "description" not in value and "$ref" not in value]
    assert [name for name in bare if not name.endswith((".datasets", ".systems"))] == []
    assert [name for name, value in objects(schema) if value.get("additionalProperties", True) is True] == []


def test_the_configuration_names_every_key_of_its_schema_and_comments_it() -> None:
    text = (REPOSITORY / "config.yaml").read_text()
    schema = yaml.safe_load((REPOSITORY / "workflow/schemas/config.schema.yaml").read_text())
    keys = set(schema["properties"]) - {"pathvars"}
    assert set(yaml.safe_load(text)) == keys
    for key in keys:
        assert re.search(rf"^#.*\n{key}:", text, re.MULTILINE), f"{key} has no comment"


def test_every_schema_key_of_the_configuration_is_read_somewhere() -> None:
    code = "".join(
        path.read_text()
        for folder in ("beirflow", "scripts", "rules")
        for path in (REPOSITORY / "workflow" / folder).rglob("*")
        if path.suffix in (".py", ".smk")
    )
    schema = yaml.safe_load((REPOSITORY / "workflow/schemas/config.schema.yaml").read_text())
    assert [key for key in schema["properties"] if key != "pathvars" and f'config["{key}"]' not in code] == []


def test_every_line_of_the_slurm_profile_says_what_it_is_and_when_to_change_it() -> None:
    lines = [line.strip() for line in (REPOSITORY / "workflow/profiles/slurm/profile.yaml").read_text().splitlines()]
    settings = [(before, line) for before, line in pairwise(lines) if re.match(r"[\w-]+: \S", line)]
    assert len(settings) > 20
    assert [line for before, line in settings if not before.startswith("#")] == []


def test_the_map_names_every_room() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text().partition("## The rooms")[2].partition("\n## ")[0]
    rooms = {path.parent.name for path in (REPOSITORY / "workflow/beirflow").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == rooms
