# syntax=docker/dockerfile:1
# The gateway over HTTP: docker build --tag toolcrib .
# docs/http.md says how it is run; compose.yaml is an example of it.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY pyproject.toml requirements.lock README.md LICENSE NOTICE CHANGELOG.md ./
COPY src src
# The versions of the lock, which also pins what only development needs.
RUN python -m venv /opt/toolcrib \
    && sed -n 's/^\([A-Za-z0-9._-]*==.*\) \\$/\1/p' requirements.lock > pins.txt \
    && /opt/toolcrib/bin/pip install --constraint pins.txt '.[postgresql,telemetry,tokens]' \
    && /opt/toolcrib/bin/pip uninstall --yes pip

FROM python:${PYTHON}-slim
# An id without a name on the host, and a folder that a volume takes its owner from.
RUN groupadd --system --gid 10001 toolcrib \
    && useradd --system --uid 10001 --gid toolcrib --home-dir /state --no-create-home --shell /usr/sbin/nologin toolcrib \
    && install --directory --owner toolcrib --group toolcrib --mode 0700 /state
COPY --from=build /opt/toolcrib /opt/toolcrib
ENV PATH=/opt/toolcrib/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TOOLCRIB_CONFIG_DIR=/config \
    TOOLCRIB_STATE_DIR=/state
USER 10001:10001
WORKDIR /state
VOLUME ["/state"]
EXPOSE 8931
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8931/healthz', timeout=4)"]
ENTRYPOINT ["toolcrib"]
CMD ["serve", "--http", "0.0.0.0:8931"]
