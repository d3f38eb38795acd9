#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the missing packages to build and run brig (`setup.sh run`), to install it (`setup.sh
# install`), to test it (`setup.sh test`), to test it in a guest (`setup.sh vm`) or on a bare Debian
# (`setup.sh bare`), or to compare it with others (`setup.sh bench`). `setup.sh gvisor` installs the
# runsc of Debian's backports, which is two years newer than that of Debian 12.
#
# A package is installed only when nothing that it provides is found, so a compiler or a language
# from another source is left alone. On a complete host this runs nothing. It does not need make, so
# it also works on a host without it.
set -eu

# package|proof[,proof...]: the package is present if one of its proofs is. A proof with a slash is
# a file (globs work), one without is a command. python3 and perl are proven by files that their
# minimal forms, which Debian may have installed for itself, lack.
RUN_PACKAGES='
make|make
gcc|gcc
libc6-dev|/usr/include/stdio.h,/usr/include/*/stdio.h
libjansson-dev|/usr/lib/*/libjansson.a,/usr/local/lib/libjansson.a
libsodium-dev|/usr/lib/*/libsodium.a,/usr/local/lib/libsodium.a
libsqlite3-dev|/usr/lib/*/libsqlite3.a,/usr/local/lib/libsqlite3.a
libssl-dev|/usr/lib/*/libcrypto.a,/usr/local/lib/libcrypto.a
python3|/usr/bin/pydoc3
libpython3-dev|/usr/include/python3*/Python.h
'

# The man pages.
INSTALL_PACKAGES='
scdoc|scdoc
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
node-llhttp|/usr/share/llhttp/llhttp.c
pkg-config|pkg-config
python3-pytest|/usr/lib/python3/dist-packages/pytest/__init__.py
python3-jsonschema|/usr/lib/python3/dist-packages/jsonschema/__init__.py
python3-pip|/usr/lib/python3/dist-packages/pip/__init__.py
python3-venv|/usr/lib/python3.*/ensurepip/__init__.py
python3-numpy|/usr/lib/python3/dist-packages/numpy/__init__.py
python3-pandas|/usr/lib/python3/dist-packages/pandas/__init__.py
python3-matplotlib|/usr/lib/python3/dist-packages/matplotlib/__init__.py
bubblewrap|bwrap
crun|crun
runc|/usr/sbin/runc,/usr/bin/runc
runsc|runsc
docker.io|/usr/sbin/dockerd,/usr/bin/dockerd,/usr/local/bin/dockerd
podman|/usr/bin/podman,/usr/local/bin/podman
qemu-system-x86|qemu-system-x86_64
erofs-utils|mkfs.erofs
lld|/usr/bin/wasm-ld
wasi-libc|/usr/include/wasm32-wasi/stdio.h
libclang-rt-14-dev-wasm32|/usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a
libc++-14-dev-wasm32|/usr/include/wasm32-wasi/c++/v1/vector
libc++abi-14-dev-wasm32|/usr/lib/wasm32-wasi/libc++abi.a
strace|strace
valgrind|valgrind
git|git
ca-certificates|/etc/ssl/certs/ca-certificates.crt
iproute2|/usr/sbin/ip,/sbin/ip,/bin/ip
curl|/usr/bin/curl
jq|/usr/bin/jq
wget|/usr/bin/wget
postgresql-client|/usr/bin/psql
postgresql|/usr/lib/postgresql/*/bin/postgres
bc|/usr/bin/bc
tzdata|/usr/share/zoneinfo/Europe/Berlin
openssl|openssl
procps|/bin/ps,/usr/bin/ps
dbus-daemon|/usr/bin/dbus-daemon
util-linux|/usr/bin/setpriv,/bin/setpriv
nodejs|/usr/bin/node,/usr/local/bin/node
npm|npm
golang-go|/usr/bin/go,/usr/local/go/bin/go
rustc|/usr/bin/rustc,/usr/local/bin/rustc
libstd-rust-dev-wasm32|/usr/lib/rustlib/wasm32-wasi/lib
default-jdk-headless|/usr/bin/javac
perl|/usr/bin/shasum
lua5.4|/usr/bin/lua5.4
ruby|/usr/bin/ruby
php-cli|/usr/bin/php
'

BENCH_PACKAGES='
bubblewrap|bwrap
crun|crun
python3-numpy|/usr/lib/python3/dist-packages/numpy
python3-pandas|/usr/lib/python3/dist-packages/pandas
strace|strace
util-linux|setpriv
'

BARE_PACKAGES='
bash|/bin/bash
debian-archive-keyring|/usr/share/keyrings/debian-archive-keyring.gpg
debootstrap|/usr/sbin/debootstrap
git|git
util-linux|unshare
'

VM_PACKAGES='
bash|/bin/bash
debian-archive-keyring|/usr/share/keyrings/debian-archive-keyring.gpg
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

# The sanitizers' run-time library is packaged by clang's version: use that of the installed clang.
# A clang that is not installed yet will be the distribution's default, and so is that library.
missing_clang_runtime() {
	if ! command -v clang >/dev/null 2>&1; then
		echo libclang-rt-dev
		return
	fi
	resources=$(clang -print-resource-dir)
	for file in "$resources"/lib/*/libclang_rt.fuzzer*.a; do
		[ -e "$file" ] && return 0
	done
	echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
}

