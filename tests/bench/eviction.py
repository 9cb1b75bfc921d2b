#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which order of eviction costs least compile time: a simulation.

Entries (bytes, compile time) are those of real caches, given as directories
that `ckcache list --json` can read; each is one program. More programs are
made from them by versions of each, whose sizes and times differ a little.
Every hour somebody starts a program, by Zipf's law, and now and then a program
is updated, after which its old kernels are never asked for again. A start asks
for most of the program's kernels; those that are missing are compiled. The
orders are those of cachecore/disk/space/evict.c, with `random` and `large` to compare.

    python3 tests/bench/eviction.py --ckcache build/bin/ckcache DIR...
"""
import argparse
import json
import random
import subprocess

HOUR = 3600.0


def read_programs(ckcache, dirs):
    programs = []
    for directory in dirs:
        text = subprocess.run([ckcache, "list", "--dir", directory, "--json"], check=True,
                              capture_output=True, text=True).stdout
        found = json.loads(text)
        entries = found if isinstance(found, list) else found["entries"]
        kernels = [(entry["bytes"], entry["compile_ms"] / 1e3) for entry in entries
                   if entry["status"] == "success" and entry["compile_ms"] > 0]
        if kernels:
            programs.append(kernels)
    return programs


def rank_of(order, entry, now, rng):
    size, seconds, used = entry
    if order == "lru":
        return used
    if order == "cost":
        return seconds * 1e9 / (size + 1) / (now - used + 1)
    if order == "large":
        return -size
    return rng.random()


def simulate(order, templates, versions, bound, hours, seed):
    """Seconds of compiling beyond each kernel's first time, and evictions."""
    rng = random.Random(seed)
    programs = []
    for number in range(len(templates) * versions):
        scale = 0.5 + rng.random()
        programs.append([[(size * scale, seconds * scale) for size, seconds in
                          templates[number % len(templates)]], 0])
    weights = [1 / (place + 1) for place in range(len(programs))]
    rng.shuffle(weights)
    store, total, lost, evictions, compiled = {}, 0, 0.0, 0, set()
    for hour in range(hours):
        now = hour * HOUR
        number = rng.choices(range(len(programs)), weights)[0]
        kernels, generation = programs[number]
        if rng.random() < 0.01:
            programs[number][1] = generation = generation + 1
        for index, (size, seconds) in enumerate(kernels):
            if rng.random() < 0.2:
                continue
            key = (number, generation, index)
            if key in store:
                store[key] = (size, seconds, now)
                continue
            if key in compiled:
                lost += seconds
            compiled.add(key)
            store[key] = (size, seconds, now)
            total += size
            if total > bound:
                evictions += 1
                order_now = sorted(store, key=lambda one: rank_of(order, store[one], now, rng))
                for victim in order_now:
                    if total <= bound / 2:
                        break
                    total -= store.pop(victim)[0]
    return lost, evictions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ckcache", required=True)
    parser.add_argument("--versions", type=int, default=8, help="programs made from each cache")
    parser.add_argument("--hours", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("dirs", nargs="+")
    options = parser.parse_args()
    templates = read_programs(options.ckcache, options.dirs)
    whole = options.versions * sum(size for kernels in templates for size, _ in kernels)
    print(f"{len(templates) * options.versions} programs, {whole / 1e6:.0f} MB; "
          f"time compiled again, by order, divided by lru's (median of {options.seeds} seeds)")
    for share in (0.1, 0.25, 0.5, 0.75):
        ratios = {}
        for order in ("cost", "large", "random"):
            found = []
            for seed in range(options.seeds):
                lru, _ = simulate("lru", templates, options.versions, whole * share,
                                  options.hours, seed)
                other, _ = simulate(order, templates, options.versions, whole * share,
                                    options.hours, seed)
                found.append(other / lru if lru else 1.0)
            ratios[order] = sorted(found)[len(found) // 2]
        print(f"bound {share:4.0%} of all: " +
              "  ".join(f"{order} {ratio:.2f}" for order, ratio in ratios.items()))


if __name__ == "__main__":
    main()
