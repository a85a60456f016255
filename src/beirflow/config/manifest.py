"""The configuration in the manifest (:mod:`beirflow.evaluation.conclusion`)."""

from beirflow.core.extensions import extensions

NO_INFLUENCE = (
    *("command", "figure_width", "figure_font", "references"),
    *("prices", "results"),
    *(key for extension in extensions() for key in extension.without_influence),
)
"""Keys of the configuration that are about looking at results."""

TUNED_ON = "tuned_on"  # key of the datasets that are not evaluated, but on which systems are tuned, in the form of ``datasets``
