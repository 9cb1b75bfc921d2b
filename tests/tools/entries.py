# SPDX-License-Identifier: MIT
"""What list, show, stats, verify, prune and export say of entries, word by word and number by number.

    entries.py CKCACHE FILL_CACHE SOURCE-DIRECTORY [TEST...]
"""
import fcntl
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import unittest

import caches
import report_samples as samples
import terminal
import tool_case

CKCACHE, FILL_CACHE, SOURCE = None, None, None
LINES = ["// the number of this line is %d, and it is as long as others" % i for i in range(8)]
TEXT = "\n".join(LINES) + """
kernel void one(global int *a);
kernel void one(global int *a) {}
kernel void two(global int *a) {}
"""
HOUR = 3600 * 10 ** 9


def filled(used, source, options="", size=9):
    """Of a GPU's entry, for FILL_CACHE: used at that time in ns, and built in 5 ms."""
    return "5000000 %d %d %s" % (used, size, " ".join(
        text.encode().hex() or "-" for text in ("A GPU", "1.2", source, options)))


class Case(tool_case.Case):
    def run_tool(self, *arguments, **options):
        return super().run_tool(*arguments, **options).stdout.decode()

    def json(self, *arguments, **options):
        return json.loads(self.run_tool(*arguments, "--json", **options))

    def golden(self):
        caches.copy(SOURCE, self.root)

    def put(self, rows):
        samples.fill(FILL_CACHE, self.root, rows)

    def fill(self, size=1000):
        """One entry of a result of that size, last used two hours ago; the time of that."""
        used = time.time_ns() - 2 * HOUR - HOUR // 2
        self.put([filled(used, TEXT, "-DN=4", size=size)])
        return used

    def show(self, ending=""):
        """What is shown of each entry, as text and as JSON."""
        for row in self.json("list"):
            if row["entry"].endswith(ending):
                yield self.run_tool("show", row["entry"]), self.json("show", row["entry"])


class Listed(Case):
    def test_an_entry_by_its_kernel_device_and_options(self):
        used = self.fill()
        [row] = self.json("list")
        self.assertEqual((row["device"], row["source"], row["options"], row["status"]),
                         ("A GPU", "kernel one", "-DN=4", "success"))
        self.assertEqual((row["last_use_ns"], row["compile_ms"]), (used, 5.0))
        [title, line] = self.run_tool("list").splitlines()
        self.assertEqual(line.index(" 2h ") + 3, title.index(" used ") + 5)
        self.assertNotIn("!", line)
        self.put([filled(time.time_ns() + HOUR, TEXT, "-DN=4")])	# by a wrong clock
        self.assertIn(" 0s ", self.run_tool("list"))

    def test_of_equals_the_first_path_and_number_come_first(self):
        self.golden()
        for path in caches.files(self.root):
            if path.endswith(("/0.src", "/0.bin")):
                shutil.copy2(path, path.replace("/0.", "/1."))
        for order in ("compile", "used", "size"):
            rows = self.json("list", "--sort", order)
            self.assertEqual(self.json("list", "--sort", order, "--reverse"), rows[::-1])

    def test_a_damaged_one_is_marked(self):
        self.golden()
        os.truncate(caches.files(self.root, ".src")[0], 20)
        self.assertEqual(sorted(row["status"] for row in self.json("list")),
                         ["corrupt data", "success", "success"])
        marked = [line for line in self.run_tool("list").splitlines() if "! corrupt data" in line]
        self.assertEqual(len(marked), 1)


