# SPDX-License-Identifier: MIT
"""The page of `ckcache report`: sound HTML that loads and runs nothing, with the
numbers that stats and list have; whatever the entries are called, and whatever
the cache is like.

    report.py CKCACHE FILL_CACHE SOURCE-DIRECTORY [TEST...]
"""
import base64
import hashlib
import html.parser
import json
import os
import re
import shutil
import sys
import unittest

import caches
import report_samples as samples
import tool_case

CKCACHE, FILL_CACHE, SOURCE = None, None, None
MAX_PAGE = 300 * 1000
VOID = {"meta", "br"}
ELEMENTS = {"html", "head", "meta", "title", "style", "body", "header", "main", "footer", "h1", "h2",
            "h3", "p", "code", "bdi", "data", "time", "span", "div", "dl", "dt", "dd", "ul", "li",
            "br", "table", "thead", "tbody", "tr", "th", "td", "figure", "details", "summary", "svg",
            "g", "rect", "line"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "id", "value", "datetime",
              "scope", "tabindex", "role", "aria-label", "aria-hidden", "viewbox",
              "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2", "width", "height"}


class Page(html.parser.HTMLParser):
    """Strict: each element is known, closed in its turn, and has known attributes."""

    def __init__(self, data):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.metas, self.rows = [], {}, {}, []
        self.style, self.titles, self.headings, self.texts = "", 0, [], []
        self.source = data.decode("utf-8", "strict")
        if not self.source.startswith("<!DOCTYPE html>\n"):
            raise AssertionError("no document type")
        self.feed(self.source)
        self.close()
        if self.open:
            raise AssertionError("left open: %s" % self.open)

    def handle_starttag(self, tag, attrs):
        if tag not in ELEMENTS:
            raise AssertionError("<%s>" % tag)
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names) or not set(names) <= ATTRIBUTES:
            raise AssertionError("<%s %s>" % (tag, names))
        attrs = dict(attrs)
        if "id" in attrs:
            if attrs["id"] in self.ids:
                raise AssertionError("id %s twice" % attrs["id"])
            self.ids[attrs["id"]] = None
        if tag == "meta":
            self.metas[attrs.get("http-equiv") or attrs.get("name") or "charset"] = \
                attrs.get("content") or attrs.get("charset")
        if tag == "svg" and attrs.get("aria-hidden") != "true" and attrs.get("role") != "img":
            raise AssertionError("a drawing without a role")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append({"text": "", "value": None})
        if tag == "data":
            for id_of in [one[1] for one in self.open if one[1]]:
                if self.ids[id_of] is None:
                    self.ids[id_of] = int(attrs["value"])
            if any(one[0] in ("td", "th") for one in self.open):
                self.rows[-1][-1]["value"] = int(attrs["value"])
        self.titles += tag == "title"
        if tag not in VOID:
            self.open.append((tag, attrs.get("id")))

    def handle_startendtag(self, tag, attrs):
        if tag not in ("rect", "line"):
            raise AssertionError("<%s />" % tag)
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            raise AssertionError("</%s> in %s" % (tag, self.open))
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "style":
            self.style += data
            return
        if self.open and self.open[-1][0] in ("h1", "h2", "h3"):
            self.headings.append(data)
        if any(one[0] in ("td", "th") for one in self.open):
            self.rows[-1][-1]["text"] += data
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError("a comment: %r" % data)

    def unknown_decl(self, data):
        raise AssertionError("a declaration: %r" % data)

    def handle_pi(self, data):
        raise AssertionError("an instruction: %r" % data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).replace("\xa0", " ").split())


