# SPDX-License-Identifier: Apache-2.0
"""The commands of the tables, in the form that completions need."""

HELP = {"name": "--help", "value": None, "about": "show this help", "repeats": False,
        "complete": None}


def words(names):
    return {"kind": "words", "words": names}


def lines(tables):
    """Each command and action: its words, its options, and the completion of its operands."""
    for command in tables["commands"]:
        name = command["name"]
        actions = command.get("actions", [])
        if "options" not in command:
            names = [c["name"] for c in tables["commands"] if "options" in c]
            yield (name,), [], words(names) if name == "help" else None
            continue
        yield ((name,), [*command["options"], HELP],
               words([a["name"] for a in actions]) if actions else command["operands"])
        for action in actions:
            yield (name, action["name"]), [*action["options"], HELP], action["operands"]
