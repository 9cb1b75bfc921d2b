# SPDX-License-Identifier: MIT
"""Runs docs/TOUR.md as a newcomer would, and compares what is printed with the page.

    tour.py CKCACHE SOURCE [--renew]

The page's commands are the lines of its blocks that begin with "$ ", with their further lines
("> "); what follows is their output. All run in one shell, in a fresh home, on rusticl's
llvmpipe. Numbers, the names of entries and how wide columns are may differ. --renew writes what was
printed into the page. Exit code 77: PyOpenCL or rusticl is missing.
"""
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
INDENT = "    "
MARK = "end of a command of the tour"


def is_output(lines, at):
    return lines[at:at + 1] and lines[at].startswith(INDENT) and not lines[at].startswith(INDENT + "$ ")


def commands_of(lines):
    """The commands: where each begins and ends, its text, and the end of its output."""
    found = []
    at = 0
    while at < len(lines):
        if not lines[at].startswith(INDENT + "$ "):
            at += 1
            continue
        begin, text = at, [lines[at][len(INDENT) + 2:]]
        at += 1
        while at < len(lines) and lines[at].startswith(INDENT + "> "):
            text.append(lines[at][len(INDENT) + 2:])
            at += 1
        end = at
        while is_output(lines, at) or (lines[at:at + 1] == [""] and is_output(lines, at + 1)):
            at += 1
        found.append((begin, end, at, "\n".join(text)))
    return found


def run(commands, path, home):
    """What each command prints, both streams."""
    script = "".join("{ %s\n} 2>&1\necho '%s'\n" % (text, MARK) for text in commands)
    # Mesa asks for the user's entry, not for HOME.
    environment = {"HOME": home, "XDG_CACHE_HOME": home + "/.cache", "PATH": path, "RUSTICL_ENABLE": "llvmpipe", "PYTHONWARNINGS": "ignore", "LC_ALL": "C.UTF-8",
                   "PYOPENCL_CTX": "0", "OCL_ICD_VENDORS": os.environ.get("TOUR_VENDORS", "rusticl.icd")}
    done = subprocess.run(["sh"], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, cwd=home, env=environment, timeout=300)
    return done.stdout.split(MARK + "\n")[:len(commands)]


def alike(text):
    """Its lines, without what differs from run to run; entries of one second come in any order."""
    text = re.sub(r"(?m)^=== Rusticl warning: .*\n", "", text)	# of its compiler's library
    text = re.sub(r"\b[0-9a-f]{8}(/[0-9a-f]{8})+(/\d+)?", "ENTRY", text)
    text = re.sub(r"/\S*/(?=\.cache)", "", text)
    text = re.sub(r"\d+(\.\d+)?( (ns|us|µs|ms|s|min)\b)?", "N", text)
    return sorted(re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip())


def main():
    ckcache, source = map(os.path.abspath, sys.argv[1:3])
    page = os.path.join(source, "docs/TOUR.md")
    if subprocess.run(["/usr/bin/python3", "-c", "import pyopencl"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("SKIPPED: PyOpenCL is not installed")
        return SKIPPED
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    commands = commands_of(lines)
    with tempfile.TemporaryDirectory() as home:
        printed = run([text for _, _, _, text in commands],
                      os.path.dirname(ckcache) + ":/usr/bin:/bin", home)
        printed = [text.replace(home, "/home/you") for text in printed]
    if "no devices found" in "".join(printed) or "PLATFORM_NOT_FOUND" in "".join(printed):
        print("SKIPPED: rusticl has no device here")
        return SKIPPED
    failures = 0
    for (begin, end, until, text), output in reversed(list(zip(commands, printed))):
        if "--renew" in sys.argv:
            shown = output.rstrip("\n").split("\n") if output.strip() else []
            lines[end:until] = [INDENT + line.rstrip() if line else "" for line in shown]
            continue
        wanted = "\n".join(line[len(INDENT):] for line in lines[end:until])
        if alike(wanted) != alike(output):
            failures += 1
            print("docs/TOUR.md:%d: $ %s\n--- the page says:\n%s\n--- printed:\n%s" % (begin + 1, text, wanted, output))
    if "--renew" in sys.argv:
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    elif len(printed) != len(commands) or len(commands) < 8:
        failures += 1
        print("%d of %d commands ran" % (len(printed), len(commands)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
