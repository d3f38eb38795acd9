#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the documentation: links and options exist, every option, step, layer and field of the
# result is documented, and lines are at most 120 columns. usage: check-docs.sh PATH-OF-BRIG
set -eu
cd "$(dirname "$0")/.."

brig=${1:?usage: check-docs.sh BRIG}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/wrong"

wrong() {
	echo "$*" >>"$dir/wrong"
}

# Options of other programs that the pages speak of, and a stand-in for any.
FOREIGN='--detach --cgroupns --privileged --scope --security-opt --update-docs --name --requirements --suite'

pages=$(find . -name '*.md' -not -path './.git/*' -not -path './build/*' | sort)

# --- links ---------------------------------------------------------------------------------------

# Without what stands in fences, which is no markup.
prose() {
	awk '/^ *```/ { fenced = !fenced; next } !fenced' "$1"
}

# The anchors that a page's headings make.
anchors() {
	prose "$1" | sed -n 's/^#\{1,6\} //p' | tr '[:upper:]' '[:lower:]' |
		sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

for page in $pages; do
	prose "$page" | grep -oE '\]\([^)]+\)' | sed -e 's/^](//' -e 's/)$//' >"$dir/links" || true
	while read -r link; do
		case $link in
		http://* | https://* | mailto:*) continue ;;
		esac
		target=${link%%#*}
		file=$page
		[ -z "$target" ] || file=$(dirname "$page")/$target
		if [ ! -e "$file" ]; then
			wrong "$page: the link $link leads nowhere"
		elif [ "$link" != "$target" ] && ! anchors "$file" | grep -qxF -- "${link#*#}"; then
			wrong "$page: there is no heading for $link"
		fi
	done <"$dir/links"
done

# --- width ---------------------------------------------------------------------------------------

# Lines of prose have at most 120 columns. Tables and fenced code cannot be wrapped, nor can a line
# that is one word, such as a link; check-layers.sh reads "It may include:" as one line. Fences
# become empty lines, so that the line numbers stay right.
for page in $pages; do
	awk '/^ *```/ { fenced = !fenced; print ""; next } fenced { print ""; next } { print }' "$page" |
		LC_ALL=C.UTF-8 grep -nE '^.{121,}' |
		grep -E '^[0-9]+: *([-*+>] |[0-9]+\. )*[^ |]+ ' |
		grep -v '^[0-9]*:It may include: ' >"$dir/long" || true
	while IFS=: read -r line _; do
		wrong "$page:$line: more than 120 columns"
	done <"$dir/long"
done

# --- options -------------------------------------------------------------------------------------

options() {
	grep -oE -- '(^|[^-a-zA-Z])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u
}

"$brig" --help </dev/null >"$dir/help-brig"
commands=$(sed -n 's/^  \([a-z]*\) .*/\1/p' "$dir/help-brig" | grep -vxE 'help|version')
[ -n "$commands" ] || wrong "check-docs.sh: finds no commands"
for command in $commands; do
	"$brig" "$command" --help </dev/null >"$dir/help-$command"
	# Actions with options of their own.
	[ "$command" != policy ] || for action in list show check learn; do
		"$brig" policy "$action" --help </dev/null >>"$dir/help-policy"
	done
	options <"$dir/help-$command" >"$dir/options-$command"
done
cat "$dir"/help-* | options >"$dir/options"

any=$(echo "$commands" | paste -sd'|')
# Commands: what follows "brig COMMAND", up to the program's own arguments or the next command.
# Quoted code goes first: it may hold anything.
for page in $pages man/*.scd; do
	sed -e "s/'[^']*'//g" -e 's/\*//g' "$page" |
		grep -oE "brig ($any)( [^|;&\`]*)?" |
		sed 's/ -- .*//' >"$dir/commands" || true
	while read -r _ command rest; do
		echo "$rest" | options >"$dir/used" || true
		comm -23 "$dir/used" "$dir/options-$command" | while read -r option; do
			wrong "$page: brig $command has no option $option"
		done
	done <"$dir/commands"
done

# Options by themselves: `--name` in pages, *--name* in manuals.
for page in $pages man/*.scd; do
	prose "$page" | grep -oE -- '[`*]--[a-z][a-z-]*' | options >"$dir/used" || true
	comm -23 "$dir/used" "$dir/options" | while read -r option; do
		case " $FOREIGN " in
		*" $option "*) ;;
		*) wrong "$page: there is no option $option" ;;
		esac
	done
done

options <man/brig-run.1.scd >"$dir/manual"
comm -23 "$dir/options-run" "$dir/manual" | while read -r option; do
	wrong "man/brig-run.1.scd: $option is missing"
done

# --- tables --------------------------------------------------------------------------------------

# listed PAGE WHAT: each line of stdin is the first column of a row in one of the page's tables.
listed() {
	while read -r name; do
		grep -q "^| \`$name\` |" "$1" || wrong "$1: $2 $name is missing"
	done
}

# named PAGE WHAT: each line of stdin stands in the page, as code or as a part of it.
named() {
	while read -r name; do
		grep -qE "\`([]a-z_.[]*\.)?$name(\.[^\`]*)?\`" "$1" || wrong "$1: $2 $name is missing"
	done
}

sed -n 's/.*\[STEP_[A-Z]*\] = { "\([a-z_.]*\)".*/\1/p' src/native/plan/step_table.c >"$dir/steps"
sed -n 's/.*\[LAYER_[A-Z_]*\] = { "\([a-z-]*\)".*/\1/p' src/kernel/layers.c >"$dir/layers"
# Keys of the schema's properties, except the limits, which are generated; its own words begin with
# "$" or are few.
awk '/^\t\t"limits": [{]/ { skip = 1; print } !skip { print } /^\t\t[}]/ { skip = 0 }' data/schema/result.schema.json |
	sed -n 's/^.*"\([a-z_0-9]*\)": {.*/\1/p' |
	grep -vxE 'properties|items|ms|count|path|sha256|base64|denial|event|failure|error|code|message|step' |
	sort -u >"$dir/fields"
for list in steps layers fields; do
	[ -s "$dir/$list" ] || wrong "check-docs.sh: finds no $list"
done
listed docs/design/plan.md step <"$dir/steps"
listed docs/design/layers.md layer <"$dir/layers"
named docs/result.md field <"$dir/fields"

# Tests that a page names are there: files, and functions as FILE::NAME.
{
	find tests
	grep -rHoE '^(def|static void) [A-Za-z0-9_]+\(' tests --include='*.py' --include='*.c' |
		sed -E 's/:(def|static void) (.*)\($/::\2/'
} | sort -u >"$dir/tests"
for page in docs/design/threat-tests.md docs/requirements.md; do
	# shellcheck disable=SC2016 # marks of the page, no command
	grep -oE '`tests/[^`]+`' "$page" | tr -d '`' | sort -u >"$dir/named" || true
	[ -s "$dir/named" ] || wrong "check-docs.sh: finds no tests in $page"
	comm -23 "$dir/named" "$dir/tests" | while read -r test; do
		wrong "$page: there is no $test"
	done
done

# Paths of the machine that something was written on.
# shellcheck disable=SC2086 # names without blanks
grep -nE '/(work|home)/[a-z]' $pages man/*.scd >"$dir/paths" || true
while read -r line; do
	wrong "a path of some machine: $line"
done <"$dir/paths"

cat "$dir/wrong"
[ ! -s "$dir/wrong" ]
