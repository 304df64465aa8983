# Every chore has one name. PYTHON is what the virtual environment is made of; install/venv.sh finds one.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
CLUSTER := $(or $(PYTHON),/usr/bin/python3) tests/cluster/cluster.py
# Each cluster boots once, before the tests; one that does not boot is one failure.
HELD := $(BIN)/python tests/cluster/cluster.py held --
export PAISLURM_OPENPAI_JOBS := $(abspath $(firstword $(wildcard $(PAISLURM_OPENPAI_JOBS) ../shared/openpai-jobs)))

# Tests start Python a thousand times: it may keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
FUZZ_SECONDS ?= 600
# Tests on the cluster wait more than they compute, so that there are more processes than processors.
WORKERS ?= $(shell echo $$(($$(nproc) + 6)))
ROUNDS ?= 5
HISTORIES ?= 10000
OPERATIONS ?= 10000
NFS_OPERATIONS ?= 500
HOURS ?= 1
FAULTS := tests/cluster/test_monitor.py tests/cluster/test_no_monitor.py tests/cluster/test_monitor_at_limits.py tests/unit/runtime/test_signals.py tests/cluster/test_large_job.py tests/contract/test_private_tmp.py

.PHONY: demo help unit test contract check golden bench chaos fuzz simulation histories soak nfs mutants horovod training cluster-packages cluster-up cluster-down clean

demo: $(VENV)/program  ## install, and run a job on this machine
	$(BIN)/paislurm submit --backend local --follow examples/hello-world.yaml
	@echo; echo 'Look at it: $(BIN)/paislurm status hello-world'

help:  ## list what make can do
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

unit: $(VENV)/ready  ## what needs neither root nor Slurm and is not slow, in about a minute
	$(BIN)/pytest -q -n $$((2 * $$(nproc))) -m 'not slow and not root' tests/unit tests/golden tests/frozen tests/rejected

test: check  ## everything that can run here: lint, types, and all tests, where apt is on a real Slurm; as root on Debian 12 on three, with hosts of their own
	$(HELD) $(BIN)/python -m tests.tally -n $(WORKERS)

contract: $(VENV)/ready  ## what must hold on every Slurm: on three of ours, which the README then names, or on yours with PROFILE=site.yaml
	$(if $(PROFILE),PAISLURM_CONTRACT_PROFILE="$(abspath $(PROFILE))",PAISLURM_REQUIRE_CLUSTER=1 $(HELD)) $(BIN)/pytest -n $(WORKERS) tests/contract
	$(if $(PROFILE),,$(BIN)/python -m tests.contract.tried)

check: $(VENV)/ready  ## lint of Python and bash, types, and links of the documentation, in seconds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.golden.lint
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

golden: $(VENV)/ready  ## remake expected messages, plans, scripts and views, and the generated pages; read the difference before committing it
	$(BIN)/python -m tests.rejected.remake
	$(BIN)/python -m tests.golden.remake
	$(BIN)/python -m tests.frozen.replay
	$(BIN)/python -m tests.unit.planning.test_placement
	$(BIN)/python -m tests.unit.test_site_page
	$(BIN)/python -m tests.unit.test_codes_page
	$(BIN)/python -m tests.unit.test_commands_page
	$(BIN)/python -m tests.unit.api.page
	$(BIN)/python -m tests.unit.cli.json_page

fuzz: $(VENV)/ready  ## fuzz the compiler for FUZZ_SECONDS
	PAISLURM_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -o timeout=0 tests/fuzz

chaos: $(VENV)/ready cluster-packages  ## provoke every fault that a monitor lives through, ROUNDS times
	for round in $$(seq $(ROUNDS)); do \
	  PAISLURM_CHAOS=1 PAISLURM_SIGNALS=200 PAISLURM_KEEP_CLUSTER=1 PAISLURM_REQUIRE_CLUSTER=1 $(BIN)/pytest -q $(FAULTS) || exit; \
	done; $(CLUSTER) down

simulation: $(VENV)/ready  ## play HISTORIES histories of processes that share jobs, and faults of Slurm and the file system
	$(BIN)/python -m tests.simulation $(HISTORIES)

histories: $(VENV)/ready cluster-packages  ## OPERATIONS of three users on two login nodes of two Slurms, with faults: an hour
	for version in 22.05 26.05; do nice $(BIN)/python -m tests.histories --version $$version --operations $(OPERATIONS) || exit; done

soak: $(VENV)/ready cluster-packages  ## soak a monitor for HOURS while 200 jobs come and go, and print slopes; `python -m tests.soak --virtual 72` in virtual hours
	$(BIN)/python -m tests.soak --minutes $$((60 * $(HOURS)))

nfs: $(VENV)/ready cluster-packages  ## play NFS_OPERATIONS faulted operations with homes on a real NFS, with its caches and without: an hour
	for caches in on off; do $(BIN)/python -m tests.nfs --operations $(NFS_OPERATIONS) --caches $$caches || exit; done

mutants: $(VENV)/ready  ## plant bugs, one at a time in a copy, and list those that no test notices: hours
	$(BIN)/python -m tests.mutants $(HISTORIES)

bench: $(VENV)/ready cluster-packages  ## measure what things cost, as ratios; ONLY=commands: of commands alone; PEERS=1: beside torchx and submitit; BASE=WHEEL: beside a release
	$(BIN)/python -m tests.bench $(ONLY) $(if $(PEERS),--peers) $(if $(BASE),--base $(BASE))

training: $(VENV)/ready cluster-packages  ## train by PyTorch and Ray of PyPI on three Slurms: 270 MB to download, once a machine
	PAISLURM_TRAINING=1 PAISLURM_REQUIRE_CLUSTER=1 $(BIN)/pytest -v -n 3 tests/contract/test_training.py

cluster-packages:
	$(CLUSTER) install

horovod: cluster-packages  ## build Horovod, which `make test` does beside its tests: 2 minutes, once a machine
	$(CLUSTER) horovod

cluster-up: $(VENV)/ready cluster-packages  ## boot the test cluster; `tests/cluster/cluster.py shell` enters it
	$(CLUSTER) up

cluster-down:  ## end the test cluster
	$(CLUSTER) down

$(VENV)/program: pyproject.toml
	install/venv.sh $(VENV) $(PYTHON)
	$(BIN)/pip install -q -e .
	touch $@

$(VENV)/ready: $(VENV)/program
	$(BIN)/pip install -q 'pip>=25.1'
	$(BIN)/pip install -q -e . --group dev
	touch $@

clean:  ## remove the virtual environment and what was built
	rm -rf $(VENV) build dist
