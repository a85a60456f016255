"""The configuration in the manifest (:mod:`beirflow.evaluation.conclusion`)."""

NO_INFLUENCE = (
    *("audit_folder", "audit_sample", "compare_with", "manifest_sha256", "manifest_signature", "allowed_signers"),
    *("figure_width", "figure_font", "gate", "pool_depth", "judge", "fact", "of", "folders", "references"),
    *("prices", "choice", "results"),
)
"""Keys of the configuration that are about looking at results."""

TUNED_ON = "tuned_on"  # key of the datasets that are not evaluated, but on which systems are tuned, in the form of ``datasets``
