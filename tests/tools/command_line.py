# SPDX-License-Identifier: MIT
"""A verb is its row in tools/verbs.c and a file; help and completions come from the row,
ckcache(1) and docs/JSON.md say the same. And help fits a screen.

    command_line.py CKCACHE SOURCE-DIRECTORY
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import caches
import schema
import terminal
import tool_case

CKCACHE, SOURCE = None, None
LINES, COLUMNS = 24, 80
# Values that are words of the command's own, by option.
WORDS = {("list", "sort"): ["used", "size", "compile", "path"]}
# What is typed after "ckcache", and what a shell makes of it.
TYPED = {
    "sta": "stats", "hel": "help", "help sta": "help stats", "config uns": "config unset",
    "list --rev": "list --reverse", "list --sort u": "list --sort used",
    "show --dir ROOT gold": "show --dir ROOT golden",
    "run --summ": "run --summary", "run its-c": "run its-command",
    "run -- its-c": "run -- its-command", "run --summary -- its-c": "run --summary -- its-command",
    "explain -- its-c": "explain -- its-command",
    "record -o x -- its-c": "record -o x -- its-command", "record -o its": "record -o its-command",
}


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def ckcache(*arguments):
    ran = subprocess.run([CKCACHE, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                         timeout=60)
    if ran.returncode != 0 or ran.stderr:
        raise AssertionError("ckcache %s: %d, %r" % (" ".join(arguments), ran.returncode,
                                                     ran.stderr))
    return ran.stdout.decode("utf-8")


def help_of(verb):
    return ckcache(verb, "--help")


def verbs():
    """In the order of the help."""
    return re.findall(r"^  ([a-z]+) +\S", ckcache("--help"), re.M)


def options(text):
    """{name: argument or None} of a verb's help, without --help."""
    found = re.findall(r"^  --([a-z-]+)(?: ([A-Z]+))? ", text, re.M)
    return {name: argument or None for name, argument in found if name != "help"}


def sources():
    """{path below tools: text}"""
    texts = {}
    for folder, _, names in os.walk(os.path.join(SOURCE, "tools")):
        for name in (name for name in names if name.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(folder, name), os.path.join(SOURCE, "tools"))
            texts[path] = read("tools", path)
    return texts


def files_that_name(verb):
    """The file that defines a verb; the others that name its function."""
    texts = sources()
    own = [path for path, text in texts.items() if re.search(r"^int verb_%s\(" % verb, text, re.M)]
    return own, [path for path, text in texts.items()
                 if path not in own and re.search(r"\bverb_%s\b|\bVERB(?:_OF)?\(%s\b" % (verb, verb), text)]


def asked_for(text):
    """{name: whether it has a value} of the options that a verb's file asks for."""
    return {name: kind != "flag" for kind, name in
            re.findall(r'arguments_(flag|text|number|next)\(arguments,\s+"([a-z-]+)"', text)}


class Help(unittest.TestCase):
    def test_the_list_of_verbs_fits_a_screen(self):
        lines = ckcache("--help").splitlines()
        self.assertLessEqual(len(lines), LINES)
        self.assertLessEqual(max(map(len, lines)), COLUMNS)

    def test_each_verb_has_one_line_there(self):
        names = verbs()
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 9)

    def test_each_verb_has_its_own_help_with_examples(self):
        for verb in verbs():
            text = help_of(verb)
            self.assertTrue(text.startswith("Usage: ckcache %s" % verb), text)
            self.assertLessEqual(max(map(len, text.splitlines())), COLUMNS, verb)
            self.assertLessEqual(len(text.splitlines()), LINES + 6, verb)
            examples = text.partition("Examples:\n")[2].splitlines()
            self.assertTrue(examples, verb)
            for example in examples:
                self.assertIn("ckcache %s" % verb, example)

    def test_the_ways_to_ask_agree(self):
        self.assertEqual(ckcache("help"), ckcache("--help"))
        self.assertEqual(ckcache("-h"), ckcache("--help"))
        self.assertEqual(ckcache("-V"), ckcache("--version"))
        for verb in verbs():
            self.assertEqual(ckcache("help", verb), help_of(verb))
            self.assertEqual(ckcache(verb, "-h"), help_of(verb))

    def test_usage_has_each_option_once(self):
        for verb in verbs():
            text = help_of(verb)
            usage = " ".join(text.partition("\n\n")[0].split())
            for name, argument in options(text).items():
                word = "[--%s%s]" % (name, " " + argument if argument else "")
                self.assertEqual(usage.count(word), 1, (verb, word))

    def test_examples_have_no_option_that_is_not_there(self):
        for verb in verbs():
            text = help_of(verb)
            examples = text.partition("Examples:\n")[2]
            if verb == "run":
                examples = re.sub(r" -- .*", "", examples)
            for name in re.findall(r"--([a-z-]+)", examples):
                self.assertIn(name, options(text), verb)


