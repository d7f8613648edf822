# Everything that a contributor types. `make help` lists it; the work is done by the scripts in .ci, tools and e2e.
SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON := .venv/bin/python
STAMP := .venv/.rukpak-environment

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: env
env: $(STAMP) ## .venv with exactly the locked dependencies and this project

$(STAMP): requirements/dev.txt pyproject.toml .ci/env
	@.ci/env $(STAMP)

.PHONY: lint
lint: env ## every check, all of them even after one failed
	@.ci/lint

.PHONY: generate
generate: env ## config/crds, the chart's copy of it, manifests/install.yaml
	@$(PYTHON) -m tools.generate

.PHONY: test
test: env ## the whole suite against a real API server (TESTS="tests/unit -k yaml" narrows it)
	@.ci/test $(TESTS)

.PHONY: e2e
e2e: env ## the operator as an image, installed by Helm, in a cluster with a node
	@.ci/e2e $(TESTS)

.PHONY: e2e-kind
e2e-kind: env ## the same in a cluster of the real kind; where it is not, it and an engine are made (root on Linux)
	@RUKPAK_CLUSTER_PROVIDER=kind RUKPAK_CLUSTER_STATE=$$PWD/.kind .ci/e2e $(TESTS)

.PHONY: run
run: env ## local cluster, operator, samples brought to Ready; Ctrl-C takes all of it down (RUN_ONCE=1: by itself)
	@. .ci/cluster.sh && RUKPAK_CLUSTER_STATE=$$state exec $(PYTHON) -m e2e.run

.PHONY: image
image: env ## build/rukpak.tar, the operator's image
	@$(PYTHON) -m tools.image

.PHONY: sbom
sbom: env ## build/rukpak.cdx.json, the components of the image (CycloneDX)
	@$(PYTHON) -m tools.sbom

.PHONY: build
build: env ## dist/: the wheel and the source archive
	@rm -rf dist
	@$(PYTHON) -m build --no-isolation --outdir dist .

.PHONY: docs
docs: env ## build/site, the documents as a searchable site
	@.ci/docs

.PHONY: bench
bench: env ## ratios within one run; the figures we keep are in bench/RESULTS.md
	@$(PYTHON) bench/yaml_loading.py
	@$(PYTHON) bench/rendering.py
	@$(PYTHON) bench/cli_start.py
	@$(PYTHON) bench/install.py
	@$(PYTHON) bench/never_healthy.py
	@$(PYTHON) bench/many.py
	@$(PYTHON) bench/fetching.py
	@$(PYTHON) bench/many_images.py
	@$(PYTHON) bench/olm_bundles.py
	@$(PYTHON) bench/charts.py
	@$(PYTHON) bench/scraping.py

.PHONY: lock
lock: env ## resolve requirements/*.txt again from pyproject.toml
	@.ci/lock

.PHONY: clean
clean: ## what the other targets made here (the caches outside stay)
	@if [ -x $(PYTHON) ]; then (. .ci/cluster.sh && cluster down) && \
		(RUKPAK_CLUSTER_STATE=$$PWD/.kind; . .ci/cluster.sh && cluster down); fi
	@rm -rf .venv .cluster* .kind* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +
