#!/usr/bin/env bash
# Turns the tests of Keras into cases and runs them: run.sh [FOLDER]. HARVEST_PYTHON names the Python; without it an environment is made in a
# cache folder. HARVEST_JOBS is how many pieces run at the same time, otherwise one on each processor. Each of some 250 pieces takes about 10 seconds of
# processor time: half an hour on two processors that have nothing else to do, hours on busy ones. What is in the folder already is kept, so a
# run that was cut off goes on.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-harvest
folder=${1:-$cache/cases}
python=${HARVEST_PYTHON:-$(./internal/python-environment.sh "$cache/venv" internal/harvest/requirements.txt)}
jobs=${HARVEST_JOBS:-$(getconf _NPROCESSORS_ONLN)}
mkdir -p "$folder"
export OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3

KERAS_BACKEND=torch "$python" internal/harvest/harvest.py "$folder/torch" --jobs "$jobs" \
	--tests ops,layers,losses,metrics,models,activations,optimizers,regularizers,constraints,trainers
KERAS_BACKEND=tensorflow "$python" internal/harvest/harvest.py "$folder/tensorflow" --jobs "$jobs" --tests layers/preprocessing
for backend in torch tensorflow; do
	KERAS_BACKEND=$backend "$python" internal/harvest/probes.py "$folder/probes/all" # the second fills in what the first cannot do
done
[ -f "$folder/dtypes.json.gz" ] || KERAS_BACKEND=jax JAX_ENABLE_X64=1 JAX_PLATFORMS=cpu "$python" internal/harvest/dtypes.py "$folder/dtypes.json.gz"
# Backends that disagree have cases of the same names, so each is checked by itself.
status=0
go run ./internal/harvest/check -json "$folder/results-torch.json" "$folder"/torch/*/ || status=1
go run ./internal/harvest/check -dtypes "$folder/dtypes.json.gz" -json "$folder/results.json" "$folder"/{tensorflow,probes}/*/ || status=1
exit $status
