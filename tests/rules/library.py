# SPDX-License-Identifier: MIT
"""The public functions of libckcache are the same ones wherever they are named, and stay.

  library.py ROOT LIBRARY.so

ckcache.h declares them, ckcache_ext.h has a type and a place in the table for
each, the version script exports them, and so does the library, under the
version node that layers/libckcache/libckcache.symbols has for each. That list only
grows: programs were linked with what it has. What loaders call is in a node of its
own, by patterns; nothing there may have the name of a function of Level Zero's
loader, which would call it for its own.
"""
import fnmatch
import os
import re
import subprocess
import sys

from includes import strip_comments

SONAME = "libckcache.so.1"
LAYERS = "CKCACHE_LAYERS"


def declared(header):
    """Functions that ckcache.h exports."""
    return set(re.findall(r"CKCACHE_EXPORT\b[^;(]*?\b(ckcache_\w+)\s*\(", strip_comments(header)))


def typed(extension):
    """Functions that ckcache_ext.h has types for; and the table's members, in order."""
    text = strip_comments(extension)
    types = set(re.findall(r"\b(ckcache_\w+)_fn\(", text)) - {"ckcache_functions"}
    table = re.search(r"struct ckcache_functions \{(.*?)\n\};", text, re.S)
    members = re.findall(r"(ckcache_\w+)_fn \*(\w+);", table.group(1)) if table else []
    return types, members


def scripted(script):
    """Name or pattern -> version node, of a version script."""
    names = {}
    for node, body in re.findall(r"(\w[\w.]*)\s*\{(.*?)\n\}", strip_comments(script), re.S):
        found = re.search(r"global\s*:(.*?)(local\s*:|$)", body, re.S)
        for name in re.findall(r"[\w*]+", found.group(1)) if found else []:
            names[name] = node
    return names


def listed(text):
    return {name: node for node, name in (line.split() for line in text.splitlines() if line)}


def differences(what, left, right):
    return ["%s: %s" % (what, name) for name in sorted(left ^ right)]


def check_texts(header, extension, script, symbols):
    """What does not fit together."""
    functions, kept = declared(header), listed(symbols)
    nodes = {name: node for name, node in scripted(script).items() if node != LAYERS}
    types, members = typed(extension)
    found = [] if functions else ["ckcache.h declares nothing"]
    found += differences("not in both ckcache.h and ckcache_ext.h", functions, types)
    found += differences("not in both ckcache.h and the table", functions,
                         {name for name, _ in members})
    found += ["the table calls %s %s" % pair for pair in members if pair[0] != "ckcache_" + pair[1]]
    found += differences("not in both ckcache.h and the version script", functions, set(nodes))
    found += ["not in both the version script and the list: %s %s" % (node, name)
              for name, node in sorted(set(nodes.items()) ^ set(kept.items()))]
    return found


def check_layers(exported, script):
    """What the library shows to loaders: what the script's patterns allow, and each name of it."""
    patterns = [name for name, node in scripted(script).items() if node == LAYERS]
    found = ["for loaders, and not in the version script: " + name for name in sorted(exported)
             if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    found += ["for loaders, and not exported: " + name for name in patterns
              if "*" not in name and name not in exported]
    return found + ["of Level Zero's loader: " + name for name in sorted(exported)
                    if re.match(r"zer?[stx]?[A-Z]", name)]


def check_library(library, script, symbols):
    """What the library shows that the list does not have, and the other way round."""
    text = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    exported = {name: node for name, node in re.findall(r" [TDBRW] (\w+)@@?([\w.]+)", text)}
    found = ["exported by one of library and list alone: %s %s" % (node, name)
             for name, node in sorted(set(exported.items()) ^ set(listed(symbols).items()))
             if node != LAYERS]
    found += check_layers({name for name, node in exported.items() if node == LAYERS}, script)
    plain = re.findall(r" [TDBRW] (\w+)$", text, re.M)
    found += ["exported without a version: " + name for name in plain]
    dynamic = subprocess.run(["readelf", "--dynamic", "--wide", library], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
    if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != [SONAME]:
        found.append("the library's name is not " + SONAME)
    return found


def main():
    root, library = sys.argv[1:]
    texts = []
    for path in ("shared/api/ckcache.h", "shared/api/ckcache_ext.h", "libckcache/libckcache.map",
                 "libckcache/libckcache.symbols"):
        with open(os.path.join(root, "layers", path), encoding="utf-8") as file:
            texts.append(file.read())
    found = check_texts(*texts) + check_library(library, *texts[-2:])
    print("\n".join(found) or "%d functions" % len(listed(texts[-1])))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
