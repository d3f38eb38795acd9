#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static analysis of all C sources: clang-tidy (rules in .clang-tidy) and cppcheck.
# usage: lint.sh BUILD [--changed | FILE...]; BUILD must hold the generated headers. JOBS: how many at
# a time; all cores by default.
#
# Passed files are recorded in BUILD/lint by the hash of everything that the result depends on
# (lint_keys.py), so that a file is analysed once. --changed: the files that differ from
# origin/main, or, where there is none, from the last commit; for a header that differs, a few of
# the files that include it.
set -eu
cd "$(dirname "$0")/.."

build=${1:?usage: lint.sh BUILD [--changed | FILE...]}
shift
INCLUDERS=3 # files for each header that differs

all_sources() {
	find src examples -name '*.c' -type f | sort
}

changed_sources() {
	base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
	{
		git diff --name-only --diff-filter=d "$base"
		git ls-files --others --exclude-standard
	} | grep -E '^(src|include|examples)/.*\.[ch]$' | while read -r file; do
		case $file in
		*.c) echo "$file" ;;
		*.h)
			name=${file#src/}
			grep -rlE "#include [<\"]${name#include/}[>\"]" src examples --include='*.c' |
				sort | head -n "$INCLUDERS"
			;;
		esac
	done | sort -u
}

case ${1-} in
--changed) sources=$(changed_sources) ;;
'') sources=$(all_sources) ;;
*) sources=$(printf '%s\n' "$@") ;;
esac
[ -n "$sources" ] || exit 0

jobs=${JOBS:-$(nproc)}
failed=0
cache=$build/lint
mkdir -p "$cache"

# The interpreter's headers, for src/template: warnings in them are not ours.
flags="-std=gnu17 -D_GNU_SOURCE -DBRIG_BUILDING -Wall -Wextra -Iinclude -Isrc -I$build/gen -I$build
	-isystem $(scripts/python-headers.sh)"
export flags build cache

# shellcheck disable=SC2086 # flags and names without blanks
todo=$(/usr/bin/python3 scripts/lint_keys.py "$cache" $flags -- $sources)

# unseen TOOL: "KEY FILE" of each file that it has not passed yet.
unseen() {
	echo "$todo" | sed -n "s/^$1 //p"
}

# shellcheck disable=SC2016 # the inner shell's dollars
unseen clang-tidy | xargs -r -P "$jobs" -n 8 sh -c '
	keys= files=
	while [ $# -gt 0 ]; do
		keys="$keys $1"
		files="$files $2"
		shift 2
	done
	clang-tidy --quiet $files -- $flags 2>"$build/clang-tidy.$$" || {
		grep -v "warnings\? \(generated\|treated as errors\)\|^Suppressed\|^Use -" \
			"$build/clang-tidy.$$" || true
		rm -f "$build/clang-tidy.$$"
		exit 1
	}
	rm -f "$build/clang-tidy.$$"
	for key in $keys; do
		[ "$key" = none ] || : >"$cache/$key"
	done
' lint || failed=1

# Disabled checks: system headers that it does not look for, the notes that it could not see all
# combinations of macros, and two checks whose alarms were all false; clang-tidy's analyzer covers
# those. The ctu* checks look across files, which only happens with one job; they take parameters
# that are written for ones that are read.
files=$(unseen cppcheck | cut -d' ' -f2)
[ -n "$files" ] || exit "$failed"
# shellcheck disable=SC2086 # names without blanks
if cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr -j "$jobs" \
	--enable=warning,performance,portability \
	--suppress=missingInclude --suppress=missingIncludeSystem --suppress=toomanyconfigs \
	--suppress=normalCheckLevelMaxBranches --suppress=unmatchedSuppression \
	--suppress=uninitvar --suppress=zerodivcond \
	--suppress=ctuuninitvar --suppress=ctunullpointer \
	-D_GNU_SOURCE -DBRIG_BUILDING -D__x86_64__ -D__linux__ -D__GNUC__=12 \
	-Iinclude -Isrc -I"$build/gen" -I"$build" \
	--template='{file}:{line}:{column}: {severity}: {message} [{id}]' \
	$files; then
	unseen cppcheck | while read -r key _; do
		[ "$key" = none ] || : >"$cache/$key"
	done
else
	failed=1
fi
exit "$failed"
