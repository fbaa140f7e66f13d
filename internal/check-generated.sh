#!/usr/bin/env bash
# Regenerates everything that is generated and fails when the result differs from what is committed.
set -euo pipefail
cd "$(dirname "$0")/.."
./internal/asmgen/check.sh
