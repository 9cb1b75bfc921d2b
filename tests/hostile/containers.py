# SPDX-License-Identifier: MIT
"""One cache in several namespaces, for several users, on several file systems.

Each row of the tables of docs/CONTAINERS.md is what a run here says: the test
fails where one differs, and names those that this machine cannot try. For
each, the first process stores, the second looks the same up and stores
something else, and both want one program at the same time. No process fails,
hangs, or prints what a user whom it does not trust has compiled, and verify
finds all sound. --print prints the tables as they belong into the document.

    containers.py CKCACHE CLIENT REMOTE SOURCE-DIRECTORY [--print]

CLIENT: client.c; REMOTE: remote.c, a library to preload.
"""
import fcntl
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import spaces
from caches import files as tree, write
from spaces import Unavailable, become, bind, mounts, no_proc, own_user, pids, users

SKIPPED = 77
BUILD_WAIT = "10"	# seconds; more than a busy machine takes for anything else
SOON = 0.3	# seconds; a builder that does nothing is waited for longer
ALICE, BOB, GROUP = 61001, 61002, 61003

WORK = None		# a tmpfs for all, with the programs in it
FOLDER = None		# in which roots are made


class Wrong(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Wrong(what)


class Member:
    """Who uses the cache: a user in a place, and under which name the cache is there."""

    def __init__(self, name, root, *steps, **settings):
        self.name, self.root, self.steps = name, root, steps
        self.messages = []
        self.environment = {
            "CKCACHE_DIR": root, "CKCACHE_READ_ONLY_DIRS": "", "CKCACHE_LOG": "warning",
            "LC_ALL": "C.UTF-8", **settings,
        }

    def start(self, *arguments, program=None, **settings):
        return spaces.Process(self.steps, [program or WORK + "/client", *map(str, arguments)],
                              {**self.environment, **settings})

    def heard(self, process, code=0):
        """What a process said, which must have ended well; its messages are kept."""
        ended, out, err = process.end()
        expect(ended == code, self.name, ended, out, err)
        for line in err.splitlines():
            for path in filter(None, (self.root, self.environment["CKCACHE_READ_ONLY_DIRS"])):
                line = line.replace(path, "DIR")
            self.messages.append(line.replace("ckcache: ", "", 1))
        return out

    def use(self, first=0, count=3, size=0, **settings):
        """How each program came: (origin, who compiled it)."""
        out = self.heard(self.start("use", self.name, first, count, size, **settings))
        lines = [tuple(line.split(" ", 1)) for line in out.splitlines()]
        expect(len(lines) == count, out)
        return lines

    def one_way(self, *arguments, **settings):
        """As use, where all programs came in one way."""
        lines = set(self.use(*arguments, **settings))
        expect(len(lines) == 1, lines)
        return lines.pop()

    def verify(self, slack=0):
        out = self.heard(self.start("verify", program=WORK + "/ckcache"))
        expect(re.search(r"^\d+ entries sound, 0 damaged$", out, re.M), out)
        # A file's last blocks come, or go, when the kernel writes it: ext4's tables of extents.
        said = re.search(r"says (\d+), there are (\d+) bytes", out)
        expect(("corrected" in out) == bool(said), out)
        expect(not said or said and abs(int(said[1]) - int(said[2])) <= slack, out)

    def message(self):
        return "; ".join(dict.fromkeys(self.messages))


def together(first, second, number, until="told"):
    """Both want one program: how it came to the second, and whether that one waited."""
    builder = first.start("slow", first.name, number)
    expect(builder.wait_for("building"), builder.end)
    waiter = second.start("slow", second.name, number, CKCACHE_BUILD_WAIT=BUILD_WAIT)
    try:
        # Who waits and who compiles has the locks' file open; one that compiles says so soon.
        opened = None
        while b"building" not in waiter.said and not waiter.has_ended():
            if waiter.has_opened("/build.lock") or waiter.has_opened("/ckcache/build-"):
                opened = opened or time.monotonic()
                if time.monotonic() - opened > SOON:
                    break
        alone = b"building" in waiter.said
        if until == "killed":
            builder.kill()
        elif until == "working":
            waiter.wait_for("building")
        elif until == "stopped":
            builder.kill(signal.SIGSTOP)
        else:
            builder.tell()
        waiter.tell()
        out = second.heard(waiter).splitlines()[-1]
    finally:
        if until == "stopped":
            builder.kill(signal.SIGCONT)
        builder.tell()
    if until == "killed":
        builder.end()
    else:
        first.heard(builder)
    return out, not alone


def share(first, second):
    """The outcome of a cell, in words."""
    expect(first.one_way() == ("built", first.name), "the first process does not start anew")
    origin, compiler = second.one_way()
    expect((origin, compiler) in (("disk", first.name), ("built", second.name)), origin, compiler)
    hit = origin == "disk"
    back = second.one_way(10), first.one_way(10)
    expect(back[1] in (("disk", second.name), ("built", first.name)), back)
    back_hit = back[1][0] == "disk"
    again = second.one_way(10) == ("disk", second.name)
    expect(not back_hit or hit, "only back")
    out, waited = together(first, second, 20)
    expect(out == ("disk " + first.name if waited else "built " + second.name), out)
    expect(hit or not waited, "waited without trust")
    # One that has no cache says why, and there is nothing to be verified.
    if first.one_way(10)[0] == "disk":
        first.verify()
        expect(not first.messages, first.messages)
    if back_hit and waited:
        return "shared"
    if back_hit:
        return "shared; nobody waits for another's build"
    if hit:
        return "read"
    return "kept apart" if again else "not used"


# Which processes.

def root_made(owner, folder=None, group=None, mode=0o700):
    root = tempfile.mkdtemp(prefix="root-", dir=folder or FOLDER)
    os.chown(root, owner, owner if group is None else group)
    os.chmod(root, mode)
    return root


def both(steps, owner=0, **settings):
    root = root_made(owner)
    return [Member(name, root, *step, **settings) for name, step in zip(("first", "second"), steps)]


def same_container():
    return both([[become(ALICE)], [become(ALICE)]], ALICE)


def another_pid_namespace():
    return both([[pids()], [pids()]])


def pid_namespace_and_the_machine():
    return both([[pids(), become(ALICE)], [become(ALICE)]], ALICE)


def without_proc():
    return both([[pids()], [pids(), no_proc()]])


def another_name():
    root, place = root_made(0), tempfile.mkdtemp(prefix="place-", dir=WORK)
    return [Member("first", root),
            Member("second", place, mounts(), bind(root, place))]


def read_only_mount():
    root, place = root_made(0), tempfile.mkdtemp(prefix="place-", dir=WORK)
    return [Member("first", root),
            Member("second", place, pids(), bind(root, place, True))]


def mapped_to_themselves():
    return both([[become(ALICE)], [pids(), users((ALICE, ALICE, 1)), become(ALICE)]], ALICE)


def mapped_to_root():
    return both([[become(ALICE)], [pids(), users((0, ALICE, 1)), become(0)]], ALICE)


def two_mappings_of_one_user():
    return both([[pids(), users((0, ALICE, 1)), become(0)],
                 [pids(), users((1000, ALICE, 1)), become(1000)]], ALICE)


def unmapped():
    return both([[become(ALICE)], [pids(), users()]], ALICE)


def root_of_another_range():
    return both([[], [pids(), users((0, 100000, 65536)), become(0)]])


def two_ranges():
    return both([[pids(), users((0, 100000, 65536)), become(0)],
                 [pids(), users((0, 200000, 65536)), become(0)]], 100000)


def root_uses_a_users():
    return both([[become(ALICE)], [pids()]], ALICE)


def another_user():
    return both([[become(ALICE)], [become(BOB)]], ALICE)


def user_nobody():
    return both([[], [become(65534)]])


def own_nobody():
    return both([[become(65534)], [become(65534)]], 65534)


def group_members(mode=0o2770):
    root = root_made(ALICE, group=GROUP, mode=mode)
    return [Member(name, root, become(user, groups=[GROUP]), CKCACHE_SHARED="group")
            for name, user in (("first", ALICE), ("second", BOB))]


def sticky_group():
    return group_members(0o3770)


def others_entries_stay(first, second):
    """Nobody removes what another one has stored, nor says so."""
    process = second.start("clear", program=WORK + "/ckcache")
    code, out, _ = process.end()
    expect(code == 1 and out.startswith("3 entries removed"), code, out)
    expect(first.one_way() == ("disk", "first"))
    expect(first.one_way(10) == ("built", "first"))
    first.verify()


def group_members_mapped():
    root = root_made(ALICE, group=GROUP, mode=0o2770)
    return [Member("first", root, pids(), users((0, ALICE, 1), (5, GROUP, 1)), become(0, 0, [5]),
                   CKCACHE_SHARED="group"),
            Member("second", root, pids(), users((0, BOB, 1), (7, GROUP, 1)), become(0, 0, [7]),
                   CKCACHE_SHARED="group")]


def group_unmapped():
    root = root_made(ALICE, group=GROUP, mode=0o2770)
    # The group that was had before stays, without a number inside.
    return [Member("first", root, become(ALICE, groups=[GROUP]), CKCACHE_SHARED="group"),
            Member("second", root, become(BOB, groups=[GROUP]), own_user(), CKCACHE_SHARED="group")]


def tier(*steps):
    """A cache that root made for all to read, and a user who has none."""
    root = root_made(0, mode=0o755)
    return [Member("first", root, CKCACHE_SHARED="readers"),
            Member("second", "/nonexistent", *steps, CKCACHE_READ_ONLY="1",
                   CKCACHE_READ_ONLY_DIRS=root)]


def tier_of_the_machine():
    return tier(pids(), become(ALICE))


def tier_mapped():
    return tier(pids(), users((0, 0, 1), (ALICE, ALICE, 1)), become(ALICE))


def tier_root_unmapped():
    return tier(pids(), users((0, ALICE, 1)), become(0))


PROCESSES = [
    ("a user, and the same user", same_container),
    ("root in a PID namespace, and in another", another_pid_namespace),
    ("a user in a PID namespace, and outside", pid_namespace_and_the_machine),
    ("root in a PID namespace, and in one without /proc", without_proc),
    ("root, and in a mount namespace where the directory has another name", another_name),
    ("root, and where it is mounted read-only", read_only_mount),
    ("a user, and in a user namespace that maps the user to itself", mapped_to_themselves),
    ("a user, and in one that maps the user to root", mapped_to_root),
    ("a user mapped to root, and to 1000", two_mappings_of_one_user),
    ("a user, and in one without a mapping", unmapped),
    ("root, and root of a user namespace that is mapped to another user", root_of_another_range),
    ("root of a user namespace, and of one with another mapping", two_ranges),
    ("a user, and root", root_uses_a_users),
    ("a user, and another user", another_user),
    ("root, and the user nobody (65534)", user_nobody),
    ("the user nobody, twice", own_nobody),
    ("two members of a group, `CKCACHE_SHARED=group`", group_members),
    ("the same, with the sticky bit", sticky_group, others_entries_stay),
    ("the same, each in a user namespace that maps the group", group_members_mapped),
    ("the same, the second where the group is not mapped", group_unmapped),
    ("root, and a user for whom it is a read-only tier", tier_of_the_machine),
    ("the same in a user namespace that maps root to itself", tier_mapped),
    ("the same in a user namespace that does not map root", tier_root_unmapped),
]


# Who waits for a build.

def waiting(until, first, second):
    members = both([first, second])
    start = time.monotonic()
    out, waited = together(*members, 20, until)
    late = time.monotonic() - start >= int(BUILD_WAIT)
    expect(waited, "it did not wait")
    expect(out in ("disk first", "built second"), out)
    members[0].verify()
    if out == "disk first":
        return "gets the builder's result"
    return "compiles it too, after `CKCACHE_BUILD_WAIT`" if late else "compiles it too, soon"


WAITING = [
    ("ends, in another PID namespace", ("told", [pids()], [pids()])),
    ("goes on, in another PID namespace", ("working", [pids()], [pids()])),
    ("is killed, in the same PID namespace", ("killed", [], [])),
    ("is killed, in another PID namespace", ("killed", [pids()], [pids()])),
    ("is stopped, in the same PID namespace", ("stopped", [], [])),
    ("is stopped, in another PID namespace", ("stopped", [pids()], [pids()])),
]


# Where it lies.

def pair_on(folder, **settings):
    """Root in two PID namespaces."""
    root = root_made(0, folder)
    return [Member(name, root, pids(), **settings) for name in ("first", "second")]


def shared_on(make):
    def outcome():
        members = pair_on(make())
        return share(*members), members[1].message()
    return outcome


def image_with_cache(make=None):
    """A file system with a layer "image", in which there is a cache that was used."""
    folder = make() if make else spaces.tmpfs(WORK)
    os.makedirs(folder + "/image/cache", 0o755)
    os.chmod(folder + "/image/cache", 0o700)
    expect(Member("image", folder + "/image/cache").one_way() == ("built", "image"))
    return folder


def image_layer(make=None):
    """Two containers of one image: each sees the image's entries, and none of the other's."""
    below = image_with_cache(make)
    members = []
    for name in ("first", "second"):
        upper_on = below if make else spaces.tmpfs(WORK)
        root = spaces.overlay(WORK, below + "/image", upper_on) + "/cache"
        members.append(Member(name, root, pids()))
        expect(members[-1].one_way() == ("disk", "image"))
    first, second = members
    expect(first.one_way(10) == ("built", "first"))
    first.verify()
    # One that removes all of it has nothing left, and the other one loses nothing.
    first.heard(first.start("clear", program=WORK + "/ckcache"))
    rest = [name for name in os.listdir(first.root) if re.fullmatch("[0-9a-f]{32}", name)]
    expect(not rest, "clear left", rest)
    expect(first.one_way() == ("built", "first"))
    expect(first.one_way() == ("disk", "first"))
    first.verify()
    # A use of long ago is noted, by which the file and its directories are copied.
    for folder, _, names in os.walk(second.root):
        for name in names:
            if name.endswith(".bin"):
                os.utime(os.path.join(folder, name), (1, 1))
    expect(second.one_way() == ("disk", "image"))
    expect(second.one_way(10) == ("built", "second"))
    second.verify()
    Member("image", below + "/image/cache").verify()
    return "the image's entries are shared, other entries are not", second.message()


def removed_meanwhile():
    """An entry's directory, which is in both layers, goes while somebody waits for its lock."""
    # For a quarter of a second, in which a busy machine may not look.
    for _ in range(5):
        said = removed_while_it_waits()
        if said:
            return said
    return expect(False, "nobody waited for the lock")


def removed_while_it_waits():
    """None: it was not seen to wait."""
    below = image_with_cache()
    root = spaces.overlay(WORK, below + "/image", spaces.tmpfs(WORK)) + "/cache"
    one = Member("first", root)
    entry_dirs = {folder: os.open(folder, os.O_RDONLY) for folder, _, names in os.walk(root)
              if "0.src" in names}
    for folder, lock in entry_dirs.items():
        write(folder + "/x", b"")		# now the upper layer has it, too
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.unlink(root + "/cache_size.txt")
    process = one.start("use", "first", 0, 1)
    # What is stored is counted before; what looks it up opens the directory, too.
    while not (os.path.exists(root + "/cache_size.txt") and any(map(process.has_opened, entry_dirs))):
        if process.has_ended():
            one.heard(process)
            for lock in entry_dirs.values():
                os.close(lock)
            return None
    for folder, lock in entry_dirs.items():
        os.rmdir(folder)
        os.close(lock)
    expect(one.heard(process) == "built first\n")
    again = one.use(0, 1)
    expect(again == [("disk", "first")], again, one.message(), tree(root))
    one.verify()
    expect(not one.messages, one.messages)
    return "is made again", one.message()


def directory_in_the_way():
    """One of the image's cannot be renamed (EXDEV): nothing can be counted or stored."""
    below = image_with_cache()
    os.unlink(below + "/image/cache/cache_size.txt")
    os.makedirs(below + "/image/cache/cache_size.txt/somebody's")
    root = spaces.overlay(WORK, below + "/image", spaces.tmpfs(WORK)) + "/cache"
    one = Member("first", root, pids())
    expect(one.one_way() == ("disk", "image"))
    for _ in range(2):
        expect(one.one_way(10) == ("built", "first"))
    message = one.message()
    code, out, _ = one.start("verify", program=WORK + "/ckcache").end()
    expect(code == 1 and "says nothing" in out and "corrected" not in out, code, out)
    return "read", message


def read_only_image():
    below = image_with_cache()
    root = spaces.overlay(WORK, below + "/image", spaces.tmpfs(WORK), read_only=True) + "/cache"
    one = Member("second", root, pids())
    expect(one.one_way() == ("disk", "image"))
    expect(one.one_way(10) == ("built", "second"))
    expect(one.one_way(10) == ("built", "second"))
    one.verify()
    return "read", one.message()


def image_of(kind, megabytes, *options):
    return lambda: spaces.image(WORK, kind, megabytes, *options)


def tmpfs(options="mode=0755"):
    return lambda: spaces.tmpfs(WORK, options)


def overlay_on(make):
    def made():
        folder = make()
        below = tempfile.mkdtemp(prefix="below-", dir=folder)
        os.chmod(below, 0o755)
        return spaces.overlay(WORK, below, folder)
    return made


def network():
    server, run = WORK + "/server", WORK + "/run"
    os.makedirs(server, 0o755)
    os.makedirs(run, 0o700)
    members = pair_on(server, LD_PRELOAD=WORK + "/remote.so", REMOTE_BELOW=server, XDG_RUNTIME_DIR=run)
    return share(*members), members[1].message()


# Where there is no room.

def stored(lines):
    return sum(origin == "disk" for origin, _ in lines)


def leftovers(root):
    return [name for _, _, names in os.walk(root) for name in names if name.startswith(".tmp-")]


def fill_up(folder):
    """Not a byte is left for anybody; the file that has them."""
    path = folder + "/filler"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 512):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
            os.sync()
    return path