class Verbs(unittest.TestCase):
    def test_a_verb_is_its_row_and_its_file(self):
        for verb in verbs():
            own, others = files_that_name(verb)
            self.assertEqual((len(own), others), (1, ["verbs.c"]), verb)

    def test_no_other_table_of_options(self):
        self.assertEqual([path for path, text in sources().items() if "getopt_long(" in text],
                         ["arguments.c"])

    def test_each_option_is_used(self):
        """Those that set a variable by the table itself."""
        table = read("tools", "verbs.c")
        by_file = {}
        for verb in verbs():
            row = re.search(r"^OPTIONS\(%s\) = \{(.*?)\};" % verb, table, re.S | re.M).group(1)
            taken = {"dir", *re.findall(r'PATH\("([a-z-]+)", \w+, "\w+", "\w+"', row)}
            options_of = {name: argument is not None for name, argument in
                          options(help_of(verb)).items() if name not in taken}
            by_file.setdefault(files_that_name(verb)[0][0], {})[verb] = options_of
        for path, expected in by_file.items():
            text = read("tools", path)
            self.assertEqual(asked_for(text), {name: value for one in expected.values() for name, value in one.items()},
                             path)
            # Of several verbs in a file, each asks for its own, or what they share does.
            function = re.compile(r"^int verb_(\w+)\((.*?)^}", re.S | re.M)
            shared = asked_for(function.sub("", text))
            for verb, own in function.findall(text):
                self.assertLessEqual(set(expected[verb]), {*asked_for(own), *shared}, verb)