class Shown(Case):
    def test_kernels_fields_and_first_lines(self):
        used = self.fill()
        [(text, value)] = self.show()
        self.assertIn("kernels        one, two\n", text)
        self.assertEqual(value["kernels"], ["one", "two"])
        self.assertEqual([line[8:] for line in text.splitlines() if line.startswith("      | ")],
                         LINES[:5])
        self.assertEqual(text.count("device.name: A GPU"), 1)
        self.assertEqual(text.count("-DN=4"), 1)
        self.assertEqual(value["last_use_ns"], used)
        self.assertGreater(value["stored_ns"], used)

    def test_dependencies(self):
        self.golden()
        shown = [value["depends_on"] for _, value in self.show()]
        self.assertIn([("file", "golden.h"), ("absent", "absent.h")],
                      [[(item["kind"], item["path"]) for item in items] for items in shown])
        texts = "".join(text for text, _ in self.show())
        self.assertIn("  file golden.h (17 bytes", texts)
        self.assertIn("  absent absent.h\n", texts)

    def test_sizes(self):
        self.golden()
        for text, value in self.show():
            self.assertIn("status         sound\n", text)
            self.assertIn("%d bytes, stored as %d" % (value["result_bytes"], value["stored_bytes"]), text)
            self.assertEqual(value["compressed"], value["result_bytes"] > value["stored_bytes"])
        self.assertEqual([value["compressed"] for _, value in self.show()].count(True), 1)

    def test_half_an_entry_has_no_result(self):
        self.golden()
        os.unlink(caches.files(self.root, ".bin")[0])
        lost = [(text, value) for text, value in self.show() if value["result_bytes"] is None]
        self.assertEqual(len(lost), 1)
        [(text, value)] = lost
        self.assertNotEqual(value["status"], "success")
        self.assertNotIn("status         sound", text)
        self.assertNotIn("\nresult ", text)


class Scaled(Case):
    """Of large caches no more is read than is needed."""

    def fill_many(self, count):
        self.put(filled(time.time_ns() - i * HOUR, TEXT + "// %d" % i, size=100) for i in range(count))

    def read(self, *arguments):
        """How many .src files that reads: what is read later than it was written gets a new time."""
        paths = caches.files(self.root, ".src")
        for path in paths:
            os.utime(path, ns=(1, 2))
        with open(paths[0], "rb") as file:
            file.read()
        if os.stat(paths[0]).st_atime_ns == 1:
            self.skipTest("the file system notes no reads")
        os.utime(paths[0], ns=(1, 2))
        self.run_tool(*arguments)
        return sum(os.stat(path).st_atime_ns != 1 for path in paths)

    def test_show_reads_the_entry_alone(self):
        self.fill_many(30)
        entry = self.json("list", "--sort", "path")[17]["entry"]
        self.assertEqual(self.read("show", entry), 1)
        self.assertEqual(self.read("show", "/".join(part[:8] for part in entry[:-len(".src")].split("/"))), 1)
        self.assertEqual(self.read("show", "--json", entry.rpartition("/")[0]), 1)

    def test_a_limit_is_where_list_stops(self):
        self.fill_many(30)
        for arguments, count in ((["--limit", "1"], 1), (["--limit", "3", "--json"], 3),
                                 (["--sort", "path", "--limit", "2"], 2),
                                 (["--sort", "path", "--reverse", "--limit", "2"], 2),
                                 (["--sort", "used", "--limit", "2"], 2),
                                 (["--sort", "size", "--limit", "1", "--json"], 1), ([], 30)):
            self.assertEqual(self.read("list", *arguments), count, arguments)
        self.assertEqual(len(self.json("list", "--limit", "7")), 7)

    def test_the_first_of_many(self):
        self.fill_many(700)	# twice as many as are kept while they are read, and more
        rows = self.json("list")
        self.assertEqual([row["last_use_ns"] for row in rows],
                         sorted((row["last_use_ns"] for row in rows), reverse=True))
        for limit in (1, 300, 699, 700, 701):
            self.assertEqual(self.json("list", "--sort", "used", "--limit", str(limit)), rows[:limit])
        self.assertEqual(self.json("list", "--sort", "used", "--reverse", "--limit", "9"), rows[::-1][:9])
        self.assertEqual(len(self.run_tool("list").splitlines()), 701)

    def test_stats_of_many_are_estimated(self):
        self.fill_many(1)
        self.assertFalse(self.json("stats")["estimated"])
        caches.multiply(self.root, 2999)
        shutil.copytree(os.path.join(caches.golden(SOURCE), "recipes"), os.path.join(self.root, "recipes"))
        caches.write(os.path.join(self.root, "cache_size.txt"), b"123456789\n")
        value = self.json("stats")
        self.assertTrue(value["estimated"])
        self.assertEqual(value["bytes"], 123456789)
        self.assertLess(abs(value["entries"] - 3000), 30)
        self.assertEqual(self.json("stats")["entries"], value["entries"])
        self.assertIn("\nentries, about ", self.run_tool("stats"))
        exact = self.json("stats", "--exact")
        self.assertEqual((exact["entries"], exact["estimated"]), (3000, False))
        self.assertEqual((exact["recipes_ms"], exact["recipes"]), (value["recipes_ms"], 1))
        self.assertGreater(exact["recipes_ms"], 0)
        self.assertNotEqual(exact["bytes"], 123456789)
        os.unlink(os.path.join(self.root, "cache_size.txt"))
        self.assertLess(abs(self.json("stats")["bytes"] / exact["bytes"] - 1), 0.02)


