#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the parts of the suite and counts. usage: run-tests.sh [PART...]; none: all of them.
#
# parts: build format layers lint shell hardening install completions docs unit san fuzz-smoke
# fuzz suites suite:NAME
#
# The whole goes on in two rows. What starts cells, counts what is left on the host or measures time
# is in the first, one after another; what only computes (static analysis, the builds for sanitizers
# and fuzzers) is begun early, at low priority, and told in its turn. Suites that only talk to
# servers of their own run as root and as user at the same time.
#
# A check counts as one test; a cmocka or pytest program counts what it reports; whatever crashes,
# hangs or reports nothing counts as failed. In CI (CI=true) a skipped test is a failed one. Each
# part's output is kept in $BUILD/log; that of a failed part is shown. The last line is
# "N passed, M failed", and the exit status says the same.
# shellcheck disable=SC2317 # functions are handed on by name
set -u
cd "$(dirname "$0")/.." || exit 1

MAKE=${MAKE:-make}
BUILD=${BUILD:-build}
CI=${CI:-false}
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
SMOKE_SECONDS=3
UNIT_TIMEOUT=180
SUITE_TIMEOUT=${SUITE_TIMEOUT:-900}
# Of parts that start no cells and know no users: the same whoever runs them, so once is enough.
SAME_FOR_ALL='http ledger mcp'
# Of these root's and the user's pass may go on at the same time: each test looks at what it has
# started itself and at nothing that the host has only one of. They wait more than they compute.
SIDE_BY_SIDE='api serve tenants'
# What was begun ahead has to wait whenever others want the processor.
AHEAD_TIMEOUT=5400
USER_ID=65533 # an id that no account has: nothing on the host belongs to it
SHOWN_LINES=400

# All cores, unless whoever called make has said otherwise.
case " ${MAKEFLAGS-} " in
*\ -j*) build_with=("$MAKE" --no-print-directory) ;;
*) build_with=("$MAKE" --no-print-directory "-j$(nproc)") ;;
esac

cores=$(nproc)

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C.UTF-8
unset PYTHONPATH PYTHONHOME

# A kernel that randomises more address bits than a sanitizer of its time knew of makes it crash
# now and then at start.
plain_addresses=(setarch "$(uname -m)" -R)

LOG=$BUILD/log
passed=0 failed=0 skipped=0
failures=()
scratch=
declare -A ahead=() # check: process
last_ahead=
window=()           # jobs that go on at the same time: "process name"

mkdir -p "$LOG" || exit 1

# Everything here is started by timeout(1), which ends all that it has started with itself.
leave() {
	local pid
	for pid in "${ahead[@]}"; do
		kill "$pid" 2>/dev/null
	done
	for pid in "${window[@]%% *}"; do
		pkill -P "$pid" 2>/dev/null
	done
	wait
	[ -z "$scratch" ] || rm -rf "$scratch"
}

trap leave EXIT
trap 'exit 130' INT TERM HUP

log_of() {
	echo "$LOG/${1//[^a-zA-Z0-9_.-]/-}.log"
}

# tally NAME LOG PASSED FAILED SKIPPED SECONDS: adds up, and says so in a line.
tally() {
	local name=$1 log=$2 ok=$3 bad=$4 skip=$5 seconds=$6
	local word=ok
	if [ "$CI" = true ] && [ "$skip" -gt 0 ]; then
		echo "$name: $skip skipped, which fails in CI" >>"$log"
		bad=$((bad + skip))
		skip=0
	fi
	if [ "$bad" -gt 0 ]; then
		word=FAILED
		failures+=("$name ($bad failed, see $log)")
	fi
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	printf '%-6s %-34s %4d passed %3d failed' "$word" "$name" "$ok" "$bad"
	if [ "$skip" -gt 0 ]; then
		printf ' %3d skipped' "$skip"
	fi
	printf ' %5ds\n' "$seconds"
	if [ "$bad" -gt 0 ]; then
		echo "----- $log"
		tail -n "$SHOWN_LINES" "$log"
		echo "-----"
	elif [ "$skip" -gt 0 ]; then
		grep -E '^SKIPPED|^\[  SKIPPED' "$log"
	fi
}

