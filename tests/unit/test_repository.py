"""The repository keeps its own rules: short files, one script, one set of pins, nothing undocumented."""

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from beirflow.config.configuration import KEYS, OPTIONS, Configuration
from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.config.models import keys_of
from beirflow.core import kinds, layout
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import Extension, commands, extensions, forms
from beirflow.core.patterns import Pattern
from beirflow.evaluation import confusion, sample_agreement, scores, significance, summary, systems, uncertainty
from beirflow.report.registry import FIGURES, TABLES
from beirflow.run.code_version import code_version, reached_modules
from beirflow.run.entrance import EXECUTION
from beirflow.run.lifetime import end_with_this_process
from described_keys import COMMAND, PAGE, SCHEMA, descriptions, json_schema, keys_page, sections
from workflow_rules import functions_of, rule_codes, rule_modules

REPOSITORY = Path(__file__).parents[2]
EXTENSIONS = [path.parent for path in sorted(REPOSITORY.glob("extensions/*/__init__.py"))]
RULE_FILES = [path for folder in ("workflow", "extensions/*") for path in sorted(REPOSITORY.glob(f"{folder}/rules/*.smk"))]
PAGES = [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/*.md")), *sorted(REPOSITORY.glob("extensions/*/README.md"))]

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
    "nanobeir.csv": sample_agreement.COLUMNS,
    "confusion.csv": confusion.COLUMNS,
    "systems.csv": systems.COLUMNS,
}
"""Columns of files for reading, by the first path of their section in docs/files.md."""


def rules() -> dict[str, str]:
    """The text of every rule that is more than a word for files, by name."""
    text = "\n".join(path.read_text() for path in RULE_FILES)
    found = dict(re.findall(r"^rule (\w+):\n((?:(?: .*)?\n)*)", text + "\n", re.MULTILINE))
    return {name: text for name, text in found.items() if "    params:" in text}


LOOKING = ("audit", "gate", "clean_representations", "estimate", "try", *commands())
"""Rules without outputs: they look at results as they lie there, or write results of their own."""


def test_results_may_lie_in_a_bucket() -> None:
    """Snakemake forgets constraints of rules with files in a bucket where more follow, and looks for every input there."""
    texts = {path.name: path.read_text() for path in RULE_FILES}
    assert [name for name, text in texts.items() if re.search(r"^wildcard_constraints:", text, re.MULTILINE)] == ["common.smk"]
    assert "\nrule " not in texts["common.smk"]
    for name, text in rules().items():
        inputs = text.partition("    input:\n")[2].partition("    output:")[0]
        elsewhere = re.findall(r"HERE\b|experiment\.(?:source_files|model_files|run_file)|expansions\.files?\b", inputs)
        assert inputs.count("on_this_machine") >= len(elsewhere), name


def pins(text: str) -> set[str]:
    return set(re.findall(r"[\w.-]+==[\w.]+", text))


def test_what_should_be_short_is_short() -> None:
    most = {"README.md": 150, "workflow/Snakefile": 110, "workflow/rules/common.smk": 150}
    for path, lines in most.items():
        assert len((REPOSITORY / path).read_text().splitlines()) <= lines, path


def test_every_rule_runs_its_entrance_by_the_one_command() -> None:
    for name, text in rules().items():
        assert text.count("    shell:\n        RUN_JOB\n") == 1, name
        assert len(re.findall(r'(?:calls\(\s*|entrance=)"beirflow\.', text)) == 1, name
        assert text.count("command_of(") == text.count(f'command=command_of("{name}")') == 1, name
        assert "script:" not in text
        assert "benchmark:" not in text, name  # it would measure the client of the job


@pytest.mark.parametrize("directive", ["output:", "log:", "params:", "conda:", "message:"])
def test_every_rule_says_what_a_reader_and_an_auditor_need(directive: str) -> None:
    # Those that look at results as they lie there declare no output, so that they always run, and their pages survive a failure.
    looking = [*LOOKING] if directive == "output:" else []
    assert [name for name, text in rules().items() if f"    {directive}" not in text] == looking


