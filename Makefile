PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# The stamp is newer than what it was made from: set-up runs once, and again when a pin changes.
READY = $(VENV)/.ready

.PHONY: help setup demo test lint bench bench-grammar bench-training bench-decoding bench-startup bench-translation bench-lexical bench-teaching bench-alignment bench-rules bench-serving svo-sov results fuzz fuzz-serve load pictures photographs outputs docs clean

help:
	@echo "make demo    set up, then train a seq2seq and a BTG model side by side on a toy task"
	@echo "make test    set up and run the tests"
	@echo "make lint    ruff and mypy"
	@echo "make fuzz    damage directories and make up input, with fresh cases; half an hour"
	@echo "make fuzz-serve   made-up requests to the server; half an hour"
	@echo "make load    32 clients of a server for a minute: right answers, and memory that stays"
	@echo "make bench   all benchmarks except svo-sov; half an hour, on a quiet machine;"
	@echo "             with MODEL=... SOURCE=... REFERENCE=... bench-translation too"
	@echo "make bench-grammar   the dynamic programs against the paper's loops; ten minutes"
	@echo "make bench-training   the cost of a training step; a quarter of an hour"
	@echo "make bench-decoding   the cost of cky against flat; a few minutes"
	@echo "make bench-startup   the time that commands take to start; two minutes"
	@echo "make bench-translation MODEL=... SOURCE=... REFERENCE=...   the same with a trained model"
	@echo "make bench-lexical COGNITION=...   trees of the lexical teacher, and its speed; minutes;"
	@echo "             OPTIONS='--pruning NAME SOURCE TARGET' compares pruned charts with exact ones"
	@echo "make bench-teaching CORPORA='--corpus NAME SOURCE TARGET ...'   its cost, in plain epochs"
	@echo "make bench-alignment GOLD=...   word alignments against gold ones; a minute"
	@echo "make bench-serving   the server against btg translate; a few minutes"
	@echo "make bench-rules MODEL=... SOURCE=... REFERENCE=...   rules taken from references; minutes;"
	@echo "             OPTIONS='--tokenize none' and so on are passed on"
	@echo "make svo-sov   the paper's toy task, all systems, five seeds; hours, can be stopped and resumed"
	@echo "make results   write docs/results.md and the README's table from stored results of btg reproduce"
	@echo "make pictures   draw the pictures of the documentation"
	@echo "make photographs   photograph the workbench and a report; trains their models, minutes"
	@echo "make outputs   write what the console examples of the documentation print"
	@echo "make docs    build the documentation site in build/site"
	@echo "make setup   only set up: a virtual environment in $(VENV)"
	@echo "make clean   remove caches, compiled kernels and the virtual environment"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/btg demo

# One process per core; the tests set torch to one thread.
test: setup
	$(BIN)/python -m pytest --numprocesses auto

# Fresh cases every time: the seed is printed, and BTG_FUZZ_SEED repeats it.
fuzz: setup
	@seed=$${BTG_FUZZ_SEED:-$$(date +%s)}; echo "BTG_FUZZ_SEED=$$seed"; \
	HYPOTHESIS_PROFILE=thorough BTG_FUZZ_SEED=$$seed BTG_FUZZ_ROUNDS=$${BTG_FUZZ_ROUNDS:-200} \
	$(BIN)/python -m pytest tests/integration/test_faults.py tests/integration/test_fuzzed_input.py

fuzz-serve: setup
	BTG_SCHEMA_EXAMPLES=$${BTG_SCHEMA_EXAMPLES:-300} $(BIN)/python -m pytest tests/integration/test_serve_schema.py

load: setup
	$(BIN)/python -m benchmarks.load --seconds 60 --clients 32

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# All of them, whether or not one misses a bar.
bench: setup
	@failed=; for part in grammar training decoding startup serving $(if $(MODEL),translation); do \
	  $(MAKE) bench-$$part || failed="$$failed $$part"; done; \
	if test -n "$$failed"; then echo "bars missed:$$failed"; exit 1; fi

bench-grammar: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.grammar --output results/grammar.json --markdown docs/benchmarks.md
	$(BIN)/python -m benchmarks.scorer --output results/scorer.json --markdown docs/benchmarks.md

bench-training: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.training --output results/training.json --markdown docs/benchmarks.md

bench-decoding: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.decoding --output results/decoding.json --markdown docs/benchmarks.md

bench-startup: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.startup --output results/startup.json --markdown docs/benchmarks.md

bench-serving: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.serving --threads 1 --output results/serving.json --markdown docs/benchmarks.md

bench-translation: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.translation $(MODEL) $(SOURCE) $(REFERENCE) --output results/translation.json --markdown docs/benchmarks.md

bench-lexical: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.lexical --cognition $(COGNITION) --sentences 3000 $(OPTIONS) --output results/lexical.json --markdown docs/lexical.md

bench-teaching: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.teaching --threads 1 $(CORPORA) --output results/teaching.json --markdown docs/lexical.md

bench-alignment: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.alignment $(GOLD) --output results/alignment.json --markdown docs/lexical.md

bench-rules: setup
	mkdir -p results
	$(BIN)/python -m benchmarks.rules $(MODEL) $(SOURCE) $(REFERENCE) $(OPTIONS) --output results/rules.json --markdown docs/benchmarks.md

svo-sov: setup
	$(BIN)/python -m benchmarks.svo_sov --markdown docs/benchmarks.md --readme README.md

results: setup
	$(BIN)/python -m benchmarks.results --readme README.md

pictures: setup
	$(BIN)/python docs/images/make.py

photographs: setup
	$(BIN)/python docs/images/photographs.py

# With the model that the examples describe.
outputs: setup
	test -f runs/german/model.safetensors || $(BIN)/btg train examples/german/train.yaml
	$(BIN)/python docs/outputs.py

# Nothing is fetched, and a broken link is an error.
docs: setup
	$(BIN)/sphinx-build -q -W --keep-going -b html -d build/doctrees docs build/site
	@echo "build/site/index.html"

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache .mypy_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
