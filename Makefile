PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow test-browser lint bench clean

demo: .venv/ready
	$(BIN)/enmesh demo

test: .venv/ready lint
	$(BIN)/pytest -n 2 --dist worksteal

test-slow: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal -m slow

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

clean:
	rm -rf .venv demo-results
