# SPDX-License-Identifier: MIT
"""A client of storage helpers' protocol, and what the tests of helpers share."""
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import environment  # noqa: E402  (in its folder)

PATIENCE = 120
OK, NOOP, ERR = 0, 1, 2
PROGRAMS = None  # the folder that the helpers are in
SKIPPED = 77


class Gone(Exception):
    """The helper closed the connection."""


class Client:
    """Speaks the protocol; answers are (OK|NOOP|ERR, value, flag or message)."""

    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        if greet:
            self.greeted()

    def greeted(self):
        self.version, count = self.take(2)
        self.capabilities = self.take(count)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def take(self, count):
        parts = []
        while count:
            try:
                part = self.socket.recv(min(count, 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                raise Gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def send(self, data):
        self.socket.sendall(data)

    def message(self):
        return self.take(self.take(1)[0]).decode()

    @staticmethod
    def keyed(kind, key):
        return bytes([kind, len(key)]) + key

    @staticmethod
    def putting(key, value, overwrite=True):
        return Client.keyed(1, key) + bytes([overwrite]) + struct.pack("=Q", len(value)) + value

    def status(self):
        """OK, NOOP, or the message of an error."""
        kind = self.take(1)[0]
        return self.message() if kind == ERR else kind

    def value(self):
        """The value, None if there is none, or (ERR, message)."""
        kind = self.take(1)[0]
        if kind == OK:
            return self.take(struct.unpack("=Q", self.take(8))[0])
        return None if kind == NOOP else (ERR, self.message())

    def get(self, key):
        self.send(self.keyed(0, key))
        return self.value()

    def put(self, key, value, overwrite=True):
        self.send(self.putting(key, value, overwrite))
        return self.status()

    def remove(self, key):
        self.send(self.keyed(2, key))
        return self.status()

    def exists(self, key):
        self.send(self.keyed(5, key))
        kind = self.take(1)[0]
        return self.message() if kind == ERR else self.take(1)[0] == 1

    def info(self):
        self.send(b"\x04")
        identity = self.message()
        return identity, [self.message() for _ in range(self.take(1)[0])]

    def stop(self):
        self.send(b"\x03")

    def claim(self, key, ttl):
        """The value, or True: claimed, False: somebody else has it, or (ERR, message)."""
        self.send(self.keyed(0x80, key) + struct.pack("=Q", ttl))
        kind = self.take(1)[0]
        if kind == OK:
            return self.take(struct.unpack("=Q", self.take(8))[0])
        return self.take(1)[0] == 1 if kind == NOOP else (ERR, self.message())

    def release(self, key):
        self.send(self.keyed(0x81, key))
        return self.status()

    def ended(self):
        """Whether the helper closes the connection, after whatever it still sends."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True


class Case(unittest.TestCase):
    """A fresh directory, helpers that end with the test, and a limit of time."""
    maxDiff = 2000
    attributes = {}

    def setUp(self):
        signal.signal(signal.SIGALRM, self.out_of_patience)
        signal.alarm(PATIENCE * 2)
        self.addCleanup(signal.alarm, 0)
        os.umask(0o022)
        self.work = tempfile.mkdtemp(prefix="ckcache-storage-")
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.addCleanup(self.check_reports)
        self.started = 0

    def out_of_patience(self, number, frame):
        raise TimeoutError("nothing came for %d s" % (PATIENCE * 2))

    def path(self, *names):
        return os.path.join(self.work, *names)

    def write(self, path, text, mode=0o644):
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def check_reports(self):
        """What sanitizers have written of helpers, whose stderr is closed."""
        for name in os.listdir(self.work):
            if name.startswith("report."):
                self.fail(self.read(self.path(name)).decode(errors="replace")[:6000])

    def environment(self, url, endpoint, idle=0, attributes=(), extra=None):
        made = {"PATH": os.environ["PATH"], "CRSH_IPC_ENDPOINT": endpoint, "CRSH_URL": url,
                "CRSH_IDLE_TIMEOUT": str(idle)}
        # Its sockets are open until the end.
        made.update({"LD_PRELOAD": environment.guard(os.path.dirname(PROGRAMS)) or "", "GUARD_FILES": "0", "GUARD_EXIT": "1"})
        for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            made[name] = ":".join(filter(None, [os.environ.get(name),
                                                "log_path=" + self.path("report")]))
        pairs = list(attributes.items() if isinstance(attributes, dict) else attributes)
        made["CRSH_NUM_ATTR"] = str(len(pairs))
        for number, (key, value) in enumerate(pairs):
            made["CRSH_ATTR_KEY_%d" % number] = key
            made["CRSH_ATTR_VALUE_%d" % number] = str(value)
        made.update(extra or {})
        return made

    @staticmethod
    def as_usual():
        """A nice helper makes room for another one after a minute: not in tests that take longer."""
        try:
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        except PermissionError:
            pass

    def end(self, process):
        """As it is used to end: what it did not free, say, is found then."""
        process.terminate()
        try:
            code = process.wait(5)
        except subprocess.TimeoutExpired:	# one that is stopped, or holds out for somebody
            process.kill()
            code = process.wait()
        self.assertNotIn(code, environment.GUARDS)

    def launch(self, url, attributes=(), idle=0, endpoint=None, extra=None, program=None,
               preexec_fn=None):
        """A helper that has not listened yet; its process and socket."""
        self.started += 1
        endpoint = endpoint or self.path("s%d" % self.started)
        program = program or os.path.join(PROGRAMS, "ckcache-storage-" + url.partition(":")[0])

        def begin():
            self.as_usual()
            if preexec_fn:
                preexec_fn()

        process = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, preexec_fn=begin,
                                   env=self.environment(url, endpoint, idle, attributes, extra))
        self.addCleanup(process.stderr.close)
        self.addCleanup(self.end, process)
        return process, endpoint

    def helper(self, url, attributes=(), **more):
        """One that listens: it closes stderr then. Process and socket."""
        process, endpoint = self.launch(url, attributes, **more)
        said = process.stderr.read()
        self.assertEqual(said, b"")
        self.assertTrue(os.path.exists(endpoint) or process.poll() is not None)
        return process, endpoint

    def client(self, endpoint, greet=True):
        client = Client(endpoint, greet)
        self.addCleanup(client.close)
        return client

    def refused(self, url, attributes=(), code=2, **more):
        """
        What a helper says that does not start: a line of refusals.txt, which OUTPUTS_WRITE=1 adds
        there, to be read before it is committed.
        """
        process, _ = self.launch(url, attributes, **more)
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(), code, said)
        given = {**dict(attributes), **{name: value for name, value in more.get("extra", {}).items() if name.startswith("CRSH_")}, **({"the URL": url} if "extra" not in more else {})}
        line = " ".join("%s=%s" % item for item in sorted(given.items())
                        if self.attributes.get(item[0]) != item[1]) + ": " + said.strip()
        line = re.sub(r"(?<=127.0.0.1:)\d+|(ckcache-storage-\w+ )[0-9.]+", r"\1N",
                      line.replace(self.work, "WORK")).replace("\r", "\\r").replace("\n", "\\n") + "\n"
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "refusals.txt")
        with open(path, "a+", encoding="utf-8") as file:
            file.seek(0)
            known = file.readlines()
            if os.environ.get("OUTPUTS_WRITE") and line not in known:
                file.write(line)
                known.append(line)
        self.assertIn(line, known)
        return said

    def fault(self, name, **variables):
        """What goes into a helper's environment for a fault of faults.c."""
        library = os.path.join(PROGRAMS, "..", "lib", "libstorage_faults.so")
        if not os.path.exists(library):
            self.skipTest("there is no libstorage_faults.so")
        options = [os.environ.get("ASAN_OPTIONS"), "log_path=" + self.path("report"),
                   "verify_asan_link_order=0"]
        return {"LD_PRELOAD": library, "STORAGE_FAULT": name,
                "ASAN_OPTIONS": ":".join(filter(None, options)), **variables}

    def message(self, answer):
        """The text of an answer, which must be an error."""
        text = answer[1] if isinstance(answer, tuple) else answer
        self.assertTrue(isinstance(text, str), repr(text)[:200])
        return text


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def main():
    global PROGRAMS
    PROGRAMS = os.path.abspath(sys.argv[1])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]],
                  warnings="ignore", verbosity=2)
