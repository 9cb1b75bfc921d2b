# SPDX-License-Identifier: MIT
"""The list of changes, and the check that each still applies.

tests/mutations/<source file>.changes has the changes of one source file:

    tests: unit.key opencl.stub

    [a-name] stale
    equivalent: why no test can see it
    -the old text
    +the new text

`tests:` are the nearest tests, which are tried first: regular expressions of
ctest's names. The word after a change's name is what the change endangers: stale (an
entry that is not what the driver would make), fail (an application or its driver), loss
(hits), wrong (what a tool says or does, or what is recorded). Lines that begin with - are
the old text without their first character, joined by line ends; it stands in the source file
exactly once, and need not be whole lines. Those with + are what replaces it; none: nothing
does. Lines that stay are left out where the rest stands there once, too. A change that no
test can see says so, with the reason.

Lists are for the code as it is: whoever rewrites a function rewrites its changes.
changes.py ROOT prints each change that does not apply.
"""
import os
import re
import sys

FOLDER = "tests/mutations"
SUFFIX = ".changes"
HEAD = re.compile(r"\[([a-z0-9][a-z0-9-]*)\] (stale|fail|loss|wrong)$")


class Bad(Exception):
    """A list that cannot be read."""


class Change:
    """One change of one source file."""

    def __init__(self, path, tests, name, endangers):
        self.path, self.tests, self.name, self.endangers = path, tests, name, endangers
        self.equivalent = None
        self.old, self.new = [], []

    def full_name(self):
        return "%s:%s" % (self.path, self.name)

    def apply(self, text):
        """The changed text; Bad if it does not apply."""
        old, new = "\n".join(self.old), "\n".join(self.new)
        count = text.count(old)
        if count != 1:
            raise Bad("%s: the old text stands %d times in the file" % (self.full_name(), count))
        if old == new:
            raise Bad("%s: changes nothing" % self.full_name())
        return text.replace(old, new)


def parse(path, text):
    """The changes that a list names for the source file at path."""
    tests, changes = [], []
    for number, line in enumerate(text.split("\n"), 1):
        head = HEAD.match(line)
        if head:
            changes.append(Change(path, tests, head.group(1), head.group(2)))
        elif line.startswith("tests:") and not changes:
            tests += line[6:].split()
        elif line.startswith("equivalent: ") and changes:
            changes[-1].equivalent = line[12:]
        elif line.startswith("-") and changes and not changes[-1].new:
            changes[-1].old.append(line[1:])
        elif line.startswith("+") and changes:
            changes[-1].new.append(line[1:])
        elif line and not line.startswith("#"):
            raise Bad("%s%s:%d: what is this?" % (path, SUFFIX, number))
    for change in changes:
        if not change.old:
            raise Bad("%s: no old text" % change.full_name())
    if not tests:
        raise Bad("%s%s: no tests" % (path, SUFFIX))
    return changes


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        return source.read()


def load(root):
    """All changes, in the order of their files."""
    changes = []
    for where, folders, names in os.walk(os.path.join(root, FOLDER)):
        folders.sort()
        for name in sorted(names):
            if name.endswith(SUFFIX):
                path = os.path.relpath(os.path.join(where, name), root)
                changes += parse(os.path.relpath(path, FOLDER)[:-len(SUFFIX)], read(root, path))
    return changes


def breaches(root):
    """What is wrong with the lists, as sentences."""
    found, names = [], set()
    for change in load(root):
        if change.full_name() in names:
            found.append("%s: a second one of this name" % change.full_name())
        names.add(change.full_name())
        try:
            change.apply(read(root, change.path))
        except (Bad, OSError) as error:
            found.append(str(error))
    return found


def main():
    root = sys.argv[1]
    found = breaches(root)
    for sentence in found:
        print(sentence)
    count = len(load(root))
    print("%d changes, %d do not apply" % (count, len(found)))
    return 1 if found or count < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
