# SPDX-License-Identifier: MIT
"""A program with all mistakes does with each one what the program does that has this one alone."""
import os
import resource
import subprocess
import tempfile
import unittest

import operators
import schemata

SOURCE = '''#include <stdbool.h>
#include <stdio.h>
#define ONLY_IN_A_MACRO "x"

static int said;

static int say(int a, int b)
{
	printf("%d %d\\n", a, b);
	return said++ > 40 ? -1 : a;	/* so that every loop ends */
}

static bool all(int a, int b, int c)
{
	/* Operators within others, some of them unary or after a cast. */
	if (a == -b || (a & b) != 0 && !(c < a + b - 2 * c) || (unsigned)-1 << 3 == (unsigned)c)
		return say(a, b) >= 0 && (a | c) > 1;
	else if (a && b > 0 && c || b > 2 && a && !c)
		a -= b + (c >> 1);
	a += (b & 3 & c | a | 4 & b) - 1;
	say(a, c);
	return a <= c ? b == 1 : c != 2;
}

static int places(int count)
{
	static const int table[] = { 3, 4 + 1 };
	char text[4] = ONLY_IN_A_MACRO;
	int sum = 0;

	for (int i = 0; i < count; i++) {
		if (say(i, sum) < 0)
			goto end;
		switch (i) {
		case 1:
			sum += table[1];
			break;
		default:
			continue;
		}
	}
	while (sum > 0 && say(sum, count) >= 0)
		sum -= 2;
	do
		sum++;
	while (sum < 2);
end:
	say(sum, (int)sizeof(text));
	return sum;
}

static int never(int a)
{
	return a + 1;
}

int main(int argc, char **argv)
{
	if (argc > 5)
		return never(argc);
	say(all(1, 2, 3), all(2, -2, 1));
	say(all(0, 0, 2), argv[argc] == NULL);
	say(all(2, 1, 0), all(0, 4, 0));
	return places(3) & 127;
}
'''


class Schemata(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return os.path.join(self.folder, name)

    def compile(self, text, *more):
        """The program; None: it does not compile."""
        program = os.path.join(self.folder, "program-%d" % len(os.listdir(self.folder)))
        done = subprocess.run(["gcc", "-Werror=int-conversion", "-Werror=vla", "-o", program, *more,
                               self.write("source.c", text)], stderr=subprocess.DEVNULL, check=False)
        return program if done.returncode == 0 else None

    def run_program(self, program, chosen=None):
        """What it does; of one that does not end, that alone."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

        with open(os.path.join(self.folder, "output"), "w+b") as output:
            code = subprocess.run([program], stdout=output, env={schemata.VARIABLE: chosen} if chosen else {},
                                  preexec_fn=limit, check=False).returncode
            output.seek(0)
            return (code, output.read()) if code >= 0 else "ended by the limits"

    def test_each_mistake_does_what_it_does_alone(self):
        mistakes, number = [], 0
        for function in operators.functions(SOURCE):
            here = []
            for change in operators.changes_of(function, SOURCE):
                number += 1
                here.append(schemata.Mistake(function, change, number))
            schemata.separate(here)
            mistakes += here
        header = self.write("mutants.h", schemata.HEADER)
        alone = {one: self.compile(one.change.apply(SOURCE)) for one in mistakes}
        for one in mistakes:	# as run.py finds by the compiler's messages
            while one.form and not self.compile(schemata.Rewritten(SOURCE, header, [one]).text, "-fsyntax-only"):
                one.fits_otherwise()
            self.assertEqual(one.form is None, alone[one] is None, one.change.shown(SOURCE))
        self.assertEqual({one.form for one in mistakes if one.form},
                         {"statement", "expression", "negate", "never", "insert", "body"})
        together = self.compile(schemata.Rewritten(SOURCE, header, mistakes).text)
        self.assertEqual(self.run_program(together), self.run_program(self.compile(SOURCE)))
        reached = self.write("reached", "\0" * schemata.MOST)
        self.assertEqual(self.run_program(together, "+" + reached), self.run_program(together))
        with open(reached, "rb") as file:
            reached = file.read()
        right = self.run_program(together)
        for one in mistakes:
            if one.form:
                wrong = self.run_program(alone[one])
                self.assertEqual(self.run_program(together, str(one.number)), wrong, one.change.shown(SOURCE))
                if one.function.name == "never":
                    self.assertEqual(reached[one.number], 0, one.change.shown(SOURCE))
                elif wrong != right:
                    self.assertEqual(reached[one.number], 1, one.change.shown(SOURCE))

    def test_a_child_without_the_variable_finds_its_parents(self):
        text = '''#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int answer(void)
{
	return 3;
}

int main(int argc, char **argv)
{
	char *const nothing[] = { NULL };
	char *const again[] = { argv[0], "child", NULL };

	if (argc > 1)
		exit(answer());
	if (fork() == 0)
		execve(argv[0], again, nothing);
	int status = 0;
	wait(&status);
	exit(status / 256);
}
'''
        function = operators.functions(text)[0]
        change = [one for one in operators.changes_of(function, text) if one.operator == "constant"][0]
        header = self.write("mutants.h", schemata.HEADER)
        program = self.compile(schemata.Rewritten(text, header, [schemata.Mistake(function, change, 12)]).text)
        self.assertEqual(self.run_program(program), (3, b""))
        self.assertEqual(self.run_program(program, "12"), (4, b""))

    def test_an_error_is_of_the_innermost_mistake(self):
        function = operators.functions(SOURCE)[1]
        mistakes = [schemata.Mistake(function, change, number)
                    for number, change in enumerate(operators.changes_of(function, SOURCE), 1)]
        rewritten = schemata.Rewritten(SOURCE, "mutants.h", mistakes)
        for one in mistakes:
            place = rewritten.text.index("mutant_is(%d)" % one.number)
            line = rewritten.text.count("\n", 0, place) + 1
            column = place - rewritten.text.rfind("\n", 0, place)
            self.assertEqual(rewritten.at(line, column), [one])
        self.assertEqual(rewritten.at(1, 1), [])


if __name__ == "__main__":
    unittest.main()