class Terminals(Case):
    def shown(self, columns, *arguments):
        def start(fd):
            return subprocess.Popen([CKCACHE, *arguments], stdin=subprocess.DEVNULL, stdout=fd, stderr=fd,
                                    env=self.environment({"TERM": "dumb"}))

        code, text = terminal.show(start, columns)
        self.assertEqual(code, 0, (arguments, text))
        return text.decode().replace("\r\n", "\n").splitlines()

    def test_an_entry_is_no_command_for_a_terminal(self):
        """Keys have any bytes: of programs, and of bundles that others made."""
        evil = b"a\x1b[2J\x07\x7f\xc2\x9b31m\xe2\x80\xaeb\x9b\xff\xe2\x80\xa8c"
        source = b"kernel void one(global int *a) { } // " + evil + b"\n" + evil + b"\n" + TEXT.encode()
        self.put([samples.row(source, b"GPU " + evil, b"1.2 " + evil, b"-DN=" + evil)])
        [row] = self.json("list")
        for arguments in (["list"], ["list", "--json"], ["show", row["entry"]], ["show", "--json", row["entry"]],
                          ["show", "--source", row["entry"]], ["stats", "--verbose", "--per-program"],
                          ["stats", "--json"], ["entry-words", ""]):
            shown = "\n".join(self.shown(200, *arguments)).replace("\t", " ")
            self.assertTrue(all(character.isprintable() or character == "\n" for character in shown), shown)
            self.assertTrue(shown or arguments == ["entry-words", ""])
        self.assertIn("a?[2J", "\n".join(self.shown(200, "show", "--source", row["entry"])))
        # A pipe gets a source as it is, and lines for people without what a pager might pass on.
        self.assertEqual(tool_case.Case.run_tool(self, "show", "--source", row["entry"]).stdout, source)
        for arguments in (["list"], ["stats", "--verbose"], ["show", row["entry"]]):
            text = self.run_tool(*arguments)
            self.assertTrue(all(character.isprintable() or character == "\n" for character in text), text)

    def test_lists_fit(self):
        self.fill()
        for columns in list(range(40, 101)) + [120, 160, 200]:
            title, line = self.shown(columns, "list")
            self.assertLessEqual(max(len(title), len(line)), columns)
            parts = zip(self.json("list")[0]["entry"].split("/"), (2, 8, 2, 4, 1))
            self.assertEqual(line.split()[0], "/".join(part[:digits] for part, digits in parts))
            self.assertEqual(line.index(" 2h ") + 3, title.index(" used ") + 5)
            self.assertIn(" one", line)
        self.assertIn("A GPU", self.shown(100, "list")[1])
        self.assertTrue(self.shown(160, "list")[1].endswith("-DN=4"))
        self.assertIn("one", "\n".join(self.shown(80, "show", self.shown(80, "list")[1].split()[0])))

    def test_tables_of_stats_fit(self):
        self.fill()
        for option in ("--per-program", "--verbose"):
            tables = self.shown(80, "stats", option)[1:]  # behind the directory, which may be long
            self.assertLessEqual(max(map(len, tables)), 80)

    def test_damage_fits_too(self):
        self.golden()
        os.truncate(caches.files(self.root, ".src")[0], 20)
        lines = self.shown(80, "list")
        self.assertEqual(sum("! corrupt data" in line for line in lines), 1)
        self.assertLessEqual(max(map(len, lines)), 80)


