#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck on every shell script of the tree, found by its first line.
set -eu
cd "$(dirname "$0")/.."

scripts=
for dir in .ci scripts tests bench examples completions packaging; do
	[ -d "$dir" ] || continue
	found=$(find "$dir" -type f -size -256k -exec awk '
		FNR == 1 && /^#!.*[\/ ](ba|da)?sh( |$)/ { print FILENAME }
		{ nextfile }' {} +)
	scripts="$scripts $found"
done
# shellcheck disable=SC2086 # names without blanks
shellcheck $scripts
shellcheck -s bash completions/brig.bash