def without_room(make, owner=0):
    def outcome():
        folder = make()
        one = Member("first", root_made(owner, folder), pids(), become(owner))
        expect(one.one_way() == ("built", "first"))
        lines = one.use(100, 24, 1 << 20)
        expect(set(lines) == {("built", "first")}, lines)
        expect("cannot write an entry: no space left" in one.messages, one.messages)
        kept = stored(one.use(100, 24, 1 << 20))
        expect(0 < kept < 24, kept)
        expect(one.one_way() == ("disk", "first"))
        one.verify(4096)
        filler = fill_up(folder)
        lines = one.use(200, 3, 1 << 20)
        expect(set(lines) == {("built", "first")}, lines)
        expect(one.one_way() == ("disk", "first"))
        expect(one.one_way(300) == ("built", "first"))
        expect(not leftovers(one.root), leftovers(one.root))
        one.verify(4096)
        message = one.message()
        os.unlink(filler)
        one.heard(one.start("clear", program=WORK + "/ckcache"))
        expect(one.one_way(400) == ("built", "first"))
        expect(one.one_way(400) == ("disk", "first"))
        one.verify()
        return "what fits is stored; everything is, once there is room again", message
    return outcome


def btrfs_quota():
    folder = spaces.image(WORK, "btrfs", 400)
    btrfs = spaces.tool("btrfs")
    spaces.command(btrfs, "quota", "enable", folder)
    spaces.command(btrfs, "subvolume", "create", folder + "/sub")
    spaces.command(btrfs, "qgroup", "limit", "8M", folder + "/sub")
    return folder + "/sub"


