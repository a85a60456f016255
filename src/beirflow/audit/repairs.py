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

from beirflow.config.manifest import NO_INFLUENCE

ABOUT_THE_CALL = ({*NO_INFLUENCE} - {"results"}) | {"pathvars"}
"""Keys of the configuration that a repair does not need on its command line."""


@dataclass(frozen=True)
class Call:
    """Command line of the audit, and the code digests of its rules."""

    snakefile: str = ""  # main Snakefile; empty for the default one
    directory: str = field(default_factory=lambda: str(Path.cwd()))  # working directory of Snakemake
    configfiles: Sequence[str] = ()  # configuration files on the command line
    config: Mapping[str, Any] = field(default_factory=dict)  # values of ``--config``
    # by rule of the workflow, the digest of its code; None for a rule that makes nothing itself, or whose code changes nothing
    codes: Mapping[str, str | None] = field(default_factory=dict)

    def snakemake(self, targets: Sequence[str]) -> str:
        """Return the command that makes files, with the options of the audit."""
        kept = {key: value for key, value in self.config.items() if key not in ABOUT_THE_CALL}
        config = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in kept.items()]
        words = ["snakemake", *(["--snakefile", self.snakefile] if self.snakefile else []), "--directory", self.directory]
        words += ["--cores", "2"]
        for option, values in (
            ("--configfile", [str(Path(self.directory, path)) for path in self.configfiles]),
            ("--config", config),
        ):
            words += [option, *values] if values else []
        words += ["--", *targets]  # without the dashes, --configfile and --config would take them for theirs
        return " ".join(map(quoted, words))


@dataclass(frozen=True)
class Repairs:
    """Commands that repair files of some results."""

    folder: str  # the results, as targets of Snakemake name them
    call: Call = field(default_factory=Call)  # command line of the audit
    # part of the name of the folder that files are moved to, so that no two audits use the same
    stamp: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"))

    def make_again(self, present: Sequence[str], targets: Sequence[str]) -> str:
        """Return the command line that moves ``present`` aside and makes ``targets``, all paths below the results."""
        again = self.call.snakemake([f"{self.folder}/{path}" for path in dict.fromkeys(targets)])
        return f"{self.aside(present)} && {again}" if present else again

    def remove(self, paths: Sequence[str]) -> str:
        """Return the command line that deletes files or folders that are no results."""
        results = Path(self.call.directory, self.folder)
        return " ".join(map(quoted, ["rm", "-r", "--", *(str(results / path) for path in paths)]))

    def aside(self, paths: Sequence[str]) -> str:
        """Return the command line that moves files, links or folders to the same paths below a folder next to the results."""
        results = Path(self.call.directory, self.folder)
        other = results.with_name(f"{results.name}-aside-{self.stamp}")
        by_folder: dict[str, list[str]] = {}
        for path in paths:
            by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        folders = [f"{other / name}/" for name in by_folder]
        moves = [
            " ".join(map(quoted, ["mv", *(str(results / path) for path in names), f"{other / name}/"]))
            for name, names in by_folder.items()
        ]
        return " && ".join([" ".join(map(quoted, ["mkdir", "-p", *folders])), *moves])


def quoted(word: str) -> str:
    """Quote a word for bash and zsh on one line, with escapes for what a terminal cannot show."""
    if word.isprintable():
        return shlex.quote(word)
    octets = word.encode("utf-8", "surrogateescape")
    return (
        "$'"
        + "".join(chr(one) if (chr(one).isalnum() and one < 128) or chr(one) in "/._- " else f"\\x{one:02x}" for one in octets)
        + "'"
    )
