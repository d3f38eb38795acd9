#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs of run-tests.sh, which reads this file: starts, awaits and counts them. When the run itself
# is ended, it ends all jobs and all processes that they have started.
# shellcheck disable=SC2154,SC2317 # variables of run-tests.sh; functions are passed by name

# Checks that start ahead have to wait whenever others need the processor.
AHEAD_TIMEOUT=5400
SHOWN_LINES=400

passed=0 failed=0 skipped=0
failures=()
scratch=
declare -A ahead=() # check: process
last_ahead=
current=  # the process that is waited for, if it is none of the others
declare -A window=() # jobs that run at the same time: process -> name

# end_window: signals each job's command, once, and waits for it. A job may not have started it yet.
# The signal is SIGINT, at which pytest still runs the teardown of its tests.
end_window() {
	local pid child left=yes
	local -A told=()
	while [ -n "$left" ]; do
		left=
		for pid in "${!window[@]}"; do
			kill -0 "$pid" 2>/dev/null || continue
			left=yes
			for child in $(pgrep -P "$pid" -x timeout); do
				[ -z "${told[$child]-}" ] || continue
				told[$child]=yes
				kill -INT "$child" 2>/dev/null
			done
		done
		[ -z "$left" ] || sleep 0.1
	done
}

# Everything here is started by timeout(1), which ends its whole process group with itself, and
# kills processes that do not end.
leave() {
	local pid
	trap '' INT TERM HUP
	for pid in "${ahead[@]}" $current; do
		kill "$pid" 2>/dev/null
	done
	end_window
	wait
	[ -z "$scratch" ] || rm -rf "$scratch"
}

trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# attended LOG COMMAND...: runs it as a job, since a shell that waits for a job handles signals at
# once. Jobs start with SIGINT ignored; the command gets the default back.
attended() {
	local log=$1 status
	shift
	env --default-signal "$@" >"$log" 2>&1 </dev/null &
	current=$!
	wait "$current"
	status=$?
	current=
	return "$status"
}

log_of() {
	echo "$LOG/${1//[^a-zA-Z0-9_.-]/-}.log"
}

# tally NAME LOG PASSED FAILED SKIPPED SECONDS: adds to the sums, and prints a line.
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

# begin_ahead NAME COMMAND...: starts a check at low priority, one after the other; check NAME waits
# for its end. Not at idle priority: on a busy host it would never end.
begin_ahead() {
	local name=$1 log
	log=$(log_of "$1")
	shift
	rm -f "$log.ended"
	# shellcheck disable=SC2016 # the inner shell's dollars
	timeout -k 10 "$AHEAD_TIMEOUT" nice -n 10 bash -c '
		[ -z "$1" ] || tail --pid="$1" -f /dev/null
		shift
		SECONDS=0
		"$@"
		status=$?
		echo "$SECONDS $status" >"$0"
		exit "$status"' "$log.ended" "$last_ahead" "$@" >"$log" 2>&1 </dev/null &
	last_ahead=$!
	ahead[$name]=$!
}

# check NAME COMMAND...: one test, passed when the command succeeds.
check() {
	local name=$1 log start=$SECONDS seconds='' status
	log=$(log_of "$1")
	shift
	if [ -n "${ahead[$name]-}" ]; then
		# Nothing else runs meanwhile, so it gets normal priority back, which only root may
		# do.
		renice -n 0 -g "${ahead[$name]}" >/dev/null 2>&1
		wait "${ahead[$name]}" 2>/dev/null
		status=$?
		unset "ahead[$name]"
		# The status that it wrote itself: after very many other jobs the shell has
		# forgotten it.
		if [ -s "$log.ended" ]; then
			read -r seconds status <"$log.ended"
		fi
		rm -f "$log.ended"
	else
		attended "$log" timeout -k 10 "$SUITE_TIMEOUT" "$@"
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

# begin NAME FUNCTION ARGUMENT...: runs the function in parallel with those begun before, as many at
# a time as there are cores. Its tally is printed when it has ended.
begin() {
	local name=$1 result
	result=$(log_of "$1").result
	shift
	while [ "${#window[@]}" -ge "$cores" ]; do
		end_one
	done
	rm -f "$result"
	(
		tally() {
			printf '%s\n' "$@" >"$result"
		}
		"$@"
	) &
	window[$!]=$name
}

# Waits for the first that ends.
end_one() {
	local pid='' name log words status all=("${!window[@]}")
	wait -n -p pid "${all[@]}"
	status=$?
	# 127: the shell has forgotten the status, but the result is there. Otherwise a signal came
	# first.
	[ "$status" -ne 127 ] || pid=${pid:-${all[0]}}
	[ -n "$pid" ] || return 0
	name=${window[$pid]}
	log=$(log_of "$name")
	unset "window[$pid]"
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
		end_one
	done
}

# alone NAME FUNCTION ARGUMENT...: runs it with nothing beside it. It is a job as well: a shell that
# waits for a job handles signals at once.
alone() {
	end_all
	begin "$@"
	end_all
}
