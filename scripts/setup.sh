#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing to build and run brig (`setup.sh run`), to test it (`setup.sh test`), to
# test it in a guest (`setup.sh vm`) or to compare it with others (`setup.sh bench`).
#
# A package is asked for only when what it brings is nowhere to be found, so a compiler or a
# language that came some other way is left alone. On a complete host this runs nothing.
set -eu

# package|proof[,proof...]: present when one proof is. A proof with a slash is a file (globs work),
# one without is a command.
RUN_PACKAGES='
gcc|gcc
libc6-dev|/usr/include/stdio.h,/usr/include/*/stdio.h
libjansson-dev|/usr/lib/*/libjansson.a,/usr/local/lib/libjansson.a
libsodium-dev|/usr/lib/*/libsodium.a,/usr/local/lib/libsodium.a
pkg-config|pkg-config
python3|/usr/bin/python3
'

TEST_PACKAGES='
bash|/bin/bash
binutils|readelf
g++|/usr/bin/g++
clang|clang
clang-format|clang-format
clang-tidy|clang-tidy
cppcheck|cppcheck
shellcheck|shellcheck
libcmocka-dev|/usr/include/cmocka.h
libseccomp-dev|/usr/include/seccomp.h
python3-pytest|/usr/lib/python3/dist-packages/pytest/__init__.py
python3-jsonschema|/usr/lib/python3/dist-packages/jsonschema/__init__.py
strace|strace
valgrind|valgrind
scdoc|scdoc
busybox-static|/bin/busybox,/usr/bin/busybox
libcap2-bin|capsh,/usr/sbin/capsh,/sbin/capsh
uidmap|newuidmap
procps|/bin/ps,/usr/bin/ps
dbus-daemon|/usr/bin/dbus-daemon
util-linux|/usr/bin/setpriv,/bin/setpriv
nodejs|/usr/bin/node,/usr/local/bin/node
golang-go|/usr/bin/go,/usr/local/go/bin/go
rustc|/usr/bin/rustc,/usr/local/bin/rustc
default-jdk-headless|/usr/bin/javac
perl|/usr/bin/perl
lua5.4|/usr/bin/lua5.4
ruby|/usr/bin/ruby
php-cli|/usr/bin/php
'

BENCH_PACKAGES='
bubblewrap|bwrap
crun|crun
strace|strace
util-linux|setpriv
'

VM_PACKAGES='
bash|/bin/bash
debootstrap|/usr/sbin/debootstrap
e2fsprogs|/usr/sbin/mke2fs,/sbin/mke2fs
qemu-system-x86|qemu-system-x86_64
qemu-utils|qemu-img
'

proven() {
	case $1 in
	*/*)
		# Not quoted: the proof may be a glob.
		for file in $1; do
			[ -e "$file" ] && return 0
		done
		return 1
		;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

any_proven() {
	echo "$1" | tr ',' '\n' | {
		while read -r proof; do
			proven "$proof" && exit 0
		done
		exit 1
	}
}

# The packages of a table whose proofs are all absent.
missing_of() {
	echo "$1" | while IFS='|' read -r package proofs; do
		if [ -n "$package" ] && ! any_proven "$proofs"; then
			echo "$package"
		fi
	done
}

# The sanitizers' run-time library is packaged by clang's version: ask the clang that is here.
missing_clang_runtime() {
	command -v clang >/dev/null 2>&1 || return 0
	resources=$(clang -print-resource-dir)
	for file in "$resources"/lib/*/libclang_rt.fuzzer*.a; do
		[ -e "$file" ] && return 0
	done
	echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
}

install_packages() {
	[ $# -gt 0 ] || return 0
	command="apt-get install -y --no-install-recommends $*"
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "setup: missing, in Debian's names: $*" >&2
		echo "setup: there is no apt-get here; install them with this system's own means" >&2
		exit 1
	fi
	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null 2>&1; then
		as_root=sudo
	else
		echo "setup: missing: $*" >&2
		echo "setup: this needs root, and there is no sudo. Run as root:" >&2
		echo "    apt-get update && $command" >&2
		exit 1
	fi
	echo "setup: ${as_root:+$as_root }$command"
	# A package list that knows all of them is good enough; an old one shows when fetching fails.
	if ! apt-get install -s --no-install-recommends "$@" >/dev/null 2>&1 ||
		! $as_root env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends "$@"; then
		echo "setup: ${as_root:+$as_root }apt-get update"
		$as_root apt-get update -qq
		$as_root env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends "$@"
	fi
}

case ${1-} in
run) table=$RUN_PACKAGES ;;
test) table=$RUN_PACKAGES$TEST_PACKAGES ;;
vm) table=$RUN_PACKAGES$VM_PACKAGES ;;
bench) table=$RUN_PACKAGES$BENCH_PACKAGES ;;
*)
	echo "usage: setup.sh run|test|vm|bench" >&2
	exit 2
	;;
esac

# shellcheck disable=SC2046 # one word for each package
install_packages $(missing_of "$table")
if [ "$1" = test ]; then
	# shellcheck disable=SC2046
	install_packages $(missing_clang_runtime)
fi
