# SPDX-License-Identifier: Apache-2.0
"""Options of commands and keys of serve.json in the man pages, as scdoc.

Each entry has its line from the table and, as its text, that of man/details.txt, or else the line of
the table for `--help`. Regions:

    ; generated: options run --in --out     these options of brig run
    ; generated: options run limits         those that are limits
    ; generated: options run rest           those that no other region of the page names
    ; generated: options explain beyond run those that brig run has not, or describes differently
    ; generated: options ps,logs rest       of several commands, as one list
    ; generated: without explain run        the names of those that only brig run has
    ; generated: config_keys                the keys of serve.json
"""

import itertools
import re
import textwrap

import regions

HELP = {"name": "--help", "value": None, "about": "show this help"}
COLUMNS = 110
INDENT = 8  # a tab


class Details:
    """Long texts, by "COMMAND OPTION" or "serve.json KEY"."""

    def __init__(self, text):
        self.texts = {}
        for entry in re.split(r"\n(?=\S)", "\n" + text):
            head, _, body = entry.strip("\n").partition("\n")
            if not head or head.startswith("#"):
                continue
            for name in head.split(", "):
                if name in self.texts:
                    raise SystemExit(f"man/details.txt: {name} is there twice")
                self.texts[name] = body.rstrip("\n")

    def find(self, name):
        return self.texts.get(name)

    def check(self, known):
        stale = sorted(set(self.texts) - known)
        if stale:
            raise SystemExit(f"man/details.txt: the program has no {', '.join(stale)}")


def escaped(text):
    """Marks of scdoc; a "_" within a word is none."""
    return re.sub(r"[\\*]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", lambda m: "\\" + m.group(0), text)


def sentence(about):
    """The line of a table as a sentence: "the code to run" is "The code to run."."""
    text = re.sub(r"^[a-z]+\b(?![:/=.])", lambda m: m.group(0).capitalize(), escaped(about))
    lines = textwrap.wrap(text + ("" if text.endswith(".") else "."), COLUMNS - INDENT,
                          break_long_words=False, break_on_hyphens=False)
    return "\n".join("\t" + line for line in lines)


def marked_value(value):
    """Words in capitals are placeholders: "[NAME=]FILE" is [_NAME_=]_FILE_."""
    return re.sub(r"[A-Z]+", lambda m: f"_{m.group(0)}_", value)


def heading(row):
    return f"*{row['name']}*" + (f" {marked_value(row['value'])}" if row["value"] else "")


def syntaxes(tables):
    """The options of each command, by its words: "policy learn"."""
    found = {}
    for command in tables["commands"]:
        for one in [command, *command.get("actions", [])]:
            if "options" in one:
                found[one["command"]] = one["options"]
    return found


def chosen(tables, command, selection, others):
    """The rows of a command that a region wants."""
    rows = syntaxes(tables)[command]
    limits = {limit["option"] for limit in tables["limits"]}
    if selection == ["limits"]:
        return [row for row in rows if row["name"] in limits]
    if selection == ["rest"]:
        named = {name for other in others for name in other}
        if "limits" in named:
            named |= limits
        return [row for row in rows if row["name"] not in named] + [HELP]
    if selection[:1] == ["beyond"]:
        known = [(row["name"], row["value"], row["about"])
                 for row in syntaxes(tables)[" ".join(selection[1:])]]
        return [row for row in rows if (row["name"], row["value"], row["about"]) not in known]
    by_name = {row["name"]: row for row in rows}
    unknown = [name for name in selection if name not in by_name]
    if unknown:
        raise SystemExit(f"a region names options that brig {command} has not: {unknown}")
    return [by_name[name] for name in selection]


def split(tables, arguments):
    """The commands and the selection of a mark: "policy learn beyond run"."""
    known = syntaxes(tables)
    for count in (2, 1):
        names = " ".join(arguments[:count]).split(",")
        if all(name in known for name in names):
            return names, arguments[count:]
    raise SystemExit(f"a region names an unknown command: {' '.join(arguments)}")


def option_entries(details, tables, arguments, text):
    names, selection = split(tables, arguments)
    others = [split(tables, other)[1] for other in regions.arguments_of(text, "options")
              if split(tables, other)[0] == names]
    entries = {}
    for command in names:
        for row in chosen(tables, command, selection, others):
            body = details.find(f"{command} {row['name']}") or sentence(row["about"])
            # The first command's value; the text of each, once.
            entries.setdefault(row["name"], (row, {}))[1].setdefault(body, []).append(command)
    if "--help" in entries:
        entries["--help"] = entries.pop("--help")
    # Neighbours with the same text share it.
    groups = itertools.groupby(entries.values(), lambda entry: list(entry[1].items()))
    result = "\n"
    for bodies, group in groups:
        result += ", ".join(heading(row) for row, _ in group) + "\n"
        for body, of in bodies:
            if len(bodies) > 1:
                of = ", ".join(f"*brig {command}*" for command in of)
                body = "\t" + f"For {of}: " + body.lstrip("\t")
            result += body + "\n"
        result += "\n"
    return result


def without(tables, arguments, _):
    """The names of options that another command has alone."""
    command, other = arguments
    has = {row["name"] for row in syntaxes(tables)[command]}
    lacks = [f"*{row['name']}*" for row in syntaxes(tables)[other] if row["name"] not in has]
    text = f"Those of *brig-{other}*(1) except {', '.join(lacks[:-1])} and {lacks[-1]}; and:"
    return "\n" + textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n\n"


def config_entries(details, tables):
    def body(key):
        return details.find(f"serve.json {key['name']}") or sentence(key["about"])

    def head(key):
        usual = f" ({escaped(key['usual'])})" if key["usual"] else ""
        return f"*{escaped(key['name'])}*{usual}"

    return "\n" + "".join(", ".join(map(head, group)) + f"\n{text}\n\n"
                          for text, group in itertools.groupby(tables["config_keys"], body))


def makers(tables, text):
    details = Details(text)
    known = {f"{command} {row['name']}" for command, rows in syntaxes(tables).items()
             for row in rows}
    known |= {f"serve.json {key['name']}" for key in tables["config_keys"]}
    details.check(known)
    return {
        "options": lambda tables, arguments, page: option_entries(details, tables, arguments, page),
        "without": without,
        "config_keys": lambda tables, _, __: config_entries(details, tables),
    }