class Case(tool_case.Case):
    def setUp(self):
        super().setUp()
        self.file = self.path("report.html")

    def report(self, code=0, extra=None):
        """The page, checked as any must be."""
        data = self.run_tool("report", "-", code=code, extra=extra).stdout
        page = Page(data)
        digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
        self.assertEqual(page.metas["Content-Security-Policy"],
                         "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "
                         "form-action 'none'" % digest)
        self.assertEqual(page.metas["charset"], "utf-8")
        self.assertIn("viewport", page.metas)
        self.assertLess(data.index(b"Content-Security-Policy"), data.index(b"<style>"))
        self.assertIsNone(re.search(r"url\(|@import|@font-face|expression", page.style))
        self.assertLess(len(data), MAX_PAGE)
        for character in page.source:
            self.assertTrue(character in "\n\t" or ord(character) >= 0x20, repr(character))
            self.assertNotIn(character, "\x7f\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200f\u200b")
        return page

    def stats(self):
        return json.loads(self.run_tool("stats", "--json").stdout)

    def listed(self, *arguments):
        return json.loads(self.run_tool("list", "--json", *arguments).stdout)

    def row(self, page, first):
        """Values of the one row whose first cell begins so."""
        rows = [row for row in page.rows if row and row[0]["text"].startswith(first)]
        self.assertEqual(len(rows), 1, (first, rows))
        return [cell["value"] for cell in rows[0][1:]]

    def table(self, page, heading):
        """Rows below a heading's table, up to the next one's."""
        start = page.source.index(">%s<" % heading)
        part = page.source[start:page.source.index("</table>", start)]
        return Page(("<!DOCTYPE html>\n" + part[part.index("<table>"):] + "</table>").encode()).rows[1:]


