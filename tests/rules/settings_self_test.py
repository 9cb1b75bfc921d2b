# SPDX-License-Identifier: MIT
"""Each rule of settings.py is broken once, and found."""
import unittest

import rule_case
import settings

CODE = """static const char *const expected[] = {
	[DAYS] = "days, 0 to 9",
	[PATH] = "a path",
};
settings[] = {
	SETTING_FOR_ALL("dir", dir, PATH),
	WORDS("order", order, OF_PROGRAMS, order_words, "lru or cost"),
	SETTING("days", threshold, DAYS),
};
"""
DOCUMENT = """| variable | default | meaning |
|---|---|---|
| `CKCACHE_DIR` | here, else there | a |
| `CKCACHE_ORDER` | lru | b |
| `CKCACHE_DAYS` | 90 | c |

| `CKCACHE_OTHER` | of another table |
"""
PAGE = """.Sh SETTINGS
.It Cm dir
A path.
.It Cm order
.Cm lru
or
.Cm cost .
.It Cm days
The default is 90.
.Sh FILES
.It Cm other
"""
PLACES = {"code": "cachecore/config.c", "document": "docs/CONFIG.md", "page": "docs/man/ckcache.conf.5"}
BROKEN = [
    ("code", "\n};", '\n\tSETTING("more", more, DAYS),\n};', 2, "more is missing"),
    ("code", '\tSETTING_FOR_ALL("dir", dir, PATH),\n', "", 2, "there is no setting dir"),
    ("document", "| `CKCACHE_DAYS` | 90 | c |\n", "", 1, "days is missing"),
    ("page", "is 90", "is 9", 1, "the default 90 is not there"),
    ("page", ".Cm cost .", ".Cm none .", 1, "cost is not there"),
    ("page", ".It Cm dir\nA path.\n", "", 1, "dir is missing"),
    ("page", ".It Cm dir\nA path.\n.It Cm order\n.Cm lru\nor\n.Cm cost .\n",
     ".It Cm order\n.Cm lru\nor\n.Cm cost .\n.It Cm dir\nA path.\n", 1, "in another order"),
    ("code", "SETTING(", "ROW(", 2, "there is no setting"),
]


class Settings(rule_case.Case):
    def breaches(self, texts):
        return list(settings.breaches(self.tree({PLACES[name]: text for name, text in texts.items()})))

    def test_each_rule_is_broken(self):
        good = {"code": CODE, "document": DOCUMENT, "page": PAGE}
        self.assertEqual(self.breaches(good), [])
        for name, old, new, count, wanted in BROKEN:
            found = self.breaches({**good, name: good[name].replace(old, new)})
            self.finds(wanted, found, (old, new), count)


if __name__ == "__main__":
    unittest.main()
