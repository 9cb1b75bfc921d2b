# SPDX-License-Identifier: MIT
"""Compiles many mistakes into one program, of which the environment chooses one when it runs.

A process finds VARIABLE in its own environment or, since a program may clear that of what it starts,
in that of the nearest ancestor that has it. VARIABLE=7 makes mistake 7. VARIABLE=+FILE makes none, and
notes in the byte of FILE that has its number each one that is come by.
"""
import re

MOST = 1 << 18	# mistakes
# What the cache starts has no ancestors: so named, the tests (environment.py) and the cache (launch.c) pass it on.
VARIABLE = "XDG_MUTANT_SAN_OPTIONS"
HEADER = r"""
#ifndef MUTANTS_H
#define MUTANTS_H
#include <stddef.h>
#include <sys/syscall.h>

extern long syscall(long number, ...);

#define MUTANT_SHARED __attribute__((weak, visibility("hidden")))
MUTANT_SHARED int mutant_begun, mutant_chosen;
MUTANT_SHARED unsigned char *mutant_reached;

static inline int mutant_is(int number)
{
	if (__builtin_expect(mutant_reached != NULL, 0))
		mutant_reached[number] = 1;
	return mutant_chosen == number;
}

static inline long mutant_open(const char *path, int flags)
{
	return syscall(SYS_openat, -100 /* AT_FDCWD */, path, flags | 02000000 /* O_CLOEXEC */);
}

/* 0: this process does not have the variable. */
static inline int mutant_variable(const char *directory, char *value, size_t size)
{
	static const char wanted[] = "%s=";
	char path[64], buffer[4096];
	size_t len = 0, matched = 0;
	long got, descriptor;
	int is_found = 0;

	while (*directory)
		path[len++] = *directory++;
	__builtin_memcpy(path + len, "/environ", 9);
	descriptor = mutant_open(path, 0);
	if (descriptor < 0)
		return 0;
	len = 0;
	while ((got = syscall(SYS_read, descriptor, buffer, sizeof(buffer))) > 0) {
		for (long i = 0; i < got; i++) {
			if (is_found && len < size)
				value[len++] = buffer[i];
			if (buffer[i] == '\0' && is_found)
				goto end;
			if (buffer[i] == '\0')
				matched = 0;
			else if (matched < sizeof(wanted) - 1 && buffer[i] == wanted[matched])
				is_found = ++matched == sizeof(wanted) - 1;
			else if (!is_found)
				matched = sizeof(wanted);	/* not this one */
		}
	}
end:
	syscall(SYS_close, descriptor);
	return is_found;
}

/* Puts the directory of its parent in place of a process's. 0: it has none. */
static inline int mutant_parent(char *directory)
{
	char path[64], buffer[1024];
	size_t len = 0;
	long got, descriptor;

	for (; directory[len]; len++)
		path[len] = directory[len];
	__builtin_memcpy(path + len, "/stat", 6);
	descriptor = mutant_open(path, 0);
	if (descriptor < 0)
		return 0;
	got = syscall(SYS_read, descriptor, buffer, sizeof(buffer));
	syscall(SYS_close, descriptor);
	while (got > 0 && buffer[got - 1] != ')')
		got--;
	if (got <= 0 || buffer[got + 3] == '0')	/* ") S 123 " */
		return 0;
	len = sizeof("/proc/") - 1;
	for (got += 3; buffer[got] != ' '; got++)
		directory[len++] = buffer[got];
	directory[len] = '\0';
	return 1;
}

MUTANT_SHARED __attribute__((constructor(101))) void mutant_begin(void);
void mutant_begin(void)
{
	char directory[32] = "/proc/self", value[256] = "";

	if (__atomic_exchange_n(&mutant_begun, 1, __ATOMIC_SEQ_CST))
		return;	/* each file has this constructor */
	while (!mutant_variable(directory, value, sizeof(value) - 1))
		if (!mutant_parent(directory))
			return;
	if (value[0] == '+') {
		long descriptor = mutant_open(value + 1, 2 /* O_RDWR */);
		long map = syscall(SYS_mmap, NULL, %d, 3 /* PROT_READ | PROT_WRITE */,
				   1 /* MAP_SHARED */, descriptor, 0);

		syscall(SYS_close, descriptor);
		if (map > 0 || map < -4095)
			mutant_reached = (unsigned char *)map;
		return;
	}
	for (const char *digit = value; *digit; digit++)
		mutant_chosen = 10 * mutant_chosen + *digit - '0';
}
#endif
""" % (VARIABLE, MOST)


