# SPDX-License-Identifier: MIT
"""Caches for tests of the command: an empty, a healthy, damaged and foreign ones.

All are made of the newest store of tests/golden, whose entries every version
of the code reads.
"""
import os
import shutil
import stat
import time

ANOTHER_USER = 54321


def golden(source):
    folder = os.path.join(source, "tests", "golden")
    versions = [name for name in os.listdir(folder) if name[0] == "v" and name[1:].isdigit()]
    return os.path.join(folder, max(versions, key=lambda name: int(name[1:])))


def files(root, ending=""):
    """Paths of all files below, sorted."""
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.join(folder, name) for name in names if name.endswith(ending)]
    return sorted(found)


def short_path(source):
    """Of the first entry, as list prints it."""
    root = golden(source)
    path = os.path.relpath(files(root, ".src")[0], root)
    return "/".join(part[:8] for part in path[:-len(".src")].split("/"))


def copy(source, root):
    """A healthy one, as its owner alone would have it."""
    shutil.copytree(golden(source), root)
    for folder, _, names in os.walk(root):
        os.chmod(folder, 0o700)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o600)
    write(os.path.join(root, "cache_size.txt"), b"%d\n" % sum(
        on_disk(path[:-len(".src")]) for path in files(root, ".src")))
    return root


def on_disk(stem):
    """What an entry takes there, by the path of its files without their endings."""
    infos = [os.stat(stem + ending) for ending in (".src", ".bin")]
    directories = 4 * min(os.stat(os.path.dirname(stem)).st_blocks * 512, 4096)
    return directories + sum(max(info.st_blocks * 512, info.st_size) for info in infos)


def change(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def multiply(root, count):
    """So many more images, each of which has the first entry's files."""
    first = os.path.dirname(files(root, ".src")[0])
    device, constants, options = (os.path.relpath(first, root).split("/")[i] for i in (0, 2, 3))
    for i in range(count):
        image = os.path.join(root, device, "%032x" % (i * 0x9e3779b97f4a7c15f39cc0605cedc835 % 2 ** 128))
        entry_dir = os.path.join(image, constants, options)
        for folder in (image, os.path.dirname(entry_dir), entry_dir):
            os.mkdir(folder, 0o700)
        for name in os.listdir(first):
            os.link(os.path.join(first, name), os.path.join(entry_dir, name))


def damage_bin(root):
    path = files(root, ".bin")[0]
    change(path, os.path.getsize(path) - 1, b"\xff")


def pass_days(root, days):
    """It was used on so many days, the last one today, after all that is in it was last used."""
    today = time.time_ns() // (86400 * 10**9)
    write(os.path.join(root, "days.txt"),
          b"".join(b"%d\n" % day for day in range(today - days + 1, today + 1)))
    for path in files(root, ".bin"):
        os.utime(path, (1, 1))


def damage_src(root):
    os.truncate(files(root, ".src")[0], 20)


def lose_bin(root):
    os.unlink(files(root, ".bin")[0])


def damage_counts(root):
    for name in ("cache_size.txt", "stats.txt", "days.txt",
                 "reuse.dat", "contents.dat", "events.log"):
        write(os.path.join(root, name), b"\x00\xff rubbish\n" * 100)


def damage_recipe(root):
    change(files(root, ".recipe")[0], 60, b"rubbish")


def damage_everything(root):
    for path in files(root):
        write(path, b"rubbish")


def empty_files(root):
    for path in files(root):
        os.truncate(path, 0)


def add_foreign_version(root):
    """One entry's two files say that a later version wrote them."""
    change(files(root, ".src")[0], 8, b"\x63\x00\x00\x00")


def add_strangers(root):
    """What is none of the cache's."""
    os.mkdir(os.path.join(root, "mine"))
    write(os.path.join(root, "mine", "0.src"), b"mine")
    write(os.path.join(root, "README"), b"mine")
    os.symlink("/etc/passwd", os.path.join(root, "link"))


# name: (how it is damaged, how many entries verify finds damaged, of another version)
DAMAGED = {
    "damaged bin": (damage_bin, 1, 0),
    "damaged src": (damage_src, 1, 0),
    "lost bin": (lose_bin, 1, 0),
    "damaged counts": (damage_counts, 0, 0),
    "damaged recipe": (damage_recipe, 0, 0),
    "damaged everything": (damage_everything, 3, 0),
    "empty files": (empty_files, 3, 0),
    "a later version": (add_foreign_version, 0, 1),
    "strangers": (add_strangers, 0, 0),
}


def snapshot(root):
    """{path: all that is of interest}; access times are not."""
    found = {}
    for folder, subfolders, names in os.walk(root):
        for name in subfolders + names + [""]:
            path = os.path.join(folder, name) if name else folder
            info = os.lstat(path)
            content = None
            if stat.S_ISREG(info.st_mode):
                content = read(path)
            elif stat.S_ISLNK(info.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, root)] = (info.st_mode, info.st_uid, info.st_mtime_ns,
                                                  content)
    return found
