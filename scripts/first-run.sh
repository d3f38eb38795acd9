#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a first program in a cell and shows its result.
# usage: first-run.sh PATH-OF-BRIG
set -eu

brig=${1:?usage: first-run.sh BRIG}
code='import os; print("Hello from a sealed cell: pid", os.getpid(), "in", os.getcwd())'

echo
echo "\$ $brig run --lang python -c '$code'"
if ! "$brig" run --lang python -c "$code"; then
	echo "It did not run. Missing features of this host, and their repairs:" >&2
	"$brig" doctor >&2 || true
	exit 1
fi

echo
echo "The same run again, as brig reports it to programs (--json), in short:"
"$brig" run --json --lang python -c "$code" | python3 -c '
import json, sys
result = json.load(sys.stdin)
print("  status   ", result["status"], "(exit code %s)" % result["exit_code"])
print("  cause    ", result["verdict"]["cause"])
print("  took      %.1f ms, %.1f MiB at most" % (
    result["duration_ms"], result["usage"]["memory_peak_bytes"] / 1048576))
print("  layers   ", " ".join(result["layers"]))
'
echo
echo "Next: $brig run FILE | $brig run -- CMD ARGS | $brig explain | $brig doctor"
