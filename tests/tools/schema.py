# SPDX-License-Identifier: MIT
"""docs/JSON.md as something to check output against.

A section "## VERB" has one table of members: paths in the first column, with
[] for an element and * for any name; a type in the second: string, integer,
number, boolean, null, object, array, joined by "or", and ", optional".

docs/ckcache.schema.json is the same as a JSON Schema. It is made of docs/JSON.md:

    schema.py docs/JSON.md > docs/ckcache.schema.json
"""
import json
import os
import re
import sys

try:
    import jsonschema
except ImportError:		# Debian's python3-jsonschema
    jsonschema = None

SCHEMA_FILE = "ckcache.schema.json"

TYPES = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


class Section(dict):
    """{member's path: Member} of a verb; what the schema's file says of it."""
    schema = None


class Member:
    def __init__(self, text, meaning):
        self.meaning = meaning.replace("`", "")
        words = [word.strip() for word in text.split(",")]
        self.types = [word.strip() for word in words[0].split(" or ")]
        self.optional = "optional" in words[1:]
        for name in self.types:
            if name not in TYPES:
                raise ValueError("docs/JSON.md: unknown type \"%s\"" % name)

    def allows(self, value):
        return any(TYPES[name](value) for name in self.types)


def read(path):
    """{verb: Section}"""
    sections = read_sections(path)
    file = os.path.join(os.path.dirname(path), SCHEMA_FILE)
    if os.path.exists(file):
        with open(file, "rb") as data:
            definitions = parse(data.read())["$defs"]
        for verb, section in sections.items():
            section.schema = definitions.get(verb)
    return sections


def read_sections(path):
    sections, section = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            title = re.match(r"## (\S+)", line)
            if title:
                section = sections.setdefault(title.group(1), Section())
            row = re.match(r"\| (`.*?) \| (.*?) \| (.+) \|$", line)
            if line.startswith("| `") and (section is None or not row):
                raise ValueError("docs/JSON.md: no member, type and meaning: %s" % line)
            if row:
                for name in re.findall(r"`([^`]+)`", row.group(1)):
                    if name in section:
                        raise ValueError("docs/JSON.md: %s stands there twice" % name)
                    section[name] = Member(row.group(2), row.group(3))
    return sections


def child_names(section, path):
    """The names of the members directly below a path."""
    prefix = path + "." if path else ""
    for name in section:
        if name.startswith(prefix):
            rest = name[len(prefix):]
            if rest and "." not in rest and "[" not in rest:
                yield rest


def schema_of(section, path=""):
    """The JSON Schema of what stands at a path."""
    member, names = section.get(path), list(child_names(section, path))
    types = list(member.types) if member else ["object"]
    if not path and "[]" in section:
        types = ["array"]
    schema = {"type": types[0] if len(types) == 1 else types}
    if member:
        schema["description"] = member.meaning
    if "integer" in types:
        schema["minimum"] = 0
    if "array" in types:
        schema["items"] = schema_of(section, path + "[]")
    prefix = path + "." if path else ""
    members = {name: schema_of(section, prefix + name) for name in names}
    if "*" in members:
        schema["additionalProperties"] = members.pop("*")
    if members:
        schema["properties"] = members
    required = [name for name in members if not section[prefix + name].optional]
    if required:
        schema["required"] = required
    return schema


def made(sections):
    """The text of the schema's file."""
    return json.dumps({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `ckcache VERB --json` prints",
        "$comment": "Made of docs/JSON.md by tests/tools/schema.py; SPDX-License-Identifier: MIT",
        "$defs": {verb: schema_of(section) for verb, section in sections.items()},
    }, indent=1, ensure_ascii=False) + "\n"


def refused(value, section):
    """What the schema's file has against a value, line by line."""
    if section.schema is None:
        yield "docs/%s does not have it" % SCHEMA_FILE
    elif jsonschema:
        for error in jsonschema.Draft202012Validator(section.schema).iter_errors(value):
            yield "%s: %s" % ("/".join(map(str, error.absolute_path)), error.message)


def check(value, section, path=""):
    """What is wrong with a value, line by line."""
    if not path:
        yield from refused(value, section)
    if path or not isinstance(value, dict):
        member = section.get(path)
        if path and member is None:
            yield "%s is not in docs/JSON.md" % path
            return
        if member is not None and not member.allows(value):
            yield "%s is %r, not %s" % (path, value, " or ".join(member.types))
            return
    if isinstance(value, dict):
        names = list(child_names(section, path))
        prefix = path + "." if path else ""
        for name in names:
            if name != "*" and name not in value and not section[prefix + name].optional:
                yield "%s%s is missing" % (prefix, name)
        for name, inner in value.items():
            yield from check(inner, section, prefix + (name if name in names else
                                                       "*" if "*" in names else name))
    elif isinstance(value, list):
        for inner in value:
            yield from check(inner, section, path + "[]")


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a name twice in %s" % names)
    return dict(pairs)


def no_constant(name):
    raise ValueError("%s is no JSON" % name)


def parse(data):
    """Strictly: UTF-8, one value, no name twice, no NaN."""
    return json.loads(data.decode("utf-8"), object_pairs_hook=no_duplicates,
                      parse_constant=no_constant)


if __name__ == "__main__":
    sys.stdout.write(made(read_sections(sys.argv[1])))