# begin_ahead NAME COMMAND...: begins a check at low priority, one of them after the other; check
# NAME waits for its end. Not at idle priority: on a busy host that would never end.
begin_ahead() {
	local name=$1 log
	log=$(log_of "$1")
	shift
	# shellcheck disable=SC2016 # the inner shell's dollars
	timeout -k 10 "$AHEAD_TIMEOUT" nice -n 10 bash -c '
		[ -z "$1" ] || tail --pid="$1" -f /dev/null
		shift
		SECONDS=0
		"$@"
		status=$?
		echo "$SECONDS" >"$0"
		exit "$status"' "$log.seconds" "$last_ahead" "$@" >"$log" 2>&1 </dev/null &
	last_ahead=$!
	ahead[$name]=$!
}

# check NAME COMMAND...: one test, passed when the command succeeds.
check() {
	local name=$1 log start=$SECONDS seconds='' status
	log=$(log_of "$1")
	shift
	if [ -n "${ahead[$name]-}" ]; then
		# Nothing else is done meanwhile. Only root may take back what was given up.
		renice -n 0 -g "${ahead[$name]}" >/dev/null 2>&1
		wait "${ahead[$name]}"
		status=$?
		unset "ahead[$name]"
		seconds=$(cat "$log.seconds" 2>/dev/null)
		rm -f "$log.seconds"
	else
		timeout -k 10 "$SUITE_TIMEOUT" "$@" >"$log" 2>&1 </dev/null
		status=$?
	fi
	seconds=${seconds:-$((SECONDS - start))}
	if [ "$status" -eq 0 ]; then
		tally "$name" "$log" 1 0 0 "$seconds"
	else
		echo "exit status $status of: $*" >>"$log"
		tally "$name" "$log" 0 1 0 "$seconds"
		return 1
	fi
}

# --- jobs at the same time -----------------------------------------------------------------------

# begin NAME FUNCTION ARGUMENT...: the function goes on beside those begun before, as many at a time
# as there are cores. What it tallies is told in the order of the beginnings.
begin() {
	local name=$1 result
	result=$(log_of "$1").result
	shift
	[ "${#window[@]}" -lt "$cores" ] || end_first
	rm -f "$result"
	(
		tally() {
			printf '%s\n' "$@" >"$result"
		}
		"$@"
	) &
	window+=("$! $name")
}

