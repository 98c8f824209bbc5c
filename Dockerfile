# Warpyard's images. Targets: app (API and page), worker (compiler's host, sandbox, emulator), worker-gpu (a worker
# beside an NVIDIA GPU). docker-compose.yml builds and hardens them; docs/operators.md says how to run them.

ARG PYTHON_IMAGE=python:3.13.18-slim-trixie

FROM ${PYTHON_IMAGE} AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    WARPYARD_DATA_DIR=/data \
    WARPYARD_LOG_FORMAT=json \
    TOOLCHAIN=/toolchain
# The volumes' folders belong to the one user that runs, and are the only ones that it may write.
RUN groupadd --gid 10001 warpyard \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin warpyard \
    && install -d -o 10001 -g 10001 -m 0700 /data \
    && install -d -o 10001 -g 10001 -m 0755 /toolchain
WORKDIR /warpyard

# Packages of the lock file, by their hashes, as wheels alone: nothing is built, and nothing unpinned comes in.
FROM base AS app-packages
ARG PIP_INDEX_URL
COPY deploy/locks.py requirements.lock /build/
RUN python3 /build/locks.py app < /build/requirements.lock > /build/app.lock \
    && python3 -m venv --without-pip /opt/venv \
    && python3 -m pip --python /opt/venv/bin/python install --quiet --no-cache-dir --no-deps \
        --only-binary :all: --require-hashes --requirement /build/app.lock

FROM app-packages AS worker-packages
ARG PIP_INDEX_URL
COPY deploy/toolchain.py /warpyard/deploy/
RUN cp /build/locks.py /warpyard/deploy/ && cp /build/requirements.lock /warpyard/ \
    && python3 /build/locks.py worker < /build/requirements.lock > /build/worker.lock \
    && python3 -m pip --python /opt/venv/bin/python install --quiet --no-cache-dir --no-deps \
        --only-binary :all: --require-hashes --requirement /build/worker.lock \
    && python3 /warpyard/deploy/toolchain.py /opt/venv/lib/python3*/site-packages

FROM worker-packages AS gpu-packages
ARG PIP_INDEX_URL
COPY requirements-gpu.lock /build/
RUN python3 /build/locks.py worker < /build/requirements-gpu.lock > /build/gpu.lock \
    && python3 -m pip --python /opt/venv/bin/python install --quiet --no-cache-dir --no-deps \
        --only-binary :all: --require-hashes --requirement /build/gpu.lock

# What every image has of ours, readable for all whatever the umask of the checkout was.
FROM base AS code
COPY deploy/container.py deploy/toolchain.py deploy/locks.py deploy/
COPY requirements.lock LICENSE ./
COPY protocol protocol
COPY takeaway takeaway
COPY store store
COPY examples examples

FROM code AS app-code
COPY app app
COPY frontend/dist frontend/dist
RUN chmod -R a+rX . && python3 -m compileall -q .

FROM code AS worker-code
COPY worker worker
COPY sandbox sandbox
COPY engine engine
COPY emulator emulator
COPY cli cli
COPY benchmarks benchmarks
RUN chmod -R a+rX . && python3 -m compileall -q .

FROM base AS app
COPY --from=app-packages /opt/venv /opt/venv
COPY --from=app-code /warpyard /warpyard
ENV PATH=/opt/venv/bin:$PATH
USER 10001:10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=6s --start-period=60s --retries=4 \
    CMD ["python", "deploy/container.py", "health", "app"]
ENTRYPOINT ["python", "deploy/container.py"]
CMD ["app"]

FROM base AS worker
COPY --from=worker-packages /opt/venv /opt/venv
COPY --from=worker-code /warpyard /warpyard
ENV PATH=/opt/venv/bin:$PATH
USER 10001:10001
VOLUME ["/data", "/toolchain"]
HEALTHCHECK --interval=30s --timeout=10s --start-period=90s --retries=3 \
    CMD ["python", "deploy/container.py", "health", "worker"]
ENTRYPOINT ["python", "deploy/container.py"]
CMD ["worker", "--queues", "emulator,compile"]

FROM worker AS worker-gpu
COPY --from=gpu-packages /opt/venv /opt/venv
# What the container runtime of NVIDIA puts into the container: the device nodes and the driver's libraries.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
CMD ["worker", "--queues", "gpu"]
