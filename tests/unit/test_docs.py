"""Links, commands and figures of the documentation are right, and its reference pages are current."""

import argparse
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import pytest
import snakemake.cli

from beirflow.cli import command_module, command_names
from beirflow.cli.listing import FURTHER_WORDS
from beirflow.core import layout
from beirflow.core.extensions import commands, extensions
from beirflow.core.patterns import Pattern
from beirflow.report.overview import target_words
from described_keys import COMMAND, PAGE, SCHEMA, TABLES, extension_of, json_schema, keys_page, sections, with_table
from pages import CODE, commands_of

REPOSITORY = Path(__file__).parents[2]
SITE = [*sorted(REPOSITORY.glob("docs/*.md")), *sorted(REPOSITORY.glob("extensions/**/README.md"))]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "tests/bench/README.md")),
    *SITE,
]

OF_PLUGINS = ("--storage-s3-", "--beirflow-slurm-")
"""Beginnings of options that plug-ins add, which need not be installed."""

PATTERNS = [each for each in vars(layout).values() if isinstance(each, Pattern)]


def page_name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pages_are_short() -> None:
    assert sum(page.stat().st_size for page in REPOSITORY.glob("docs/**/*.md")) <= 100 * 1024
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        assert len((REPOSITORY / name).read_text().splitlines()) <= 120, name


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        if not re.match(r"\w+:", link):
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_contents_of_the_site() -> None:
    index = REPOSITORY / "docs/index.md"
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", index.read_text(), re.MULTILINE | re.DOTALL)
    listed = [
        (index.parent / f"{name}.md").resolve() for block in blocks for name in re.findall(r"^[\w./-]+$", block, re.MULTILINE)
    ]
    assert len(listed) == len({*listed})
    assert {*SITE} - {index} <= {*listed}


def test_reference_pages_and_the_schema_are_current() -> None:
    assert SCHEMA.read_text() == json_schema(), COMMAND
    assert PAGE.read_text() == keys_page(), COMMAND
    for name, table in TABLES.items():
        text = (REPOSITORY / name).read_text()
        assert text == with_table(text, table()), f"{name}: {COMMAND}"
    nested = {extension_of(kind) for heading, kinds in sections() for kind in kinds if re.match("`(?!command)", heading)} - {None}
    assert {f"extensions/{name}/README.md" for name in nested} <= {*TABLES}


def is_target(word: str) -> bool:
    """Test whether a word of a command line names a rule or a file of results."""
    words = {"try", "estimate", "help", *target_words(Path("results")), *FURTHER_WORDS, *commands(), *layout_words()}
    name = re.sub(r"^results/(?:mine/)?", "", word)
    return word in words or any(pattern.names_in(name) is not None for pattern in [*PATTERNS, *patterns_of_extensions()])


def layout_words() -> set[str]:
    return {word for each in extensions() for word in each.targets}


def patterns_of_extensions() -> list[Pattern]:
    return [pattern for each in extensions() for pattern in each.patterns]


@cache
def options_of_snakemake() -> set[str]:
    return {*snakemake.cli.get_argument_parser()._option_string_actions}


def unknown_words(line: str) -> list[str]:
    """Return the options and targets of a command line of beirflow or Snakemake that there are not."""
    program, *words = shlex.split(line, comments=True)
    dashes = words.index("--") if "--" in words else len(words)
    words, targets = words[:dashes], words[dashes + 1 :]
    known = set(options_of_snakemake())
    if program == "beirflow":
        name, *words = words
        if name not in command_names():
            return [name]
        parser = argparse.ArgumentParser(add_help=False)
        command_module(name).add_arguments(parser)
        known |= {*parser._option_string_actions}
        if name == "run":
            first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
            targets += words[1:first]
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    unknown = [option for option in options if option not in known and not option.startswith(OF_PLUGINS)]
    return unknown + [target for target in targets if not is_target(target)]


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=page_name)
def test_commands_have_only_options_targets_and_files_that_there_are(page: Path) -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    makefile = (REPOSITORY / "Makefile").read_text()
    for line in commands_of(page):
        program, *words = shlex.split(line, comments=True)
        if program == "make":
            assert re.search(rf"^{re.escape(words[0])}:", makefile, re.MULTILINE), line
        elif program == "pip":
            assert {*re.findall(r"beirflow\[([\w-]+)\]", line)} <= {*extras}, line
        elif program in ("beirflow", "snakemake"):
            assert unknown_words(line) == [], line
        of_ours = [word for word in words if re.match(r"(?:\./)?(?:docs|envs|plugins|tests|workflow)/", word)]
        assert [word for word in of_ours if not (REPOSITORY / word).exists()] == [], line


@pytest.mark.parametrize(
    "line", ["beirflow rum my.yaml", "beirflow audit --sampel 3", "snakemake -- sumary", "beirflow run my.yaml papper"]
)
def test_a_wrong_command_is_noticed(line: str) -> None:
    assert unknown_words(line)


def test_figures_of_speed_are_those_of_stored_benchmarks() -> None:
    measured = "\n".join(path.read_text() for path in REPOSITORY.glob("tests/bench/results/*.md"))
    figures = re.findall(r"\*\*(\d[\d.]*(?: ×)?)\*\*", (REPOSITORY / "docs/comparison.md").read_text())
    assert len(figures) > 15
    assert [figure for figure in figures if f"**{figure}**" not in measured] == []
