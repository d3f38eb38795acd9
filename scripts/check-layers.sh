#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point downwards only. Each folder of src/ is a layer, and this table is its
# rule; the folders in it are rooms, with a table of their own.
set -eu
cd "$(dirname "$0")/.."

# layer: what it may include besides itself. Siblings (policy, runtime) do not know each other.
allowed() {
	case $1 in
	base) echo "" ;;
	kernel) echo "base" ;;
	link_stubs | thin) echo "" ;;
	broker_client) echo "base kernel" ;;
	net | http1 | framed) echo "base" ;;
	agent) echo "base framed kernel net" ;;
	provider) echo "base kernel" ;;
	run) echo "base kernel net provider" ;;
	native) echo "base kernel net provider run" ;;
	cell_init) echo "base kernel native" ;;
	local) echo "base kernel provider run" ;;
	agent_link) echo "base framed kernel net provider run" ;;
	holder) echo "base agent_link framed kernel provider run native" ;;
	oci) echo "base holder agent_link framed kernel provider run native" ;;
	vm) echo "base holder agent_link framed kernel provider run native policy vm_init vm_line" ;;
	vm_line) echo "base framed" ;;
	vm_init) echo "base framed vm_line" ;;
	launcher) echo "base holder agent_link framed kernel provider run native policy" ;;
	daemon) echo "base http1 agent_link framed kernel provider run native" ;;
	wasm_host) echo "" ;;
	wasm) echo "base kernel broker_client provider run native wasm_host" ;;
	template) echo "base kernel provider run native" ;;
	wasm_template) echo "base kernel provider run native template wasm_host" ;;
	gate) echo "base kernel net loop http1" ;;
	gate_tls) echo "base net loop gate tls" ;;
	tls_program) echo "base role http_tls serve tls" ;;
	policy | runtime) echo "base kernel broker_client net provider run" ;;
	lib) echo "base kernel broker_client net provider run native wasm policy runtime" ;;
	prober) echo "base" ;;
	check) echo "base kernel net provider run native policy runtime lib prober" ;;
	loop) echo "base" ;;
	role) echo "base kernel broker_client loop" ;;
	http) echo "base loop http1" ;;
	tls) echo "base" ;;
	http_tls) echo "base http tls" ;;
	engine) echo "base kernel provider run policy runtime lib loop role" ;;
	mcp) echo "base loop" ;;
	tools) echo "base loop engine mcp" ;;
	ledger) echo "base kernel loop role" ;;
	front) echo "base loop role http engine mcp tools ledger" ;;
	serve) echo "base kernel broker_client loop role http_tls engine ledger front" ;;
	broker) echo "base kernel broker_client role" ;;
	cli) echo "base kernel net provider run policy runtime lib check loop role http1 engine mcp tools ledger serve thin" ;;
	tables) echo "base provider run policy runtime cli serve" ;;
	*) return 1 ;;
	esac
}

