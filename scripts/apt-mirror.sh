#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian mirror of this host, for scripts that call debootstrap and read this file.

# The first mirror of Debian itself in apt's sources, in both forms of its source files. Archives of
# others (.../linux/debian has no main) and apt's own schemes do not work with debootstrap.
apt_mirror() {
	local found
	found=$(
		{
			awk 'function done() { if (main) print uri; main = 0; uri = "" }
				FNR == 1 || NF == 0 { done() }
				$1 == "URIs:" { uri = $2 }
				$1 == "Components:" && / main( |$)/ { main = 1 }
				END { done() }' /etc/apt/sources.list.d/*.sources 2>/dev/null || true
			cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk '
				$1 == "deb" && / main( |$)/ { sub(/\[[^]]*\]/, ""); print $2 }'
		} | grep -E -m 1 '^https?://.*/debian/?$'
	) || true
	echo "${found:-http://deb.debian.org/debian}"
}
