# GoKeras. `make help` lists the targets.
GO ?= go
export CGO_ENABLED ?= 0

# SHORT=1 takes the selection that CI has time for, of the targets that know it: race, arm64 (in check), test-python, test-pjrt, test-cuda and
# test-paths. CONTRIBUTING.md says what it leaves to the night.
SHORT ?=
export SHORT

.PHONY: help build test test-python test-pjrt test-paths check arm64 mnist bench bench-peers bench-models bench-parts bench-lengths bench-halves bench-pjrt bench-shapes bench-collective bench-data bench-ps chaos chaos-ps test-tables fmt vet staticcheck race generated rooms static fuzz harvest test-exhaustive bench-ops bench-elementwise bench-chains bench-choices bench-ops-copies bench-ops-random mutants random-networks test-cuda gpu gpu-many tpu test-tpu-models api race-all ci nightly platforms walkthroughs amx-machine

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

build: ## build all packages and the programs, static
	$(GO) build ./...

mnist: ## train the tutorial's convolutional network on handwritten digits, on two replicas
	$(GO) run ./examples/mnist

PACKAGES = ./...

test: ## run all tests
	$(GO) test $(TESTFLAGS) -timeout 30m $(PACKAGES)
	@$(GO) run ./kernels/cpu/internal/isa/untested

test-python: ## the tests that compare with Keras, h5py, TensorBoard and ONNX Runtime; downloads them into a cache folder
	./internal/test-python.sh

test-pjrt: ## the tests of devices of PJRT plugins, on one for CPUs, and of compiling for TPUs; downloads both libraries into a cache folder (needs Python's pip)
	./internal/test-pjrt.sh

test-cuda: ## NVIDIA's assembler compiles the kernels of the suite for all architectures; downloads it into a cache folder (needs Python's pip)
	./internal/test-cuda.sh

test-tpu-models: ## ResNet-50, a vision transformer and GPT-2 compile for 16 TPUs, and small networks beside JAX's for three kinds (libtpu, no TPU needed); the compiler takes minutes for each
	GOKERAS_LIBTPU=$${GOKERAS_LIBTPU:-$$(./internal/test-pjrt.sh libtpu)} GOKERAS_TPU_MODELS=1 $(GO) test -count=1 -v -timeout 3h ./kernels/pjrt -run '^TestTarget(Models|JAX)$$'

tpu: ## what a machine with a TPU needs to test and time kernels/pjrt, in build/tpu; runs it where this machine has one
	./internal/tpu.sh

gpu: ## what a machine with an NVIDIA GPU needs to test and time kernels/cuda, in build/gpu; runs it where this machine has one
	./internal/gpu.sh

gpu-many: ## make gpu for a machine with several NVIDIA GPUs: replicas, and the bandwidth of all-reduces
	./internal/gpu.sh build/gpu-many 'TestHardware(Many|NCCL|TwoProcesses)'

test-paths: ## the tests of everything that computes, once for each lower family of kernels; PATHS names families
	./internal/test-paths.sh $(PATHS)

test-exhaustive: ## the elementwise functions of one operand with all 2^32 float32, for hours; EVERY=64 takes one of 64
	$(GO) test -count=1 -timeout 24h ./kernels/cpu/internal/vec -run 'TestFunctions$$' -v -args -every $(or $(EVERY),1)

check: fmt vet staticcheck race generated rooms static arm64 ## everything that a change must pass besides the tests

fmt:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt disagrees with:"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) tool staticcheck ./...

race: ## the tests that run goroutines, under the race detector (needs gcc)
	./internal/test-race.sh

race-all: ## the same of all packages below data, distribute, keras, callbacks, kernels/cpu and kernels/exec, for the night
	./internal/test-race.sh all

api: ## write docs/api.txt, the list of all that programs can name, which make check compares with the code
	$(GO) run ./internal/api > docs/api.txt
	$(GO) run ./internal/zerocalls/generate.go < docs/api.txt | gofmt > internal/zerocalls/calls_test.go

