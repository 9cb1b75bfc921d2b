# SPDX-License-Identifier: MIT
"""Each word that says why something was not cached, or not stored, has a sentence.

The words are found where the code gives them: what is assigned to a bypass or
a reason, passed to refuse() and its like, named in the tables of words that are
looked for. Sentences stand in tools/explain/reasons.c, and what is not cached in docs/CONFIG.md too.
Prints each breach.
"""
import os
import re
import sys

from includes import files_below

WORD = r"[a-z]+(?:[-_][a-z]+)*"
GIVEN = (
    re.compile(r"\bbypass = \"(%s)\"" % WORD),
    re.compile(r"(?:\b|_)reason = \"(%s)\"" % WORD),
    re.compile(r"\brefuse\([^\"();]*\"(%s)\"\)" % WORD),
)
# Functions that return the word, and tables that have it.
RETURNING = {
    "layers/shared/observer/observer.c": re.compile(r"(?:return|unsure\(|be_unsure\(observation,|:|unsure =)\s*\"(%s)\"" % WORD),
    "layers/shared/observer/dependencies.c": re.compile(r"(?:return|unsure\(|be_unsure\(observation,|:|unsure =)\s*\"(%s)\"" % WORD),
    "layers/shared/observer/observation.c": re.compile(r"(?:return|unsure\(|be_unsure\(observation,|:|unsure =)\s*\"(%s)\"" % WORD),
    "layers/shared/observer/libc_hooks.c": re.compile(r"unsure\(\"(%s)\"" % WORD),
    "layers/shared/observer/libc_hooks.def": re.compile(r"(?:unsure\(|UNSURE\([^\"\n]*)\"(%s)\"" % WORD),
    "layers/opencl/key/identity.c": re.compile(r"[?:] \"(%s)\"" % WORD),
    "layers/level_zero/plugin/driver_identity.c": re.compile(r"[?:] \"(%s)\"" % WORD),
}
LOST = (
    re.compile(r"\bnote_not_stored\([^;]*\"(%s)\"\)" % WORD),
    re.compile(r"NOT_STORED, [^;]*\.reason = \"(%s)\"" % WORD),
)
LOSSES_OF = ("cachecore/disk/level.c", re.compile(
    r"static const char \*reason_of\(.*?\n}\n", re.S), re.compile(r"\"(%s)\"" % WORD))
TABLE = re.compile(r"static const struct reason (\w+)\[\] = \{\n(.*?)\n\};", re.S)
ROW = re.compile(r"^\t\{ \"([^\"]+)\", \"[^\"]+\" \},$", re.M)


def given(root):
    """{word: file} of bypasses, and of losses."""
    bypasses, losses = {}, {}
    for path, text in files_below(root, ("layers", "cachecore"), (".c", ".def")):
        patterns = GIVEN + ((RETURNING[path],) if path in RETURNING else ())
        for pattern in patterns if path.startswith("layers") or path == LOSSES_OF[0] else ():
            for word in pattern.findall(text):
                bypasses[word] = path
        for pattern in LOST:
            for word in pattern.findall(text):
                losses[word] = path
        if path == LOSSES_OF[0]:
            for body in LOSSES_OF[1].findall(text):
                for word in LOSSES_OF[2].findall(body):
                    losses[word] = path
    return bypasses, losses


def tables(root):
    with open(os.path.join(root, "tools/explain/reasons.c"), encoding="utf-8") as source:
        return {name: ROW.findall(body) for name, body in TABLE.findall(source.read())}


def main():
    root = sys.argv[1]
    bypasses, losses = given(root)
    known = tables(root)
    breaches = 0
    with open(os.path.join(root, "docs/CONFIG.md"), encoding="utf-8") as page:
        documented = set(re.findall("`(%s)`" % WORD, page.read()))
    for word in sorted(bypasses.keys() - documented):
        print("docs/CONFIG.md: no \"%s\"" % word)
        breaches += 1
    for words, table in ((bypasses, "bypasses"), (losses, "losses")):
        for word in sorted(words):
            if word not in known.get(table, ()):
                print("%s: no sentence for \"%s\" in tools/explain/reasons.c (%s)" % (words[word], word, table))
                breaches += 1
    for word in known.get("bypasses", ()):
        if word not in bypasses and word != "other":
            print("tools/explain/reasons.c: nothing gives \"%s\"" % word)
            breaches += 1
    for table, words in known.items():
        if words != sorted(words):
            print("tools/explain/reasons.c: %s is not sorted" % table)
            breaches += 1
    print("%d words, %d breaches" % (len(bypasses) + len(losses), breaches))
    return 1 if breaches or len(bypasses) < 30 or len(losses) < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
