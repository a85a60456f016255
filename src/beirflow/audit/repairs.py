"""Commands that repair results, ready to paste: absolute paths, quoted, with the options of the audit.

No result is deleted: files are moved to a folder next to the results.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from beirflow.config.experiment import NO_INFLUENCE

ABOUT_THE_CALL = ({*NO_INFLUENCE} - {"results"}) | {"pathvars"}
"""Keys of the configuration that a repair does not need on its command line."""


@dataclass(frozen=True)
class Call:
    """Command line of the audit, and the code digests of its rules; commands that repair files of a folder of results.

    The folder is as targets of Snakemake name it, and paths are below it.
    """

    snakefile: str = ""  # main Snakefile; empty for the default one
    directory: str = field(default_factory=lambda: str(Path.cwd()))  # working directory of Snakemake
    configfiles: Sequence[str] = ()  # configuration files on the command line
    config: Mapping[str, Any] = field(default_factory=dict)  # values of ``--config``
    # by rule of the workflow, the digest of its code; None for a rule that makes nothing itself, or whose code changes nothing
    codes: Mapping[str, str | None] = field(default_factory=dict)
    # part of the name of the folder that files are moved to, so that no two audits use the same
    stamp: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"))

    def snakemake(self, targets: Sequence[str]) -> str:
        """Return the command that makes files, with the options of the audit."""
        kept = {key: value for key, value in self.config.items() if key not in ABOUT_THE_CALL}
        config = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in kept.items()]
        named = {"--snakefile": [self.snakefile] if self.snakefile else [], "--directory": [self.directory], "--cores": ["2"]}
        files = [str(Path(self.directory, path)) for path in self.configfiles]
        options = {**named, "--configfile": files, "--config": config}
        words = [word for option, values in options.items() if values for word in (option, *values)]
        return _words("snakemake", *words, "--", *targets)  # which --configfile and --config would take for theirs otherwise

    def make_again(self, folder: Path, present: Sequence[str], targets: Sequence[str]) -> str:
        """Return the command line that moves the files ``present`` aside and makes ``targets``."""
        again = self.snakemake([f"{folder}/{path}" for path in dict.fromkeys(targets)])
        return f"{self.aside(folder, present)} && {again}" if present else again

    def remove(self, folder: Path, paths: Sequence[str]) -> str:
        """Return the command line that deletes files or folders that are no results."""
        return _words("rm", "-r", "--", *(str(Path(self.directory, folder, path)) for path in paths))

    def aside(self, folder: Path, paths: Sequence[str]) -> str:
        """Return the command line that moves files, links or folders to the same paths below a folder next to the results."""
        results = Path(self.directory, folder)
        other = results.with_name(f"{results.name}-aside-{self.stamp}")
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            by_folder.setdefault(f"{(other / path).parent}/", []).append(str(results / path))
        moves = [_words("mv", *files, to) for to, files in by_folder.items()]
        return " && ".join([_words("mkdir", "-p", *by_folder), *moves])


def _words(*words: str) -> str:
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """Quote a word for bash and zsh on one line, with escapes for what a terminal cannot show."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(f"\\x{octet:02x}" for octet in word.encode("utf-8", "surrogateescape")) + "'"
