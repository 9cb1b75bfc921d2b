# SPDX-License-Identifier: MIT
"""Where the path of an include directory can be seen in what a driver makes of a program.

  python3 tests/opencl/path_experiment.py PROGRAM [-v] [CASE...]

PROGRAM is path_experiment.c, compiled; the driver is the loader's first (OCL_ICD_VENDORS), without a layer and with its
own cache off. Each case is built with -I of one directory k, then of others with the same headers, in processes of
their own, and compared (what differs between two builds in one place is noise and does not count):

  equal, longer  another path, as long or longer    link, links  a symbolic link to the first; headers that are links
  there          the first from another working directory    relative  -I k from two working directories

"=": the same bytes; "path": the same but for the path; "OTHER": not even then. b: binary, with its ELF sections that
differ; l: log; k: result and kernels; "-": not built. Then: where a fresh process sees the path in a loaded binary;
what the driver looks for with each spelling of the option (case "spellings", with strace). -v: differences, logs.
"""
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

K = "kernel void k(global int *o) { o[get_global_id(0)] = %s; }\n"
H = '#include "h.h"\n'
F = "#define M 7\nint f(int x) { return x * 3; }\nstatic inline int g(int x) { return f(x) + 1; }\n"
PRINT = 'kernel void s(global int *o) { printf("%%s %%d\\n", %s, o[0]); }\n'
CASES = {  # name: source, header, options, how, more headers
    "no include": (K % 1, F), "include": (H + K % "M", F), "functions": (H + K % "g(M) + f(2)", F),
    "FILE in source": (PRINT % "__FILE__", ""), "FILE in header, printf": (H, PRINT % "__FILE__"),
    "FILE in header, string": (H + PRINT % "N", "constant char N[] = __FILE__;\n"),
    "FILE in header, sizeof": (H, K % "sizeof(__FILE__)"), "FILE in header, byte": (H, K % "__FILE__[%d]"),
    "FILE in header, macro": (H + PRINT % "N", "#define N __FILE__\n"), "FILE_NAME": (H, PRINT % "__FILE_NAME__"),
    "BASE_FILE": (H, PRINT % "__BASE_FILE__"), "builtin_FILE": (H, K % "__builtin_FILE()[%d]"),
    "warning in header": (H + K % "M", F + "#warning here\n"), "warning in source": ("#warning here\n" + H + K % "M", F),
    "message in header": (H + K % "M", F + '#pragma message("here")\n'), "note in header": (H + "#define M 8\n" + K % "M", F),
    "line in header": (H + K % "M", F + '#line 5 "other"\n#warning here\n'), "error in header": (H + K % "M", "#error here\n"),
    "error in source": (H + K % "undeclared", F), "no such header": ('#include "n.h"\n' + K % "M", F),
    "debug, no include": (K % 1, F, "-g"), "static variables": (H + K % "v[o[0]]", "constant int v[] = {1, 2, 3, 4};\n"),
    "anonymous namespace": (H + K % "n(o[0])", "namespace { int n(int x) { return x + 2; } }\n", "-cl-std=CLC++"),
    "pragma once": (H + H + K % "M", "#pragma once\n" + F), "printf": (H + PRINT % '"x"', F),
    "include_next": ("#include <h.h>\n" + K % "M", "#include_next <h.h>\n", "-I @/n", "build", {"n/h.h": F}),
    "nested": ('#include "n/a.h"\n' + K % "M", F, "", "build", {"n/a.h": '#include "../h.h"\n'}),
}
for option in ("-g", "-gline-tables-only", "-cl-opt-disable", "-cl-kernel-arg-info", "-w -Werror", "-Wmissing-include-dirs",
               "-Rpass=.*", "-v", "-H", "-fprofile-instr-generate -fcoverage-mapping"):
    CASES[option] = (H + K % "g(M)", F, option)
for way in ("compile", "link", "library"):
    CASES[way] = (H + "int e(int x) { return g(x); }\n" + K % "e(M)", F, "", way)
SPELLINGS = ("-I @", "-I  @", "-I@", "-I @/", "-I @//", "-I @/.", "-I @/../k", "-I /@", "-I /.@", "-I k", "-I ./k", "-I k/",
             "-I ../w/k", '-I "@"', '-I"@"', '"-I@"', "-I '@'", '-I "@ b"', '-I"@ b"', '"-I@ b"', "-I @\\ b", "-I '@ b'",
             "-isystem @", "-iquote @", "-idirafter @", "-include @/h.h", "-I=@", "-I @ -I @", "-I /absent -I @", "")
SHOWN = ("no include", "include", "warning in header", "-g", "compile", "library")  # from their binaries


def run(command, place="/"):
    done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    if done.returncode == 77:
        sys.exit("no device")
    return done


def content(path):
    return pathlib.Path(path).read_bytes() if os.path.exists(path) else b""


def answers(path):
    found = re.split(rb"^@([\w.]+)\n", content(path), flags=re.M)
    return dict(zip([name.decode() for name in found[1::2]], found[2::2]))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pathlib.Path(path).write_text(text, encoding="utf-8")


def sections(binary):
    """An ELF file's, without what fills them up; of anything else the whole."""
    if binary[:5] != b"\x7fELF\2":
        return [binary]
    table, = struct.unpack_from("<Q", binary, 40)
    size, count = struct.unpack_from("<HH", binary, 58)
    rows = [struct.unpack_from("<IIQQQQ", binary, table + size * i) for i in range(count)]
    return [binary[row[4]:row[4] + row[5]].rstrip(b"\0") if row[1] != 8 else b"" for row in rows]


