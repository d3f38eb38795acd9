#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the parts of the suite and counts. usage: run-tests.sh [PART...]; none: all of them.
#
# parts: build format layers license words lint lint-changed shell hardening install generated
# docs unit san fuzz-smoke fuzz suites quick suite:NAME suite:NAME/FILE
#
# Two sequences run at the same time. Parts that only compute (static analysis, the builds for
# sanitizers and fuzzers) start early, at low priority; their results are printed in their place.
# The other sequence has the rest: unit tests, fuzzers and the suites that depend only on their own
# processes run in parallel, as many at a time as there are cores; then the few that need the host
# to themselves. Details: test-jobs.sh and test-suites.sh.
#
# A check counts as one test; a cmocka or pytest program counts the tests that it reports; a program
# that crashes, hangs or reports nothing counts as failed. In CI (CI=true) a skipped test counts as
# failed. Each part's output is kept in $BUILD/log; that of a failed part is shown. The last line is
# "N passed, M failed"; the exit status is 0 only if nothing failed.
# shellcheck disable=SC2317,SC2034 # functions are passed by name; the jobs read variables
set -u
cd "$(dirname "$0")/.." || exit 1

MAKE=${MAKE:-make}
BUILD=${BUILD:-build}
CI=${CI:-false}
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
SMOKE_SECONDS=3
SMOKE_RUNS=50000
UNIT_TIMEOUT=180
SUITE_TIMEOUT=${SUITE_TIMEOUT:-1500}

# All cores, unless make was called with -j.
case " ${MAKEFLAGS-} " in
*\ -j*) build_with=("$MAKE" --no-print-directory) ;;
*) build_with=("$MAKE" --no-print-directory "-j$(nproc)") ;;
esac

cores=$(nproc)

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C.UTF-8
unset PYTHONPATH PYTHONHOME

# On kernels that randomise more address bits than an older sanitizer supports, it sometimes crashes
# at start.
plain_addresses=(setarch "$(uname -m)" -R)

LOG=$BUILD/log
mkdir -p "$LOG" || exit 1

# shellcheck source=scripts/test-jobs.sh disable=SC1091
. scripts/test-jobs.sh
# shellcheck source=scripts/test-suites.sh disable=SC1091
. scripts/test-suites.sh

# --- unit tests ----------------------------------------------------------------------------------

