"""The repository keeps its own rules: short files, one script, one set of pins, nothing undocumented."""

import ast
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from beirflow.config.configuration import KEYS, OPTIONS, Configuration
from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.config.models import keys_of
from beirflow.core import layout
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import Extension, commands, extensions, forms
from beirflow.core.patterns import Pattern
from beirflow.evaluation import scores, significance, summary, systems, uncertainty
from beirflow.run.code_version import code_version, reached_modules
from described_keys import descriptions, sections
from workflow_rules import functions_of, rule_codes, rule_modules, workflow_rules

REPOSITORY = Path(__file__).parents[2]
EXTENSIONS = [path.parent for path in sorted(REPOSITORY.glob("extensions/*/__init__.py"))]
RULE_FILES = [path for folder in ("workflow", "extensions/*") for path in sorted(REPOSITORY.glob(f"{folder}/rules/*.smk"))]
PAGES = [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/*.md")), *sorted(REPOSITORY.glob("extensions/**/README.md"))]

SUMMARY = (
    "system",
    "dataset",
    "split",
    "documents",
    "queries",
    "assumed",
    "build_seconds",
    "approximate_index_bytes",
    *summary.LAST,
)
SOMETIMES = (summary.TRAINED_ON, summary.PRECISION, summary.CHARACTERS, summary.TRUNCATED, summary.SEEDS, summary.UNREACHABLE)

COLUMNS = {
    "summary.csv": (*SUMMARY, *SOMETIMES, summary.OWN_MEASURE, summary.OWN_SCORE),
    "scores.parquet": scores.SCORES.names,
    "significance.csv": significance.COLUMNS,
    "uncertainty.csv": uncertainty.COLUMNS,
    "systems.csv": systems.COLUMNS,
}
"""Columns of derived files, by the first path of their section in docs/files.md."""


def rules() -> dict[str, Any]:
    """Every rule that has a job, as Snakemake's object, by name."""
    return {name: rule for name, rule in workflow_rules().items() if rule.params.get("function")}


LOOKING = ("audit", "clean_representations", "estimate", "try", *commands())
"""Rules without outputs: they look at results as they lie there, or write results of their own."""


def test_constraints_of_wildcards_come_before_all_rules_so_that_results_may_lie_in_a_bucket() -> None:
    """Snakemake forgets constraints of rules with files in a bucket where more follow."""
    texts = {path.name: path.read_text() for path in RULE_FILES}
    assert [name for name, text in texts.items() if re.search(r"^wildcard_constraints:", text, re.MULTILINE)] == ["common.smk"]
    assert "\nrule " not in texts["common.smk"]


def test_every_rule_whose_result_depends_on_code_has_its_digest() -> None:
    codes = rule_codes()
    assert [name for name in rules() if name not in codes] == ["download_dataset", "help"]
    # Of all functions in its params, and of those that extensions add to it.
    assert {rule: code_version(*functions_of(rule)) for rule in codes} == codes


def test_the_log_of_a_rule_says_rule_and_wildcards_which_its_job_and_its_cost_rely_on() -> None:
    for name, rule in rules().items():
        parts = re.sub(r"\{(\w+),[^/]*?\}(?=/|\.log$)", r"{\1}", str(rule.log)).removesuffix(".log").split("/")
        assert parts[:4] == ["", "results", "logs", name]
        assert all(re.fullmatch(r"(?:chunk-|block-)?\{\w+\}", part) for part in parts[4:]), parts  # else another folder is taken


def test_every_rule_that_computes_with_a_model_has_a_gpu_in_the_slurm_profile() -> None:
    found = [name for name, rule in rules().items() if "gpu" in rule.resources]
    profile = yaml.safe_load((REPOSITORY / "workflow/profiles/slurm/profile.yaml").read_text())["set-resources"]
    assert len(found) > 10
    assert [name for name in found if profile.get(name, {}).get("gpu") != 1] == []


def pins(text: str) -> set[str]:
    return set(re.findall(r"[\w.-]+==[\w.]+", text))


COMES_WITH = {"yaml": "PyYAML", "pytrec_eval": "pytrec-eval-terrier", "urllib3": "requests", "referencing": "jsonschema"}
"""Packages whose modules have other names, or that another package needs."""


@cache
def packages_of(module: str) -> set[str]:
    """Return the packages that a module, named below the package, needs when it is imported."""
    found: set[str] = set()
    path = REPOSITORY / "src/beirflow" / module.replace(".", "/")
    for node in ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
    packages = found - sys.stdlib_module_names - {"beirflow"}
    return {COMES_WITH.get(name, name).lower().replace("_", "-") for name in packages}


def imported_packages(modules: Iterable[str]) -> set[str]:
    """Return the packages that modules need when they are imported."""
    return set().union(*map(packages_of, modules))


def pinned_packages(environment: str) -> set[str]:
    """Names of what an environment for conda holds, in lower case."""
    return {pin.partition("==")[0].lower() for pin in pins((REPOSITORY / f"envs/{environment}.yaml").read_text())}


def test_the_environment_of_a_rule_holds_every_package_that_it_imports() -> None:
    for name, rule in rules().items():
        assert imported_packages(rule_modules(name)) - pinned_packages(Path(rule.conda_env).stem) == set(), name


def test_an_environment_holds_what_the_family_of_a_system_imports() -> None:
    """What measures latency imports the modules of families by the names that these state."""
    for named in filter(None, (family.answers for family in FAMILIES.values())):
        path = REPOSITORY / "src" / f"{named.partition(':')[0].replace('.', '/')}.py"
        assert imported_packages(reached_modules(path)) - pinned_packages("encode") == set(), named


def test_every_key_is_described() -> None:
    bare = {name: [key for kind in kinds for key in keys_of(kind) if key not in descriptions(kind)] for name, kinds in sections()}
    # What is made of the classes of extensions has their docstrings.
    assert {name: keys for name, keys in bare.items() if keys} == {
        "`command`": [*OPTIONS],
        "Family dense with `base`": [*forms()],
    }


def test_the_configuration_names_every_key_of_its_schema_and_comments_it() -> None:
    text = (REPOSITORY / "config.yaml").read_text()
    keys = {*keys_of(Configuration)} - {"pathvars"}
    assert set(yaml.safe_load(text)) == keys
    for key in keys:
        assert re.search(rf"^#.*\n{key}:", text, re.MULTILINE), f"{key} has no comment"


@pytest.mark.parametrize("extension", extensions(), ids=lambda extension: extension.folder.name)
def test_an_extension_documents_its_keys_of_the_configuration_with_their_defaults(extension: Extension) -> None:
    given: dict[str, Any] = {}
    for block in re.findall(r"^```yaml\n(.*?)^```", (extension.folder / "README.md").read_text(), re.MULTILINE | re.DOTALL):
        given |= {key: yaml.safe_load(block)[key] for key in re.findall(r"^#.*\n(\w+):", block, re.MULTILINE)}
    assert given == {key: default for key, (_, default) in (keys_of(extension.keys) if extension.keys else {}).items()}


PATTERNS = {name: value for name, value in vars(layout).items() if isinstance(value, Pattern)}


def test_the_map_names_only_files_that_are_there() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    known = {"config.yaml"} | {
        path.name
        for folder in ("src", "extensions", "plugins", "workflow", "tests", "envs")
        for path in (REPOSITORY / folder).rglob("*")
    }
    named = re.findall(r"`(?:[\w/]*/)?(\w+\.(?:py|smk|css|yaml))`", text)
    assert len(named) > 10
    assert sorted(set(named) - known) == []


def test_every_target_that_the_docs_name_is_a_file_of_the_layout_or_a_rule() -> None:
    page = (REPOSITORY / "docs/targets.md").read_text()
    named = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)))
    files = [re.sub(r"<(\w+)>", "name", name.removeprefix("results/")) for name in named if "/" in name]
    assert len(files) > 15
    assert [name for name in files if all(pattern.names_in(name) is None for pattern in PATTERNS.values())] == []
    in_a_word = re.findall(r"^rule (\w+):", (REPOSITORY / "workflow/Snakefile").read_text(), re.MULTILINE)
    assert {name for name in named if "/" not in name} == {*LOOKING, *in_a_word} - commands().keys() - {"help"}


