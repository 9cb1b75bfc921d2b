# SPDX-License-Identifier: MIT
"""Each rule of library.py is broken once, and found."""
import unittest

import library
import rule_case

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


class Library(rule_case.Case):
    def test_each_rule_is_broken(self):
        self.assertEqual(library.check_texts(*GOOD), [])
        for which, change, wanted in BAD:
            texts = list(GOOD)
            texts[which] = texts[which].replace(*change)
            self.finds(wanted, library.check_texts(*texts), change)

    def test_loaders_find_what_is_theirs(self):
        script = SCRIPT + "CKCACHE_LAYERS {\n\tglobal:\n\t\tclA;\n\t\t*Table;\n};\n"
        self.assertEqual(library.check_texts(HEADER, EXTENSION, script, SYMBOLS), [])
        self.assertEqual(library.check_layers({"clA", "ckcache_zeGetTable"}, script), [])
        self.finds("not in the version script", library.check_layers({"clA", "clB"}, script), "clB")
        self.finds("not exported", library.check_layers({"a_Table"}, script), "clA")
        self.finds("Level Zero's loader", library.check_layers({"zeGetTable"}, script), "zeGetTable")


if __name__ == "__main__":
    unittest.main()