PLACES = [
    ("tmpfs", shared_on(tmpfs())),
    ("ext4", shared_on(image_of("ext4", 32))),
    ("ext4 without file types in directory listings",
     shared_on(image_of("ext4", 32, "-O", "^filetype"))),
    ("xfs", shared_on(image_of("xfs", 400))),
    ("btrfs", shared_on(image_of("btrfs", 400))),
    ("overlayfs on tmpfs", shared_on(overlay_on(tmpfs()))),
    ("overlayfs on ext4", shared_on(overlay_on(image_of("ext4", 32)))),
    ("overlayfs on xfs", shared_on(overlay_on(image_of("xfs", 400)))),
    ("a network file system, by what `fstatfs` says; one runtime directory", network),
    ("two containers' overlayfs on tmpfs, over an image with a cache", image_layer),
    ("the same on ext4", lambda: image_layer(image_of("ext4", 64))),
    ("overlayfs where another process removes an entry's directory that the image has too",
     removed_meanwhile),
    ("overlayfs over an image with a directory in place of `cache_size.txt`", directory_in_the_way),
    ("an image with a cache, without an upper layer", read_only_image),
    ("a full tmpfs", without_room(tmpfs("size=8m,mode=0755"))),
    ("a full ext4", without_room(image_of("ext4", 10))),
    ("a full btrfs", without_room(image_of("btrfs", 32, "--mixed"))),
    ("overlayfs on a full tmpfs", without_room(overlay_on(tmpfs("size=8m,mode=0755")))),
    ("a subvolume's quota on btrfs", without_room(btrfs_quota)),
]