class Completions(tool_case.Folder):
    def setUp(self):
        super().setUp()
        self.root = caches.copy(SOURCE, self.path("root"))
        os.symlink(CKCACHE, self.path("ckcache"))

    def script(self, shell):
        """A file of what the build installs for that shell."""
        return self.write(shell, ckcache("completion", shell))

    def complete(self, *words, tools=""):
        """What bash offers for the last of these words; tools: a folder with the command."""
        script = ("source %s; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _ckcache; "
                  "printf '%%s\\n' \"${COMPREPLY[@]}\"" %
                  self.script("bash"))
        ran = subprocess.run(["bash", "--norc", "-c", script, "bash", *words],
                             capture_output=True, timeout=60, check=True,
                             env={**os.environ, "PATH": tools + ":" + os.environ["PATH"]})
        self.assertEqual(ran.stderr, b"", words)
        return ran.stdout.decode().split()

    def test_bash_knows_the_verbs(self):
        self.assertEqual(sorted(self.complete("ckcache", "")),
                         sorted(verbs() + ["help", "--help", "--version"]))
        self.assertEqual(self.complete("ckcache", "sta"), ["stats"])
        self.assertEqual(sorted(self.complete("ckcache", "help", "")), sorted(verbs()))
        self.assertEqual(self.complete("ckcache", "nothing", "--"), [])
        self.assertEqual(self.complete("ckcache", "config", ""), ["get", "set", "unset"])

    def test_bash_knows_the_options(self):
        for verb in verbs():
            expected = ["--" + name for name in options(help_of(verb))] + ["--help"]
            self.assertEqual(sorted(self.complete("ckcache", verb, "--")), sorted(expected), verb)

    def test_bash_knows_words(self):
        for (verb, option), words in WORDS.items():
            self.assertEqual(self.complete("ckcache", verb, "--" + option, ""), words)
            self.assertEqual(self.complete("ckcache", verb, "--" + option, "="), words)
            self.assertEqual(self.complete("ckcache", verb, "--" + option, "=", words[0][:2]),
                             [words[0]])
            self.assertIn(" or ".join([", ".join(words[:-1]), words[-1]]),
                          re.sub(r" *\([^)]*\)", "", " ".join(help_of(verb).split())))

    def test_bash_leaves_numbers_to_people(self):
        self.assertEqual(self.complete("ckcache", "replay", "--jobs", ""), [])

    def test_bash_offers_entries_kernels_and_programs(self):
        root, work = self.root, self.work
        path = caches.short_path(SOURCE).rpartition("/")[0]
        for verb in ("show", "explain"):
            for beginning in ("", path[:3], path[:13], path[:-1], path):
                found = self.complete("ckcache", verb, "--dir", root, beginning, tools=work)
                self.assertIn(path, found, beginning)
                self.assertTrue(all(word.startswith(beginning) for word in found), found)
            self.assertEqual(self.complete("ckcache", verb, "--dir", "=", root, "no-such", tools=work), [])
            self.assertEqual(self.complete("ckcache", verb, "--dir", root + "/none", "", tools=work), [])
        kernel = json.loads(ckcache("show", "--dir", root, "--json", path))["kernels"]
        for name in kernel:
            self.assertIn(name, self.complete("ckcache", "show", "--dir", root, name[:1], tools=work))

    def test_bash_completes_directories(self):
        found = self.complete("ckcache", "list", "--dir", SOURCE + "/to")
        self.assertEqual(found, [SOURCE + "/tools"])

    def test_bash_completes_the_command_of_run(self):
        for words in (["--", "gre"], ["gre"], ["--dir", "x", "gre"], ["--summary", "--", "gre"],
                      ["--dir", "=", "x", "gre"]):
            self.assertIn("grep", self.complete("ckcache", "run", *words), words)
        for verb, *words in (("explain", "--"), ("record", "-o", "x", "--"), ("record", "--output", "x", "--")):
            self.assertIn("grep", self.complete("ckcache", verb, *words, "gre"), verb)
        self.assertNotIn("--summary", self.complete("ckcache", "run", "grep", "--s"))
        self.assertNotIn("--summary", self.complete("ckcache", "run", "--", "grep", "--s"))

    def test_zsh_has_the_same(self):
        text = ckcache("completion", "zsh")
        self.assertEqual(re.findall(r"^\t'([a-z]+):", text, re.M), verbs())
        for verb in verbs():
            summary = re.search(r"^  %s +(.*)$" % verb, ckcache("--help"), re.M).group(1)
            self.assertIn("'%s:%s'" % (verb, summary), text)
            row = re.search(r"^\t%s\) (.*?);;$" % verb, text, re.M | re.S).group(1)
            found = {name: bool(value) for name, value in
                     re.findall(r"^\t\t'\*?--([a-z-]+)(=?)\[", row, re.M)}
            self.assertEqual(found, {name: argument is not None for name, argument in
                                     options(help_of(verb)).items()}, verb)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_reads_it(self):
        subprocess.run(["zsh", "-n", self.script("zsh")], check=True, timeout=60)

    def environment(self):
        """With the command and another one."""
        os.symlink("/bin/true", self.path("its-command"))
        return {**os.environ, "HOME": self.work, "ZDOTDIR": self.work, "TERM": "dumb",
                "PATH": self.work + ":" + os.environ["PATH"]}

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_completes(self):
        environment = self.environment()
        for typed, ran in TYPED.items():
            line = "ckcache " + typed.replace("ROOT", self.root)
            done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                                   self.script("fish"), line],
                                  cwd=self.work, env=environment, capture_output=True, timeout=60, check=True)
            found = [word.split("\t")[0] for word in done.stdout.decode("utf-8").splitlines()]
            self.assertEqual((found, done.stderr), ([ran.split()[-1]], b""), typed)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_completes(self):
        """At a terminal: after each line's tab comes the key that runs it."""
        environment = self.environment()
        os.rename(self.script("zsh"), self.path("_ckcache"))
        self.write(".zshrc", """
            fpath=($PWD $fpath); autoload -U compinit; compinit -u -D
            setopt no_beep; unsetopt prompt_sp
            # What is completed asks the command; what is run is only shown.
            ckcache() { [[ $1 == entry-words ]] && command ckcache "$@" || print -r -- "ran <$*>" }
            its-command() { : }
            """)
        lines = {typed.replace("ROOT", self.root): ran.replace("ROOT", self.root) for typed, ran in TYPED.items()}
        code, said = terminal.show(
            lambda fd: subprocess.Popen(["zsh", "-i"], cwd=self.work, stdin=fd, stdout=fd, stderr=fd,
                                        start_new_session=True, env=environment),
            typed="".join("ckcache %s\t\n" % line for line in lines).encode() + b"exit\n")
        self.assertEqual(code, 0, said)
        self.assertEqual(re.findall("ran <(.*?) *>", said.decode("utf-8", "replace")),
                         list(lines.values()), said)