class Mistake:
    """A change of a function, its number, and how it is compiled; form None: it does not compile."""

    def __init__(self, function, change, number):
        self.function, self.change, self.number, self.form = function, change, number, change.form

    def fits_otherwise(self):
        """What does not compile beside the right code may do so in a function of its own."""
        self.form = "body" if self.form not in ("body", None) else None


class Rewritten:
    """The text of a file with mistakes, and where in it they are."""

    def __init__(self, text, header, mistakes):
        self.source, self.parts, self.length = text, [], 0
        self.regions, self.functions = [], []	# (begin, end, mistakes)
        self.put('#include "%s"\n' % header)
        at = 0
        for function in sorted({one.function for one in mistakes}, key=lambda one: one.start):
            self.put(text[at:function.start])
            begin = self.length
            chosen = [one for one in mistakes if one.function is function and one.form]
            self.function(function, chosen)
            self.functions.append((begin, self.length, chosen))
            at = function.end
        self.put(text[at:])
        self.text = "".join(self.parts)
        self.lines = [0] + [match.end() for match in re.finditer("\n", self.text)]

    def put(self, text):
        self.parts.append(text)
        self.length += len(text)

    def function(self, function, chosen):
        whole = [one for one in chosen if one.form == "body"]
        begin, end = function.start, function.end
        if whole:
            self.put("{ ")
        for one in whole:
            start = self.length
            self.put("if (mutant_is(%d)) %s\nelse " % (one.number, self.alone(function, one)))
            self.regions.append((start, self.length, [one]))
        self.nested(begin, end, sorted((one for one in chosen if one.form != "body"), key=lambda one: (
            one.change.whole[0], -one.change.whole[1], one.form == "expression", one.number)))
        if whole:
            self.put(" }")

    def alone(self, function, mistake):
        """The function's body with one mistake. Its labels are its own."""
        tokens, change, edits = function.tokens, mistake.change, []
        labels = {tokens[at + 1].text for at, token in enumerate(tokens) if token.text == "goto"}
        for at, token in enumerate(tokens):
            if token.text in labels and (tokens[at - 1].text == "goto" or (
                    tokens[at + 1].text == ":" and tokens[at - 1].text in (";", "{", "}", ":"))):
                if token.end <= change.start or token.start >= change.end:
                    edits.append((token.end, token.end, "_%d" % mistake.number))
        text, at = "", function.start
        for start, end, new in sorted(edits + [(change.start, change.end, change.new)]):
            text, at = text + self.source[at:start] + new, end
        return text + self.source[at:function.end]

    def nested(self, at, end, mistakes):
        """text[at:end] with mistakes of which each contains the following ones, or none of it."""
        while mistakes:
            first, (begin, until) = mistakes[0], mistakes[0].change.whole
            inner = [one for one in mistakes[1:] if one.change.whole[0] < until]
            mistakes = mistakes[1 + len(inner):]
            self.put(self.source[at:begin])
            start, change, name = self.length, first.change, "mutant_is(%d)" % first.number
            new = self.source[begin:change.start] + change.new + self.source[change.end:until]
            before, after = {
                "insert": (" if (%s)%s" % (name, new), ""),
                "statement": ("{ if (%s) %s else " % (name, new), " }"),
                "expression": ("(%s ? %s : (" % (name, new), "))"),
                "negate": ("%s != !!(" % name, ")"),
                "never": ("!%s && (" % name, ")"),
            }[first.form]
            self.put(before)
            self.nested(begin, until, inner)
            self.put(after)
            self.regions.append((start, self.length, [first]))
            at = until
        self.put(self.source[at:end])

    def at(self, line, column):
        """The mistakes that a message of the compiler may be about."""
        start = self.lines[line - 1]
        end = self.lines[line] if line < len(self.lines) else len(self.text)
        place = start + len(self.text[start:end].encode()[:column - 1].decode(errors="ignore"))
        for regions, first, last in ((self.regions, place, place + 1), (self.regions, start, end),
                                     (self.functions, place, place + 1)):
            found = [region for region in regions if region[0] < last and region[1] > first]
            if found:
                return min(found, key=lambda region: region[1] - region[0])[2]
        return []


def separate(mistakes):
    """Those of one function whose places overlap, but not one within the other, cannot stand together."""
    open_until, inner = [], sorted((one for one in mistakes if one.form != "body"),
                                   key=lambda one: (one.change.whole[0], -one.change.whole[1]))
    for one in inner:
        begin, end = one.change.whole
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        if open_until and open_until[-1] < end:
            one.form = "body"
        else:
            open_until.append(end)