# The tables.

TABLES = [
    ("the first process, and the second", "outcome", "message"),
    ("the directory is on", "outcome", "message"),
    ("the builder", "the other process"),
]


def cells():
    """(table, name, function that makes the other columns)"""
    for name, *how in PROCESSES:
        yield 0, name, lambda how=how: on_both(*how)
    for name, make in PLACES:
        yield 1, name, make
    for name, arguments in WAITING:
        yield 2, name, lambda arguments=arguments: (waiting(*arguments),)


def on_both(make, then=None):
    """On tmpfs and on overlayfs, which must not differ."""
    global FOLDER
    outcomes = []
    for FOLDER in (WORK, spaces.overlay(WORK, spaces.tmpfs(WORK), spaces.tmpfs(WORK))):
        members = make()
        outcomes.append((share(*members), members[1].message()))
        if then:
            then(*members)
    FOLDER = WORK
    expect(outcomes[0] == outcomes[1], outcomes)
    return outcomes[0]


def line(columns):
    return "| %s |" % " | ".join(columns)


def documented(source):
    """[rows] of each table in the document."""
    with open(os.path.join(source, "docs", "CONTAINERS.md"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = []
    for header in TABLES:
        at = lines.index(line(header)) + 2
        end = next(i for i in range(at, len(lines) + 1)
                   if i == len(lines) or not lines[i].startswith("|"))
        found.append(lines[at:end])
    return found


def run(prints, rows):
    """The number of rows that are wrong."""
    wrong, tried, table_before = 0, [set() for _ in TABLES], None
    for table, name, make in cells():
        header = TABLES[table]
        if prints and table != table_before:
            print("\n%s\n%s|" % (line(header), "|---" * len(header)))
        table_before = table
        try:
            row = line((name, *make()))
        except Unavailable as why:
            print("not tried: %s: %s" % (name, why), file=sys.stderr)
            tried[table].update(one for one in rows[table] if one.startswith("| %s |" % name))
            continue
        except Exception:  # pylint: disable=broad-except
            print("%s:" % name, file=sys.stderr)
            traceback.print_exc()
            wrong += 1
            continue
        finally:
            spaces.end_all()
        tried[table].add(row)
        if prints:
            print(row, flush=True)
        elif row not in rows[table]:
            print("not in the document: %s" % row, file=sys.stderr)
            wrong += 1
    for table, known in enumerate(rows):
        for row in known:
            if row not in tried[table]:
                print("nothing says so: %s" % row, file=sys.stderr)
                wrong += 1
    print("%d rows" % sum(map(len, tried)), file=sys.stderr)
    return wrong


def main():
    global WORK, FOLDER
    ckcache, client, remote, source = sys.argv[1:5]
    prints = "--print" in sys.argv
    if os.geteuid() != 0:
        print("SKIPPED: only the superuser can be several users")
        return SKIPPED
    os.umask(0o022)
    folder = tempfile.mkdtemp(prefix="ckcache-containers-")
    try:
        spaces.private_mounts()
        spaces.mount("tmpfs", folder, "tmpfs", 0, "mode=0755")
    except OSError as error:
        print("SKIPPED: %s" % error)
        os.rmdir(folder)
        return SKIPPED
    WORK = FOLDER = folder
    for program, name in ((ckcache, "ckcache"), (client, "client"), (remote, "remote.so")):
        shutil.copy(program, os.path.join(WORK, name))
    try:
        return 1 if run(prints, [[] for _ in TABLES] if prints else documented(source)) else 0
    finally:
        # The mounts, and what is in them, go with this namespace.
        spaces.libc.umount2(WORK.encode(), spaces.DETACH)
        os.rmdir(WORK)


if __name__ == "__main__":
    sys.exit(main())
