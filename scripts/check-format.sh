#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the form of the C files with clang-format. --fix rewrites them.
#
# Versions of clang-format disagree in details, so its result counts only in the version that the
# project uses; the plain rules (tabs, columns, blanks) are checked in any case.
set -eu
cd "$(dirname "$0")/.."

VERSION=14
COLUMNS_MAX=100

tool=clang-format
if command -v "clang-format-$VERSION" >/dev/null 2>&1; then
	tool=clang-format-$VERSION
fi
major=$($tool --version | sed -n 's/.*version \([0-9]*\).*/\1/p')

dirs=
for dir in include src tests examples bench; do
	[ -d "$dir" ] && dirs="$dirs $dir"
done
# shellcheck disable=SC2086 # a list of directories
files=$(find $dirs -name '*.[ch]' -type f | sort)
[ -n "$files" ] || exit 0

if [ "${1-}" = --fix ]; then
	echo "$files" | xargs "$tool" -i
	exit 0
fi

failed=0
if [ "$major" = "$VERSION" ]; then
	echo "$files" | xargs "$tool" --dry-run -Werror || failed=1
else
	echo "clang-format $major is here, not $VERSION: checking only tabs, columns and blanks"
fi

# A tab counts up to the next multiple of eight.
# shellcheck disable=SC2016 # awk's dollars
echo "$files" | xargs awk -v max="$COLUMNS_MAX" '
	function complain(what) { print FILENAME ":" FNR ": " what; bad = 1 }
	/[ \t]$/ { complain("blanks at the end of the line") }
	/^ +[^ *]/ && !/^ [ ]*\*/ { complain("indented with blanks, not tabs") }
	{
		width = 0
		for (i = 1; i <= length($0); i++)
			width += substr($0, i, 1) == "\t" ? 8 - width % 8 : 1
		if (width > max && !/"[^"]*$|https?:/)
			complain("longer than " max " columns")
	}
	END { exit bad }
' || failed=1

if [ "$failed" -ne 0 ]; then
	echo "make format corrects most of this; overlong comments must be shortened by hand" >&2
fi
exit "$failed"
