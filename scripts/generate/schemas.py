# SPDX-License-Identifier: Apache-2.0
"""Limits and providers in the JSON schemas, and the result's schema within that of the API."""

import json
import re
import textwrap

RESULT = "data/schema/result.schema.json"
API = "data/schema/openapi.json"
NOT_IN_API = ("failure",)  # printed by the command line only


def camel(name):
    """"wall_ms" as JavaScript writes it."""
    return re.sub(r"_(\w)", lambda match: match.group(1).upper(), name)


def about(limit):
    """The line of the table, for a name with its unit: "cpu_millicores" is not in cores."""
    if limit["unit"] == "millicores":
        return limit["about"].split(";")[0] + ", in thousandths of a core"
    return limit["about"]


def number(limit, reference):
    return {"description": about(limit), "$ref": reference + ("ms" if limit["unit"] == "time" else "count")}


def in_force(tables):
    return {"description": "every limit that was in force", "type": "object",
            "additionalProperties": False, "required": [l["name"] for l in tables["limits"]],
            "properties": {l["name"]: number(l, "#/$defs/") for l in tables["limits"]}}


def provider(tables):
    names = ", ".join(f"`{name}`" for name in tables["providers"])
    return {"description": f"the technology of the cell: {names}; `unknown`: the run was lost or dropped",
            "enum": [*tables["providers"], "unknown"]}


def written(value, indent=0):
    """JSON that is easy to read: what fits on a line stays there, and lists of words are filled."""
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {written(item, indent + 1)}" for key, item in value.items()]
        brackets = "{", "}", " "
    elif isinstance(value, list):
        items = [written(item, indent + 1) for item in value]
        brackets = "[", "]", ""
    else:
        return json.dumps(value, ensure_ascii=False)
    begin, end, blank = brackets
    flat = begin + blank + ", ".join(items) + blank + end
    if "\n" not in flat and len(flat) + 8 * indent < 90:
        return flat
    tabs = "\t" * (indent + 1)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        items = textwrap.wrap(", ".join(items), 90 - 8 * indent, break_on_hyphens=False)
        return f"{begin}\n{tabs}" + f"\n{tabs}".join(items) + "\n" + "\t" * indent + end
    return f"{begin}\n{tabs}" + f",\n{tabs}".join(items) + "\n" + "\t" * indent + end


def result_schema(tables, text):
    schema = json.loads(text)
    schema["properties"]["limits"] = in_force(tables)
    schema["properties"]["provider"] = provider(tables)
    return schema


def asked_for(tables):
    """A request may give each limit; 0 means "not given" where a run cannot do without it."""
    return {l["name"]: {"type": "number" if l["unit"] == "time" else "integer",
                        "minimum": 1 if l["zero_is_unset"] else 0,
                        "description": about(l)} for l in tables["limits"]}


def api_schema(tables, text):
    result = tables["result_schema"]

    def moved(value):
        return json.loads(json.dumps(value).replace("#/$defs/", "#/components/schemas/Result_"))

    api = json.loads(text)
    schemas = api["components"]["schemas"]
    schemas["Limits"]["properties"] = asked_for(tables)
    schemas["Result"] = moved({name: value for name, value in result.items()
                               if name not in ("$schema", "$id", "$defs")})
    for name, value in result["$defs"].items():
        if name not in NOT_IN_API:
            schemas[f"Result_{name}"] = moved(value)
    checked = schemas["Checked"]["properties"]["limits"]
    checked.update(moved(result["properties"]["limits"]))
    return json.dumps(api, indent="\t", ensure_ascii=False) + "\n"
