# SPDX-License-Identifier: Apache-2.0
"""Lists that are written by hand because each entry needs more than its name: they are complete.

Keys of policies and of runtime files have a row in their page, and each row is a key. The clients read
each field of a result.
"""

import json
import re

import schemas


def documented(text, heading):
    """The names in the first column of the table below a heading."""
    section = re.split(r"^## ", text.split(f"\n## {heading}\n", 1)[1], flags=re.M)[0]
    section = re.split(r"^### ", section, flags=re.M)[0]
    rows = re.findall(r"^\| (`.*?) \|", section, flags=re.M)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def compare(page, known, told):
    """A row for an object may stand for its keys, or rows for keys for the object."""
    for key in sorted(known):
        if not any(name == key or key.startswith(name + ".") or name.startswith(key + ".")
                   for name in told):
            yield f"{page}: the key {key} has no row"
    for name in sorted(told):
        if not any(name == key or key.startswith(name + ".") or name.startswith(key + ".")
                   for key in known):
            yield f"{page}: there is no key {name}"


def unread_fields(read):
    names = json.loads(read(schemas.RESULT))["properties"]
    for path, form in (("clients/python/brig/result.py", "\n    {name}: "),
                       ("clients/javascript/lib/result.js", "\t\tthis.{camel} = "),
                       ("clients/javascript/index.d.ts", "\treadonly {camel}: ")):
        text = read(path)
        for name in names:
            if form.format(name=name, camel=schemas.camel(name)) not in text:
                yield f"{path}: the field {name} of a result is missing"


def errors(tables, read):
    return [*unread_fields(read),
            *compare("docs/runtimes.md", set(tables["runtime_keys"]),
                     documented(read("docs/runtimes.md"), "Keys")),
            *compare("docs/policy.md", set(tables["policy_keys"]),
                     documented(read("docs/policy.md"), "Keys"))]
