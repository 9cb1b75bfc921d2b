# SPDX-License-Identifier: MIT
"""Each setting of cachecore/config.c has its row in docs/CONFIG.md and its
paragraph in ckcache.conf(5), and they have no others; where config.c says a
default or words, both pages have them.

    settings.py SOURCE-DIRECTORY
"""
import os
import re
import sys


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def settings(text):
    """{name: what it expects} of config.c's table."""
    table = text.partition("settings[] = {")[2].partition("};")[0]
    expected = dict(re.findall(r'\[([A-Z_]+)\] = "([^"]*)"', text))
    rows = re.findall(r'(SETTING\w*|WORDS)\("(\w+)", \w+, (\w+)(?:, \w+, "([^"]*)")?\)', table)
    return {name: words or expected[kind] for _, name, kind, words in rows}


def documented(text):
    """{name: row} of docs/CONFIG.md."""
    table = text.partition("| variable | default |")[2].partition("\n\n")[0]
    return {name.lower(): row for row, name in
            re.findall(r"^(\| `CKCACHE_(\w+)` \|.*)$", table, re.M)}


def paragraphs(text):
    """{name: text} of ckcache.conf(5)."""
    part = text.partition(".Sh SETTINGS\n")[2].partition("\n.Sh ")[0]
    found = re.split(r"^\.It Cm ", part, flags=re.M)[1:]
    return {item.split("\n", 1)[0]: item for item in found}


def default_of(row):
    """The one word that the row of CONFIG.md has for a default, or None."""
    default = row.split("|")[2].strip().strip("`")
    return default if re.match(r"^[\w:/]+$", default) and default != "unset" else None


def breaches(root):
    expected = settings(read(root, "cachecore", "config.c"))
    rows = documented(read(root, "docs", "CONFIG.md"))
    pages = paragraphs(read(root, "docs", "man", "ckcache.conf.5"))
    if not expected:
        yield "cachecore/config.c: no settings found"
    for place, found in (("docs/CONFIG.md", rows), ("docs/man/ckcache.conf.5", pages)):
        for name in sorted(set(expected) - set(found)):
            yield "%s: %s is missing" % (place, name)
        for name in sorted(set(found) - set(expected)):
            yield "%s: there is no setting %s" % (place, name)
        if list(found) != [name for name in rows if name in found]:
            yield "%s: the settings are in another order than in docs/CONFIG.md" % place
    for name in sorted(set(expected) & set(rows) & set(pages)):
        default = default_of(rows[name])
        if default and default not in re.split(r"[\s.,;]+", pages[name]):
            yield "docs/man/ckcache.conf.5: %s: the default %s is not there" % (name, default)
        words = re.findall(r"[a-z]+", expected[name])
        if re.match(r"^[a-z]+(, [a-z]+)* or [a-z]+$", expected[name]):
            for word in words:
                if word != "or" and word not in re.split(r"\W+", pages[name]):
                    yield "docs/man/ckcache.conf.5: %s: %s is not there" % (name, word)


def main():
    found = list(breaches(sys.argv[1]))
    for breach in found:
        print(breach)
    print("%d breaches" % len(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
