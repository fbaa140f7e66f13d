#!/usr/bin/env bash
# Turns the tests of Keras into cases and runs them: run.sh [FOLDER]. HARVEST_PYTHON names the Python; without it an environment is made in a
# cache folder. Takes hours on two processors; a folder of cases that is there already is kept.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-harvest
folder=${1:-$cache/cases}
python=${HARVEST_PYTHON:-$(./internal/python-environment.sh "$cache/venv" internal/harvest/requirements.txt)}
mkdir -p "$folder"
export OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3

harvest() { # backend, name, parts of Keras, most cases of one class
	[ -d "$folder/$2" ] || KERAS_BACKEND=$1 "$python" internal/harvest/harvest.py "$folder/$2" --tests "$3" --per-class "$4"
}
harvest torch layers layers 40
harvest torch ops ops 40
harvest torch losses losses 40
harvest torch metrics metrics 40
harvest torch models models,activations,optimizers,regularizers,constraints,trainers 40
harvest tensorflow text layers/preprocessing 40
for backend in torch tensorflow; do
	KERAS_BACKEND=$backend "$python" internal/harvest/probes.py "$folder/probes"
done
go run ./internal/harvest/check -json "$folder/results.json" "$folder"/*/
