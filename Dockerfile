# The operator's image. Nothing is downloaded here: BASE_IMAGE brings Python (the version that the wheels in build/wheels
# are for), git, ssh and a static busybox; the wheels, and helm in build/programs, are made outside by `make image`, which
# also builds such a base and sets the labels. No package index needed, except for busybox where the base is a public one.
ARG BASE_IMAGE
FROM ${BASE_IMAGE} AS build

# Unpack pods run /bin/busybox in the images of bundles, whatever those have. Its `ls` tells a missing file by exit code 1.
RUN --mount=type=bind,source=build/wheels,target=/wheels \
    { test -x /bin/busybox || { apt-get -qq update && apt-get -qq install --yes --no-install-recommends busybox-static \
    && rm -rf /var/lib/apt/lists/*; }; } \
    && python3 -m venv /opt/rukpak \
    && /opt/rukpak/bin/pip install --quiet --no-index --no-deps --no-compile --no-cache-dir /wheels/*.whl \
    && /opt/rukpak/bin/pip check \
    && /opt/rukpak/bin/pip uninstall --quiet --yes pip setuptools \
    && ln -s /bin/busybox /opt/rukpak/bin/ls

# Charts are rendered by it, in a sandbox of its own; nothing else calls it.
COPY --chmod=0755 build/programs/helm /usr/local/bin/helm

# Only what the operator runs: no shell, no package manager, no Perl.
RUN --mount=type=bind,source=tools/image_root.py,target=/image_root.py python3 /image_root.py /root-of-image

FROM scratch
COPY --from=build /root-of-image /
ENV PATH=/opt/rukpak/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# With an entry in /etc/passwd: without one ssh refuses to run.
USER 1001:1001
WORKDIR /
# metrics, probes, content, admission webhook
EXPOSE 8080 8081 8443 9443
ENTRYPOINT ["rukpak-operator"]