class Numbers(Case):
    def check(self, page):
        stats, rows = self.stats(), self.listed()
        for name, member in (("hits-disk", "hits_disk"), ("hits-memory", "hits_memory"),
                             ("misses", "misses"), ("stores", "stores"), ("deferred", "deferred"),
                             ("entries", "entries"), ("bytes", "bytes"), ("recipes", "recipes"),
                             ("unattended", "compiled_unattended")):
            self.assertEqual(page.ids[name], stats[member], name)
        for name, member in (("saved", "compile_ms_saved"), ("spent", "compile_ms_spent"),
                             ("unattended-time", "compile_ms_unattended")):
            self.assertAlmostEqual(page.ids[name] / 1e6, stats[member], 2)
        self.assertEqual(page.ids["bytes"], sum(row["bytes"] for row in rows))
        for word, count in stats["bypasses"].items():
            self.assertIn(count, [row[1]["value"] for row in page.rows
                                  if len(row) == 2 and row[0]["text"].endswith(word)])
        return stats, rows

    def test_a_cache_in_use(self):
        samples.lively(FILL_CACHE, self.root)
        page = self.report()
        stats, rows = self.check(page)
        self.assertEqual(stats["entries"], 160)
        for heading in ("By device and driver", "By kernels", "By the time since the last use"):
            table = self.table(page, heading)
            self.assertEqual(sum(row[1]["value"] for row in table), stats["bytes"], heading)
            self.assertEqual(sum(row[2]["value"] for row in table), stats["entries"], heading)
            self.assertAlmostEqual(sum(row[3]["value"] for row in table) / 1e6, sum(row["compile_ms"] for row in rows))
            bars = page.source[page.source.index(">%s<" % heading):].partition("</table>")[0]
            self.assertEqual(max(map(float, re.findall(r"<rect class=(?:one|two|four) width=([\d.]+)", bars))), 100)
        largest = self.table(page, "The largest entries")
        self.assertEqual([row[1]["value"] for row in largest],
                         [row["bytes"] for row in self.listed("--sort", "size", "--limit", "10")])
        slowest = self.table(page, "The slowest compiles")
        self.assertEqual([row[1]["value"] / 1e6 for row in slowest],
                         [row["compile_ms"] for row in self.listed("--sort", "compile",
                                                                   "--limit", "10")])
        self.assertTrue(largest[0][0]["text"].endswith(
            "/".join(part[:8] for part in self.listed("--sort", "size")[0]["entry"]
                     .replace(".src", "").split("/"))))
        self.assertIn("Intel(R) Arc(TM) A770 Graphics, driver 24.35.30872", page.text)
        self.assertEqual(len(rows), 160)

    def test_time_by_days_and_programs(self):
        samples.lively(FILL_CACHE, self.root, days=40)
        page = self.report()
        stats = self.stats()
        days = self.table(page, "Hits and misses over time")
        sums = [sum(row[i]["value"] for row in days) for i in (1, 2, 3)]
        self.assertEqual(sums, [stats["hits_disk"], stats["hits_memory"], stats["misses"]])
        self.assertEqual(days, sorted(days, key=lambda row: row[0]["text"]))
        saved = self.table(page, "Compile time saved")
        self.assertEqual(sum(row[1]["value"] for row in saved), page.ids["saved"])
        programs = self.table(page, "Time saved per program")
        self.assertEqual(programs[0][0]["text"], "blender")
        self.assertEqual(programs[-1][0]["text"], "all others")
        self.assertNotIn("The chart shows", page.text)

    def test_who_waited(self):
        second = 1000 * samples.MS
        samples.fill(FILL_CACHE, self.root, [samples.row(samples.kernel("k"))])
        samples.write_usage(self.root, [(2, [0, 0, 0, 0, 0, 0, 30, 60 * second]),
                                        (0, [0, 0, 2, 0, 5 * second, 0, 4, 8 * second])],
                            [(b"a", 0, [0, 0, 2, 0, 5 * second, 0]),
                             (b"b", 2, [0, 0, 0, 0, 0, 0, 34, 68 * second])])
        samples.write_stats(self.root, misses=2, compile_ns_spent=5 * second, unattended=34,
                            unattended_ns=68 * second)
        page = self.report()
        stats, _ = self.check(page)
        self.assertEqual((stats["compiled_unattended"], stats["compile_ms_unattended"]), (34, 68000))
        self.assertEqual([(day["attended"], day["attended_ms"], day["unattended"], day["unattended_ms"])
                          for day in stats["days"]], [(0, 0, 30, 60000), (2, 5000, 4, 8000)])
        self.assertEqual([(one["program"], one["attended"], one["unattended"])
                          for one in stats["programs"]], [("b", 0, 34), ("a", 2, 0)])
        self.assertEqual([[cell["value"] for cell in row[1:]]
                          for row in self.table(page, "Compile time spent")],
                         [[0, 60 * second], [5 * second, 8 * second]])
        programs = {row[0]["text"]: [cell["value"] for cell in row[3:7]]
                    for row in self.table(page, "Time saved per program")}
        self.assertEqual(programs, {"a": [2, 5 * second, 0, 0], "b": [0, 0, 34, 68 * second]})
        lines = [line.split() for line in self.run_tool("stats").stdout.decode().splitlines()]
        start = lines.index("compiled while somebody waited while nobody waited".split())
        self.assertEqual([line[0] for line in lines[start + 1:]],
                         ["in", stats["days"][1]["day"], stats["days"][0]["day"], "b", "a"])
        self.assertEqual(lines[start + 1][2:], ["2", "5.00", "s", "34", "1", "min", "8", "s"])
        self.assertEqual(lines[start + 5][1:], ["2", "5.00", "s", "0", "0.00", "ms"])

    def test_this_week_comes_first(self):
        second = 1000 * samples.MS
        samples.fill(FILL_CACHE, self.root, [samples.row(samples.kernel("k"))])
        samples.write_usage(self.root, [(7, [100] * 6), (6, [1, 2, 4, 8, 16 * second, 32 * second]),
                                        (0, [16, 32, 64, 128, 256 * second, 512 * second, 3, second]),
                                        (-1, [100] * 6)], [])
        page = self.report()
        self.assertEqual([page.ids["week-" + name] for name in ("saved", "hits", "misses")],
                         [544 * second, 51, 68])
        self.assertIn("68 were compiled in 4 min 32 s , and 3 more while nobody waited; 136 could not be "
                      "cached.", page.text)
        self.assertLess(page.text.index("In the last 7 days"), page.text.index("compile time saved"))
        os.unlink(os.path.join(self.root, "stats.txt"))
        samples.write_usage(self.root, [(7, [100] * 6)], [])
        self.assertIn("no program asked this cache", self.report().text)

    def test_scripts_get_the_same_numbers(self):
        samples.lively(FILL_CACHE, self.root)
        page = self.report()
        value = json.loads(self.run_tool("report", "--json").stdout)
        for name, member in (("hits-disk", "hits_disk"), ("misses", "misses"), ("entries", "entries"),
                             ("bytes", "bytes"), ("recipes", "recipes")):
            self.assertEqual(page.ids[name], value[member], name)
        self.assertEqual(page.ids["week-hits"], value["week"]["hits_disk"] + value["week"]["hits_memory"])
        self.assertAlmostEqual(page.ids["week-saved"] / 1e6, value["week"]["saved_ms"], 2)
        for heading, member in (("By device and driver", "devices"), ("By kernels", "kernels"),
                                ("By the time since the last use", "ages")):
            table = [[row[0]["text"], row[1]["value"], row[2]["value"]] for row in self.table(page, heading)
                     if row[0]["text"] != "all others"]
            self.assertEqual(table, [[one["name"], one["bytes"], one["entries"]] for one in value[member]])
        for heading, member in (("The largest entries", "largest"), ("The slowest compiles", "slowest")):
            self.assertEqual([row[0]["text"].startswith(one["kernels"]) for row, one in
                              zip(self.table(page, heading), value[member])], [True] * 10)
        self.assertEqual(sum(day["misses"] for day in value["days"]), value["misses"])
        self.run_tool("report", "--json", self.file)
        self.assertEqual(json.loads(self.read(self.file))["largest"], value["largest"])

    def test_weeks_where_days_are_many(self):
        samples.fill(FILL_CACHE, self.root, [samples.row(samples.kernel("k"))])
        samples.write_usage(self.root, [(ago, [1, 1, 1, 0, 1, 1]) for ago in (360, 200, 1, 0)] +
                            [(-5, [100] * 6), (2000, [100] * 6)], [])
        samples.write_stats(self.root, hits_disk=1000)
        page = self.report()
        weeks = self.table(page, "Hits and misses over time")
        self.assertEqual(len(weeks), 3)
        self.assertTrue(weeks[0][0]["text"].startswith("week of "))
        self.assertEqual(sum(row[1]["value"] for row in weeks), 4)
        self.assertIn("The chart shows 12 of all look-ups", page.text)

    def test_counts_of_an_older_version(self):
        caches.copy(SOURCE, self.root)
        page = self.report()
        self.check(page)
        self.assertIn("There are no counts by day yet", page.text)

    def test_what_the_history_has(self):
        caches.copy(SOURCE, self.root)	# of whose history the first event is a compile, for a reason
        for _ in range(2):
            samples.lively(FILL_CACHE, self.root)
            self.run_tool("clear")
        samples.lively(FILL_CACHE, self.root)
        ran = self.run_tool("prune", "--json", extra={"CKCACHE_MAX_SIZE": "1Mi"})
        page = self.report()
        self.check(page)
        self.assertEqual(self.row(page, "the cache was cleared")[0], 2)
        self.assertEqual(self.row(page, "compiled: recache")[0], 1)
        self.assertIn("which begins at 2023-11-14 22:13 .", page.text)
        self.assertIn("the history begins: %d by size, 2 by age." % json.loads(ran.stdout)["removed_entries"], page.text)

    def test_settings(self):
        page = self.report(extra={"CKCACHE_MAX_SIZE": "3Gi", "CKCACHE_THRESHOLD": "0",
                                  "CKCACHE_CAPTURE": "eager", "CKCACHE_COMPRESSION": "7",
                                  "CKCACHE_REMOTE": "redis://user:pass-word@host:1/2",
                                  "CKCACHE_READ_ONLY_DIRS": "/a<b>:/c"})
        text = {row[0]["text"]: row[1]["text"] for row in page.rows if len(row) == 2}
        self.assertEqual((text["capture"], text["compression"], text["threshold"], text["max_size"]),
                         ("eager", "7", "0", "3Gi"))
        self.assertEqual(text["read_only_dirs"], "/a<b>:/c")
        self.assertEqual(text["remote"],
                         "redis://host:1/2off: no key is trusted (ckcache key trust)")
        self.assertNotIn("pass-word", page.source)

    def test_each_setting_is_there(self):
        rows = re.findall(r"^\| (`CKCACHE_[^|]*)", self.read(os.path.join(SOURCE, "docs", "CONFIG.md")), re.M)
        names = set(re.findall(r"`CKCACHE_([A-Z_]+)`", "".join(rows)))
        shown = {row[0]["text"].split()[0].upper() for row in self.report().rows if len(row) == 2}
        self.assertLessEqual(names, shown)


