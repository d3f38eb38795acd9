#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The pytest suites, as root and as an ordinary user; run-tests.sh reads this file.
# shellcheck disable=SC2154 # what run-tests.sh sets

# Of parts that know no users: the same whoever runs them, so once is enough. The few tests among
# them that start cells need npm's cache, which the user has not.
SAME_FOR_ALL='http ledger mcp'
# Of these root's and the user's pass may go on at the same time: each test looks at what it has
# started itself and at nothing that the host has only one of.
SIDE_BY_SIDE='api attack attack-warm check clients cli fault gate guard languages learn lib monitor'
SIDE_BY_SIDE+=' serve tenants warm'
USER_ID=65533 # an id that no account has: nothing on the host belongs to it

# The number in front of a word in pytest's closing line; 0: the word is not there.
pytest_count() {
	grep -oE "\b[0-9]+ $1\b" <<<"$2" | awk '{ n = $1 } END { print n + 0 }'
}

# run_suite NAME WHO TREE COMMAND...: the command in front makes it that person. NAME-warm is the
# suite NAME once more, with cells that were made ahead.
run_suite() {
	local suite=$1 who=$2 tree=$3 log=$LOG/$1-$2.log start=$SECONDS
	local other=root kind=cold closing status ok bad skip home
	shift 3
	[ "$suite" = "${suite%-warm}" ] || kind=warm
	[ "$who" = root ] && other=user
	home=$tree/home-$who
	# Tests marked for the other are left out, not skipped: they run in the other pass.
	(
		cd "$tree" && exec timeout -k 20 "$SUITE_TIMEOUT" "$@" env -i --default-signal PATH="$PATH" \
			LC_ALL="$LC_ALL" HOME="$home" TMPDIR=/tmp CI="$CI" PYTHONDONTWRITEBYTECODE=1 \
			BRIG="$tree/build/brig" BRIG_BUILD="$tree/build" BRIG_TREE="$tree" \
			BRIG_ATTACK_START="$kind" \
			/usr/bin/python3 -m pytest -c tests/pytest.ini --rootdir=tests \
			--basetemp="${tree%/*}/tmp-$who/$suite" -m "not $other" "tests/${suite%-warm}"
	) >"$log" 2>&1 </dev/null
	status=$?
	closing=$(grep -E '^=+ .* in [0-9.]+s( \(.*\))? =+$' "$log" | tail -n 1)
	ok=$(pytest_count passed "$closing")
	bad=$(($(pytest_count failed "$closing") + $(pytest_count 'errors?' "$closing")))
	skip=$(($(pytest_count skipped "$closing") + $(pytest_count xfailed "$closing")))
	# 5: every test is for the other person.
	if [ "$status" -eq 5 ] && grep -q ' deselected' <<<"$closing"; then
		return
	fi
	if [ -z "$closing" ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
		bad=$((bad + 1))
		echo "pytest ended with exit status $status" >>"$log"
	fi
	tally "$suite as $who" "$log" "$ok" "$bad" "$skip" $((SECONDS - start))
}

# A copy of the tree: suites may write beside their files, and an ordinary user can read it
# wherever the tree itself lies.
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

run_suites() {
	local suite as_user=()
	[ $# -gt 0 ] || return
	if [ -z "$scratch" ]; then
		scratch=$(mktemp -d /tmp/brig-test.XXXXXX) || exit 1
		chmod 755 "$scratch"
		mkdir "$scratch/tmp-root" "$scratch/tmp-user"
		copy_tree "$scratch/tree" >"$LOG/copy.log" 2>&1 || {
			tally copy "$LOG/copy.log" 0 1 0 0
			return
		}
	fi
	if [ "$(id -u)" -eq 0 ]; then
		if [ ! -e "$scratch/user-tree" ]; then
			cp -a "$scratch/tree" "$scratch/user-tree"
			chown -R "$USER_ID:$USER_ID" "$scratch/user-tree" "$scratch/tmp-user"
		fi
		as_user=(setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups
			--inh-caps=-all --)
		# First what may be beside something else, so that the rest has the host for itself.
		for suite in "$@"; do
			case " $SAME_FOR_ALL $SIDE_BY_SIDE " in
			*" $suite "*) begin "$suite-root" run_suite "$suite" root "$scratch/tree" ;;
			esac
			case " $SIDE_BY_SIDE " in
			*" $suite "*)
				begin "$suite-user" run_suite "$suite" user "$scratch/user-tree" \
					"${as_user[@]}"
				end_all
				;;
			esac
		done
		end_all
		for suite in "$@"; do
			case " $SAME_FOR_ALL $SIDE_BY_SIDE " in
			*" $suite "*) continue ;;
			esac
			alone "$suite-root" run_suite "$suite" root "$scratch/tree"
			alone "$suite-user" run_suite "$suite" user "$scratch/user-tree" "${as_user[@]}"
		done
	else
		echo "note: the suites run as this user only; start as root to run them as root too"
		for suite in "$@"; do
			alone "$suite-user" run_suite "$suite" user "$scratch/tree"
		done
	fi
}

part_suites() {
	local names
	mapfile -t names < <(suite_names)
	run_suites "${names[@]}"
}
