#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The pytest suites, as root and as an ordinary user; run-tests.sh reads this file.
# shellcheck disable=SC2154 # variables of run-tests.sh

# Suites of parts that do not depend on the user: once is enough. The few tests among them that
# start cells need npm's cache, which the ordinary user does not have.
SAME_FOR_ALL='http ledger mcp'
# These may run in parallel with each other and with themselves as another user: each test checks
# only processes that it has started itself, and uses nothing of which the host has only one.
SIDE_BY_SIDE='api attack attack-warm check clients cli crash fault gate guard languages learn lib monitor'
SIDE_BY_SIDE+=' provider serve tenants tutorials warm'
# The longest come first, so that none is left to run alone at the end.
LONGEST='provider fault crash attack attack-warm api gate tenants clients warm languages guard cli lib serve mcp'
# The tests of make check: of each kind those that take seconds.
QUICK='posture degrade check/test_answers.py cli/test_run.py attack/test_proc.py attack/test_namespaces.py'
QUICK+=' api/test_execute.py api/test_errors.py gate/test_reach.py http/test_malformed.py guard/test_rules.py'
QUICK+=' ledger/test_audit.py serve/test_roles.py'
USER_ID=65533 # an id that no account has: nothing on the host belongs to it

# The number in front of a word in pytest's closing line; 0: the word is not there.
pytest_count() {
	grep -oE "\b[0-9]+ $1\b" <<<"$2" | awk '{ n = $1 } END { print n + 0 }'
}

# run_suite NAME WHO TREE COMMAND...: the command in front switches to that user. NAME may be a file
# of a suite. NAME-warm is the suite NAME once more, with cells that were made ahead.
run_suite() {
	local suite=$1 who=$2 tree=$3 log start=$SECONDS
	local other=root kind=cold closing status ok bad skip home
	log=$(log_of "$1-$2")
	shift 3
	[ "$suite" = "${suite%-warm}" ] || kind=warm
	[ "$who" = root ] && other=user
	home=$tree/home-$who
	# Tests marked for the other user are left out, not skipped: they run in the other pass.
	(
		cd "$tree" && exec timeout -k 20 "$SUITE_TIMEOUT" "$@" env -i --default-signal PATH="$PATH" \
			LC_ALL="$LC_ALL" HOME="$home" TMPDIR=/tmp CI="$CI" PYTHONDONTWRITEBYTECODE=1 \
			BRIG="$tree/build/brig" BRIG_BUILD="$tree/build" BRIG_TREE="$tree" \
			BRIG_WARM=off BRIG_ATTACK_START="$kind" BRIG_ALL_PROVIDERS="${BRIG_ALL_PROVIDERS-}" \
			/usr/bin/python3 -m pytest -c tests/pytest.ini --rootdir=tests \
			--basetemp="${tree%/*}/tmp-$who/${suite//\//-}" -m "not $other" "tests/${suite%-warm}"
	) >"$log" 2>&1 </dev/null
	status=$?
	closing=$(grep -E '^=+ .* in [0-9.]+s( \(.*\))? =+$' "$log" | tail -n 1)
	ok=$(pytest_count passed "$closing")
	bad=$(($(pytest_count failed "$closing") + $(pytest_count 'errors?' "$closing")))
	skip=$(($(pytest_count skipped "$closing") + $(pytest_count xfailed "$closing")))
	# 5: every test is for the other user.
	if [ "$status" -eq 5 ] && grep -q ' deselected' <<<"$closing"; then
		return
	fi
	if [ -z "$closing" ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
		bad=$((bad + 1))
		echo "pytest ended with exit status $status" >>"$log"
	fi
	tally "$suite as $who" "$log" "$ok" "$bad" "$skip" $((SECONDS - start))
}

# A copy of the tree: suites may write beside their files, and an ordinary user can read it wherever
# the tree itself is.
copy_tree() {
	local tree=$1
	mkdir -p "$tree/build" "$tree/home-root" "$tree/home-user"
	tar -c --exclude=./.git --exclude=./build --exclude="./$BUILD" --exclude=__pycache__ . | tar -x -C "$tree" || return
	cp -a "$BUILD"/brig "$BUILD"/libbrig.* "$BUILD"/libserve.a "$tree/build/" || return
	[ ! -e "$BUILD/template.so" ] || cp -a "$BUILD/template.so" "$tree/build/" || return
	[ ! -d "$BUILD/examples" ] || cp -a "$BUILD/examples" "$tree/build/"
	[ ! -d "$BUILD/gen" ] || cp -a "$BUILD/gen" "$tree/build/"
}

suite_names() {
	local file
	for file in tests/*/test_*.py; do
		[ -e "$file" ] && basename "$(dirname "$file")"
	done | sort -u | grep -vxE 'vm|soak' | sed '/^attack$/a attack-warm'
}

# in_list LIST NAME: whether the suite, or that of the file, is named there.
in_list() {
	case " $1 " in
	*" ${2%%/*} "*) return 0 ;;
	esac
	return 1
}

# The names, those of LONGEST first.
longest_first() {
	local name
	for name in $LONGEST; do
		printf '%s\n' "$@" | grep -x "$name"
	done
	printf '%s\n' "$@" | grep -vxF "$(tr ' ' '\n' <<<"$LONGEST")"
}

make_scratch() {
	[ -z "$scratch" ] || return 0
	scratch=$(mktemp -d /tmp/brig-test.XXXXXX) || exit 1
	chmod 755 "$scratch"
	mkdir "$scratch/tmp-root" "$scratch/tmp-user"
	copy_tree "$scratch/tree" >"$LOG/copy.log" 2>&1 || {
		tally copy "$LOG/copy.log" 0 1 0 0
		return 1
	}
	[ "$(id -u)" -eq 0 ] || return 0
	cp -a "$scratch/tree" "$scratch/user-tree"
	chown -R "$USER_ID:$USER_ID" "$scratch/user-tree" "$scratch/tmp-user"
}

# pass BEGIN SUITE: runs it as each user that it is for, with begin or alone.
pass() {
	local begin=$1 suite=$2
	local as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups --inh-caps=-all --)
	if [ "$(id -u)" -ne 0 ]; then
		"$begin" "$suite-user" run_suite "$suite" user "$scratch/tree"
		return
	fi
	"$begin" "$suite-root" run_suite "$suite" root "$scratch/tree"
	in_list "$SAME_FOR_ALL" "$suite" ||
		"$begin" "$suite-user" run_suite "$suite" user "$scratch/user-tree" "${as_user[@]}"
}

run_suites() {
	local suite names
	[ $# -gt 0 ] || return
	make_scratch || return
	[ "$(id -u)" -eq 0 ] ||
		echo "note: the suites run as this user only; start as root to run them as root too"
	mapfile -t names < <(longest_first "$@")
	# First the suites that may run in parallel, so that the rest have the host to themselves.
	for suite in "${names[@]}"; do
		! in_list "$SAME_FOR_ALL $SIDE_BY_SIDE" "$suite" || pass begin "$suite"
	done
	end_all
	for suite in "${names[@]}"; do
		in_list "$SAME_FOR_ALL $SIDE_BY_SIDE" "$suite" || pass alone "$suite"
	done
}

part_quick() {
	# shellcheck disable=SC2086 # one word for each
	run_suites $QUICK
}

part_suites() {
	local names
	mapfile -t names < <(suite_names)
	run_suites "${names[@]}"
}
