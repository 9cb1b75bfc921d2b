# SPDX-License-Identifier: MIT
"""Mistakes that somebody might make in a function of C: generic changes of its text.

    operators.py FILE [FUNCTION]	prints them

The text is split into tokens, functions, statements and expressions, without types and without
macros: a change that does not compile is no mistake that tests have to find.
"""
import re
import sys

TOKEN = re.compile(r"""
    /\*.*?\*/ | //[^\n]* | ^[ \t]*\#(?:\\\n|[^\n])* |			# nothing to change
    (?P<text>L?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*') |
    (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|[0-9]+\.[0-9]*[fF]?|[0-9]+[uUlL]*) |
    (?P<word>[A-Za-z_]\w*) |
    (?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s])
    """, re.X | re.S | re.M)
SWAPS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "&": "|", "|": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=",
    "|=": "&=", "&=": "|=",
}
ALSO_UNARY = {"+", "-", "&", "*"}
BINDING = {sign: strength for strength, signs in enumerate((
    "= += -= *= /= %= &= |= ^= <<= >>=", "?", "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -",
    "* / %")) for sign in signs.split()}
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
JUMPS = {"break", "continue", "goto"}
BEFORE_EXPRESSIONS = {"return", "case", "else", "do"}
HEADS = {"if", "while", "for", "switch"}
RETURNS = (
    (re.compile(r"\*\s*\w+\s*$"), ("return NULL;",)),
    (re.compile(r"\bbool\s+\w+\s*$"), ("return false;", "return true;")),
    (re.compile(r"\benum cmn_status\s+\w+\s*$"), ("return CMN_OK;", "return CMN_MISS;")),
    (re.compile(r"\bvoid\s+\w+\s*$"), ("return;",)),
    (re.compile(r"\b(int|s?size_t|u?int\d+_t|cl_int|ze_result_t|enum \w+)\s+\w+\s*$"),
     ("return 0;", "return 1;")),
)


class Token:
    """kind: text, number, word or sign."""

    def __init__(self, match):
        self.kind, self.text = match.lastgroup, match.group()
        self.start, self.end = match.span()