class Labelled(Case):
    def test_programs_that_begin_alike(self):
        sources = {
            "kernel first": "#define REAL float\n/* all\n * alike */\n__kernel\n"
                            "__attribute__((reqd_work_group_size(8, 1, 1)))\nvoid first(int a) {}",
            "kernel m_04": "#define REAL float\nKERNEL_FQ KERNEL_FA void m_04 (KERN_ATTR ()) {}",
            "int helper;": "#define REAL float\n// all alike\n\n  int helper;\n",
            "#define REAL": "#define REAL\n#define MORE\n",
        }
        self.put("1 1 1 - - %s -" % source.encode().hex() for source in sources.values())
        self.assertEqual(sorted(row["source"] for row in self.json("list")), sorted(sources))


class Named(Case):
    """ENTRY of show and explain: any unique part of a path, or a kernel; programs: opencl.explain."""

    def setUp(self):
        super().setUp()
        programs = (("kernel void alone(global int *a) {}\nkernel void second(global int *a) {}", "-DN=1"),
                    ("kernel void both(global int *a) {}", "-DN=1"),
                    ("kernel void both(global int *a) {}", "-DN=2"))
        self.put(filled(1, source, options) for source, options in programs)
        self.rows = self.json("list")
        [self.entry] = [row["entry"] for row in self.rows if row["source"] == "kernel alone"]

    def expect_one(self, name):
        self.assertEqual(self.json("show", name)["entry"], self.entry, name)
        self.assertEqual(self.json("explain", name)["compiles"], [], name)

    def expect_several(self, name, count):
        for verb in ("show", "explain"):
            error = self.complaint(verb, name)
            lines = error.splitlines()
            self.assertIn('"%s" is the name of several entries' % name, lines[0])
            self.assertEqual(len(lines), 1 + count, error)

    def complaint(self, *arguments):
        ran = tool_case.Case.run_tool(self, *arguments, code=1)
        self.assertEqual(ran.stdout, b"", arguments)
        return ran.stderr.decode()

    def test_a_trace_tells_a_terminal_nothing(self):
        """It may be somebody else's."""
        trace = self.path("trace")
        with open(trace, "w", encoding="utf-8") as file:
            for members in ({"event": "miss", "failure": "-11: error: \033[2J\u202e\x9bx"},
                            {"event": "bypass", "reason": "opt\033[2J\nion"},
                            {"event": "miss", "key": {"device.name": "\033[2J", "a\033[2J": "1", "kind": "source"}}):
                json.dump({"time_ns": 10 ** 18, "pid": 5, "build_ns": 1000, **members}, file)
                file.write("\n")
        for arguments in ((), ("--verbose",)):
            text = self.run_tool("explain", "--trace", trace, *arguments)
            self.assertIn("error:  [2J  x", text)
            self.assertTrue(all(character.isprintable() or character == "\n" for character in text), text)

    def test_a_trace_has_long_values_by_their_hashes(self):
        key = {field["field"]: {"size": field["size"], "hash": field["hash"]}
               for field in self.json("show", self.entry)["key"]}
        for more, entry in (({}, self.entry[:-len("/0.src")]), ({"number": 5}, None)):
            trace = self.write("trace", json.dumps({"event": "miss", "time_ns": 10 ** 18, "key": {**key, **more}}))
            [compiled] = self.json("explain", "--trace", trace)["compiles"]
            self.assertEqual(compiled["entry"], entry)

    def test_any_part_of_its_path(self):
        parts = self.entry[:-len(".src")].split("/")
        for name in (self.entry, self.entry[:-len(".src")], self.root + "/" + self.entry, parts[1], parts[1][:8],
                     parts[1][7:19], parts[1] + "/" + parts[2][:4], "/".join(part[:8] for part in parts)):
            self.expect_one(name)

    def test_words_that_a_shell_is_offered(self):
        def words(*arguments):
            return self.run_tool("entry-words", *arguments).split()
        self.assertEqual(words("alo", "show"), ["alone"])
        self.assertEqual(sorted(set(words("", "show")) & {"alone", "second", "both"}), ["alone", "both", "second"])
        short = "/".join(part[:8] for part in self.entry.split("/")[:4])
        self.assertIn(short, words(short[:4], "explain", "--json"))
        self.assertEqual(words(short[:12] + "x", "show"), [])	# no words are no failure
        self.assertEqual(words("alo", "show", "--dir", self.path("nothing")), [])
        self.put(filled(1, "kernel void many%d(global int *a) {}" % i) for i in range(80))
        for clock, least, most in (("STOPPED_CLOCK", 80, 80), ("LEAPING_CLOCK", 60, 70)):
            found = self.run_tool("entry-words", "many", "show", extra=tool_case.clock(**{clock: "1"})).split()
            self.assertTrue(least <= len(found) <= most, (clock, found))

    def test_its_kernels(self):
        self.expect_one("alone")
        self.expect_one("second")

    def test_a_kernel_goes_before_digits_of_a_path(self):
        self.put(filled(1, "kernel void %s(global int *a) {}" % name) for name in ("a", *map("b{}".format, range(80))))
        self.assertEqual(self.json("show", "a")["kernels"], ["a"])
        self.assertEqual(len(self.complaint("show", self.entry[:6]).splitlines()), 1 + 16 + 1)	# "and more"

    def test_several_are_listed_and_told_apart(self):
        self.expect_several("both", 2)
        error = self.complaint("show", "both")
        for options in ("-DN=1", "-DN=2"):
            self.assertIn("kernel both, " + options, error)
        self.expect_several(self.entry.split("/")[0][:6], 3)

    def test_none(self):
        for verb in ("show", "explain"):
            for name in ("absent", "0/1/2/3/4/5", "both/", ".src", "", "x" * 5000):
                self.assertIn("there is no entry", self.complaint(verb, name), name)
        self.assertEqual(self.run_tool("explain", extra={"CKCACHE_DIR": self.path("none")}), "no compiles are known\n")
        self.assertIn(": the cache is switched off", self.run_tool("explain", extra={"CKCACHE_DISABLE": "1"}))


