# SPDX-License-Identifier: Apache-2.0
# Completion of brig for bash.

_brig_languages() {
	brig runtimes --json 2>/dev/null | grep -o '"name": *"[^"]*"' | cut -d'"' -f4
}

_brig_policies() {
	brig policy list 2>/dev/null | cut -d' ' -f1
}

_brig() {
	local cur prev words cword command='' i
	_init_completion -s 2>/dev/null || {
		cur=${COMP_WORDS[COMP_CWORD]}
		prev=${COMP_WORDS[COMP_CWORD - 1]}
		words=("${COMP_WORDS[@]}")
		cword=$COMP_CWORD
	}
	local commands='run explain doctor runtimes policy bench serve mcp ps logs kill queue top token audit
		help version'
	local run_options='--lang --policy --timeout --cpu-time --cpu --memory --processes --disk
		--inodes --open-files --file-size --stdout --stderr --service --tty --project --in --out --out-dir --out-exec --force
		--changes --ro --rw --net --net-bytes --grace --clamp --env --guard --check --start --tenant --value --yes --no-cache --audit
		--config --time --json
		--json-schema --help'
	local option bench_options='--lang --policy --runs --in-flight --cells --config --yes --json --help'

	COMPREPLY=()
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		--) # what follows is a program and its arguments
			mapfile -t COMPREPLY < <(compgen -o default -c -- "$cur")
			return
			;;
		-*) ;;
		*)
			if [ -z "$command" ]; then
				command=${words[i]}
			fi
			;;
		esac
	done

	case $prev in
	--lang)
		mapfile -t COMPREPLY < <(compgen -W "$(_brig_languages)" -- "$cur")
		return
		;;
	--policy)
		mapfile -t COMPREPLY < <(compgen -W "$(_brig_policies)" -- "$cur")
		return
		;;
	--guard)
		mapfile -t COMPREPLY < <(compgen -W 'off imports strict' -- "$cur")
		return
		;;
	--start)
		mapfile -t COMPREPLY < <(compgen -W 'auto cold warm' -- "$cur")
		return
		;;
	--log-level)
		mapfile -t COMPREPLY < <(compgen -W 'error warning notice info debug' -- "$cur")
		return
		;;
	--ro | --rw | --out-dir | --config | --state)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--in | --extend | --stdin | --tokens | --audit | --file | --key | --archive | --socket)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--timeout | --cpu-time | --cpu | --memory | --processes | --disk | --inodes | --open-files | \
		--file-size | --stdout | --stderr | --net | --net-bytes | --grace | --env | --out | --tenant | --runs | --in-flight | \
		--cells | --listen | --service | --socket-mode | --socket-group | --set | --expect | --since | --before | --kind | \
		--limit | --rate | --concurrency | --cpu-per-day | --days | -c)
		return
		;;
	esac

	local wanted=''
	case $command in
	'') wanted="$commands --help --version" ;;
	run) wanted="$run_options -c" ;;
	explain)
		wanted="$run_options -c"
		for option in --json-schema --start --tenant --value --check --out-dir --out-exec --force; do
			wanted=${wanted//$option/}
		done
		;;
	bench) wanted="$bench_options -c" ;;
	doctor) wanted='--json --policy --help' ;;
	runtimes) wanted='--json --config --help' ;;
	policy)
		wanted='list show check learn --json --config --help'
		if [[ " ${words[*]} " == *' learn '* ]]; then
			wanted="$run_options --extend --stdin --no-verify -c"
			for option in --json-schema --start --tenant --value --check --changes --out-dir \
				--out-exec --time --no-cache --audit; do
				wanted=${wanted//$option/}
			done
		fi
		[[ " ${words[*]} " != *' check '* ]] || wanted+=' --policy --call --net --read --write
			--exec --limit --language --env --module'
		;;
	serve)
		wanted='--listen --state --config --tokens --socket-mode --socket-group --insecure-bind
			--log-level --set --dev --check --help'
		;;
	mcp) wanted='--policy --config --audit --cold --yes --help' ;;
	ps) wanted='--all --tenant --json --service --socket --help' ;;
	logs) wanted='--follow --json --service --socket --help' ;;
	kill) wanted='--json --service --socket --help' ;;
	queue) wanted='show release drop --json --service --socket --help' ;;
	top) wanted='--once --json --service --socket --help' ;;
	token)
		wanted='new list revoke --tenant --policy --rate --concurrency --cpu-per-day --days --operator --consent
			--file --json --help'
		;;
	audit)
		wanted='verify list show tail archive --state --file --key --expect --archive --since --before --kind
			--tenant --limit --keep --follow --json --help'
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$wanted" -- "$cur")
	case $command in
	run | explain | policy | bench)
		if [[ $cur != -* ]]; then
			local files
			mapfile -t files < <(compgen -f -- "$cur")
			COMPREPLY+=("${files[@]}")
		fi
		;;
	esac
}

complete -o filenames -F _brig brig
