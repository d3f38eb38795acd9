#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make install` brings all it should, a C program can use it, `make uninstall` leaves nothing.
# usage: check-install.sh BUILD
set -eu
cd "$(dirname "$0")/.."

build=${1:?usage: check-install.sh BUILD}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/root

run_make() {
	"${MAKE:-make}" --no-print-directory BUILD="$build" DESTDIR="$root" PREFIX=/usr "$@"
}

run_make install >"$stage/list"

for file in bin/brig lib/libbrig.so lib/libbrig.so.0 lib/libbrig.a lib/pkgconfig/brig.pc \
	include/brig/brig.h share/bash-completion/completions/brig \
	share/zsh/site-functions/_brig share/fish/vendor_completions.d/brig.fish; do
	[ -s "$root/usr/$file" ] || {
		echo "install: $file is not there" >&2
		exit 1
	}
done
for source in man/*.scd; do
	[ -e "$source" ] || continue
	page=$(basename "$source" .scd)
	[ -s "$root/usr/share/man/man${page##*.}/$page" ] || {
		echo "install: man page $page is not there" >&2
		exit 1
	}
done

# A program of somebody else's, shared and static, with what pkg-config says.
cat >"$stage/user.c" <<'CODE'
#include <brig/brig.h>
#include <stdio.h>
/* The library's own helpers must not be in the way of a program's names. */
int buf_add(void);
int buf_add(void)
{
	return 0;
}
int main(void)
{
	puts(brig_status_name(BRIG_TIMEOUT));
	return buf_add();
}
CODE
export PKG_CONFIG_PATH="$root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
# shellcheck disable=SC2046 # flags are words
gcc -Wall -Werror -o "$stage/shared" "$stage/user.c" $(pkg-config --cflags --libs brig)
[ "$(LD_LIBRARY_PATH="$root/usr/lib" "$stage/shared")" = timeout ]
gcc -Wall -Werror -I"$root/usr/include" -o "$stage/static" "$stage/user.c" \
	"$root/usr/lib/libbrig.a" -ljansson -lsodium
[ "$("$stage/static")" = timeout ]

run_make uninstall >/dev/null
left=$(find "$root" ! -type d)
[ -z "$left" ] || {
	echo "uninstall leaves: $left" >&2
	exit 1
}
