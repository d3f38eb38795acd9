# SPDX-License-Identifier: Apache-2.0
# Copies the state of a session's shell: see fork.py. Variables, functions, aliases, options and the
# directory are copied; jobs and traps are not.
__brig_fork_flags=$-
if [[ $1 == save ]]; then
	# In a subshell: variables that are used here are not part of the state.
	(
		set +euxvfCa
		own='^(__brig_.*|BASH.*|_|[EU]*UID|PPID|SHELLOPTS|FUNCNAME|GROUPS|DIRSTACK|S?RANDOM|SECONDS'
		own+='|LINENO|EPOCH.*|COMP_.*|PIPESTATUS|(OLD)?PWD|SHLVL|HOST.*|MACHTYPE|OSTYPE|OPT(ARG|IND|ERR))$'
		{
			printf 'cd -- %q 2>/dev/null\n' "$PWD"
			shopt -p
			alias -p
			for name in $(compgen -v); do
				if [[ $name != own && ! $name =~ $own ]] && declare -p "$name"; then
					printf '+%s\n' "$name" >&3
				fi
			done
			for name in $(compgen -A function); do
				if [[ $name != exit && $name != __brig_* ]] && declare -f "$name"; then
					printf '+%s\n' "$name" >&3
				fi
			done
			printf 'set -%s 2>/dev/null\n' "${__brig_fork_flags//[!euxvfCa]/}"
		} >"$2" 3>"$2.names" 2>/dev/null
	)
else
	: >"$2.names"
	source "$2" 2>/dev/null
fi
unset __brig_fork_flags