class Content(Case):
    def test_hostile_names_are_text(self):
        samples.fill(FILL_CACHE, self.root, samples.hostile_rows())
        samples.write_usage(self.root, [(0, [1] * 6)],
                            [(text[:60].replace(b"\0", b""), 0, [1, 1, 1, 1, 1, 1 + i])
                             for i, text in enumerate(samples.HOSTILE)])
        samples.write_bypasses(self.root, {"<script>": 1, "a\"b": 2, "ok-word": 3})
        page = self.report()
        self.assertIn("<script>alert(1)</script>", page.text)
        self.assertIn("naïve Größe 核 كيرنل", page.text)
        self.assertIn("right U+202Eot tfelU+202C U+2066isolate", page.text)
        self.assertIn("\ufffd\ufffd\ufffd not UTF-8 \ufffd(", page.text)
        self.assertIn("zeroU+200BwidthU+FEFF lineU+2028 tagU+E0041 noneU+FFFEU+10FFFF", page.text)
        self.assertIn("ok-word", page.text)
        self.assertNotIn("x" * 300, page.text)
        self.assertNotIn("gone", page.headings)

    def test_a_hostile_directory(self):
        self.root = self.path("<script>\u202e\n\"'&")
        self.assertIn("<script>U+202E \"'&", self.report().text)

    def test_text_can_be_read(self):
        """WCAG 2.2, 1.4.3 and 1.4.11: contrast of text, and of what a chart says."""
        style = self.report().style

        def luminance(colour):
            colour = colour if len(colour) == 6 else "".join(c * 2 for c in colour)
            parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
            parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

        themes = re.findall(r":root\{([^}]*)\}", style)
        self.assertEqual(len(themes), 2)
        for theme in themes:
            colours = {name: luminance(value)
                       for name, value in re.findall(r"--(\w+):#([0-9a-f]+)", theme)}
            for front, back, least in (("text", "page", 7), ("text", "panel", 7), ("text", "warn", 7),
                                       ("soft", "page", 4.5), ("soft", "panel", 4.5),
                                       *((name, "page", 3) for name in ("one", "two", "three", "four"))):
                light, dark = sorted((colours[front], colours[back]), reverse=True)
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), least, (front, back, theme))

    def test_huge(self):
        samples.huge(FILL_CACHE, self.root, int(os.environ.get("REPORT_ENTRIES", "1000")))
        page = self.report()
        self.assertEqual(page.ids["entries"], self.stats()["entries"])


