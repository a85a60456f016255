"""Folders of an audit: others' results are only read, and nothing is written through a link that came with them."""

import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from beirflow.core.errors import ConfigError
from beirflow.core.layout import LOG, job_error
from beirflow.run.results_lock import LOCK
from beirflow.run.undocumented import NOTES

AUDITS = "audits"
"""Folder of the audits of others' results, in the working folder."""

LONGEST_NAME = 100
AUDIT_LOG = LOG(job="audit")


class AuditFolders(NamedTuple):
    """Folders of one audit."""

    audited: str  # the results, absolute if they are those of others
    written: str  # the folder of audit.json and audit.html
    log: str | None  # None for the default log of a rule


def audit_folders(results: str, others: str | None, output: str | None = None) -> AuditFolders:
    """Return the folders of an audit of one's own ``results``, or of the folder ``others`` unless it is None.

    ``output`` is the folder that the audit writes to, unless it is None. The log of results that are read-only, or whose logs are
    behind a link, is beside Snakemake's own.
    """
    if others is not None or output is not None:
        audited = Path(others or results).expanduser().absolute()
        written = output or f"{AUDITS}/{_name(audited)}"
        return AuditFolders(str(audited), written, f"{written}/{AUDIT_LOG}")
    log = Path(results, AUDIT_LOG)
    read_only = Path(results).is_dir() and not os.access(results, os.W_OK)
    linked = any(path.is_symlink() for path in (log.parent, log, job_error(log), log.with_name(LOCK)))
    return AuditFolders(results, results, f"{NOTES}/{AUDIT_LOG}" if read_only or linked else None)


def _name(audited: Path) -> str:
    """Return a name for the audit of a folder, from its path: letters, digits, dots and dashes."""
    return re.sub(r"[^\w.-]+", "-", str(audited.resolve()), flags=re.ASCII)[-LONGEST_NAME:].strip("-.") or "root"


def check_audit_folders(results: str, others: str | None, output: str | None = None, *, moved: bool) -> None:
    """Make sure that an audit writes outside results of others, and not through links of a working folder that came with them.

    ``moved`` says that ``--directory`` named the working folder. Raises ConfigError.
    """
    place = audit_folders(results, others, output)
    here, audited = Path.cwd(), Path(place.audited).resolve()
    todo = f"from a folder of your own: beirflow audit {shlex.quote(str(audited))}"
    if here.is_relative_to(audited):
        raise ConfigError(f"the working folder, {here}, is in the audited folder, {audited}, which is only read; audit {todo}")
    if output is not None and Path(output).resolve().is_relative_to(audited):
        raise ConfigError(f"{output} is in the audited folder, {audited}, which is only read; name another folder for the audit")
    if not moved:
        return
    notes = Path(NOTES).parent
    written = [notes, *sorted(notes.glob("*")), Path(NOTES, AUDIT_LOG).parent]
    written += [Path(AUDITS), Path(place.written), Path(place.written, "logs")] if place.written != place.audited else []
    if link := next((path for path in written if path.is_symlink()), None):
        problem = f"{here / link} is a link to {link.readlink()}, and an audit writes through no link of a folder that was copied"
        raise ConfigError(f"{problem}; audit {todo}")
