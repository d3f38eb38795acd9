#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Turns the files of data/ into a C file, so that brig is one program that needs no installed data.
# usage: embed.sh OUT.c FILES...   (paths in the table are relative to data/; see base/embedded.h)
set -eu

out=$1
shift
LC_ALL=C
export LC_ALL

tmp=$out.tmp.$$
trap 'rm -f "$tmp"' EXIT

# Rules are read at every start, in place: without comments and alignment that takes half the time,
# and with NUL at the end of its line a reason need not be copied. Lines keep their numbers.
content() {
	case $1 in
	*.rules) sed -e 's/^#.*//' -e 's/[ 	]*|[ 	]*/|/g' -- "$1" | tr '\n' '\0' ;;
	*) cat -- "$1" ;;
	esac
}

# Every byte except plain letters and digits is written as three octal digits. This avoids errors of
# quoting, trigraphs and the locale.
literal() {
	content "$1" | od -An -v -to1 | awk '
	BEGIN {
		for (i = 32; i < 127; i++) {
			c = sprintf("%c", i)
			if (c ~ /[A-Za-z0-9 ,.:;_@|{}()<>=+-]/) {
				plain[sprintf("%03o", i)] = c
			}
		}
	}
	{
		line = ""
		for (i = 1; i <= NF; i++) {
			line = line (($i in plain) ? plain[$i] : "\\" $i)
		}
		printf "\t\"%s\"\n", line
	}'
}

{
	echo '/* Made by scripts/embed.sh from data/. */'
	echo '#include "base/embedded.h"'
	echo
	n=0
	for file in "$@"; do
		# Arrays instead of literals in the table: ISO C promises only 4095 bytes for one.
		printf 'static const char file_%d[] =\n\t""\n' "$n"
		literal "$file"
		printf '\t;\n\n'
		n=$((n + 1))
	done
	echo 'const struct embedded_file embedded_files[] = {'
	n=0
	for file in "$@"; do
		path=${file##*data/}
		case $path in
		*[!A-Za-z0-9._/-]*)
			echo "embed.sh: $file: only letters, digits, '.', '_' and '-' in a name" >&2
			exit 1
			;;
		esac
		printf '\t{ "%s", file_%d, sizeof(file_%d) - 1 },\n' "$path" "$n" "$n"
		n=$((n + 1))
	done
	# A sentinel, because an empty initialiser is not C; the count leaves it out.
	printf '\t{ 0, 0, 0 },\n};\n'
	printf 'const size_t embedded_files_count = %d;\n' "$n"
} > "$tmp"
mv "$tmp" "$out"
