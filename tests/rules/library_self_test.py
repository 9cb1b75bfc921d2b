# SPDX-License-Identifier: MIT
"""A rule that cannot fail rules nothing: each rule of library.py is broken once, and found."""
import sys

import library

HEADER = "CKCACHE_EXPORT int ckcache_a(void);\nCKCACHE_EXPORT enum x\nckcache_b(int (*f)(void));\n"
EXTENSION = """typedef int ckcache_a_fn(void);
typedef enum x ckcache_b_fn(int (*f)(void));
struct ckcache_functions {
	size_t struct_size;
	ckcache_a_fn *a;
	ckcache_b_fn *b;
};
typedef const struct ckcache_functions *ckcache_functions_fn(void);
"""
SCRIPT = "V_1.0 {\n\tglobal:\n\t\tckcache_a;\n\t\tckcache_b;\n\tlocal:\n\t\t*;\n};\n"
SYMBOLS = "V_1.0 ckcache_a\nV_1.0 ckcache_b\n"
GOOD = (HEADER, EXTENSION, SCRIPT, SYMBOLS)
BAD = [
    (0, ("ckcache_b", "ckcache_c"), "ckcache_ext.h"),
    (0, ("CKCACHE_EXPORT", "extern"), "declares nothing"),
    (1, ("\tckcache_b_fn *b;\n", ""), "the table"),
    (1, ("typedef int ckcache_a_fn(void);\n", ""), "ckcache_ext.h"),
    (1, ("*b;", "*c;"), "the table calls"),
    (2, ("\t\tckcache_a;\n", ""), "the version script"),
    (2, ("V_1.0", "V_1.1"), "and the list"),
    (3, ("V_1.0 ckcache_a\n", ""), "and the list"),
]


def main():
    failures = 0
    if library.check_texts(*GOOD):
        print("good texts refused: %s" % library.check_texts(*GOOD))
        failures += 1
    for which, change, wanted in BAD:
        texts = list(GOOD)
        texts[which] = texts[which].replace(*change)
        found = library.check_texts(*texts)
        if not any(wanted in one for one in found):
            print("%s: wanted %s, found %s" % (change, wanted, found))
            failures += 1
    print("%d of %d breaches found" % (len(BAD) - failures, len(BAD)))
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
