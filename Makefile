# One line a verb; what needs more than a line is in scripts/. CI runs `make check`.
export RUSTUP_TOOLCHAIN := $(shell scripts/toolchain)
# Python keeps compiled modules, even where the machine's environment says not to: otherwise each
# command compiles all of them again.
export PYTHONDONTWRITEBYTECODE :=
# Debian packages that tests need.
PACKAGES := sysbench postgresql-15 mariadb-server redis-server clickhouse-server libaio1 maven chromium chromium-driver pgbouncer fio xfsprogs iproute2
BIN := .venv/bin

.PHONY: setup quickstart classics fmt lint lint-python lint-rust test check downloads rust-tests-built rust-tests python-tests python-tests-alone nightly fuzz generate lock bench service-times verdicts wheel
.NOTPARALLEL:

setup:      ; @scripts/setup
quickstart: setup ; @$(BIN)/dbdyno run quickstart
classics:   setup ; scripts/packages $(PACKAGES) && $(BIN)/dbdyno classics
fmt:        setup ; cargo fmt --all && $(BIN)/ruff check --fix --quiet . && $(BIN)/ruff format .
lint:       setup ; scripts/lint
lint-python: setup ; scripts/lint python
lint-rust:  setup ; scripts/lint rust
test:       setup ; scripts/packages $(PACKAGES) && scripts/tests everyday
check:      ; @scripts/check
downloads:  ; cargo fetch --locked && scripts/packages $(PACKAGES)
rust-tests-built: ; scripts/rust-tests --no-run
rust-tests: setup ; scripts/rust-tests
python-tests: setup ; scripts/tests several
python-tests-alone: setup ; scripts/tests alone
nightly:    setup ; scripts/packages $(PACKAGES) patroni etcd-server llvm gcc g++ liburing-dev libicu-dev clickhouse-tools && scripts/nightly
fuzz:       ; scripts/fuzz
generate:   setup ; $(BIN)/python scripts/generate.py
lock:       setup ; $(BIN)/uv pip compile --quiet pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" -o requirements.lock
bench:      setup ; scripts/packages $(PACKAGES) gcc liburing-dev clickhouse-tools && $(BIN)/python -m bench
service-times: setup ; $(BIN)/python -m bench.service
verdicts:   setup ; scripts/packages $(PACKAGES) && scripts/verdicts $(PARTS)
wheel:      setup ; @scripts/wheel
