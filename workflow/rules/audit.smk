"""Audit results.

What an audit writes is not declared, so that it survives a failure.
"""

import os

from beirflow.audit.folder.folders import audit_folders

# Arrow's allocator commits a gigabyte at once otherwise, which the limit of memory of an audit counts as taken.
os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")


audit_options = experiment.options("audit")
audit_at = audit_folders(
    this_run.path(layout.RESULTS),
    audit_options.get("folder"),
    audit_options.get("output"),
)


use rule audit_job as audit with:
    log:
        "<results>/logs/audit.log" if audit_at.log is None else audit_at.log,
    localrule: True
    params:
        **job(
            "audit",
            "beirflow.audit.audit:audit",
            experiment="beirflow.config.load:load_experiment()",
        ),
        audited=audit_at.audited,
        results=audit_at.written,
        sample=audit_options.get("sample", 0),
        published={
            name: audit_options.get(name)
            for name in ("manifest_sha256", "manifest_signature", "allowed_signers")
        },
        # Once all rules are known.
        call=lambda wildcards: {**this_run.call, "codes": this_run.codes},
    message:
        "audit the results"
