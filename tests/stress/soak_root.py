# SPDX-License-Identifier: MIT
"""A cache directory as soak.py looks at it from outside: what it takes on disk, all the time; what
its entries take; what should not be left in it; and what damages it."""
import fcntl
import os
import shutil
import stat
import time

ENDINGS = (".src", ".bin")
HASHES = 4      # directories that lead to an entry, each with the name of a hash
FOREIGN = "foreign"     # in the names of what the damage brings


def is_hash(name):
    return len(name) == 32


def walk(root):
    """{(inode, path): (blocks in bytes, size of a file or 0, its kind)} of all that the cache has there."""
    found, folders = {}, [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as items:
                for item in items:
                    try:
                        info = item.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if FOREIGN in item.name or ".aside-" in item.name:
                        continue
                    kind = stat.S_IFMT(info.st_mode)
                    found[info.st_ino, item.path] = (
                        info.st_blocks * 512, info.st_size if kind == stat.S_IFREG else 0, kind)
                    if kind == stat.S_IFDIR:
                        folders.append(item.path)
        except OSError:
            continue
    return found


def is_temporary(path):
    return os.path.basename(path).startswith(".tmp-")


def stem(path):
    """Of an entry's file, or None."""
    for ending in ENDINGS:
        if path.endswith(ending) and is_hash(os.path.basename(os.path.dirname(path))):
            return path[:-len(ending)]
    return None


def entries(found):
    """{stem: bytes} of what a walk found, with the directories that lead to each."""
    folders = {path: blocks for (_, path), (blocks, _, kind) in found.items() if kind == stat.S_IFDIR}
    taken, whole = {}, {path for _, path in found}
    for (_, path), (blocks, size, _) in found.items():
        name = stem(path)
        if name and name + ".src" in whole:
            taken[name] = taken.get(name, 0) + max(blocks, size)
    return {name: taken[name] + HASHES * min(folders.get(os.path.dirname(name), 0), 4096)
            for name in taken}


class Watcher:
    """Walks without end, in a process of its own. What two walks in a row have both found was all
    there at the moment between them: what it took is no more than what was taken then."""

    def __init__(self, root):
        self.root = root
        self.result, theirs = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.close(self.result)
            try:
                self.run(theirs)
            finally:
                os._exit(0)
        os.close(theirs)

    def run(self, pipe):
        parent, before = os.getppid(), {}
        most, most_entries, temporaries, largest, walks, what = 0, 0, 0, 0, 0, ""
        stop = os.path.join(os.path.dirname(self.root), "stop-watching")
        while os.getppid() == parent and not os.path.exists(stop):
            now = walk(self.root)
            both = [(path, min(blocks, before[inode, path][0]))
                    for (inode, path), (blocks, _, _) in now.items() if (inode, path) in before]
            total = sum(blocks for path, blocks in both if not is_temporary(path))
            if total > most:
                most = total
                what = ", ".join("%s %d" % (os.path.relpath(path, self.root)[-40:], blocks)
                                 for path, blocks in both if blocks and not stem(path))
            most_entries = max(most_entries, sum(blocks for path, blocks in both if stem(path)))
            temporaries = max(temporaries, sum(blocks for path, blocks in both if is_temporary(path)))
            largest = max([largest, *entries(now).values()])
            before, walks = now, walks + 1
            time.sleep(0.002)
        os.write(pipe, ("%d %d %d %d %d %s" % (
            most, most_entries, temporaries, largest, walks, what)).encode()[:4000])

    def end(self):
        """The most bytes that were taken: in all but temporaries, in entries, in temporaries, of one
        entry; how often it was looked; what there was beside entries."""
        with open(os.path.join(os.path.dirname(self.root), "stop-watching"), "w", encoding="ascii"):
            pass
        with os.fdopen(self.result) as pipe:
            text = pipe.read()
        numbers = text.split(" ", 5)
        return [int(number) for number in numbers[:5]] + numbers[5:]


def account(root):
    try:
        with open(os.path.join(root, "cache_size.txt"), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def leftovers(root):
    """Files that nobody works at any more and that should have been swept. What is no file, damage
    has brought, and it stays; so does what is beside it in an entry."""
    found = {path: kind for (_, path), (_, _, kind) in walk(root).items()}
    blocked = {stem(path) for path, kind in found.items() if kind != stat.S_IFREG}
    files = [path for path, kind in found.items() if kind == stat.S_IFREG]
    return [os.path.relpath(path, root) for path in files
            if is_temporary(path) or
            (stem(path) and stem(path) + ".src" not in found and stem(path) not in blocked)]


def lock_one(root, random):
    """The descriptor of something in the root, locked; None: there is nothing, or somebody has it."""
    names = ["", "", "events.log"]
    names += [os.path.dirname(path) for _, path in walk(root) if path.endswith(".src")]
    try:
        fd = os.open(os.path.join(root, random.choice(sorted(names))), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def flip(path, random):
    with open(path, "r+b") as file:
        at = random.randrange(max(1, os.path.getsize(path)))
        file.seek(at)
        byte = file.read(1) or b"\0"
        file.seek(at)
        file.write(bytes([byte[0] ^ 1 << random.randrange(8)]))


def truncate(path, random):
    os.truncate(path, random.randrange(os.path.getsize(path) + 1))


def in_place(path, make):
    """By rename: who has the file open keeps it."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)
    make(path)


def link_to_nothing(path):
    os.symlink("/nowhere-" + FOREIGN, path)


def full_directory(path):
    os.mkdir(path)
    with open(os.path.join(path, FOREIGN), "w", encoding="ascii"):
        pass


DAMAGES = {
    "flip": flip, "truncate": truncate,
    "remove": lambda path, random: os.unlink(path),
    "directory": lambda path, random: in_place(path, os.mkdir),
    "full directory": lambda path, random: in_place(path, full_directory),
    "link": lambda path, random: in_place(path, link_to_nothing),
    "hard link": lambda path, random: os.link(path, path + "-" + FOREIGN),
    "rubbish": lambda path, random: in_place(
        path, lambda name: open(name, "wb").write(random.randbytes(random.randrange(3000)))),
    "mode": lambda path, random: os.chmod(path, random.choice((0, 0o400, 0o666))),
    "time": lambda path, random: os.utime(path, (1, random.choice((0, 4e9, time.time())))),
    "subtree": lambda path, random: shutil.rmtree(os.path.dirname(path), ignore_errors=True)
    if is_hash(os.path.basename(os.path.dirname(path))) else os.unlink(path),
}


def damage(root, random, spares_account):
    """One thing in the root is damaged; says which, or None where it could not be."""
    files = sorted(path for (_, path), (_, _, kind) in walk(root).items() if kind != stat.S_IFDIR)
    if spares_account:
        files = [path for path in files if os.path.basename(path) != "cache_size.txt"]
    if not files:
        return None
    # What could be taken for sound is what matters most.
    bins = [path for path in files if path.endswith(".bin")]
    path, kind = random.choice(files), random.choice(sorted(DAMAGES))
    if bins and random.random() < 0.4:
        path, kind = random.choice(bins), "flip"
    try:
        DAMAGES[kind](path, random)
    except OSError:
        return None     # the cache was quicker, or the disk is full
    return "%s: %s" % (kind, os.path.relpath(path, root))