class Caches(Case):
    def test_none(self):
        page = self.report()
        self.assertIn("Nothing is stored", page.text)
        self.assertIn("No program has counted anything", page.text)
        self.assertFalse(os.path.lexists(self.root))

    def test_empty(self):
        os.mkdir(self.root, 0o700)
        self.assertIn("Nothing is stored", self.report().text)
        self.assertEqual(os.listdir(self.root), [])

    def test_damaged(self):
        for name, (how, _, foreign) in caches.DAMAGED.items():
            if os.path.lexists(self.root):
                shutil.rmtree(self.root)
            caches.copy(SOURCE, self.root)
            samples.write_usage(self.root, [(1, [1] * 6)], [(b"a", 1, [1] * 6)])
            how(self.root)
            before = caches.snapshot(self.root)
            page, stats = self.report(), self.stats()
            self.assertEqual(page.ids["entries"], stats["entries"], name)
            self.assertEqual(page.ids["bytes"], stats["bytes"], name)
            self.assertEqual("Damaged entries: " in page.text, stats["damaged_entries"] > foreign,
                             name)
            self.assertEqual("another version of the format: " in page.text, foreign > 0, name)
            self.assertEqual(caches.snapshot(self.root), before, name)

    def test_rubbish_for_usage(self):
        caches.copy(SOURCE, self.root)
        for content in (b"", b"\0" * 500, b"day 1\n" * 50, b"x" * 200000,
                        b"day 20000 " + b"18446744073709551615 " * 8 + b"\n",
                        b"program %3c 4294967295 18446744073709551615 1 1 1 1 1 1 1\n"):
            caches.write(os.path.join(self.root, "stats.txt"), content)
            self.report()

    def foreign(self, reason):
        page = self.report(code=1)
        self.assertIn("is not used as a cache", page.text)
        self.assertIn(reason, page.text)
        ran = self.run_tool("report", self.file, code=1)
        self.assertIn(reason.encode(), ran.stderr)
        self.assertTrue(os.path.exists(self.file))

    def test_one_that_others_may_write_to(self):
        caches.copy(SOURCE, self.root)
        os.chmod(self.root, 0o777)
        self.foreign("others may write to it")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_another_users(self):
        caches.copy(SOURCE, self.root)
        os.chown(self.root, caches.ANOTHER_USER, -1)
        self.foreign("another user")

    def test_no_cache_at_all(self):
        self.run_tool("report", self.file, code=1, extra={"CKCACHE_PERSISTENT": "0"})
        self.assertFalse(os.path.exists(self.file))