def test_every_rule_but_the_download_depends_on_its_code() -> None:
    codes = rule_codes()
    assert [name for name in rules() if name not in codes] == ["download_dataset"]
    # Of all functions in its params, and of those that extensions add to it.
    assert {rule: code_version(*functions_of(rule)) for rule in codes} == codes


def shell_commands(text: str) -> list[str]:
    """List the commands that Snakemake would hand to a shell, but for the one that runs the job of a rule."""
    return re.findall(r"^\s*(shell\s*[:(](?!\n        RUN_JOB\n).*)", text, re.MULTILINE)


def test_no_rule_hands_other_commands_to_a_shell() -> None:
    """The prefix of every command, set when a run starts, ends with exec: of several commands only the first would run."""
    assert "\nend_jobs_with_this_process()\n" in (REPOSITORY / "workflow/rules/start.smk").read_text()
    assert end_with_this_process().endswith(" exec ")
    for text in ('rule a:\n    shell:\n        "true; false"', 'rule a:\n    run:\n        shell("true; false")'):
        assert shell_commands(text)
    assert [
        found for path in (REPOSITORY / "workflow/Snakefile", *RULE_FILES) for found in shell_commands(path.read_text())
    ] == []


def commands_of(target: str) -> list[str]:
    """List the commands that make runs for a target, were nothing there."""
    asked = ["make", "--no-print-directory", "--dry-run", "--always-make", target, "PYTHON=python3"]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # where make runs the tests
    said = subprocess.run(asked, cwd=REPOSITORY, env=alone, capture_output=True, text=True, check=True)
    return said.stdout.splitlines()


