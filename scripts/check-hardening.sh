#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that the binaries have the protections that mk/flags.mk asks for.
# usage: check-hardening.sh BUILD
set -eu

build=${1:?usage: check-hardening.sh BUILD}
program=$build/brig
broker=$build/brig-broker
gate=$build/brig-gate
agent=$build/brig-agent
vm_init=$build/brig-vm-init
cell_init=$build/brig-cell-init
vm_line=$build/brig-vm-line
gate_tls=$build/brig-gate-tls
tls=$build/brig-tls
prober=$build/brig-prober
library=$(echo "$build"/libbrig.so.[0-9])
archive=$build/libbrig.a
template=$build/template.so
failed=0

fail() {
	echo "$1: $2" >&2
	failed=1
}

# want FILE WHAT PATTERN COMMAND...: the command's output must contain the pattern.
want() {
	file=$1 what=$2 pattern=$3
	shift 3
	"$@" 2>/dev/null | grep -Eq -- "$pattern" || fail "$file" "$what"
}

# refuse FILE WHAT PATTERN COMMAND...: it must not.
refuse() {
	file=$1 what=$2 pattern=$3
	shift 3
	if "$@" 2>/dev/null | grep -E -- "$pattern" >&2; then
		fail "$file" "$what"
	fi
}

for file in "$program" "$broker" "$gate" "$gate_tls" "$tls" "$agent" "$vm_init" "$cell_init" "$vm_line" "$prober" "$library" "$archive" "$template"; do
	[ -s "$file" ] || {
		fail "$file" "is missing"
		exit 1
	}
done

for file in "$program" "$broker" "$gate" "$gate_tls" "$tls" "$agent" "$vm_init" "$cell_init" "$vm_line" "$prober" "$library" "$template"; do
	want "$file" "is not position-independent" 'Type: +DYN' readelf -hW "$file"
	want "$file" "has no read-only relocations" 'GNU_RELRO' readelf -lW "$file"
	want "$file" "is not bound at start (-z now)" 'BIND_NOW|FLAGS_1.*NOW' readelf -dW "$file"
	want "$file" "has no header for the mode of its stack" 'GNU_STACK' readelf -lW "$file"
	refuse "$file" "has an executable stack" 'GNU_STACK.* RWE' readelf -lW "$file"
	refuse "$file" "has a segment that is writable and executable" 'LOAD.* RWE' readelf -lW "$file"
	refuse "$file" "relocates its own text" 'TEXTREL' readelf -dW "$file"
	refuse "$file" "looks for libraries in a place of its own" 'RPATH|RUNPATH' readelf -dW "$file"
	want "$file" "code shares pages with data (-z separate-code)" 'LOAD.* R E 0x1000' \
		readelf -lW "$file"
done

for file in "$program" "$broker" "$gate" "$gate_tls" "$tls" "$agent" "$vm_init" "$cell_init" "$vm_line" "$prober"; do
	refuse "$file" "needs a dynamic loader: it must be static-pie" 'INTERP|NEEDED' \
		readelf -ldW "$file"
done

# It has no C library that could relocate it.
refuse "$cell_init" "has relocations" 'R_[A-Z0-9]+_' readelf -rW "$cell_init"

# OpenSSL would cost every command 18,000 relocations. A constructor that asks the processor costs a
# trap for each question.
refuse "$program" "contains OpenSSL, which belongs to brig-tls" ' OPENSSL_[a-z]' nm "$program"
refuse "$program" "asks the processor for its features at the start" ' __cpu_indicator_init$' nm "$program"

# The entry point works before the C library and relocations do: these objects stand alone.
thin=$(find "$build/obj/src/thin" -name '*.o')
# shellcheck disable=SC2086 # a list of objects
defined=$(nm --defined-only $thin | awk 'NF == 3 { print $3 }' | sort -u)
# shellcheck disable=SC2086
foreign=$(nm -u $thin | awk '$1 == "U" && $2 != "_start" { print $2 }' | sort -u |
	grep -vxF "$defined" || true)
[ -z "$foreign" ] || fail "src/thin" "calls what is not ready yet: $(echo "$foreign" | tr '\n' ' ')"
# shellcheck disable=SC2086
refuse "src/thin" "needs relocations of data" '\.data\.rel' readelf -SW $thin
want "$program" "does not begin with src/thin" "^$(nm "$program" |
	awk '$3 == "thin_entry" { sub(/^0+/, "", $1); print "Entry.*0x" $1 }' | sed 's/^/ */')$" \
	readelf -h "$program"

want "$library" "has no soname libbrig.so.0" 'SONAME.*libbrig\.so\.0' readelf -dW "$library"
want "$library" "has no stack protector" '__stack_chk_fail' readelf --dyn-syms -W "$library"
want "$library" "is not fortified" '__[a-z]+_chk' readelf --dyn-syms -W "$library"

# The template is loaded into an interpreter: it can rely only on that and on the C library.
missing=$(nm -D --undefined-only "$template" | awk '$2 !~ /@GLIBC|^_?Py|^_ITM_|^__gmon/ { print $2 }')
[ -z "$missing" ] || fail "$template" "needs symbols that no interpreter has: $(echo "$missing" | tr '\n' ' ')"

foreign=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^brig_/ { print $3 }')
[ -z "$foreign" ] || fail "$library" "shows more than the public API: $(echo "$foreign" | tr '\n' ' ')"

# Every object by itself: the compiler notes its flags in the debug information (not fortification,
# which is a macro: the check of the library above covers it).
producers() {
	readelf --debug-dump=info "$archive" | grep DW_AT_producer
}
objects=$(ar t "$archive" | wc -l)
flags='-fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero -fPIC -O2'
case $(uname -m) in
x86_64) flags="$flags -fcf-protection=full" ;;
aarch64) flags="$flags -mbranch-protection=standard" ;;
esac
for flag in $flags; do
	with=$(producers | grep -c -- "$flag" || true)
	[ "$with" -eq "$objects" ] ||
		fail "$archive" "$with of $objects objects are compiled with $flag"
done

[ "$failed" -eq 0 ] && echo "hardening: $program, $library and $objects objects are as asked"
exit "$failed"