# room: which other rooms of its layer it may include. The layer's own folder is a room as well: what
# the others share. A layer that is not here has no rule within.
rooms() {
	case $1 in
	kernel) echo "" ;;
	kernel/cgroup | kernel/filter) echo "kernel" ;;
	kernel/probe) echo "kernel kernel/cgroup kernel/filter" ;;
	lib) echo "base kernel broker_client net provider run native policy runtime" ;;
	lib/guard) echo "lib" ;;
	lib/prepare) echo "lib lib/guard" ;;
	lib/build) echo "lib lib/prepare" ;;
	lib/warm) echo "lib lib/prepare" ;;
	lib/session) echo "lib lib/guard lib/prepare lib/warm" ;;
	lib/learn) echo "lib" ;;
	lib/api) echo "lib lib/guard lib/prepare lib/build lib/warm lib/session" ;;
	run/spec | run/watchdog) echo "" ;;
	run/streams) echo "run/watchdog" ;;
	run/watch | run/files) echo "run/spec" ;;
	run) echo "run/spec run/streams run/watch run/watchdog run/files" ;;
	native/calls | native/messages) echo "" ;;
	native/keeper) echo "native/messages" ;;
	native/plan) echo "native/keeper" ;;
	native/cell) echo "native/messages native/plan" ;;
	native) echo "native/calls native/messages native/plan native/cell" ;;
	gate/dns) echo "gate" ;;
	gate/tls) echo "gate gate/connection" ;;
	http/message) echo "http" ;;
	http/connection) echo "http http/message" ;;
	engine) echo "" ;;
	engine/local) echo "engine" ;;
	engine/fork) echo "engine engine/local" ;;
	engine/remote) echo "engine" ;;
	runtime/closure) echo "runtime" ;;
	mcp) echo "" ;;
	mcp/transport) echo "mcp" ;;
	ledger) echo "" ;;
	ledger/store) echo "ledger" ;;
	ledger/sqlite) echo "ledger ledger/store" ;;
	ledger/log) echo "ledger ledger/store" ;;
	ledger/audit) echo "ledger ledger/store ledger/sqlite ledger/log" ;;
	ledger/role) echo "ledger ledger/store ledger/sqlite ledger/log" ;;
	serve) echo "" ;;
	serve/listen) echo "serve" ;;
	serve/tls) echo "serve" ;;
	serve/config) echo "serve serve/listen serve/tls" ;;
	serve/supervisor) echo "serve serve/config serve/listen serve/tls" ;;
	serve/roles) echo "serve serve/config serve/supervisor serve/tls" ;;
	cli) echo "" ;;
	cli/service) echo "cli" ;;
	cli/run) echo "cli cli/service" ;;
	cli/policy | cli/warm) echo "cli cli/run" ;;
	cli/*) echo "cli" ;;
	*) return 1 ;;
	esac
}

# The headers in quotes that have a folder in their name; generated ones have none.
included_by() {
	sed -n 's|^[ 	]*#[ 	]*include[ 	]*"\([^"]*/[^"]*\)".*|\1|p' "$1"
}

failed=0
complain() {
	echo "$*" >&2
	failed=1
}

for dir in src/*/; do
	layer=$(basename "$dir")
	if ! below=$(allowed "$layer"); then
		complain "$dir: an unknown layer; give it a line in scripts/check-layers.sh"
		continue
	fi
	told=$(sed -n 's/^It may include: //p' "$dir/README.md" | tr ' ,.' '\n' |
		sed -n 's/^\x60\(.*\)\x60$/\1/p' | sort | xargs)
	if [ "$told" != "$(echo "$below" | tr ' ' '\n' | sort | xargs)" ]; then
		complain "${dir}README.md: the line "It may include:" must name: ${below:-no layer}"
	fi
	for room in "$dir"*/; do
		[ ! -d "$room" ] || grep -q "\`$(basename "$room")/" "$dir/README.md" ||
			complain "${dir}README.md: it does not name the room $(basename "$room")/"
	done
	for file in "$dir"*.[ch] "$dir"*/*.[ch]; do
		[ -e "$file" ] || continue
		room=$(dirname "${file#src/}")
		for header in $(included_by "$file"); do
			case " $layer gen $below " in
			*" ${header%%/*} "*) ;;
			*) complain "$file: includes \"$header\", but $layer may only include:" \
				"itself${below:+ $below}" ;;
			esac
			near=$(dirname "$header")
			if [ "${near%%/*}" = "$layer" ] && others=$(rooms "$room"); then
				case " $room $others " in
				*" $near "*) ;;
				*) complain "$file: includes \"$header\", but $room may only include" \
					"of its layer: itself${others:+ $others}" ;;
				esac
			fi
		done
	done
done

# The public header stands alone, and nothing reaches outside by a relative path.
if grep -n '#include *"' include/brig/*.h; then
	complain "include/brig: the public header may include system headers only"
fi
if grep -rn '#include *"\.\.*/' src; then
	complain "src: includes are rooted at src/, not relative"
fi
exit "$failed"
