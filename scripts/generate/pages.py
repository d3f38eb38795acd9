# SPDX-License-Identifier: Apache-2.0
"""Limits in Markdown and in the clients."""

import re

import schemas

TYPES = {"time": "time", "bytes": "number", "count": "number", "millicores": "cores"}


def table(head, rows):
    def line(cells):
        return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|\n"

    return "\n" + line(head) + "|---" * len(head) + "|\n" + "".join(map(line, rows)) + "\n"


def code(text):
    return f"`{text}`"


def limits(tables, _, __):
    """All names of each limit, for policies, requests, results and the command line."""
    return table(["key", "in requests and results", "option", "limits", "usual", "smallest", "compiler"],
                 [[code(l["key"]), code(l["name"]), code(l["option"]), l["about"], l["usual_text"],
                   l["least_text"], "yes" if l["of_compiler"] else ""] for l in tables["limits"]])


def verdicts(tables, _, __):
    """The end of a run that reaches a limit, or another effect of it."""
    return table(["limit", "option", "default", "status", "exit status"],
                 [[l["about"], code(l["option"]), l["usual_text"],
                   code(l["status"]) if l["status"] else f"({l['effect']})" if l["effect"] else "",
                   str(l["exit_status"] or "")] for l in tables["limits"]])


def linked(text):
    """"docs/guard.md" as a link from a page of docs."""
    return re.sub(r"docs/([\w/-]+\.md)", r"[\1](\1)", text)


def fields(schema, node, path):
    """Each described property of an object, and of objects in it, with its path."""
    for name, value in node["properties"].items():
        where = f"{path}{name}"
        if "description" not in value:
            continue
        yield where, value
        for inner in (value, value.get("items", {}), *value.get("oneOf", [])):
            reference = inner.get("$ref", "").replace("#/$defs/", "")
            inner = schema["$defs"].get(reference, inner)
            # The limits have a table of their own.
            if "properties" in inner and where != "limits":
                yield from fields(schema, inner, where + ("[]." if "items" in value else "."))


def result_fields(tables, _, __):
    """The fields of a result, by its schema."""
    def meaning(value):
        text = linked(value["description"])
        words = [code(word) for word in value.get("enum", [])]
        return text if all(word in text for word in words) else f"{text}. One of {', '.join(words)}"

    schema = tables["result_schema"]
    return table(["field", "meaning"],
                 [[code(where), meaning(value)] for where, value in fields(schema, schema, "")])


def python_limits(tables, _, __):
    return "".join(f'    "{l["name"]}": ("{l["option"]}", _as_{TYPES[l["unit"]]}),\n'
                   for l in tables["limits"])


def javascript_limits(tables, _, __):
    return "".join(f'\t{l["name"]}: ["{l["option"]}", as{TYPES[l["unit"]].capitalize()}],\n'
                   for l in tables["limits"])


def typescript_limits(tables, _, __):
    return "".join(f"\t/** {schemas.about(l)} */\n\t{schemas.camel(l['name'])}?: number;\n"
                   for l in tables["limits"])


MAKERS = {
    "limits": limits,
    "verdicts": verdicts,
    "result_fields": result_fields,
    "python_limits": python_limits,
    "javascript_limits": javascript_limits,
    "typescript_limits": typescript_limits,
}
