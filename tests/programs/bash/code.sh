#!/bin/bash
# Pipes, arrays, redirections, here documents, background jobs and the usual small programs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/fruit.txt" <<-TEXT
	pear 3
	apple 7
	fig 12
	apple 5
TEXT

echo "sorted: $(sort "$folder/fruit.txt" | head -n 1)"
awk '{ sum[$1] += $2 } END { for (f in sum) print f, sum[f] }' "$folder/fruit.txt" | sort
echo "lines: $(wc -l < "$folder/fruit.txt") apples: $(grep -c '^apple' "$folder/fruit.txt")"
sed -n 's/fig/date/p' "$folder/fruit.txt" | tr '[:lower:]' '[:upper:]'

declare -A price=([tea]=2 [coffee]=3)
list=(tea coffee tea)
total=0
for item in "${list[@]}"; do
	((total += price[$item]))
done
echo "total: $total of ${#list[@]}"

square() {
	echo $(($1 * $1)) > "$folder/square.$1"
}
for n in 1 2 3 4; do
	square "$n" &
done
wait
cat "$folder"/square.* | paste -sd+ | bc

mkfifo "$folder/pipe"
seq 1 100 > "$folder/pipe" &
echo "fifo: $(tail -n 1 "$folder/pipe")"

diff <(printf 'a\nb\n') <(printf 'a\nc\n') | grep '^[<>]' || true
tar -C "$folder" -czf "$folder/all.tgz" fruit.txt
echo "tar: $(tar -tzf "$folder/all.tgz") $(sha256sum < "$folder/fruit.txt" | cut -c1-16)"
find "$folder" -name 'square.*' -print0 | xargs -0 -n1 basename | sort | tac | head -n 2
day=2024-05-17
[[ "$day" =~ ^([0-9]+)-([0-9]+) ]] && echo "year ${BASH_REMATCH[1]} month ${BASH_REMATCH[2]}"
word=größe
echo "letters: ${#word} ${word^^}"
TZ=Europe/Berlin date -d @0 +'%F %T %Z'
mkdir -p out && echo "done" | tee out/report.txt
