# The operator's image. Nothing is downloaded here: BASE_IMAGE brings Python (the version that the wheels in build/wheels
# are for), git, ssh and a static busybox; the wheels, and helm in build/programs, are made outside by `make image`, which
# also builds such a base. No package index needed, except for busybox where the base is a public one.
ARG BASE_IMAGE
FROM ${BASE_IMAGE}

# Bytecode is made here because the root file system is read-only later; its sources never change, so nothing is checked.
# The `kubernetes` package serves exec plugins of kubeconfigs only, which no pod has: it stays source.
# Unpack pods run /bin/busybox in the images of bundles, whatever those have. Its `ls` tells a missing file by exit code 1.
# ssh refuses to run for a user without an entry in /etc/passwd. Nothing here needs a setuid program.
RUN --mount=type=bind,source=build/wheels,target=/wheels \
    { test -x /bin/busybox || { apt-get -qq update && apt-get -qq install --yes --no-install-recommends busybox-static \
    && rm -rf /var/lib/apt/lists/*; }; } \
    && python3 -m venv /opt/rukpak \
    && /opt/rukpak/bin/pip install --quiet --no-index --no-deps --no-compile --no-cache-dir /wheels/*.whl \
    && /opt/rukpak/bin/pip check \
    && /opt/rukpak/bin/pip uninstall --quiet --yes pip setuptools \
    && python3 -m compileall -q -x '/site-packages/kubernetes/' --invalidation-mode unchecked-hash /opt/rukpak/lib \
    && ln -s /bin/busybox /opt/rukpak/bin/ls \
    && useradd --uid 1001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin rukpak \
    && install -d -o 1001 -g 1001 /var/cache/bundles \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# Charts are rendered by it, in a sandbox of its own; nothing else calls it.
COPY --chmod=0755 build/programs/helm /usr/local/bin/helm

ENV PATH=/opt/rukpak/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 1001:1001
WORKDIR /
# metrics, probes, content, admission webhook
EXPOSE 8080 8081 8443 9443
ENTRYPOINT ["rukpak-operator"]

ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="rukpak-py" \
      org.opencontainers.image.description="A Kubernetes operator that installs, keeps, upgrades and removes content" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
