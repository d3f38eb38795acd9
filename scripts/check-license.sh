#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that every file states its license: in a line of its own, or by a path in REUSE.toml.
set -eu
cd "$(dirname "$0")/.."
git rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git tree: nothing to compare" >&2; exit 0; }

list=$(mktemp)
trap 'rm -f "$list" "$list.told"' EXIT
git ls-files >"$list"
sed -n 's|^  "\(.*\)",$|:(glob)\1|p' REUSE.toml | xargs -d '\n' git ls-files -- | sort >"$list.told"

failed=0
while read -r file; do
	[ -f "$file" ] || continue
	if ! head -n 5 "$file" | grep -q "SPDX-License-Identifier: Apache-2.0"; then
		echo "$file: no license; begin it with SPDX-License-Identifier: Apache-2.0, or list" \
			"it in REUSE.toml" >&2
		failed=1
	fi
done <<END
$(sort "$list" | comm -23 - "$list.told" | grep -vxE 'LICENSE|.*/LICENSE')
END
exit "$failed"