class Files(Case):
    def test_it_is_made_as_the_umask_says(self):
        for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
            old = os.umask(mask)
            try:
                self.run_tool("report", self.file)
            finally:
                os.umask(old)
            self.assertEqual(self.mode(self.file), mode)
            Page(self.read_bytes(self.file))
        self.assertEqual(sorted(os.listdir(self.work)), ["report.html"])

    def test_a_link_is_not_followed(self):
        victim = self.write("victim", "mine")
        for target in (victim, self.path("none")):
            os.symlink(target, self.file)
            ran = self.run_tool("report", self.file, code=1)
            self.assertIn(b"not a regular file", ran.stderr)
            self.assertEqual(os.readlink(self.file), target)
            os.unlink(self.file)
        self.assertEqual(sorted(os.listdir(self.work)), ["victim"])
        self.assertEqual(self.read(victim), "mine")

    def test_what_cannot_be_written(self):
        os.mkfifo(self.path("pipe"))
        for file in ("pipe", ".", "none/report.html", "", "/dev/null", "x" * 300):
            self.run_tool("report", file, code=1)
        self.assertEqual(os.listdir(self.work), ["pipe"])

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            self.assertIn(b"o space left", self.run_tool("report", "-", code=1, stdout=full).stderr)

    def test_arguments(self):
        for arguments in ([], ["a", "b"], ["--json=1"], ["--dir"]):
            self.run_tool("report", *arguments, code=2)
        self.assertEqual(os.listdir(self.work), [])


if __name__ == "__main__":
    CKCACHE, FILL_CACHE, SOURCE = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