def test_the_container_installs_what_the_makefile_installs_on_a_pinned_base_and_needs_no_root() -> None:
    lines = (REPOSITORY / "Dockerfile").read_text().splitlines()
    named = [tuple(line.split(" ", 1)) for line in lines if re.match(r"[A-Z]+ ", line)]
    ran = [command for name, command in named if name == "RUN"]
    assert [line for line in ran if not re.match(r"chmod |mkdir |\S+ -m compileall", line)] == [
        line for line in commands_of(".venv/ready") if not re.match(r"touch |python3 -c", line)
    ]
    (base,) = [image for name, image in named if name == "FROM"]
    assert re.fullmatch(r"docker\.io/library/python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert [user for name, user in named if name == "USER"] == ["65534"]
    # What the installation reads comes before it, and everything that a run reads is there.
    copied = [name for keyword, names in named if keyword == "COPY" for name in names.split()[:-1]]
    assert copied[:4] == re.findall(r"envs/\S+", " ".join(ran))
    assert all((REPOSITORY / name).exists() for name in copied)
    assert {"Snakefile", "config", "config.yaml", "profiles", "workflow", "envs", "src", "pyproject.toml"} <= set(copied)


def test_the_container_is_built_from_what_it_copies_which_every_user_can_read() -> None:
    text = (REPOSITORY / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE)
    whole = {name for names in copied for name in names.split() if "/" not in name}
    lines = [line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert (lines[0], lines[-1]) == ("*", "**/__pycache__")
    assert {line.removeprefix("!") for line in lines[1:-1]} == whole
    (readable,) = re.findall(r"^RUN chmod -R a\+rX (.*)", text, re.MULTILINE)
    assert set(readable.split()) == whole


def test_the_container_stops_as_by_ctrl_c_and_lets_any_user_write_its_caches() -> None:
    text = (REPOSITORY / "Dockerfile").read_text()
    assert "\nSTOPSIGNAL SIGINT\n" in text
    (home,) = re.findall(r"^ENV HOME=(\S+)", text, re.MULTILINE)
    (made,) = re.findall(r"^RUN mkdir --mode 1777 (.*)", text, re.MULTILINE)
    assert {home, f"{home}/.cache", "/work"} == set(made.split())
    assert f" MPLCONFIGDIR={home}/.cache/" in text


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
    for name, text in rules().items():
        (environment,) = re.findall(r"envs/(\w+)\.yaml", text)
        assert imported_packages(rule_modules(name)) - pinned_packages(environment) == set(), name


def test_an_environment_holds_what_the_family_of_a_system_imports() -> None:
    """What measures latency imports the modules of families by the names that these state."""
    for named in filter(None, (family.answers for family in FAMILIES.values())):
        path = REPOSITORY / "src" / f"{named.partition(':')[0].replace('.', '/')}.py"
        assert imported_packages(reached_modules(path)) - pinned_packages("encode") == set(), named


def test_every_key_is_described_and_the_schema_and_the_page_of_keys_are_current() -> None:
    bare = {name: [key for kind in kinds for key in keys_of(kind) if key not in descriptions(kind)] for name, kinds in sections()}
    # What is made of the classes of extensions has their docstrings.
    assert {name: keys for name, keys in bare.items() if keys} == {
        "`command`": [*OPTIONS],
        "Systems of the family dense with `base`": [*forms()],
    }
    assert SCHEMA.read_text() == json_schema(), COMMAND
    assert PAGE.read_text() == keys_page(), COMMAND


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


def test_every_schema_key_of_the_configuration_is_read_somewhere() -> None:
    code = "".join(
        path.read_text()
        for folder in ("src/beirflow", "workflow/rules", "extensions")
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in (".py", ".smk")
    )
    read = set(re.findall(r'config(?:\["|uration\.get\(")(\w+)"', code))
    read |= {key for each in extensions() for addition in each.additions.values() for key in addition.keys}
    assert KEYS.keys() - read - {*EXECUTION} == {"pathvars"}


def test_every_line_of_the_slurm_profile_says_what_it_is_and_when_to_change_it() -> None:
    lines = [line.strip() for line in (REPOSITORY / "workflow/profiles/slurm/profile.yaml").read_text().splitlines()]
    settings = [(before, line) for before, line in pairwise(lines) if re.match(r"[\w-]+: \S", line)]
    assert len(settings) > 20
    assert [line for before, line in settings if not before.startswith("#")] == []


def test_every_rule_that_computes_with_a_model_has_a_gpu_in_the_slurm_profile() -> None:
    found = [name for name, text in rules().items() if "gpu=gpu_places" in text]
    profile = yaml.safe_load((REPOSITORY / "workflow/profiles/slurm/profile.yaml").read_text())["set-resources"]
    assert len(found) > 10
    assert [name for name in found if profile.get(name, {}).get("gpu") != 1] == []


PATTERNS = {name: value for name, value in vars(layout).items() if isinstance(value, Pattern)}

COPIES = {str(inventory.copies) for inventory in kinds.INVENTORIES}

SPELLED = sorted(
    {pattern.folder() for pattern in kinds.PATTERNS if "/" in pattern}
    | {pattern.rpartition("/")[2] for pattern in kinds.PATTERNS if "{" not in pattern.rpartition("/")[2]} - COPIES
)
"""First or last parts of paths below the results."""

A_PATH = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, SPELLED))})(?!\.?\w)")