generated: ## regenerate what is generated and fail when it differs from what is committed
	./internal/check-generated.sh

rooms: ## the rule of who may import whom
	$(GO) test -count=1 ./internal/rooms

arm64: ## check the sources for other platforms, and run the kernels for arm64 in an emulator (needs qemu-user-static)
	./internal/check-platforms.sh

amx: ## run the kernels for Intel's matrix registers in an emulator (needs a processor with AVX512-BF16 and VNNI)
	./internal/test-amx.sh

amx-machine: ## what a machine with AMX needs to test and time the kernels for 16 bits and for bytes, in build/amx; runs it where this machine has AMX
	./internal/amx-machine.sh

platforms: ## compile everything for other platforms
	./internal/check-platforms.sh compile

ci: ## what CI runs, in half an hour on two processors: make check and make test, and a selection of each of the suites below
	$(MAKE) check SHORT=1
	# make check has vetted the tests, and many of them wait. The package that takes longest begins first, and makes a selection of its own (SHORT);
	# what the others print waits for it.
	$(MAKE) test SHORT=1 TESTFLAGS='$(TESTFLAGS) -vet=off -p 4' PACKAGES='./kernels/cuda ./...'
	$(MAKE) bench-ops-copies
	SHORT=1 ./internal/test-outside.sh
	$(MAKE) test-paths SHORT=1
	$(MAKE) amx SHORT=1

nightly: ## everything that checks the library by itself, whole: hours
	$(MAKE) check test bench-ops-copies race-all platforms walkthroughs test-paths amx SHORT=
	SHORT= ./internal/test-outside.sh
	$(GO) test ./keras -run TestRandomKept -count=1 -keptruns 1000 -keptseed $(SEED) -timeout 60m
	for seed in 1 2 3 4 5 6 7 8; do $(GO) test ./kernels/cpu -run TestElementwiseTypes -count=1 -elementwise $$(( $(SEED) + seed )) || exit 1; done
	$(GO) test ./kernels/cuda -run 'Arranged|TestRandomFailures|TestWorkerNeverComes|TestEveryCallFails|TestCulprits' -failures 0 -culprits 300 -count=1 -timeout 60m
	$(MAKE) test-tpu-models
	$(MAKE) chaos chaos-ps fuzz test-tables

walkthroughs: ## compile the worked examples of CONTRIBUTING.md and run their tests
	$(GO) test -count=1 ./internal/walkthroughs -args -whole

static: ## the programs must be static
	./internal/check-static.sh

bench: ## benchmarks with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./kernels/cpu/... ./keras/...

bench-peers: ## this library beside TensorFlow, JAX, ONNX Runtime and PyTorch; downloads them into a cache folder
	./internal/benchpeers/run.sh

MODELS ?=
bench-models: ## predict with models beside ONNX Runtime, OpenVINO and Keras's backends: MODELS names .keras files, networks of keras.applications, recipes (of internal/recipes) or drawn (30 drawn at random); --train 16 in it trains too
	./internal/benchpeers/run.sh models $(MODELS)

bench-concurrent: ## predict from 1, 2 and 16 goroutines at once beside ONNX Runtime from as many threads; MODELS as above
	./internal/benchpeers/run.sh concurrent $(or $(MODELS),recipes)

bench-lengths: ## predict and train with batches of many lengths, on networks drawn at random, beside PyTorch
	./internal/benchpeers/run.sh lengths

bench-parts: ## optimizers, losses and metrics, drawn with random options, beside Keras's backends
	./internal/benchpeers/run.sh parts

bench-halves: ## 16-bit floats and quantized layers beside float32, PyTorch's and JAX's on one processor: products, training, Dense layers
	./internal/benchpeers/halves.sh

bench-pjrt: ## steps, predictions and first steps, which compile, through XLA's plugin for CPUs beside JAX on the same plugin; downloads both into cache folders
	./internal/benchpeers/pjrt.sh
	./internal/benchpeers/pjrt.sh --compile 3

