# Everything runs in a virtual environment of the project's own. Override PYTHON to choose the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA ?=

export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: demo check test gate bench bench-scale bench-peers bench-ingest format sample-corpus clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) scripts/make_venv.py $(VENV)
	touch $(STAMP)

install: $(STAMP)

demo: $(STAMP)  ## install, materialise the sample corpus, ask one question, print a cited answer
	$(BIN)/research-copilot ingest sample_corpus/papers
	$(BIN)/research-copilot ask "What are the resistance mechanisms to EGFR inhibitors in lung cancer, and how can resistance be detected early?"

check: $(STAMP)  ## format, lint, types, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -m "not slow"

test: $(STAMP)  ## every test
	$(BIN)/pytest

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

gate: $(STAMP)  ## the quality gates on the published sample corpus; the exit code is the verdict
	$(BIN)/research-copilot ingest sample_corpus/papers
	$(BIN)/research-copilot gate

sample-corpus: $(STAMP)  ## write the sample papers anew
	$(BIN)/python -m sample_corpus.generate

bench: $(STAMP)  ## search, start-up, warm answers, embedding, one paper more: ratios beside their bounds (30 minutes, quiet machine)
	$(BIN)/python -m benchmarks.bench_latency; a=$$?; \
	$(BIN)/python -m benchmarks.bench_startup; b=$$?; \
	$(BIN)/python -m benchmarks.bench_incremental; c=$$?; \
	$(BIN)/python -m benchmarks.bench_warm_ask; d=$$?; \
	$(BIN)/python -m benchmarks.bench_embedding --cache-dir .copilot/models; e=$$?; \
	exit $$((a | b | c | d | e))

bench-scale: $(STAMP)  ## how each cost grows from 1,000 to 100,000 passages
	$(BIN)/python -m benchmarks.bench_scale

bench-peers: $(STAMP)  ## ours beside what a user would pick instead: make bench-peers DATA=<folder of test data>
	@test -n "$(DATA)" || { echo "Name the folder of test data: make bench-peers DATA=…" >&2; exit 2; }
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[peers]"
	$(BIN)/python -m benchmarks.peers --data "$(DATA)"

bench-ingest: $(STAMP)  ## everything that is measured of ingest, beside its bounds: make bench-ingest DATA=<folder of test data>
	@test -n "$(DATA)" || { echo "Name the folder of test data: make bench-ingest DATA=…" >&2; exit 2; }
	$(BIN)/python -m benchmarks.bench_ingest "$(DATA)"

clean:
	rm -rf $(VENV) .copilot .dagster_home