def compare(pair, paths, noise):
    if pair[0] == pair[1] or (noise and len(pair[0]) == len(pair[1]) and
                              all(a == b or i in noise for i, (a, b) in enumerate(zip(*pair)))):
        return "=" if pair[0] else "-"
    whole = [re.sub(rb"(tempfile_|comgr-)\w{6}", b"", text) for text in pair]
    split = [[part.replace(path, b"@") for part in sections(text)] for text, path in zip(whole, paths)]
    if split[0] == split[1]:
        return "=" if whole[0] == whole[1] else "path"
    return "OTHER%s" % ([i for i, both in enumerate(zip(*split)) if both[0] != both[1]] if len(split[0]) > 1 else "")


def surroundings(pair):
    at = [i for i, (a, b) in enumerate(zip(*pair)) if a != b] or [min(len(text) for text in pair)]
    return "sizes %d %d, first of %d at %#x: %r" % (len(pair[0]), len(pair[1]), len(at), at[0],
                                                    [text[max(at[0] - 24, 0):at[0] + 24] for text in pair])


def build(program, case, root, home, cwd, k):
    how, out = case[3] if len(case) > 3 else "build", "%s/out%d" % (root, len(os.listdir(root)))
    done = run([program, how, out, root + "/k.cl", ("-I @ " + (case[2] if len(case) > 2 else "")).replace("@", k)], cwd)
    said = answers(out + ".txt")
    logs = said.get("built.log", b"") + said.get("linked.log", b"")
    return {"home": home.encode(), "out": out, "b": content(out + ".bin"), "l": logs.strip(b"\n\0"),
            "stderr": done.stdout, "k": said.get("err", b"") + said.get("kernels", b"") + b"%d" % done.returncode}


def experiment(program, root, name, verbose):
    case, cells, details, noise = CASES[name], {}, "", set()
    write(root + "/k.cl", case[0])
    for label, folder, cwd in (("first", "aa", "/"), ("equal", "bb", "/"), ("longer", "longer_name", "/"), ("link", "ll", "/"),
                               ("links", "ls", "/"), ("there", "aa", root), ("", "w1", None), ("relative", "w2", None)):
        home = "%s/%s" % (root, folder)
        if label == "link":
            os.symlink("aa", home)
        for file, text in ({} if label == "link" else dict({"h.h": case[1]}, **(case[4] if len(case) > 4 else {}))).items():
            write("%s/k/%s" % (home, file), text.replace("[%d]", "[%d]" % (len(root) + 1)))
            if label == "links":
                os.unlink("%s/k/%s" % (home, file))
                os.symlink("%s/aa/k/%s" % (root, file), "%s/k/%s" % (home, file))
        where = (program, case, root, home, cwd or home, home + "/k" if cwd else "k")
        made = build(*where)
        if label in ("first", ""):
            base, again = made, build(*where)
            noise = {i + j for i, (a, b) in enumerate(zip(made["b"], again["b"])) if a != b for j in range(-6, 7)}
            if label and name in SHOWN and made["b"]:
                run([program, "load", root + "/loaded", made["out"] + ".bin", "-DX=1"])
                seen = [part for part, text in answers(root + "/loaded.txt").items() if home.encode() in text]
                details += "    a loaded binary shows the path in: %s\n" % (", ".join(seen) or "nothing")
            continue
        words = []
        for part in ("b", "l", "k", "stderr"):
            pair = base[part], made[part]
            words.append("%s %s" % (part, compare(pair, (base["home"], made["home"]), noise if part == "b" else None)))
            if verbose and pair[0] != pair[1]:
                details += "    %s %s: %s\n" % (label, part, surroundings(pair))
        cells.setdefault(", ".join(word for word in words if word not in ("l -", "stderr -", "stderr =")), []).append(label)
    for text, labels in cells.items():
        print("%-26s %-44s %s" % (name, text, "all" if len(cells) == 1 else " ".join(labels)), flush=True)
    print(details + ("    log: %r\n" % made["l"] if verbose and made["l"] else ""), end="")


def spellings(program, root, *_):
    home = root + "/w"
    for file, text in {"k/h.h": F, "k b/h.h": F, "k/n/a.h": H.replace("h.h", "../h.h")}.items():
        write("%s/%s" % (home, file), text)
    for spelling in SPELLINGS:
        for source in (K % 1, "#include <h.h>\n" + K % "M", '#include "n/a.h"\n' + K % "M"):
            write(root + "/k.cl", source)
            trace = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=file", "-o", root + "/trace"]
            run(trace + [program, "build", root + "/s", root + "/k.cl", spelling.replace("@", home + "/k")], home)
            asked = re.findall(r'(\w+)\((?:AT_FDCWD, )?"([^"]*)"', content(root + "/trace").decode("utf-8", "replace"))
            asked = [call + " " + path.replace(home + "/k", "P") for call, path in asked
                     if call != "execve" and re.search(r"h\.h|a\.h|\bk\b(?!\.cl)", path)]
            print("%-16s %-16s err %s: %s" % (spelling.replace("@", "P"), source.split("\n")[0][:16],
                                              answers(root + "/s.txt").get("err", b"crash").decode().strip(),
                                              ", ".join(dict.fromkeys(asked)) or "nothing"), flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="ckcache-path-") as root:
        for name in [word for word in sys.argv[2:] if word != "-v"] or list(CASES) + ["spellings"]:
            do = spellings if name == "spellings" else experiment
            do(sys.argv[1], tempfile.mkdtemp(prefix="p", dir=root), name, "-v" in sys.argv)


if __name__ == "__main__":
    main()