# The sum of the numbers in front of "test(s)" in a program's lines of one kind.
cmocka_sum() {
	sed -n "s/^\[  $1 *\] \([0-9][0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# An ordinary user who can become root without a password.
have_sudo() {
	[ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

# run_unit NAME COMMAND...
run_unit() {
	local name=$1 log=$LOG/${1//\//-}.log start=$SECONDS
	local status ok bad skip program
	shift
	program=${*: -1}
	attended "$log" timeout -k 10 "$UNIT_TIMEOUT" "$@"
	status=$?
	# A user without control groups skips their tests. They run as root where sudo allows it.
	if [ "$(cmocka_sum SKIPPED "$log")" -gt 0 ] && have_sudo; then
		attended "$log" sudo -n -E timeout -k 10 "$UNIT_TIMEOUT" "$@"
		status=$?
	fi
	ok=$(cmocka_sum PASSED "$log")
	bad=$(cmocka_sum FAILED "$log")
	skip=$(cmocka_sum SKIPPED "$log")
	if ! grep -q '^\[==========\] [0-9]* test(s) run' "$log"; then
		# It ended early; the tests that had passed until then still count.
		ok=$(grep -c '^\[       OK \]' "$log")
		bad=$(($(grep -c '^\[  FAILED  \]' "$log") + 1))
		echo "$program ended early with exit status $status" >>"$log"
	elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
		echo "$program: all tests passed, but its exit status is $status" >>"$log"
	elif [ "$((ok + bad + skip))" -eq 0 ]; then
		bad=1
		echo "$program holds no test" >>"$log"
	fi
	tally "$name" "$log" "$ok" "$bad" "$skip" $((SECONDS - start))
}

# These start several processes before a cell can be made, and must not be delayed meanwhile.
TIMED_UNITS='test_engine_local test_engine_local_wait test_engine_fork'

# run_units KIND BUILD COMMAND...: one program for each source, with the command in front of it.
run_units() {
	local kind=$1 build=$2 source name begin
	shift 2
	for source in tests/unit/test_*.c tests/unit/*/test_*.c; do
		[ -e "$source" ] || continue
		name=${source#tests/unit/}
		name=${name%.c}
		begin=begin
		case " $TIMED_UNITS " in
		*" $name "*) begin=alone ;;
		esac
		"$begin" "$kind/${name/test_/}" run_unit "$kind/${name/test_/}" "$@" \
			"$build/tests/unit/$name"
	done
	end_all
}

part_unit() {
	check build-unit "${build_with[@]}" BUILD="$BUILD" unit-programs || return
	run_units unit "$BUILD"
}

part_san() {
	check build-san "${build_with[@]}" SAN=1 BUILD="$BUILD/san" all unit-programs || return
	export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=1
	export UBSAN_OPTIONS=print_stacktrace=1
	run_units san "$BUILD/san" "${plain_addresses[@]}"
	unset ASAN_OPTIONS UBSAN_OPTIONS
}

# --- fuzzers -------------------------------------------------------------------------------------

# part_fuzz SECONDS [OPTION...]: runs each fuzzer over the known inputs (corpus and regressions),
# then for SECONDS more, with these options of the fuzzer.
part_fuzz() {
	local seconds=$1 source name dir found SUITE_TIMEOUT=$((SUITE_TIMEOUT + $1))
	shift
	check build-fuzz "${build_with[@]}" FUZZ=1 BUILD="$BUILD/fuzz" fuzz-programs || return
	for source in tests/fuzz/fuzz_*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$source" .c)
		# New finds go to the first directory: below $BUILD, never into the tree.
		found=$BUILD/fuzz/corpus/$name
		mkdir -p "$found"
		local known=()
		for dir in tests/fuzz/{corpus,regressions}/{"$name","${name#fuzz_}"}; do
			[ -d "$dir" ] && known+=("$dir")
		done
		begin "fuzz/${name#fuzz_}" check "fuzz/${name#fuzz_}" "${plain_addresses[@]}" "$BUILD/fuzz/tests/fuzz/$name" \
			-max_total_time="$seconds" "$@" \
			-timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix="$BUILD/fuzz/" "$found" "${known[@]}"
	done
	end_all
}

# --- the whole -----------------------------------------------------------------------------------

finish() {
	local failure
	if [ "$failed" -gt 0 ]; then
		echo
		for failure in "${failures[@]}"; do
			echo "failed: $failure"
		done
	fi
	echo
	if [ "$skipped" -gt 0 ]; then
		echo "$passed passed, $failed failed, $skipped skipped"
	else
		echo "$passed passed, $failed failed"
	fi
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

# The parts that only compute. On a single core there is no capacity for them beside the others.
part_ahead() {
	[ "$cores" -gt 1 ] || return
	begin_ahead build-san "${build_with[@]}" SAN=1 BUILD="$BUILD/san" all unit-programs
	begin_ahead build-fuzz "${build_with[@]}" FUZZ=1 BUILD="$BUILD/fuzz" fuzz-programs
	begin_ahead lint scripts/lint.sh "$BUILD"
}

[ $# -gt 0 ] || set -- build ahead format layers license words shell hardening install generated docs unit \
	suites san fuzz-smoke lint

for part in "$@"; do
	case $part in
	# Without the program there is nothing to test.
	build) check build "${build_with[@]}" BUILD="$BUILD" all examples || finish ;;
	ahead) part_ahead ;;
	format) check format scripts/check-format.sh ;;
	layers) check layers scripts/check-layers.sh ;;
	license) check license scripts/check-license.sh ;;
	words) check words scripts/check-words.py ;;
	lint) check lint scripts/lint.sh "$BUILD" ;;
	lint-changed) check lint-changed scripts/lint.sh "$BUILD" --changed ;;
	shell) check shell scripts/check-shell.sh ;;
	hardening) check hardening scripts/check-hardening.sh "$BUILD" ;;
	install) check install scripts/check-install.sh "$BUILD" ;;
	generated) check generated "${build_with[@]}" BUILD="$BUILD" check-generated ;;
	docs) check docs scripts/check-docs.sh "$BUILD/brig" ;;
	unit) part_unit ;;
	san) part_san ;;
	# The same inputs each time: new finds are for `make fuzz`, so that this result is not
	# random.
	fuzz-smoke) part_fuzz "$SMOKE_SECONDS" -seed=1 -runs="$SMOKE_RUNS" ;;
	fuzz) part_fuzz "$FUZZ_SECONDS" ;;
	suites) part_suites ;;
	quick) part_quick ;;
	suite:*) run_suites "${part#suite:}" ;;
	*)
		echo "run-tests.sh: unknown part '$part'" >&2
		exit 2
		;;
	esac
done
finish
