# Every recipe is a line that can also be typed.
PYTHON ?= python3
REQUIREMENTS ?= requirements.txt
VENV ?= .venv
SCRIPTS = $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN = $(VENV)/$(SCRIPTS)
export UV_SYSTEM_CERTS = 1
.PHONY: book test test-slow test-site test-notebooks test-package test-peers test-doors test-engines test-neural
.PHONY: test-site-pages test-site-parts screenshots
.PHONY: lint format dev
.PHONY: ranks more-ranks elsewhere-ranks neural-ranks up-to-k explorers-data published-ranks popular-draws dialects check-dialects clean

book: .venv/ready
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo $(CURDIR)/_build/html/index.html

test: $(VENV)/ready
	$(BIN)/pytest -m "not slow"

# What takes seconds, or many draws.
test-slow: $(VENV)/ready
	$(BIN)/pytest -m slow

# Two halves that take about as long: `make --jobs=2 test-site` runs them side by side.
test-site: test-site-pages test-site-parts

test-site-pages: book
	$(BIN)/pytest tests/site/test_site.py

test-site-parts: book
	$(BIN)/pytest tests/site --ignore tests/site/test_site.py

test-notebooks: book
	$(BIN)/pytest tests/notebooks

test-package: .venv/ready
	$(BIN)/pytest tests/package

test-peers: .venv-peers/ready
	.venv-peers/$(SCRIPTS)/pytest tests/peers
	$(PYTHON) scripts/passed.py --note $@

test-doors: .venv-doors/ready
	.venv-doors/$(SCRIPTS)/pytest tests/doors
	$(PYTHON) scripts/passed.py --note $@

# Spark starts slowly and is large; its Java is installed by pip.
test-engines: .venv-engines/ready
	.venv-engines/$(SCRIPTS)/pytest tests/engines
	$(PYTHON) scripts/passed.py --note $@

# The models that `make neural-ranks` trains.
test-neural: .venv-neural/ready
	.venv-neural/$(SCRIPTS)/pytest tests/neural
	$(PYTHON) scripts/passed.py --note $@

screenshots: book
	SCREENSHOTS=1 $(BIN)/pytest tests/site -k page_fits

lint: $(VENV)/ready
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy

format: $(VENV)/ready
	$(BIN)/ruff check --fix && $(BIN)/ruff format

# What needs no book, in an environment without Jupyter and Sphinx.
dev:
	$(MAKE) lint test VENV=.venv-dev

ranks: .venv/ready
	$(BIN)/python scripts/make_ranks.py && $(BIN)/python scripts/make_picture.py

popular-draws: .venv/ready
	$(BIN)/python scripts/make_popular_draws.py

more-ranks: .venv/ready
	$(BIN)/python scripts/make_more_ranks.py

elsewhere-ranks: .venv/ready
	$(BIN)/python scripts/make_elsewhere.py

# torch, in an environment of its own.
neural-ranks: .venv-neural/ready
	.venv-neural/$(SCRIPTS)/python scripts/make_neural.py

up-to-k: .venv/ready
	$(BIN)/python scripts/make_up_to_k.py

explorers-data: .venv/ready
	$(BIN)/python scripts/make_explorers.py

published-ranks: .venv/ready
	$(BIN)/python scripts/make_published.py

dialects: .venv/ready
	$(BIN)/python scripts/dialects/record.py

dialects-%: .venv/ready
	$(BIN)/python scripts/dialects/record.py $*

check-dialects: .venv/ready
	$(BIN)/python scripts/dialects/record.py --check scikit-learn ranx pytrec_eval ir_measures rectools spark
	$(PYTHON) scripts/passed.py --note $@

# `make test-peers-if-changed`: unless it has passed with the files that it depends on.
%-if-changed:
	$(PYTHON) scripts/passed.py $* || $(MAKE) $*

clean:
	rm -rf .venv .venv-dev .venv-peers .venv-doors .venv-engines .venv-neural .dialects _build book/results/*.csv

# uv takes seconds where pip takes minutes, but knows nothing of pip's settings.
# Written last: after an interrupted set-up the next `make` starts it over.
.venv/ready: $(REQUIREMENTS)
.venv-dev/ready: requirements-dev.txt
.venv-peers/ready: tests/peers/requirements.txt
.venv-doors/ready: tests/doors/requirements.txt
.venv-engines/ready: tests/engines/requirements.txt
.venv-neural/ready: scripts/neural/requirements.txt
.venv/ready .venv-dev/ready .venv-peers/ready .venv-doors/ready .venv-engines/ready .venv-neural/ready:
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/$(SCRIPTS)/python -m pip install --quiet uv
	$(@D)/$(SCRIPTS)/python -m uv pip install --quiet --compile-bytecode -r $< || $(@D)/$(SCRIPTS)/python -m pip install --quiet -r $<
	@touch $@