def test_the_docs_name_every_column_of_the_files_for_reading() -> None:
    sections = re.findall(r"^## `(.*?)`(.*?)(?=^## |\Z)", (REPOSITORY / "docs/files.md").read_text(), re.MULTILINE | re.DOTALL)
    named = {path: set(re.findall(r"`(\w+)`", text)) for path, text in sections}
    for path, columns in COLUMNS.items():
        assert {*columns} <= named[path], path


def test_the_example_of_the_docs_is_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    experiment = load_experiment(yaml.safe_load((REPOSITORY / "docs/my.yaml").read_text()))
    assert list(experiment.chosen_systems) == ["bm25", "my-encoder", "fused", "reranked"]
    assert list(experiment.chosen_rows) == ["my-corpus"]


ELSEWHERE = r"there is no |nothing is there|expected an existing file|the absolute path of a folder|'my-encoder'; allowed are"
"""What is wrong with the examples of a page here: it lies on no machine of ours; of gate.md, what the page before it defined."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_examples_of_configurations_can_be_used_but_for_files_that_are_elsewhere(page: Path) -> None:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        given = yaml.safe_load(re.sub("<commit>|<40 digits>", "a" * 40, block))
        if given.keys() & {"jobs", "retrieval"}:  # of GitHub and GitLab
            continue
        config = given if given.keys() <= KEYS.keys() else {"custom": {"systems": given}}
        own = config.get("custom", {})
        config = {"systems": [*own.get("systems", ["bm25"])], "datasets": [*own.get("datasets", ["nfcorpus"])], **config}
        lines: list[str] = []
        try:
            load_experiment(config)
        except ConfigError as error:
            lines = str(error).splitlines()[1:]
        assert [line for line in lines if not re.search(ELSEWHERE, line)] == [], block


def test_the_docs_say_for_whom_every_extension_is() -> None:
    page = (REPOSITORY / "docs/extensions.md").read_text()
    rows = re.findall(r"^\| \[(\w+)\]\(\.\./extensions/(\w+)/README\.md\) \| .+ \|$", page, re.MULTILINE)
    assert {folder.name for folder in EXTENSIONS} <= {name for name, folder in rows if name == folder}


def test_the_core_names_no_extension() -> None:
    names = [folder.name for folder in EXTENSIONS]
    assert names
    named = re.compile(rf"extensions[./](?:{'|'.join(names)})\b")
    folders = [REPOSITORY / "src/beirflow", REPOSITORY / "workflow"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".smk", ".yaml", ".j2", ".rst")]
    assert [path.name for path in [*files, REPOSITORY / "workflow/Snakefile"] if named.search(path.read_text())] == []
