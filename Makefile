# Every recipe is a line that can also be typed.
PYTHON ?= python3
REQUIREMENTS ?= requirements.txt
SCRIPTS = $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN = .venv/$(SCRIPTS)
.PHONY: book test test-site test-notebooks test-peers lint ranks more-ranks dialects check-dialects clean

book: .venv/ready
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo $(CURDIR)/_build/html/index.html

test: .venv/ready
	$(BIN)/pytest

test-site: book
	$(BIN)/pytest tests/site

test-notebooks: book
	$(BIN)/pytest tests/notebooks

test-peers: .venv-peers/ready
	.venv-peers/$(SCRIPTS)/pytest tests/peers

lint: .venv/ready
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy

ranks: .venv/ready
	$(BIN)/python book/data/make_ranks.py && $(BIN)/python book/data/make_picture.py

more-ranks: .venv/ready
	$(BIN)/python book/data/make_more_ranks.py

dialects: .venv/ready
	$(BIN)/python book/data/dialects/record.py

dialects-%: .venv/ready
	$(BIN)/python book/data/dialects/record.py $*

check-dialects: .venv/ready
	$(BIN)/python book/data/dialects/record.py --check scikit-learn ranx pytrec_eval ir_measures rectools spark

clean:
	rm -rf .venv .venv-peers .dialects _build book/results/*.csv

# Written last: after an interrupted set-up the next `make` starts it over.
.venv/ready: $(REQUIREMENTS)
.venv-peers/ready: tests/peers/requirements.txt
.venv/ready .venv-peers/ready:
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/$(SCRIPTS)/python -m pip install --quiet -r $<
	@touch $@
