#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static analysis of all C sources: clang-tidy (rules in .clang-tidy) and cppcheck.
# usage: lint.sh BUILD [FILE...]; BUILD must hold the generated headers. JOBS: how many at a time;
# all cores unless it is said.
set -eu
cd "$(dirname "$0")/.."

build=${1:?usage: lint.sh BUILD [FILE...]}
shift
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046 # names without blanks
	set -- $(find src examples -name '*.c' -type f 2>/dev/null | sort)
fi
[ $# -gt 0 ] || exit 0

jobs=${JOBS:-$(nproc)}
failed=0

# The interpreter's headers, for src/template, and llhttp's: not ours to mend.
python=$({ /usr/bin/python3-config --includes 2>/dev/null || python3-config --includes; } |
	sed 's/-I/-isystem /g')
export python

# shellcheck disable=SC2016 # the inner shell's dollars
printf '%s\n' "$@" | xargs -P "$jobs" -n 4 sh -c '
	build=$1
	shift
	clang-tidy --quiet "$@" -- -std=gnu17 -D_GNU_SOURCE -DBRIG_BUILDING -Wall -Wextra \
		-Iinclude -Isrc -I"$build/gen" -I"$build" -isystem /usr/share/include/llhttp \
		$python 2>"$build/clang-tidy.$$" || {
		grep -v "warnings\? \(generated\|treated as errors\)\|^Suppressed\|^Use -" \
			"$build/clang-tidy.$$" || true
		rm -f "$build/clang-tidy.$$"
		exit 1
	}
	rm -f "$build/clang-tidy.$$"
' lint "$build" || failed=1

# What is off: system headers that it does not look for, the notes that it could not see all
# combinations of macros, and two checks whose alarms were all false; clang-tidy's analyzer finds
# what those are for.
cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr -j "$jobs" \
	--enable=warning,performance,portability \
	--suppress=missingInclude --suppress=missingIncludeSystem --suppress=toomanyconfigs \
	--suppress=normalCheckLevelMaxBranches --suppress=unmatchedSuppression \
	--suppress=uninitvar --suppress=zerodivcond \
	-D_GNU_SOURCE -DBRIG_BUILDING -D__x86_64__ -D__linux__ -D__GNUC__=12 \
	-Iinclude -Isrc -I"$build/gen" -I"$build" \
	--template='{file}:{line}:{column}: {severity}: {message} [{id}]' "$@" || failed=1

exit "$failed"