bench-shapes: ## layers of many shapes, with the percentage of the peak, beside PyTorch if TORCH_PY names a Python that has it
	$(GO) run ./internal/benchpeers/shapes

bench-ops: ## every function of keras.ops and layer beside PyTorch and JAX at three sizes, into docs/operations.md; BENCH_PYTHON names a Python that has keras, torch and jax
	$(GO) run ./internal/benchops -out docs/operations.md

bench-elementwise: ## every elementwise operation on every type that it accepts, in copies of the same bytes, the slowest first; half a minute
	$(GO) test ./kernels/cpu -run TestElementwiseInventory -count=1 -v -inventory

bench-chains: ## random chains of elementwise operations of each kind of types, in copies of the bytes that they move; BENCH_PYTHON names a Python with JAX that times the same
	$(GO) test ./kernels/cpu -run TestElementwiseChains -count=1 -v -chains 25 $(if $(BENCH_PYTHON),-chains-python $(CURDIR)/chains.py)
	$(if $(BENCH_PYTHON),taskset -c 0 $(BENCH_PYTHON) chains.py && rm chains.py)

bench-choices: ## what estimates choose between ways to compute an operation, in the time without each choice, for 3000 operations drawn from SEED; two minutes
	$(GO) test ./kernels/cpu -run TestChoiceTimes -count=1 -v -choices 3000 -choices-first $(SEED)

bench-ops-copies: ## bench-ops, ours alone: fails where an operation or its gradients take 1.75 times as many copies of their bytes as were recorded
	$(GO) run ./internal/benchops -copies -budget 2ms

bench-ops-random: ## random calls of functions and layers, of other types, shapes, axes and configurations than the rows of bench-ops, beside PyTorch into docs/operations.md where BENCH_PYTHON is set, else functions against a copy of the same bytes
	$(GO) run ./internal/benchops -random 600 -budget 3ms

bench-collective: ## all-reduce between processes beside gloo, TensorFlow and a bare TCP exchange
	./internal/benchcollective/run.sh

test-tables: ## a dynamic table of 2 million rows, of which 16 MB are in memory
	go test -vet=off -count=1 -v ./distribute/tables/disk -run TestLargerThanMemory -rows 2000000

bench-data: ## datasets, files, text and layers that are adapted beside Keras on TensorFlow; GOKERAS_PYTHON names a Python with both
	./internal/benchdata/run.sh $(CASES)

bench-ps: ## parameter servers beside TensorFlow's
	./internal/benchps/run.sh

FAULTS ?= 42
SCHEDULE ?= 1
chaos: ## train on 3 and 5 workers under random kills, freezes, restarts and, 40 at most, broken links, started by hand and by keras launch: FAULTS of them in each run, drawn by SCHEDULE
	$(GO) test ./distribute/multiworker -run TestChaos -count=1 -v -timeout 60m -faults $(FAULTS) -schedule $(SCHEDULE)
	$(GO) test ./kernels/cuda -run TestChaos -count=1 -v -timeout 60m -faults $(FAULTS) -schedule $(SCHEDULE)
	$(GO) test ./cmd/keras -run TestLaunchChaos -count=1 -v -timeout 60m -faults $(FAULTS) -schedule $(SCHEDULE)

chaos-ps: FAULTS = 300
chaos-ps: ## train a recommender on parameter servers under FAULTS random kills and freezes of real processes, and under a quarter of that in synchronous rounds, with each variable on two servers and with a table that grows; tables that evict across restarts; how soon jobs go on after each kind of fault
	$(GO) test ./distribute/parameterserver -run 'TestThousandKills|TestEvictionAcrossRestarts' -count=1 -v -timeout 60m -kills 1000 -evictions 20 -schedule $(SCHEDULE)
	$(GO) test ./examples/parameterserver -run TestFaultTimes -count=1 -v -timeout 60m -faults $(FAULTS) -schedule $(SCHEDULE)
	$(GO) test ./examples/parameterserver -run TestChaos -count=1 -v -timeout 120m -faults $(FAULTS) -schedule $(SCHEDULE)

