# SPDX-License-Identifier: MIT
"""Caches for tests and pictures of `ckcache report`: rows for fill_cache, and
files of counts as the cache writes them."""
import os
import subprocess
import time

DAY = 86400
MS = 1000000
# Of what the page must show as text, and nothing else.
HOSTILE = (
    b"<script>alert(1)</script>",
    b"\"><img src=x onerror=alert(1)>",
    b"' onmouseover='alert(1)",
    b"</title></style></bdi></td></table><h1>gone</h1>",
    b"<!-- -->]]>&amp;&#60;script&#62;",
    b"\xff\xfe\x80 not UTF-8 \xc3(",
    b"\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf",
    "right \u202eot tfel\u202c \u2066isolate\u2069 \u200f\u061c".encode(),
    "zero\u200bwidth\ufeff line\u2028 tag\U000e0041 none\ufffe\U0010ffff".encode(),
    b"tab\tcontrol\x01\x1b[31m\x7f\xc2\x85",
    "naïve Größe 核 كيرنل".encode(),
    b"javascript:alert(1)",
    b"x" * 5000,
)


def now_ns():
    return int(time.time() * 1e9)


def row(source, device=b"A device", driver=b"1.0", options=b"", size=4096, build_ns=100 * MS,
        age_days=0.5):
    def text(value):
        return "-" if value is None else value.hex() or "-"
    return "%d %d %d %s %s %s %s" % (build_ns, now_ns() - int(age_days * DAY * 1e9), size,
                                     text(device), text(driver), text(source), text(options))


def fill(fill_cache, root, rows):
    subprocess.run([fill_cache, root], input="\n".join(rows).encode() + b"\n", check=True,
                   timeout=500, stdout=subprocess.DEVNULL)


def kernel(name, more=""):
    return ("// %s\n__kernel void %s(__global float *a) { a[0] = 1; }\n" % (more, name)).encode()


def hostile_rows():
    rows = []
    for i, text in enumerate(HOSTILE):
        rows.append(row(text, device=text[:200], driver=text[:50], options=text, size=1000 + i))
        rows.append(row(b"kernel void " + text + b"() {}", size=2000 + i, options=b"-D%d" % i))
    return rows + [row(None, None, None, None)]


def write_usage(root, days, programs, others=None):
    """Adds to stats.txt. days: [(days ago, counts)], programs: [(name, days ago, counts)]; counts: six, or
    with those of what nobody waited for eight."""
    today = int(time.time()) // DAY
    rows = [("day %d" % (today - ago), counts) for ago, counts in days]
    rows += [("program %s %d" % ("".join(chr(c) if chr(c) in NAME else "%%%02x" % c for c in name),
                                 today - ago), counts) for name, ago, counts in programs]
    lines = []
    for head, counts in rows:
        lines.append("%s %s" % (head, " ".join(map(str, (list(counts) + [0, 0])[:8]))))
    lines.append("others " + " ".join(map(str, (list(others or [0] * 6) + [0, 0])[:8])))
    with open(os.path.join(root, "stats.txt"), "a", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"


def write_stats(root, **counts):
    with open(os.path.join(root, "stats.txt"), "a", encoding="ascii") as file:
        for name, value in counts.items():
            file.write("%s %d\n" % (name.replace("__", ".").replace("_dash_", "-"), value))


def write_bypasses(root, reasons):
    with open(os.path.join(root, "stats.txt"), "a", encoding="ascii") as file:
        for name, value in reasons.items():
            file.write("bypass.%s %d\n" % (name, value))


def lively(fill_cache, root, days=75):
    """One that has been in use: what the pictures show."""
    devices = [(b"Intel(R) Arc(TM) A770 Graphics", b"24.35.30872"),
               (b"Intel(R) Arc(TM) A770 Graphics", b"23.43.27642"),
               (b"NVIDIA H100 80GB HBM3", b"580.95.05"),
               (b"pthread-AMD EPYC 7763 64-Core Processor", b"3.1+debian")]
    names = ["gemm_128x128", "axpy", "reduce_sum", "conv2d_winograd", "softmax_fused",
             "md5_crypt_init", "denoise_bilateral", "fft_radix4", "histogram_256", "sort_bitonic",
             "scan_exclusive", "transpose_tiled", "integrator_megakernel_shade_surface"]
    rows = []
    for i in range(160):
        name = names[(i * i + i // 5) % len(names)]
        device, driver = devices[(0, 0, 2, 3, 1)[i % 5]]
        rows.append(row(kernel(name, "variant %d" % i) + (kernel("helper_%d" % (i % 7)) if i % 3 else b""),
                        device, driver, b"-cl-std=CL2.0 -DTILE=%d" % (i % 16),
                        size=3000 + (i * 7919) % 240000,
                        build_ns=(20 + (i * 104729) % 4100 + (11000 if i % 53 == 7 else 0)) * MS,
                        age_days=(i * 37 % 1200) / 10))
    fill(fill_cache, root, rows)
    total = [0] * 6
    used = []
    for ago in range(days):
        weekend = (int(time.time()) // DAY - ago + 4) % 7 in (0, 6)
        if weekend and ago % 3 or 20 < ago < 24:
            continue
        hits = 30 + (ago * 7919) % 140
        misses = 90 - ago % 60 if ago in (0, 33, 34, 60) or ago > days - 4 else ago * 31 % 12
        counts = [hits // 3, hits, misses, ago % 4, misses * 412 * MS, hits * 380 * MS]
        used.append((ago, counts))
        total = [a + b for a, b in zip(total, counts)]
    programs = [(b"blender", 0, 0.46), (b"darktable", 1, 0.22), (b"python3.11", 0, 0.17),
                (b"hashcat.bin", 12, 0.09), (b"llama-cli", 3, 0.04), (b"clinfo", 40, 0.0)]
    write_usage(root, used[::-1], [(name, ago, [int(n * share) for n in total])
                                   for name, ago, share in programs],
                [int(n * 0.02) for n in total])
    write_stats(root, hits_memory=total[0], hits_disk=total[1], misses=total[2],
                stores=total[2] - 9, deferred=14, errors=0, compile_ns_spent=total[4],
                compile_ns_saved=total[5])
    write_bypasses(root, {"files-unseen": 41, "option": 17, "not-reused": 122, "date": 3})


def huge(fill_cache, root, count=10000):
    fill(fill_cache, root, [row(kernel("kernel_with_a_rather_long_name_%d" % i, "x" * 200),
                                b"Device number %d of many, with a long name" % (i % 40),
                                b"%d.0" % (i % 9), b"-DA_LONG_OPTION=%d " % i * 10,
                                size=100 + i % 5000, build_ns=(i % 977 + 1) * MS,
                                age_days=i % 400) for i in range(count)])
    write_usage(root, [(ago, [ago, 2 * ago, 3, 1, 5 * MS, 10 ** 15]) for ago in range(365, -1, -1)],
                [(b"\xf0" * 20 + b"program<%d>" % i, i, [i, i, i, i, i * MS, i * MS * 1000])
                 for i in range(64)])
