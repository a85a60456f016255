"""Settings of Sphinx. The source is the whole repository: READMEs of extensions are pages, and links to them are checked."""

project = "beirflow"
author = "The beirflow authors"
copyright = "The beirflow authors, MIT licence"  # noqa: A001  # Sphinx's name

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "extensions/README.md",
    "extensions/*/README.md",
    "plugins/slurm/README.md",
    "tests/bench/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "site", "results", "src", "workflow", "tests/bench/results"]
myst_heading_anchors = 4
highlight_language = "text"

smartquotes = False

html_theme = "furo"
html_title = "beirflow"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["redirect"]
html_copy_source = False
html_show_sphinx = False
