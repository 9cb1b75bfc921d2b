# SPDX-License-Identifier: MIT
"""No module of the product includes another that includes it again, on whatever way.

  circles.py ROOT

A module is X.h with X.c and X_internal.h. Prints each circle. KNOWN are those that are left to be
opened: one that is no longer there is printed as well.
"""
import os
import re
import sys

FOLDERS = ("common", "cachecore", "layers", "tools")
INCLUDE = re.compile(r'^#include "([^"]+)\.h"', re.M)
# By one module each, which no circle of another kind has.
KNOWN = ("layers/opencl/program/program_info",)


def module_of(path):
    return re.sub(r"_internal$", "", path)


def read_modules(root):
    """The modules that each module includes."""
    modules = {}
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(directory, name)
                module = module_of(os.path.relpath(path, root)[:-2])
                with open(path, encoding="utf-8") as source:
                    included = {module_of(found) for found in INCLUDE.findall(source.read())}
                modules.setdefault(module, set()).update(included - {module})
    return modules


def reached_from(modules, start):
    reached, waiting = set(), [start]
    while waiting:
        for module in modules.get(waiting.pop(), ()):
            if module not in reached:
                reached.add(module)
                waiting.append(module)
    return reached


def find_circles(modules):
    """Each circle as a sorted list: modules that reach each other."""
    reached = {module: reached_from(modules, module) for module in modules}
    return {tuple(sorted(other for other in reached[module] if module in reached.get(other, ())))
            for module in modules if module in reached[module]}


def main():
    circles = find_circles(read_modules(sys.argv[1]))
    breaches = ["a circle: " + " ".join(circle) for circle in sorted(circles)
                if not any(known in circle for known in KNOWN)]
    breaches += [known + ": no longer in a circle, nor has it to be known here" for known in KNOWN
                 if not any(known in circle for circle in circles)]
    if breaches:
        print("\n".join(breaches))
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