# ask_root WHY PACKAGE...: prints the command that root has to run, ready to be copied.
ask_root() {
	echo "setup: $1. Run as root:" >&2
	shift
	echo "    apt-get update && apt-get install -y --no-install-recommends $*" >&2
	exit 1
}

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo

install_packages() {
	[ $# -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "setup: missing, in Debian's names: $*" >&2
		echo "setup: there is no apt-get here; install them with this system's own means" >&2
		exit 1
	fi
	if [ "$as_root" ]; then
		echo "setup: missing: $*" >&2
		command -v sudo >/dev/null 2>&1 || ask_root "this needs root, and there is no sudo" "$@"
		sudo true || ask_root "this needs root, and sudo refuses" "$@"
	fi
	echo "setup: ${as_root:+$as_root }apt-get install -y --no-install-recommends $*"
	# A package list that has all of them is good enough; if it is outdated, fetching fails.
	if ! apt-get install -s --no-install-recommends "$@" >/dev/null 2>&1 ||
		! apt_install "$@"; then
		echo "setup: ${as_root:+$as_root }apt-get update"
		$as_root apt-get update -qq
		apt_install "$@"
	fi
}

# A database for one test is no reason to keep a server running on this host.
without_server() {
	file=/etc/postgresql-common/createcluster.conf
	case " $* " in
	*" postgresql "*) [ -e "$file" ] || $as_root sh -c "
		mkdir -p ${file%/*} && echo 'create_main_cluster = false' >$file" ;;
	esac
}

# The tests start daemons of their own, in directories of their own: those of the host stay as they
# are. One that comes with a package of ours is neither started nor enabled.
SERVICES='docker.io|docker.service docker.socket containerd.service
podman|podman.service podman.socket podman-restart.service podman-auto-update.service podman-auto-update.timer'
INIT_POLICY=/usr/sbin/policy-rc.d
UNITS_OF_THE_HOST='/lib/systemd/system /etc/systemd/system'

# The services that these packages bring, and the host does not have yet.
new_services() {
	echo "$SERVICES" | while IFS='|' read -r package units; do
		case " $* " in
		*" $package "*) ;;
		*) continue ;;
		esac
		for unit in $units; do
			for place in $UNITS_OF_THE_HOST; do
				[ ! -e "$place/$unit" ] || continue 2
			done
			echo "$unit"
		done
	done
}

# Debian asks this program whether a package may start its services. One of the host's own remains.
start_nothing() {
	[ ! -e "$INIT_POLICY" ] || return 0
	# shellcheck disable=SC2016 # a script
	$as_root sh -c 'printf "#!/bin/sh\n# of brig setup.sh\nexit 101\n" >"$0.new" && chmod 755 "$0.new" && mv "$0.new" "$0"' \
		"$INIT_POLICY"
}

start_again() {
	! grep -qs '^# of brig setup.sh' "$INIT_POLICY" || $as_root rm -f "$INIT_POLICY"
}

# Both forms: units, also without a systemctl, and scripts for another init.
disable_services() {
	for unit in "$@"; do
		$as_root env DPKG_MAINTSCRIPT_PACKAGE=brig deb-systemd-helper disable "$unit" >/dev/null 2>&1 || true
		name=${unit%.service}
		[ ! -e "/etc/init.d/$name" ] || $as_root update-rc.d "$name" disable >/dev/null 2>&1 || true
	done
}

apt_install() {
	without_server "$@"
	services=$(new_services "$@")
	if [ "$services" ]; then
		trap start_again EXIT
		trap 'exit 1' HUP INT TERM
		start_nothing
	fi
	done=0
	$as_root env DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 \
		apt-get install -y -qq --no-install-recommends "$@" || done=$?
	if [ "$services" ]; then
		start_again
		# shellcheck disable=SC2086 # one word for each
		disable_services $services
	fi
	return "$done"
}

# The runsc of backports, from a list of packages for this command only: the host's own stay as they
# are. It needs nothing that backports alone has. The archive is the one that the host uses.
install_new_runsc() {
	version=$(runsc --version 2>/dev/null | sed -n 's/^runsc version [^0-9]*0.0~\(20[0-9][0-9]\).*/\1/p')
	[ "${version:-0}" -lt 2023 ] || return 0
	# shellcheck disable=SC1091 # a file of the host's
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # a name of apt's
	archive=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Codename: $suite" | head -n 1)
	if [ -z "$archive" ]; then
		echo "setup: apt-get knows no packages of $suite. Run as root: apt-get update" >&2
		exit 1
	fi
	suite=$suite-backports
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/lists/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" >"$work/sources.list"
	set -- -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/nonexistent \
		-o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root
	$as_root apt-get "$@" update -qq
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@" install -y -qq --no-install-recommends "runsc/$suite"
}

# A kernel for virtual machines, unpacked and not installed: the host's way to start is not touched.
# A host that has one in /boot needs none. Without a network the tests say what is missing.
test_kernel() {
	place=/var/cache/brig-test/kernel
	for file in /boot/vmlinuz-* "$place"/boot/vmlinuz-*; do
		[ -r "$file" ] && return 0
	done
	package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	work=$(mktemp -d)
	if [ -n "$package" ] && (cd "$work" && apt-get download -qq "$package" && dpkg -x ./*.deb kernel); then
		$as_root mkdir -p "${place%/*}"
		$as_root cp -R "$work/kernel" "$place.new"
		$as_root chmod -R u=rwX,go=rX "${place%/*}"
		$as_root mv -T "$place.new" "$place"
	fi
	rm -rf "$work"
}

case ${1-} in
gvisor)
	install_new_runsc
	exit
	;;
run) table=$RUN_PACKAGES ;;
install) table=$INSTALL_PACKAGES ;;
test)
	table=$RUN_PACKAGES$INSTALL_PACKAGES$TEST_PACKAGES
	# The places where run-tests.sh looks: a tool in a home directory does not count.
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	;;
vm) table=$RUN_PACKAGES$VM_PACKAGES ;;
bare) table=$BARE_PACKAGES ;;
bench) table=$RUN_PACKAGES$BENCH_PACKAGES ;;
*)
	echo "usage: setup.sh run|install|test|vm|bare|bench|gvisor" >&2
	exit 2
	;;
esac

missing=$(missing_of "$table")
if [ "$1" = test ]; then
	missing="$missing $(missing_clang_runtime)"
fi
# shellcheck disable=SC2086 # one word for each package
install_packages $missing
if [ "$1" = test ]; then
	test_kernel
fi
# The engine for WebAssembly, and its Python and Ruby, are in no package of Debian.
if [ "$1" = test ] && [ "$(uname -m)" = x86_64 ]; then
	"$(dirname "$0")/get-wasmtime.sh" --python --ruby
fi
