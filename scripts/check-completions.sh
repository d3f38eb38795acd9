#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that the completions have exactly the options that `brig COMMAND --help` lists.
# usage: check-completions.sh PATH-OF-BRIG
set -eu
cd "$(dirname "$0")/.."

brig=${1:?usage: check-completions.sh BRIG}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for command in run explain doctor runtimes policy bench serve mcp ps logs kill queue top token audit; do
	"$brig" "$command" --help </dev/null >>"$dir/text"
done
for action in list show check learn; do
	"$brig" policy "$action" --help </dev/null >>"$dir/text"
done
"$brig" --help </dev/null >>"$dir/text"
options_of() {
	grep -oE -- '(^|[^-a-z])--[a-z][a-z-]*' "$1" | grep -oE -- '--[a-z-]+' | sort -u
}
options_of "$dir/text" >"$dir/help"

options_of completions/brig.bash >"$dir/brig.bash"
options_of completions/_brig >"$dir/_brig"
sed -n 's/^complete .* -l \([a-z-]*\).*/--\1/p' completions/brig.fish | sort -u >"$dir/brig.fish"

failed=0
for file in brig.bash _brig brig.fish; do
	if ! diff "$dir/help" "$dir/$file" >"$dir/diff"; then
		echo "completions/$file ('<': only brig --help has it, '>': only the completion):"
		grep '^[<>]' "$dir/diff"
		failed=1
	fi
done
exit "$failed"
