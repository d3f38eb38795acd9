#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Turns a built file into a C file that holds its bytes: NAME, and NAME_size.
# usage: embed-binary.sh OUT.c FILE NAME
set -eu

out=$1 file=$(realpath -- "$2") name=$3
cat >"$out.tmp" <<EOF
/* Made by scripts/embed-binary.sh. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl $name\n"
	".hidden $name\n"
	"$name:\n"
	".incbin \"$file\"\n"
	".byte 0\n"
	".previous\n");

#include <stddef.h>

extern const char ${name}[];
extern const size_t ${name}_size;
const size_t ${name}_size = $(wc -c <"$file");
EOF
mv "$out.tmp" "$out"
