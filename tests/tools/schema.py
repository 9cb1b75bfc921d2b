# SPDX-License-Identifier: MIT
"""docs/JSON.md as something to check output against.

A section "## VERB" has one table of members: paths in the first column, with
[] for an element and * for any name; a type in the second: string, integer,
number, boolean, null, object, array, joined by "or", and ", optional".
"""
import json
import re

TYPES = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


class Member:
    def __init__(self, text):
        words = [word.strip() for word in text.split(",")]
        self.types = [word.strip() for word in words[0].split(" or ")]
        self.optional = "optional" in words[1:]
        for name in self.types:
            if name not in TYPES:
                raise ValueError("docs/JSON.md: unknown type \"%s\"" % name)

    def allows(self, value):
        return any(TYPES[name](value) for name in self.types)


def read(path):
    """{verb: {member's path: Member}}"""
    sections, section = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            title = re.match(r"## (\S+)", line)
            if title:
                section = sections.setdefault(title.group(1), {})
            row = re.match(r"\| (`.*?) \| (.*?) \| .+ \|$", line)
            if line.startswith("| `") and (section is None or not row):
                raise ValueError("docs/JSON.md: no member, type and meaning: %s" % line)
            if row:
                for name in re.findall(r"`([^`]+)`", row.group(1)):
                    if name in section:
                        raise ValueError("docs/JSON.md: %s stands there twice" % name)
                    section[name] = Member(row.group(2))
    return sections


def child_names(section, path):
    """The names of the members directly below a path."""
    prefix = path + "." if path else ""
    for name in section:
        if name.startswith(prefix):
            rest = name[len(prefix):]
            if rest and "." not in rest and "[" not in rest:
                yield rest


def check(value, section, path=""):
    """What is wrong with a value, line by line."""
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