PLACES ?= 60
FROM ?= 1
mutants: ## break the numeric core in PLACES places, one at a time, from the one with number FROM, and report what no test notices
	$(GO) run ./internal/mutants -n $(PLACES) -from $(FROM)

NETWORKS ?= 3000
SEED ?= $(shell date +%s)
random-networks: ## NETWORKS random networks with open axes beside Keras: shapes, parameters, refusals; and as many models (nested, shared, subclassed): summaries, predictions, a training step, files both ways; networks whose layers have different dtype policies, quantized and trained with LoRA; functions with constants in their calls, layers of all classes with random settings, on replicas too, and with odd values in their configurations, layers inside of layers and models, initializers, constraints, regularizers and layers that draw numbers, layers of words with vocabularies, layers that change images, feature spaces, training steps of layers of 32 and more channels, files, of recurrent networks and of Sequential models without an input, too, with which the other side trains on and which ONNX Runtime runs, or which nearly equal models read, models whose inputs, outputs, losses and data are lists, dicts and nests, sequences of calls on one model, and on recurrent networks that may keep states, steps of one's own, training runs, training with weights and masks on devices that change between calls, models over the same layers, callbacks, losses and metrics, those and optimizers with odd values in their configurations, what prepares data, calls with data that do not fit, functions, layers, losses and metrics of empty axes, wide layers among them, and training in float64 to ten digits; SEED, the time otherwise, is the first one's; GOKERAS_PYTHON names a Python that has keras and jax
	RANDOM_NETWORKS_COUNT=$(NETWORKS) RANDOM_NETWORKS_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshNetworks -count=1 -v -timeout 120m
	RANDOM_MODELS_COUNT=$(NETWORKS) RANDOM_MODELS_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshModels -count=1 -v -timeout 120m
	RANDOM_QUANTIZED_COUNT=$(NETWORKS) RANDOM_QUANTIZED_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshQuantized -count=1 -v -timeout 120m
	RANDOM_MIXED_COUNT=$$(($(NETWORKS) / 10)) RANDOM_MIXED_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshMixed -count=1 -v -timeout 120m
	RANDOM_GRAPHS_COUNT=$(NETWORKS) RANDOM_GRAPHS_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshGraphs -count=1 -v -timeout 120m
	RANDOM_LAYERS_COUNT=$(NETWORKS) RANDOM_LAYERS_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshLayers -count=1 -v -timeout 120m
	RANDOM_ODD_COUNT=$$(($(NETWORKS) / 10)) RANDOM_ODD_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshOdd -count=1 -v -timeout 120m
	RANDOM_NESTED_COUNT=$$(($(NETWORKS) / 5)) RANDOM_NESTED_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshNested -count=1 -v -timeout 120m
	RANDOM_DRAWN_COUNT=$$(($(NETWORKS) / 5)) RANDOM_DRAWN_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshDrawnNested -count=1 -v -timeout 120m
	RANDOM_TABLES_COUNT=$(NETWORKS) RANDOM_TABLES_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshTables -count=1 -v -timeout 120m
	RANDOM_IMAGES_COUNT=$(NETWORKS) RANDOM_IMAGES_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshImages -count=1 -v -timeout 120m
	RANDOM_SPACES_COUNT=$$(($(NETWORKS) / 10)) RANDOM_SPACES_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshSpaces -count=1 -v -timeout 120m
	RANDOM_WIDE_COUNT=$$(($(NETWORKS) / 30)) RANDOM_WIDE_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestFreshWide -count=1 -v -timeout 120m
	RANDOM_FILES_COUNT=$$(($(NETWORKS) / 10)) RANDOM_FILES_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshFiles -count=1 -v -timeout 120m
	RANDOM_RECURRENT_FILES_COUNT=$$(($(NETWORKS) / 10)) RANDOM_RECURRENT_FILES_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshRecurrentFiles -count=1 -v -timeout 120m
	RANDOM_STACK_FILES_COUNT=$$(($(NETWORKS) / 10)) RANDOM_STACK_FILES_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshStackFiles -count=1 -v -timeout 120m
	RANDOM_TRANSFER_COUNT=$$(($(NETWORKS) / 5)) RANDOM_TRANSFER_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshTransfer -count=1 -v -timeout 120m
	RANDOM_STRUCTURES_COUNT=$$(($(NETWORKS) / 2)) RANDOM_STRUCTURES_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshStructures -count=1 -v -timeout 120m
	RANDOM_CALLS_COUNT=$$(($(NETWORKS) / 5)) RANDOM_CALLS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshSequences -count=1 -v -timeout 120m
	RANDOM_RECURRENT_COUNT=$$(($(NETWORKS) / 5)) RANDOM_RECURRENT_SEED=$(SEED) $(GO) test ./internal/randomtraining -run 'TestFreshRecurrent$$' -count=1 -v -timeout 120m
	RANDOM_STEPS_COUNT=$$(($(NETWORKS) / 5)) RANDOM_STEPS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshSteps -count=1 -v -timeout 120m
	RANDOM_RUNS_COUNT=$$(($(NETWORKS) / 5)) RANDOM_RUNS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshRuns -count=1 -v -timeout 120m
	RANDOM_WEIGHTED_COUNT=$$(($(NETWORKS) / 10)) RANDOM_WEIGHTED_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshWeighted -count=1 -v -timeout 120m
	RANDOM_SHARED_COUNT=$$(($(NETWORKS) / 10)) RANDOM_SHARED_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshShared -count=1 -v -timeout 120m
	RANDOM_CALLBACKS_COUNT=$(NETWORKS) RANDOM_CALLBACKS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshCallbacks -count=1 -v -timeout 120m
	RANDOM_MEASURES_COUNT=$$(($(NETWORKS) / 2)) RANDOM_MEASURES_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshMeasures -count=1 -v -timeout 120m
	RANDOM_ODD_PARTS_COUNT=$$(($(NETWORKS) / 5)) RANDOM_ODD_PARTS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshOdd -count=1 -v -timeout 120m
	RANDOM_PARTS_COUNT=$$(($(NETWORKS) / 5)) RANDOM_PARTS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshParts -count=1 -v -timeout 120m
	RANDOM_PREPARE_COUNT=$(NETWORKS) RANDOM_PREPARE_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshPrepare -count=1 -v -timeout 120m
	RANDOM_INPUTS_COUNT=$(NETWORKS) RANDOM_INPUTS_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshSpoiltCalls -count=1 -v -timeout 120m
	RANDOM_EDGES_COUNT=$(NETWORKS) RANDOM_EDGES_SEED=$(SEED) $(GO) test ./internal/randomops -run TestFreshEdges -count=1 -v -timeout 120m
	RANDOM_EMPTY_MEASURES_COUNT=$(NETWORKS) RANDOM_EMPTY_MEASURES_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshEmptyMeasures -count=1 -v -timeout 120m
	RANDOM_EMPTY_COUNT=$$(($(NETWORKS) / 5)) RANDOM_EMPTY_SEED=$(SEED) $(GO) test ./internal/randomnets -run 'TestFreshEmpty$$' -count=1 -v -timeout 120m
	RANDOM_WIDE_EMPTY_COUNT=$(NETWORKS) RANDOM_WIDE_EMPTY_SEED=$(SEED) $(GO) test ./internal/randomnets -run TestWideEmpty -count=1 -v -timeout 120m
	RANDOM_PRECISE_COUNT=$$(($(NETWORKS) / 30)) RANDOM_PRECISE_SEED=$(SEED) $(GO) test ./internal/randomtraining -run TestFreshPrecise -count=1 -v -timeout 120m

fuzz: ## fuzz the parsers of outside bytes, 30 seconds each
	./internal/fuzz.sh 30s
	$(GO) test ./keras -run TestHostileValuesEverywhere -count=1 -timeout 60m -hostile-everywhere

harvest: ## turn Keras's own tests into cases and run them (hours; needs Python): HARVEST_PYTHON names one that has Keras, torch and pytest
	./internal/harvest/run.sh
