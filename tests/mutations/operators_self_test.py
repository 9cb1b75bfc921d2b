# SPDX-License-Identifier: MIT
"""Which mistakes are made in a function, and where a function begins and ends."""
import unittest

import operators

SOURCE = '''/* if (comment) */
#define MACRO(x) \\
	if (x)
struct one { int a; } two = { 1 };
static const struct table rows[] = {
	{ "text == text", 1 },
};

static enum cmn_status first(int a, int b)
{
	OWNED(one) struct one one = { 0 };
	int count = *other(a, b);

	HASH_ITER(hh, a, b) {
		use(a);
	}
	if (a == -b && !count) {
		count += 2;
	} else {
		return CMN_ERR;
	}
	do
		next();
	while (a);
	for (int i = 0; i < b; i++)
		continue;
	switch (a) {
	case 'x': break;
	default: goto end;
	}
end:
	return CMN_OK;
}

char *second(void)
{
	char room[64];

	while (more(";"))
		(void)drop();
	return room[0];
}

enum none { NONE };
struct odd third(struct odd odd)
{
	return odd;
}
'''


class Operators(unittest.TestCase):
    def changes(self, name):
        [function] = [one for one in operators.functions(SOURCE) if one.name == name]
        return [(change.operator, change.shown(SOURCE)) for change in operators.changes_of(function, SOURCE)]

    def test_functions(self):
        self.assertEqual([one.name for one in operators.functions(SOURCE)], ["first", "second", "third"])

    def test_each_operator(self):
        self.assertEqual(set(self.changes("first")), {
            ("return", "{ => { return CMN_OK;"),
            ("return", "{ => { return CMN_MISS;"),
            ("constant", "OWNED(one) struct one one = { 0 }; => OWNED(one) struct one one = { 1 };"),
            ("order", "int count = *other(a, b); => int count = *other(b, a);"),
            ("order", "HASH_ITER(hh, a, b) { => HASH_ITER(a, hh, b) {"),
            ("order", "HASH_ITER(hh, a, b) { => HASH_ITER(hh, b, a) {"),
            ("drop", "use(a); => ;"),
            ("negate", "if (a == -b && !count) { => if (!(a == -b && !count)) {"),
            ("swap", "if (a == -b && !count) { => if (a != -b && !count) {"),
            ("swap", "if (a == -b && !count) { => if (a == -b || !count) {"),
            ("drop", "count += 2; => ;"),
            ("swap", "count += 2; => count -= 2;"),
            ("constant", "count += 2; => count += 3;"),
            ("drop", "next(); => ;"),
            ("constant", "for (int i = 0; i < b; i++) => for (int i = 1; i < b; i++)"),
            ("swap", "for (int i = 0; i < b; i++) => for (int i = 0; i <= b; i++)"),
            ("drop", "continue; => ;"),
            ("drop", "case 'x': break; => case 'x': ;"),
            ("drop", "default: goto end; => default: ;"),
        })

    def test_loops_pointers_and_texts(self):
        self.assertEqual(set(self.changes("second")), {
            ("return", "{ => { return NULL;"),
            ("not-once", 'while (more(";")) => while (false && (more(";")))'),
            ("drop", "(void)drop(); => ;"),
            ("constant", "return room[0]; => return room[1];"),
        })

    def test_what_nothing_is_known_of(self):
        self.assertEqual(self.changes("third"), [])

    def test_only_its_place_is_changed(self):
        for function in operators.functions(SOURCE):
            for change in operators.changes_of(function, SOURCE):
                text = change.apply(SOURCE)
                self.assertNotEqual(text, SOURCE)
                self.assertTrue(function.start < change.start <= change.end < function.end)
                self.assertEqual(text[:change.start], SOURCE[:change.start])
                self.assertTrue(text.endswith(SOURCE[change.end:]))


if __name__ == "__main__":
    unittest.main()