class Manual(unittest.TestCase):
    def sections(self):
        """{verb: its part of ckcache(1)}"""
        part = read("docs", "man", "ckcache.1").partition(".Sh VERBS\n")[2].partition("\n.Sh ")[0]
        found = re.split(r"^\.Ss ", part, flags=re.M)[1:]
        return {text.split("\n", 1)[0]: text for text in found}

    def test_it_has_each_verb(self):
        self.assertEqual(list(self.sections()), verbs())

    def test_it_has_each_option(self):
        for verb, text in self.sections().items():
            found = {name: argument or None for name, argument in
                     re.findall(r"^\.It Fl -([a-z-]+)(?: Ar (\S+))?$", text, re.M)}
            self.assertEqual(found, options(help_of(verb)), verb)

    def test_its_examples_are_commands(self):
        part = read("docs", "man", "ckcache.1").partition(".Sh EXAMPLES\n")[2]
        for verb, rest in re.findall(r"^ckcache ([a-z]+)(.*)$", part, re.M):
            self.assertIn(verb, verbs())
            if verb != "run":
                for name in re.findall(r"--([a-z-]+)", rest):
                    self.assertIn(name, options(help_of(verb)))

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_the_pages_are_clean(self):
        folder = os.path.join(SOURCE, "docs", "man")
        pages = sorted(os.listdir(folder))
        self.assertEqual(pages, ["ckcache.1", "ckcache.7", "ckcache.conf.5"])
        for page in pages:
            ran = subprocess.run(["mandoc", "-T", "lint", page], cwd=folder, capture_output=True,
                                 timeout=60)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b"", b""), page)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "no man")
    def test_groff_reads_them_without_a_warning(self):
        for page in ("ckcache.1", "ckcache.7", "ckcache.conf.5"):
            ran = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
                                  os.path.join(SOURCE, "docs", "man", page)],
                                 capture_output=True, timeout=60)
            self.assertEqual((ran.returncode, ran.stderr), (0, b""), page)


class Schema(unittest.TestCase):
    def test_each_verb_with_json_has_a_section(self):
        expected = [verb for verb in verbs() if "json" in options(help_of(verb))]
        self.assertEqual(sorted(schema.read(os.path.join(SOURCE, "docs", "JSON.md"))),
                         sorted(expected))

    def test_its_file_is_made_of_the_page(self):
        page = os.path.join(SOURCE, "docs", "JSON.md")
        self.assertEqual(read("docs", schema.SCHEMA_FILE), schema.made(schema.read_sections(page)),
                         "python3 tests/tools/schema.py docs/JSON.md > docs/ckcache.schema.json")

    @unittest.skipUnless(schema.jsonschema, "no python3-jsonschema")
    def test_its_file_refuses_what_is_wrong(self):
        section = schema.read(os.path.join(SOURCE, "docs", "JSON.md"))["clear"]
        good = {"removed_entries": 1, "removed_bytes": 2}
        schema.jsonschema.Draft202012Validator.check_schema(section.schema)
        self.assertEqual(list(schema.refused({**good, "more": None}, section)), [])
        for value in ([], {}, {"removed_entries": 1}, {**good, "removed_bytes": "2"},
                      {**good, "removed_bytes": -1}, {**good, "removed_bytes": 1.5}):
            self.assertEqual(len(list(schema.refused(value, section))), 2 if value == {} else 1, value)


class Fields(unittest.TestCase):
    def test_show_explains_each_field_of_the_layers(self):
        table = re.findall(r'^\t\{ "([a-z_.]+)", "', read("tools", "entries", "show.c"), re.M)
        found = set()
        for folder, _, names in (*os.walk(os.path.join(SOURCE, "layers")),
                                 (os.path.join(SOURCE, "cachecore"), [], ["key_options.c"])):
            for name in (name for name in names if name.endswith(".c")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                found.update(re.findall(r'CC_PART_\w+,\s*"([a-z_.]+)"', text))
                found.update(re.findall(r'(?:\{ |, )"((?:device|platform|driver)\.[a-z_]+)"', text))
        self.assertGreater(len(found), 40)
        for name in found:
            self.assertTrue(any(name == row or (row[-1] == "." and name.startswith(row)) for row in table),
                            name)
        for row in table:
            self.assertTrue(row[-1] == "." or row in found, row)


class ExitCodes(unittest.TestCase):
    def rows(self):
        """{code: its paragraph} of ckcache(1)."""
        part = read("docs", "man", "ckcache.1").partition(".Sh EXIT STATUS\n")[2].partition("\n.Sh ")[0]
        found = re.split(r"^\.It (?=\d)", part, flags=re.M)[1:]
        return {text.split("\n", 1)[0]: text for text in found}

    def test_the_table_has_those_of_the_code(self):
        constants = dict(re.findall(r"^\t((?:TOOL|RUN)_[A-Z_]+) = (\d+),",
                                    read("tools", "tool.h") + read("tools", "run", "run.c"), re.M))
        self.assertEqual(len(constants), 6)
        self.assertEqual(list(self.rows()), sorted(constants.values(), key=int) + ["128 + N"])

    def test_the_table_names_the_verbs_whose_help_has_one(self):
        named = set(re.findall(r"^\.It Cm ([a-z]+)", self.rows()["1"], re.M))
        self.assertEqual(named, {verb for verb in verbs()
                                 if re.search(r"exit\s+code is 1\b", help_of(verb))})


if __name__ == "__main__":
    CKCACHE, SOURCE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
