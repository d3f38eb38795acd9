#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that `make install` installs everything, that a C program can use it, and that `make
# uninstall` leaves nothing.
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
		echo "install: $file is missing" >&2
		exit 1
	}
done
for source in man/*.scd; do
	[ -e "$source" ] || continue
	page=$(basename "$source" .scd)
	[ -s "$root/usr/share/man/man${page##*.}/$page" ] || {
		echo "install: man page $page is missing" >&2
		exit 1
	}
done

# A program of another project, shared and static, built with the flags from pkg-config.
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

# On this host, as far as a namespace of its own allows: the loader finds the library at once.
[ "$(id -u)" -eq 0 ] || exit 0
cat >"$stage/here" <<'HERE'
set -eu
mount -t tmpfs tmpfs /usr/local
mount -t tmpfs tmpfs "$1/layers"
mkdir "$1/layers/upper" "$1/layers/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$1/layers/upper,workdir=$1/layers/work" overlay /etc
"${MAKE:-make}" --no-print-directory BUILD="$2" DESTDIR= PREFIX=/usr/local install >/dev/null
[ "$("$1/shared")" = timeout ]
man_pages=$(find /usr/local/share/man -type f | wc -l)
[ "$man_pages" -gt 0 ]
"${MAKE:-make}" --no-print-directory BUILD="$2" DESTDIR= PREFIX=/usr/local uninstall >/dev/null
! "$1/shared" 2>/dev/null
HERE
mkdir "$stage/layers"
unshare --mount --propagation private sh "$stage/here" "$stage" "$build" || {
	echo "install: the loader does not find the libraries installed in /usr/local" >&2
	exit 1
}
