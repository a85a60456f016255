"""Commands that pages of the documentation show."""

import re
from pathlib import Path

CODE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)

PROGRAMS = re.compile(r"(?:beirflow|snakemake|make|pip install|ssh-keygen|sha256sum|docker) ")


def commands_of(page: Path) -> list[str]:
    """Return the command lines of a page, from its blocks of code."""
    text = re.sub(r"\\\n\s*", " ", page.read_text())
    blocks = [block[0] for block in CODE.finditer(text)]
    lines = [*re.findall(r"^ {4}(?! )(.*)$", text, re.MULTILINE), *(line for block in blocks for line in block.splitlines())]
    found = [re.sub(r"^(?:\s*- (?:run: )?|\s*)", "", line) for line in lines]
    return [line for line in found if PROGRAMS.match(line) and "…" not in line]