class Change:
    """Replaces text[start:end] by new.

    form and whole say how both can be compiled at once, with a choice at run time: text[whole] is
    a "statement", an "expression", a condition to "negate" or "never" to be true, or a place to
    "insert" at; or the "body" of the function.
    """

    def __init__(self, operator, start, end, new, form="body", whole=None):
        self.operator, self.start, self.end, self.new = operator, start, end, new
        self.form, self.whole = form, whole or (start, end)

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]

    def shown(self, text):
        """The lines that it changes, and what becomes of them, each as one line."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        return "%s => %s" % tuple(
            " ".join(part.split()) or "nothing"
            for part in (text[first:last], text[first:self.start] + self.new + text[self.end:last]))


class Function:
    """Its name, the text before it, and its tokens from { to }."""

    def __init__(self, name, head, tokens):
        self.name, self.head, self.tokens = name, head, tokens
        self.start, self.end = tokens[0].start, tokens[-1].end


def tokens_of(text):
    return [Token(match) for match in TOKEN.finditer(text) if match.lastgroup]


def other_end(tokens, places, begins, ends):
    """Where the bracket closes that the first place begins."""
    depth = 0
    for place in places:
        if tokens[place].kind != "sign":
            continue
        depth += (tokens[place].text in begins) - (tokens[place].text in ends)
        if depth == 0 and tokens[place].text in ends:
            return place
    raise ValueError("a bracket has no other end")


def partner(tokens, at):
    """Where the bracket at closes."""
    return other_end(tokens, range(at, len(tokens)), OPENING, CLOSING)


def opening(tokens, at):
    """Where the bracket that closes at opens."""
    return other_end(tokens, range(at, -1, -1), CLOSING, OPENING)


def is_binary(tokens, at):
    """Whether the sign at has an operand before it; a cast is taken for one."""
    if tokens[at].text not in ALSO_UNARY:
        return True
    before = tokens[at - 1]
    return before.kind in ("number", "text") or before.text in (")", "]") or (
        before.kind == "word" and before.text not in BEFORE_EXPRESSIONS)


def is_room(tokens, at):
    """Whether it is the length of an array that is declared: that there is room for one more shows nowhere."""
    return (at > 2 and tokens[at - 1].text == "[" and tokens[at + 1].text == "]" and
            tokens[at - 2].kind == tokens[at - 3].kind == "word" and tokens[at - 3].text not in BEFORE_EXPRESSIONS)


def operation(tokens, at, other):
    """Where the expression begins and ends whose operator is at, with another one in its place, too."""
    strength, first, last = min(BINDING[tokens[at].text], BINDING[other]), at, at
    while True:
        token = tokens[first - 1]
        if token.kind == "sign" and token.text in (")", "]"):
            begin = opening(tokens, first - 1)
            if tokens[begin - 1].text in HEADS:
                break
            first = begin
            continue
        if token.text in BEFORE_EXPRESSIONS or token.text in ("(", "[", "{", "}", ";", ",", "?", ":"):
            break
        if token.kind == "sign" and token.text in BINDING and is_binary(tokens, first - 1):
            if BINDING[token.text] < strength or strength == 0:
                break
        first -= 1
    while True:
        token = tokens[last + 1]
        if token.kind == "sign" and token.text in OPENING:
            last = partner(tokens, last + 1)
            continue
        if token.kind == "sign" and (token.text in CLOSING or token.text in (";", ",") or (
                token.text in ("?", ":") and strength > 0)):
            break
        if token.kind == "sign" and token.text in BINDING and last > at and is_binary(tokens, last + 1):
            if BINDING[token.text] <= strength and strength > 0:
                break
        last += 1
    return first, last


def call(tokens, at):
    """Where the call begins and ends that has the argument at; None: it has not the form of one."""
    first = at - 1
    while tokens[first].text not in OPENING:
        first = opening(tokens, first) - 1 if tokens[first].text in CLOSING else first - 1
    if tokens[first].text != "(":
        return None
    last = partner(tokens, first)
    while True:
        token = tokens[first - 1]
        if token.text in (")", "]") and tokens[opening(tokens, first - 1) - 1].text not in HEADS:
            first = opening(tokens, first - 1)
        elif token.text in (".", "->") or (token.kind == "word" and tokens[first].kind != "word" and
                                           token.text not in BEFORE_EXPRESSIONS | HEADS):
            first -= 1
        else:
            return first, last


def functions(text):
    """As the house writes them: { and } of a body stand alone at the beginning of a line."""
    tokens, found, at, before = tokens_of(text), [], 0, 0
    while at < len(tokens):
        token = tokens[at]
        if token.text == "{" and token.kind == "sign":
            end = partner(tokens, at)
            if text[token.start - 1:token.start] == "\n" and tokens[at - 1].text == ")":
                opening = max(place for place in range(before, at)
                              if tokens[place].text == "(" and partner(tokens, place) == at - 1)
                head = text[tokens[before].start:tokens[opening].start]
                found.append(Function(head.split()[-1].lstrip("*"), head, tokens[at:end + 1]))
            at = before = end + 1
            continue
        if token.text == ";":
            before = at + 1
        at += 1
    return found


class Statements:
    """Walks over the statements of a function."""

    def __init__(self, function, text):
        self.text, self.tokens, self.found = text, function.tokens, []

    def surround(self, operator, opening, closing, begin, form):
        """What stands between two brackets, with another one."""
        start, end = self.tokens[opening].end, self.tokens[closing].start
        self.found.append(Change(operator, start, end, "%s(%s)" % (begin, self.text[start:end]), form))

    def end_of_expression(self, at):
        """Of the ; that ends it."""
        while self.tokens[at].text != ";":
            at = partner(self.tokens, at) + 1 if self.tokens[at].text in OPENING else at + 1
        return at

    def is_expression(self, at, end):
        """Not a declaration, as far as that can be seen."""
        first, second = self.tokens[at], self.tokens[at + 1]
        if first.kind == "sign":
            return True
        if first.kind != "word" or second.kind != "sign" or second.text == "*":
            return False
        if second.text == "(":	# or an attribute
            return self.tokens[partner(self.tokens, at + 1) + 1].kind == "sign" or end == at + 1
        return True

    def walk(self, at):
        """The statement at, and what follows it."""
        word = self.tokens[at].text
        if word == "{":
            end = partner(self.tokens, at)
            at += 1
            while at < end:
                at = self.walk(at)
            return end + 1
        if word in ("if", "while", "switch", "for"):
            close = partner(self.tokens, at + 1)
            if word == "if":
                self.surround("negate", at + 1, close, "!", "negate")
            elif word == "while":
                self.surround("not-once", at + 1, close, "false && ", "never")
            at = self.walk(close + 1)
            if word == "if" and self.tokens[at].text == "else":
                at = self.walk(at + 1)
            return at
        if word == "do":
            at = self.walk(at + 1)	# at "while"
            return partner(self.tokens, at + 1) + 2
        if word in ("case", "default"):
            while self.tokens[at].text != ":":
                at += 1
            return at + 1
        if self.tokens[at].kind == "word" and self.tokens[at + 1].text == ":":
            return at + 2
        if word == ";":
            return at + 1
        if self.tokens[at + 1].text == "(":
            close = partner(self.tokens, at + 1)
            if self.tokens[close + 1].text == "{":	# a loop of a macro's
                return self.walk(close + 1)
        end = self.end_of_expression(at)
        if word in JUMPS or (word not in ("return", "static") and self.is_expression(at, end)):
            self.found.append(Change("drop", self.tokens[at].start, self.tokens[end].end, ";", "statement"))
        return end + 1


def expressions(function):
    """Operators, constants and arguments."""
    tokens, found = function.tokens, []

    def add(operator, first, last, new, whole):
        found.append(Change(operator, tokens[first].start, tokens[last].end, new,
                            *(("expression", (tokens[whole[0]].start, tokens[whole[1]].end)) if whole else ())))

    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        if token.kind == "sign" and token.text in SWAPS:
            # After a cast, such a change does not compile, or is one after all.
            if is_binary(tokens, at):
                add("swap", at, at, SWAPS[token.text], operation(tokens, at, SWAPS[token.text]))
        elif token.kind == "number" and re.fullmatch(r"[0-9]+[uUlL]*", token.text) and not is_room(tokens, at):
            digits = re.match(r"[0-9]+", token.text).group()
            add("constant", at, at, "%d%s" % (int(digits, 8 if digits[0] == "0" else 10) + 1,
                                              token.text[len(digits):]), (at, at))
        elif token.text in ("true", "false"):
            add("constant", at, at, "false" if token.text == "true" else "true", (at, at))
        elif (token.text == "," and at + 2 < len(tokens) and before.kind == tokens[at + 1].kind == "word" and
              tokens[at - 2].text in ("(", ",") and tokens[at + 2].text in (")", ",") and
              before.text != tokens[at + 1].text):
            add("order", at - 1, at + 1, "%s, %s" % (tokens[at + 1].text, before.text), call(tokens, at))
    return found


def changes_of(function, text):
    """All that are known, in the order of the text."""
    statements = Statements(function, text)
    statements.walk(0)
    found = statements.found + expressions(function)
    for pattern, answers in RETURNS:
        if pattern.search(function.head):
            at = function.start + 1
            found += [Change("return", at, at, " " + answer, "insert") for answer in answers]
            break
    return sorted(found, key=lambda change: (change.start, change.end, change.operator, change.new))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    for function in functions(text):
        if len(sys.argv) < 3 or function.name == sys.argv[2]:
            for change in changes_of(function, text):
                print("%d: %s: %s: %s" % (text.count("\n", 0, change.start) + 1, function.name, change.operator,
                                          change.shown(text)))


if __name__ == "__main__":
    main()
