# SPDX-License-Identifier: Apache-2.0
"""The generated parts of docs/design/performance.md, each between two markers."""

import os

PAGE = "docs/design/performance.md"


def replace(tree, part, text):
    path = os.path.join(tree, PAGE)
    begin = "<!-- begin generated: %s -->" % part
    end = "<!-- end generated: %s -->" % part
    with open(path, encoding="utf-8") as file:
        page = file.read()
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit("%s: the markers of %s are not there once each" % (path, part))
    head, rest = page.split(begin)
    tail = rest.split(end)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n\n" + text.strip() + "\n\n" + end + tail)
