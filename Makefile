# Every recipe is a line that can also be typed; Windows: the README has the plain commands.
PYTHON ?= python3
BIN = .venv/bin
.PHONY: book test test-site lint ranks dialects check-dialects clean

book: .venv/ready
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo $(CURDIR)/_build/html/index.html

test: .venv/ready
	$(BIN)/pytest

test-site: book
	$(BIN)/pytest tests/site

lint: .venv/ready
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy

ranks: .venv/ready
	$(BIN)/python book/data/make_ranks.py && $(BIN)/python book/data/make_picture.py

dialects: .venv/ready
	$(BIN)/python book/data/dialects/record.py

check-dialects: .venv/ready
	$(BIN)/python book/data/dialects/record.py --check scikit-learn ranx pytrec_eval ir_measures rectools spark

clean:
	rm -rf .venv _build book/results/*.csv

# Written last: after an interrupted set-up the next `make` starts it over.
.venv/ready: requirements.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet -r requirements.txt
	@touch $@
