#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the table of system-call names from the kernel's own <asm/unistd_64.h>, as the C
# preprocessor sees it.
# usage: [CC=gcc] gen-syscalls.sh OUT.h
#
# One blob of text and 16-bit offsets instead of pointers: pointers would have to be relocated at
# every start of a position-independent program.
set -eu

out=$1
cc=${CC:-cc}
LC_ALL=C
export LC_ALL

# Calls that are newer than the headers of an older distribution. Their numbers are the kernel's ABI
# and never change, so a filter does not depend on the host that built it.
later='
cachestat 451
fchmodat2 452
map_shadow_stack 453
futex_wake 454
futex_wait 455
futex_requeue 456
statmount 457
listmount 458
lsm_get_self_attr 459
lsm_set_self_attr 460
lsm_list_modules 461
mseal 462
setxattrat 463
getxattrat 464
listxattrat 465
removexattrat 466
open_tree_attr 467
file_getattr 468
file_setattr 469
listns 470
'

tmp=$out.tmp.$$
trap 'rm -f "$tmp" "$tmp.h"' EXIT

printf '#include <asm/unistd_64.h>\n' | $cc -E -dM - > "$tmp.h"
{
	sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9][0-9]*\)$/\1 \2/p' "$tmp.h"
	printf '%s' "$later"
} | awk 'NF == 2 && !seen[$1]++' | sort > "$tmp"

if ! grep -q '^read 0$' "$tmp" || ! grep -q '^clone3 435$' "$tmp"; then
	echo "gen-syscalls.sh: <asm/unistd_64.h> of $cc has no x86_64 system calls" >&2
	exit 1
fi

awk '
{
	name[NR] = $1
	number[NR] = $2 + 0
	offset[$2 + 0] = at
	at += length($1) + 1
	if ($2 + 0 > most) {
		most = $2 + 0
	}
	if (length($1) > longest) {
		longest = length($1)
	}
}
BEGIN {
	at = 1
	for (i = 32; i < 127; i++) {
		code[sprintf("%c", i)] = i
	}
}
END {
	print "/* Made by scripts/gen-syscalls.sh from <asm/unistd_64.h>. */"
	print "#include <stdint.h>\n"
	printf "#define SYSCALL_NAMES_COUNT %d\n", NR
	printf "#define SYSCALL_NUMBERS_COUNT %d\n", most + 1
	printf "#define SYSCALL_NAME_MAX %d\n\n", longest
	print "/* Every name, in order of the alphabet, each with its NUL; offset 0 is no name. */"
	print "static const char syscall_text[] ="
	print "\t\"\\0\""
	for (i = 1; i <= NR; i++) {
		printf "\t\"%s%s\"%s\n", name[i], i < NR ? "\\0" : "", i < NR ? "" : ";\n"
	}
	print "static const uint16_t syscall_offsets[SYSCALL_NUMBERS_COUNT] = {"
	for (n = 0; n <= most; n++) {
		printf "\t%d,\n", offset[n]
	}
	print "};\n"
	print "/* Number + 1 at the hash of its name, or in the next free place; 0 is free. */"
	print "#define SYSCALL_HASH_SIZE 1024"
	print "#define SYSCALL_HASH_STEP(hash, c) (((hash) * 33u + (c)) % SYSCALL_HASH_SIZE)"
	print "static const uint16_t syscall_hash[SYSCALL_HASH_SIZE] = {"
	for (i = 1; i <= NR; i++) {
		h = 0
		for (j = 1; j <= length(name[i]); j++) {
			h = (h * 33 + code[substr(name[i], j, 1)]) % 1024
		}
		while (h in taken) {
			h = (h + 1) % 1024
		}
		taken[h] = number[i] + 1
	}
	for (h = 0; h < 1024; h++) {
		printf "\t%d,\n", taken[h]
	}
	print "};"
}' "$tmp" > "$tmp.h"
mv "$tmp.h" "$out"
