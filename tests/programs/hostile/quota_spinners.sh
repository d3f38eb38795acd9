# SPDX-License-Identifier: Apache-2.0
# Attacks the end of a cell: many processes spin; with a small cpu share they cannot even die.
for _ in $(seq 30); do
	(while :; do :; done) &
done
while :; do :; done
