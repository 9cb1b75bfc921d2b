# SPDX-License-Identifier: MIT
"""No module of the product includes another that includes it again, on whatever way.

  circles.py ROOT

A module is X.h with X.c and X_internal.h. Prints each circle.
"""
import re
import sys

from includes import files_below

FOLDERS = ("common", "cachecore", "layers", "tools")
INCLUDE = re.compile(r'^#include "([^"]+)\.h"', re.M)


def module_of(path):
    return re.sub(r"_internal$", "", path)


def read_modules(root):
    """The modules that each module includes."""
    modules = {}
    for path, text in files_below(root, FOLDERS):
        module = module_of(path[:-2])
        included = {module_of(found) for found in INCLUDE.findall(text)}
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
    for circle in sorted(circles):
        print("a circle: " + " ".join(circle))
    sys.exit(1 if circles else 0)


if __name__ == "__main__":
    main()
