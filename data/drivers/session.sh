# SPDX-License-Identifier: Apache-2.0
# The shell of a session: runs the code that arrives by descriptor 3, one piece after the other. The
# protocol: src/lib/session/session_channel.h. The code has full control over this process.
#
# A shell that is not interactive cannot be reset to its prompt. So exit and SIGINT make every
# following command return at once, by a DEBUG trap, until the code has ended.

# Above the code's own descriptors, where the limit on them allows it.
if [[ ! -e /dev/fd/62 ]]; then
	exec 62<&3 62>&3 3>&-
fi
__brig_depth=1 __brig_status=0 __brig_stop= __brig_flags= __brig_busy= __brig_serial=

__brig_unwind() {
	if (( $1 > __brig_depth )); then
		return 2
	elif [[ $__brig_busy && $BASH_COMMAND == 'source /dev/fd/61'* ]]; then
		return 1 # just about to begin
	fi
	trap - DEBUG
	shopt -u extdebug
	set +T
	return 0
}

__brig_leave() {
	__brig_stop=$1
	shopt -s extdebug
	set -T
	trap '__brig_unwind "${#BASH_SOURCE[@]}"' DEBUG
}

__brig_interrupt() {
	if [[ $__brig_busy ]]; then
		__brig_leave 130
	elif [[ $__brig_serial ]] || builtin read -t 0 -u 62; then
		__brig_stop=130 # for a run that is on its way
	fi
}

# In the session's own shell it ends the run; in any other it works as usual.
exit() {
	local status=${1:-$?}
	if (( BASHPID != $$ )); then
		builtin exit "$status"
	fi
	__brig_leave "$(( status & 255 ))"
	return "$(( status & 255 ))"
}

__brig_text() { # NAME BYTES
	if (( $2 == 0 )); then
		printf -v "$1" ''
	elif (( $2 <= 16384 )); then
		LC_ALL=C IFS= builtin read -r -N "$2" -d '' -u 62 "$1"
	else
		printf -v "$1" '%s' "$(/usr/bin/head -c "$2" <&62; printf x)"
		printf -v "$1" '%s' "${!1%x}"
	fi
}

__brig_input() { # BYTES
	exec 0</dev/null
	if (( $1 > 0 )); then
		local file=/tmp/.stdin-$$-$RANDOM
		/usr/bin/head -c "$1" <&62 >"$file"
		exec 0<"$file"
		/usr/bin/rm -f "$file"
	fi
}

__brig_next() {
	local word code input count value arg
	IFS=' ' builtin read -r -u 62 word __brig_serial code input count value || builtin exit 0
	__brig_text __brig_code "$code"
	__brig_input "$input"
	__brig_args=()
	while (( count-- > 0 )); do
		IFS= builtin read -r -d '' -u 62 arg
		__brig_args+=("$arg")
	done
	trap __brig_interrupt INT
	trap '__brig_survive "$?" "$-"' EXIT
}

__brig_done() { # STATUS FLAGS
	__brig_busy=
	__brig_flags=${2//[!euxvfCa]/}
	set +euxvfCa
	printf 'done %d %d 0\n' "$__brig_serial" "${__brig_stop:-$1}" >&62
	__brig_stop= __brig_serial=
}

# If the shell itself ends, such as by `set -e`, another one replaces it, with all state that can be
# copied.
__brig_survive() { # STATUS FLAGS
	set +euxvfCa
	trap - DEBUG EXIT
	__brig_stop=${__brig_stop:-$1} __brig_flags=${2//e/}
	local state
	state=$(declare -p; declare -f; shopt -p; alias -p)
	exec "$BASH" "$0" 60<<<"$state"
}

trap __brig_interrupt INT
if [[ -e /dev/fd/60 ]]; then
	source /dev/fd/60 2>/dev/null
	exec 60<&-
	__brig_done 0 "$__brig_flags"
else
	printf 'ready\n' >&62
fi
while :; do
	__brig_next
	__brig_depth=${#BASH_SOURCE[@]}
	__brig_busy=1
	if [[ ! $__brig_stop ]]; then
		[[ ! $__brig_flags ]] || set "-$__brig_flags"
		source /dev/fd/61 "${__brig_args[@]}" 61<<<"$__brig_code"
	fi
	{ __brig_done "$?" "$-"; } 2>/dev/null
done