class Golden(Case):
    def setUp(self):
        super().setUp()
        self.golden()


class Counted(Golden):
    def test_look_ups_and_shares(self):
        for name in ("events.log", "stats.txt"):
            if os.path.exists(os.path.join(self.root, name)):
                os.unlink(os.path.join(self.root, name))
        caches.write(os.path.join(self.root, "stats.txt"),
                     b"hits_memory 1\nhits_disk 2\nmisses 1\nbypass.time 4\nbypass.pipe 5\n")
        text = self.run_tool("stats", extra={"CKCACHE_MAX_SIZE": "1Mi"})
        lines = {line[:27].strip(): line[27:].split() for line in text.splitlines()}
        self.assertEqual(lines["hits in memory"], ["1", "25.0", "%"])
        self.assertEqual(lines["hits on disk"], ["2", "50.0", "%"])
        self.assertEqual(lines["misses"], ["1", "25.0", "%"])
        self.assertEqual(lines["to be replayed"], ["1"])
        self.assertIn("%", lines["size"])
        self.assertEqual(self.json("stats")["bypasses"], {"time": 4, "pipe": 5})
        text = self.run_tool("stats", extra={"CKCACHE_MAX_SIZE": "0"})
        [size] = [line for line in text.splitlines() if line.startswith("size")]
        self.assertNotIn("%", size)

    def test_verify_names_what_others_may_write_to(self):
        for name in (".src", ".bin"):
            shutil.rmtree(self.root)
            self.golden()
            os.chmod(caches.files(self.root, name)[0], 0o622)
            value = self.json("verify", code=1)
            self.assertEqual((value["damaged"], value["unsafe"], value["sound"]), (0, 1, 2))
            [finding] = value["findings"]
            self.assertEqual(finding["status"], "others may write to it")
            text = self.run_tool("verify", code=1)
            self.assertIn(finding["entry"] + ": others may write to it\n", text)
            self.assertIn("2 entries sound, 0 damaged, 1 that others may write to\n", text)
            if name == ".bin":
                self.assertIn("others may write to it", self.run_tool("show", finding["entry"]))
            else:
                self.assertEqual(self.run_tool("list").count("! others may write to it\n"), 1)
            self.assertEqual(self.json("verify", "--repair")["removed"], 1)
            self.assertEqual(self.json("verify")["unsafe"], 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_verify_names_what_is_another_users(self):
        os.chown(caches.files(self.root, ".bin")[0], caches.ANOTHER_USER, -1)
        [finding] = self.json("verify", code=1)["findings"]
        self.assertEqual(finding["status"], "it belongs to another user")

    def test_verify_names_damage_and_the_account(self):
        caches.damage_bin(self.root)
        caches.write(os.path.join(self.root, "cache_size.txt"), b"12345\n")
        self.assertEqual(self.json("verify", code=1)["account_bytes"], 12345)
        self.assertIn(": corrupt data", self.run_tool("verify", code=1))

    def test_repair_corrects_the_account_and_clears_leftovers(self):
        left = os.path.join(os.path.dirname(caches.files(self.root, ".bin")[0]), ".tmp-1-1-1")
        caches.write(left, b"of a writer that died")
        caches.write(os.path.join(self.root, "cache_size.txt"), b"12345\n")
        self.run_tool("verify", "--repair", extra={"CKCACHE_MAX_SIZE": "1B"})
        self.assertFalse(os.path.exists(left))
        self.assertEqual(len(self.json("list")), 3)	# it is no prune

    def test_prune_tells_the_bytes_that_went(self):
        total = sum(row["bytes"] for row in self.json("list"))
        caches.pass_days(self.root, 2)
        value = self.json("prune", extra={"CKCACHE_THRESHOLD": "1"})
        self.assertEqual((value["removed_entries"], value["removed_bytes"], value["bytes"]), (3, total, 0))

    def test_prune_fails_if_too_much_stays(self):
        for path in caches.files(self.root, ".src"):
            os.unlink(path)
            os.mkdir(path)	# which nobody removes
        self.run_tool("prune", code=1, extra={"CKCACHE_MAX_SIZE": "1B"})

    def test_clear_leaves_nothing_and_counts_what_was_whole(self):
        os.unlink(caches.files(self.root, ".src")[0])
        caches.write(os.path.join(os.path.dirname(caches.files(self.root, ".bin")[1]), ".tmp-1-1-1"), b"")
        with open(os.path.join(self.root, "cache_size.txt"), "r+", encoding="ascii") as file:
            too_much = int(file.read()) + 12345
            file.seek(0)
            file.write("%d\n" % too_much)
        self.assertEqual(self.json("clear")["removed_entries"], 2)
        self.assertEqual([name for name in os.listdir(self.root) if len(name) == 32], [])
        self.assertEqual(self.json("verify")["account_bytes"], 0)

    def test_clear_leaves_what_another_writes(self):
        entry_dirs = [os.path.dirname(path) for path in caches.files(self.root, ".src")]
        held = [os.open(entry_dir, os.O_RDONLY) for entry_dir in entry_dirs]
        for file in held:
            self.addCleanup(os.close, file)
            fcntl.flock(file, fcntl.LOCK_EX)
        self.run_tool("clear", code=1)
        self.assertEqual(len(self.json("list")), 3)


class Carried(Golden):
    def setUp(self):
        super().setUp()
        self.bundle = self.path("bundle")

    def rename(self, old, new, how):
        for path in caches.files(self.root):
            folder, name = os.path.split(path)
            if name.startswith(old + ".") or name.startswith(old + "_"):
                how(path, os.path.join(folder, new + name[len(old):]))

    def test_each_state_of_an_entry(self):
        self.rename("0", "1", shutil.copy)
        self.assertEqual(self.json("export", self.bundle)["exported"], 6)

    def test_an_entry_is_there_whatever_its_number(self):
        self.assertEqual(self.json("export", self.bundle)["exported"], 3)
        self.rename("0", "1", os.rename)
        value = self.json("import", self.bundle)
        self.assertEqual((value["imported"], value["there"]), (0, 3))

    def test_an_entry_over_a_limit_is_refused(self):
        self.run_tool("export", self.bundle)
        shutil.rmtree(self.root)
        value = self.json("import", self.bundle, code=1, extra={"CKCACHE_MAX_DEVICE_IMAGE_SIZE": "10"})
        self.assertEqual((value["imported"], value["too_large"]), (0, 3))

    def test_what_comes_through_a_pipe_is_kept_where_temporary_files_go(self):
        self.run_tool("export", self.bundle)
        shutil.rmtree(self.root)
        command = "exec cat %s | %s import -" % (self.bundle, CKCACHE)

        def run(script, temporary):
            return subprocess.run(["sh", "-c", script], env=self.environment({"TMPDIR": temporary}),
                                  capture_output=True, timeout=120, check=False)

        nowhere = run(command, self.path("none"))
        self.assertNotEqual(nowhere.returncode, 0, nowhere)
        self.assertFalse(os.path.exists(self.root))
        full = run("ulimit -f 1; " + command, self.work)
        self.assertNotEqual(full.returncode, 0, full)
        self.assertIn(b"no space left", full.stderr)
        good = run(command, self.work)
        self.assertEqual(good.returncode, 0, good)

    def test_a_reader_that_left_is_no_complaint(self):
        self.fill(200000)
        self.run_tool("export", self.bundle)
        self.assertGreater(os.path.getsize(self.bundle), 8192)	# more than is buffered
        output = tool_case.closed_pipe()
        # As a parent that ignores SIGPIPE starts it.
        ran = subprocess.run(["sh", "-c", "trap '' PIPE; exec %s export -" % CKCACHE], stdout=output,
                             env=self.environment(), stderr=subprocess.PIPE, timeout=120, check=False)
        os.close(output)
        self.assertEqual((ran.returncode != 0, ran.stderr), (True, b""))

    def openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], cwd=self.work, check=True, capture_output=True,
                              timeout=60).stdout

    def test_openssl_itself_finds_the_signatures_right(self):
        """docs/FORMAT.md is enough to check a bundle without this program."""
        self.run_tool("key", "new", "mine.pem")
        self.openssl("pkey", "-in", "mine.pem", "-pubout", "-out", "mine.pub")
        public = self.openssl("pkey", "-in", "mine.pem", "-pubout", "-outform", "der")[-32:]
        self.run_tool("export", self.bundle, "--sign", "mine.pem")
        bundle, start, count = caches.read(self.bundle), 16, 0
        while start < len(bundle) - 16:
            value = bundle[start:start + 128 + sum(struct.unpack_from("<QQ", bundle, start + 16))]
            digest = hashlib.blake2b(value[:64] + bytes(64) + value[128:], digest_size=32).digest()
            self.assertEqual(value[32:64], hashlib.blake2b(public, digest_size=32).digest())
            self.write("message", b"ckcache remote entry, 1".ljust(32, b"\0") + digest)
            self.write("signature", value[64:128])
            self.openssl("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "mine.pub", "-in", "message",
                         "-sigfile", "signature")
            start, count = start + len(value), count + 1
        self.assertEqual(count, 3)

    def test_a_pipe_is_no_key(self):
        pipe = self.path("pipe")
        self.run_tool("export", self.bundle)
        os.mkfifo(pipe)
        self.run_tool("import", self.bundle, "--verify", pipe, code=1)

    def test_half_an_entry_is_damaged(self):
        caches.lose_bin(self.root)
        value = self.json("export", self.bundle)
        self.assertEqual((value["exported"], value["damaged"]), (2, 1))

    def test_an_entry_of_a_later_version_is_no_damage(self):
        caches.add_foreign_version(self.root)
        value = self.json("export", self.bundle)
        self.assertEqual((value["exported"], value["damaged"], value["foreign"]), (2, 0, 1))


if __name__ == "__main__":
    CKCACHE, FILL_CACHE, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