end_first() {
	local pid=${window[0]%% *} name=${window[0]#* } log words
	log=$(log_of "$name")
	wait "$pid"
	local status=$?
	window=("${window[@]:1}")
	if [ -s "$log.result" ]; then
		mapfile -t words <"$log.result"
		rm -f "$log.result"
		tally "${words[@]}"
	elif [ "$status" -ne 0 ]; then
		echo "$name ended with status $status and no result" >>"$log"
		tally "$name" "$log" 0 1 0 0
	fi
}

end_all() {
	while [ "${#window[@]}" -gt 0 ]; do
		end_first
	done
}

# alone NAME FUNCTION ARGUMENT...: with nothing beside it. A job all the same: a shell that waits for
# one heeds signals at once.
alone() {
	end_all
	begin "$@"
	end_all
}

# --- unit tests ----------------------------------------------------------------------------------

# The sum of the numbers in front of "test(s)" in a program's lines of one kind.
cmocka_sum() {
	sed -n "s/^\[  $1 *\] \([0-9][0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# run_unit NAME COMMAND...
run_unit() {
	local name=$1 log=$LOG/${1//\//-}.log start=$SECONDS
	local status ok bad skip program
	shift
	program=${*: -1}
	timeout -k 10 "$UNIT_TIMEOUT" "$@" >"$log" 2>&1 </dev/null
	status=$?
	ok=$(cmocka_sum PASSED "$log")
	bad=$(cmocka_sum FAILED "$log")
	skip=$(cmocka_sum SKIPPED "$log")
	if ! grep -q '^\[==========\] [0-9]* test(s) run' "$log"; then
		# It did not come to its end: what had passed until then is still true.
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

# run_units KIND BUILD COMMAND...: one program for each source, with the command in front of it.
run_units() {
	local kind=$1 build=$2 source name
	shift 2
	for source in tests/unit/test_*.c tests/unit/*/test_*.c; do
		[ -e "$source" ] || continue
		name=${source#tests/unit/}
		name=${name%.c}
		run_unit "$kind/${name/test_/}" "$@" "$build/tests/unit/$name"
	done
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

# part_fuzz SECONDS: each over what is known (corpus and regressions), then on for that long.
part_fuzz() {
	local seconds=$1 source name dir found SUITE_TIMEOUT=$((SUITE_TIMEOUT + $1))
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
			-max_total_time="$seconds" \
			-timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix="$BUILD/fuzz/" "$found" "${known[@]}"
	done
	end_all
}

# --- pytest suites -------------------------------------------------------------------------------

# The number in front of a word in pytest's closing line; 0: the word is not there.
pytest_count() {
	grep -oE "\b[0-9]+ $1\b" <<<"$2" | awk '{ n = $1 } END { print n + 0 }'
}

# run_suite NAME WHO TREE COMMAND...: the command in front makes it that person. NAME-warm is the
# suite NAME once more, with cells that were made ahead.
run_suite() {
	local suite=$1 who=$2 tree=$3 log=$LOG/$1-$2.log start=$SECONDS
	local other=root kind=cold closing status ok bad skip home
	shift 3
	[ "$suite" = "${suite%-warm}" ] || kind=warm
	[ "$who" = root ] && other=user
	home=$tree/home-$who
	# Tests marked for the other are left out, not skipped: they run in the other pass.
	(
		cd "$tree" && exec timeout -k 20 "$SUITE_TIMEOUT" "$@" env -i --default-signal PATH="$PATH" \
			LC_ALL="$LC_ALL" HOME="$home" TMPDIR=/tmp CI="$CI" PYTHONDONTWRITEBYTECODE=1 \
			BRIG="$tree/build/brig" BRIG_BUILD="$tree/build" BRIG_TREE="$tree" \
			BRIG_ATTACK_START="$kind" \
			/usr/bin/python3 -m pytest -c tests/pytest.ini --rootdir=tests \
			--basetemp="${tree%/*}/tmp-$who/$suite" -m "not $other" "tests/${suite%-warm}"
	) >"$log" 2>&1 </dev/null
	status=$?
	closing=$(grep -E '^=+ .* in [0-9.]+s( \(.*\))? =+$' "$log" | tail -n 1)
	ok=$(pytest_count passed "$closing")
	bad=$(($(pytest_count failed "$closing") + $(pytest_count 'errors?' "$closing")))
	skip=$(($(pytest_count skipped "$closing") + $(pytest_count xfailed "$closing")))
	# 5: every test is for the other person.
	if [ "$status" -eq 5 ] && grep -q ' deselected' <<<"$closing"; then
		return
	fi
	if [ -z "$closing" ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
		bad=$((bad + 1))
		echo "pytest ended with exit status $status" >>"$log"
	fi
	tally "$suite as $who" "$log" "$ok" "$bad" "$skip" $((SECONDS - start))
}

# A copy of the tree: suites may write beside their files, and an ordinary user can read it
# wherever the tree itself lies.
copy_tree() {
	local tree=$1
	mkdir -p "$tree/build" "$tree/home-root" "$tree/home-user"
	tar -c --exclude=./.git --exclude=./build --exclude="./$BUILD" --exclude=__pycache__ . | tar -x -C "$tree" || return
	cp -a "$BUILD"/brig "$BUILD"/libbrig.* "$BUILD"/libserve.a "$tree/build/" || return
	[ ! -e "$BUILD/template.so" ] || cp -a "$BUILD/template.so" "$tree/build/" || return
	[ ! -d "$BUILD/examples" ] || cp -a "$BUILD/examples" "$tree/build/"
	[ ! -d "$BUILD/gen" ] || cp -a "$BUILD/gen" "$tree/build/"
}

suite_names() {
	local file
	for file in tests/*/test_*.py; do
		[ -e "$file" ] && basename "$(dirname "$file")"
	done | sort -u | grep -vxE 'vm|soak' | sed '/^attack$/a attack-warm'
}

run_suites() {
	local suite as_user=()
	[ $# -gt 0 ] || return
	if [ -z "$scratch" ]; then
		scratch=$(mktemp -d /tmp/brig-test.XXXXXX) || exit 1
		chmod 755 "$scratch"
		mkdir "$scratch/tmp-root" "$scratch/tmp-user"
		copy_tree "$scratch/tree" >"$LOG/copy.log" 2>&1 || {
			tally copy "$LOG/copy.log" 0 1 0 0
			return
		}
	fi
	if [ "$(id -u)" -eq 0 ]; then
		if [ ! -e "$scratch/user-tree" ]; then
			cp -a "$scratch/tree" "$scratch/user-tree"
			chown -R "$USER_ID:$USER_ID" "$scratch/user-tree" "$scratch/tmp-user"
		fi
		as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups
			--inh-caps=-all --)
		# First what may be beside something else, so that the rest has the host for itself.
		for suite in "$@"; do
			case " $SAME_FOR_ALL $SIDE_BY_SIDE " in
			*" $suite "*) begin "$suite-root" run_suite "$suite" root "$scratch/tree" ;;
			esac
			case " $SIDE_BY_SIDE " in
			*" $suite "*)
				begin "$suite-user" run_suite "$suite" user "$scratch/user-tree" \
					"${as_user[@]}"
				end_all
				;;
			esac
		done
		end_all
		for suite in "$@"; do
			case " $SAME_FOR_ALL $SIDE_BY_SIDE " in
			*" $suite "*) continue ;;
			esac
			alone "$suite-root" run_suite "$suite" root "$scratch/tree"
			alone "$suite-user" run_suite "$suite" user "$scratch/user-tree" "${as_user[@]}"
		done
	else
		echo "note: the suites run as this user only; start as root to run them as root too"
		for suite in "$@"; do
			alone "$suite-user" run_suite "$suite" user "$scratch/tree"
		done
	fi
}

part_suites() {
	local names
	mapfile -t names < <(suite_names)
	run_suites "${names[@]}"
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

# What only computes; where there is one core alone nothing is left for it.
part_ahead() {
	local jobs=$((cores - 1)) make_with=("${build_with[@]}")
	[ "$jobs" -gt 0 ] || return
	[ "${#make_with[@]}" -lt 3 ] || make_with[2]=-j$jobs
	begin_ahead build-san "${make_with[@]}" SAN=1 BUILD="$BUILD/san" all unit-programs
	begin_ahead build-fuzz "${make_with[@]}" FUZZ=1 BUILD="$BUILD/fuzz" fuzz-programs
	begin_ahead lint env JOBS="$jobs" scripts/lint.sh "$BUILD"
}

[ $# -gt 0 ] || set -- build ahead format layers shell hardening install completions docs unit \
	suites san fuzz-smoke lint

for part in "$@"; do
	case $part in
	# Without the program there is nothing to test.
	build) check build "${build_with[@]}" BUILD="$BUILD" all examples || finish ;;
	ahead) part_ahead ;;
	format) check format scripts/check-format.sh ;;
	layers) check layers scripts/check-layers.sh ;;
	lint) check lint scripts/lint.sh "$BUILD" ;;
	shell) check shell scripts/check-shell.sh ;;
	hardening) check hardening scripts/check-hardening.sh "$BUILD" ;;
	install) check install scripts/check-install.sh "$BUILD" ;;
	completions) check completions scripts/check-completions.sh "$BUILD/brig" ;;
	docs) check docs scripts/check-docs.sh "$BUILD/brig" ;;
	unit) part_unit ;;
	san) part_san ;;
	fuzz-smoke) part_fuzz "$SMOKE_SECONDS" ;;
	fuzz) part_fuzz "$FUZZ_SECONDS" ;;
	suites) part_suites ;;
	suite:*) run_suites "${part#suite:}" ;;
	*)
		echo "run-tests.sh: unknown part '$part'" >&2
		exit 2
		;;
	esac
done
finish