def literals(source: str) -> list[tuple[int, str]]:
    """Line and text of every string in a module, those in f-strings too, but not docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [(node.lineno, node.value) for node in found if isinstance(node.value, str)]


def test_paths_of_results_are_found_wherever_they_are_spelled() -> None:
    assert {"runs/", "metrics/", "corpora/", "embeddings/", "models/", "candidates/", "figures/", "summary.csv"} <= set(SPELLED)
    lines = (
        '"""runs/x"""',
        'a = f"runs/{b}"',
        'b = "/qrels.parquet"',
        'c = "see summary.csv."',
        'd = "audit.html.j2", "bruns/x"',
    )
    assert sorted(line for line, text in literals("\n".join(lines)) if A_PATH.search(text)) == [2, 3, 4]


def test_no_path_below_the_results_is_spelled_outside_the_layout() -> None:
    files = (path for folder in ("src/beirflow", "extensions/*") for path in sorted(REPOSITORY.glob(f"{folder}/**/*.py")))
    paths = [path for path in files if path.name != "layout.py" and path.parent.name != "tests"]
    assert [(path.name, *found) for path in paths for found in literals(path.read_text()) if A_PATH.search(found[1])] == []


TRACES = re.compile(r"^    (?:log|benchmark):\n        .*\n", re.MULTILINE)
"""Words for the places of log and benchmark."""


def test_rules_take_every_path_but_those_of_logs_and_benchmarks_from_the_layout() -> None:
    texts = {name: TRACES.sub("", text) for name, text in rules().items()}
    assert {name: text for name, text in texts.items() if "<results>" in text} == {}
    spelled = {name: A_PATH.findall(text.replace("../report/", "")) for name, text in texts.items()}
    assert {name: found for name, found in spelled.items() if found} == {}
    assert '"<results>' not in TRACES.sub("", "\n".join(path.read_text() for path in RULE_FILES))


@pytest.mark.parametrize("name", rules())
def test_the_log_of_a_rule_says_rule_and_wildcards_which_its_job_and_its_cost_rely_on(name: str) -> None:
    text = rules()[name]
    (log,) = re.findall(r'^    log:\n        "(.*?)"', text, re.MULTILINE)
    results, folder, *parts = log.removesuffix(".log").split("/")
    assert (results, folder, parts[0]) == ("<results>", "logs", name)
    named = [
        re.findall(r"^(?:chunk-|block-)?\{(\w+)\}$", part) for part in parts[1:]
    ]  # else a job takes another folder for results
    assert [len(names) for names in named] == [1] * len(named)
    # Not in `expand` or `format`, which fill the names in.
    written = re.sub(r"expand\(\s*at\(", "", text.partition("    log:")[0].partition("    output:")[2])
    outputs = re.findall(r"\bat\(layout\.(\w+)\)(?!\.format)", written)
    for output in outputs:
        assert set(re.findall(r"\{(\w+)\}", PATTERNS[output])) == {names[0] for names in named}, output
    job = log.removeprefix("<results>/logs/").removesuffix(".log")
    assert log.removeprefix("<results>/") == layout.LOG(job=job)


def test_the_map_names_only_files_that_are_there() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    known = {path.name for folder in ("src", "plugins", "workflow", "tests", "envs") for path in (REPOSITORY / folder).rglob("*")}
    named = re.findall(r"`(?:[\w/]*/)?(\w+\.(?:py|smk|css|yaml))`", text)
    assert len(named) > 20
    assert sorted(set(named) - known) == []


def test_the_map_names_every_package() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text().partition("## The packages")[2].partition("\n## ")[0]
    packages = {path.parent.name for path in (REPOSITORY / "src/beirflow").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == packages


def test_every_target_that_the_docs_name_is_a_file_of_the_layout_or_a_rule() -> None:
    page = (REPOSITORY / "docs/targets.md").read_text()
    named = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)))
    files = [re.sub(r"<(\w+)>", "name", name.removeprefix("results/")) for name in named if "/" in name]
    assert len(files) > 15
    assert [name for name in files if all(pattern.names_in(name) is None for pattern in PATTERNS.values())] == []
    in_a_word = re.findall(r"^rule (\w+):", (REPOSITORY / "workflow/Snakefile").read_text(), re.MULTILINE)
    assert {name for name in named if "/" not in name} == {*LOOKING, *in_a_word} - commands().keys()


@pytest.mark.parametrize(("names", "row"), [(FIGURES, "figures/pareto.pdf"), (TABLES, "tables/leaderboard.tex")])
def test_the_docs_name_every_figure_and_table(names: Iterable[str], row: str) -> None:
    (line,) = re.findall(rf"^\| `results/{row}`.*$", (REPOSITORY / "docs/targets.md").read_text(), re.MULTILINE)
    assert {*re.findall(r"`(\w+)`", line), Path(row).stem} == {*names}


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


A_TEST = r"(?:extensions/\w+/tests|plugins/\w+/tests|tests/)\S*(?: -k (?:\w+|\"[^\"]*\"))?"


def test_every_test_that_a_page_names_is_there() -> None:
    """Also each word behind ``-k`` is in the name of one: of two words, pytest does not say that one selects nothing."""
    rows = re.findall(r"^\|.*\| (.*`.*`.*) \|$", (REPOSITORY / "docs/promises.md").read_text(), re.MULTILINE)
    named = [each for row in rows for each in re.findall(r"`((?:\w+/|slurm|unit)[^`]*)`", row)]
    named = [each if each.startswith("plugins/") else f"tests/{each}" for each in named]
    assert len(named) > 40
    for page in [REPOSITORY / "CONTRIBUTING.md", *PAGES]:
        commands = re.findall(r"`pytest ([^`]*)`", page.read_text())
        named += [part for each in commands for part in re.findall(A_TEST, each)]
    for each in named:
        path, _, words = each.partition(" -k ")
        files = [REPOSITORY / path] if path.endswith(".py") else [*(REPOSITORY / path).rglob("test_*.py")]
        names = " ".join(re.findall(r"^def (test_\w+)", "\n".join(file.read_text() for file in files), re.MULTILINE))
        assert [word for word in re.findall(r"\w+", words) if word != "or" and word not in names] == [], each
        assert names, each


def test_a_command_of_the_docs_has_no_comment_behind_it() -> None:
    """A zsh at which a person types takes it for arguments, which is how every Mac would read ``make demo   # a demo``."""
    pages = [*REPOSITORY.glob("*.md"), *PAGES, *REPOSITORY.glob("tests/**/*.md")]
    texts = [re.sub(r"^\s*```.*?^\s*```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL) for page in pages]
    commands = [line for text in texts for line in re.findall(r"^ {4}[a-z.].*", text, re.MULTILINE)]
    assert len(commands) > 50
    assert [line for line in commands if " # " in line] == []


def defined_names(text: str) -> set[str]:
    """Names that a rule file defines or imports."""
    names = set(re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE))
    for assigned in re.findall(r"^(\w+(?:, \w+)*) =", text, re.MULTILINE):
        names |= set(assigned.split(", "))
    for imported in re.findall(r"^(?:from \S+ )?import (.+)$", text, re.MULTILINE):
        names |= {each.split(" as ")[-1].strip() for each in imported.split(",")}
    return names


def used_names(text: str) -> set[str]:
    """Names that a rule file uses; not those of attributes and of arguments."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    return {
        token.string
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.type == tokenize.NAME and before.string != "." and not (after.string == "=" and before.string in ("(", ","))
    }


def test_a_rule_file_uses_names_of_its_own_and_of_common_smk_alone() -> None:
    texts = {path.stem: path.read_text() for path in RULE_FILES}
    defined = {name: defined_names(text) for name, text in texts.items()}
    assert {"at", "layout", "corpora"} <= defined["common"]
    for name, text in texts.items():
        used = used_names(text) - defined[name] - defined["common"]
        foreign = {other: used & names for other, names in defined.items()}
        assert {other: names for other, names in foreign.items() if names} == {}, name
        assert re.findall(r"^ *\w+ = lambda", text, re.MULTILINE) == [], f"{name}: name a function with def"


def test_the_docs_say_for_whom_every_extension_is() -> None:
    page = (REPOSITORY / "docs/extensions.md").read_text()
    assert len(page.splitlines()) <= 60
    rows = re.findall(r"^\| \[(\w+)\]\(\.\./extensions/(\w+)/README\.md\) \| .+ \|$", page, re.MULTILINE)
    assert {folder.name for folder in EXTENSIONS} <= {name for name, folder in rows if name == folder}


def test_the_core_names_no_extension() -> None:
    names = [folder.name for folder in EXTENSIONS]
    assert names
    named = re.compile(rf"extensions[./](?:{'|'.join(names)})\b")
    folders = [REPOSITORY / "src/beirflow", REPOSITORY / "workflow"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".smk", ".yaml", ".j2", ".rst")]
    assert [path.name for path in [*files, REPOSITORY / "workflow/Snakefile"] if named.search(path.read_text())] == []
