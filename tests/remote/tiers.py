# SPDX-License-Identifier: MIT
"""What hosts.py's hosts share: a real redis-server, a proxy in front of one, keys
that sign, and values that somebody has changed.
"""
import hashlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

import hosts

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "storage"))
import redis_storage  # noqa: E402

SKIPPED = 77
HEADER = 128
SIGNATURE_AT = 64
PURPOSE = b"ckcache remote entry, 1".ljust(32, b"\0")
OPENSSL = shutil.which("openssl")


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def need_redis():
    if not redis_storage.SERVER:
        skip("neither redis-server nor valkey-server is installed")
    if not os.path.exists(os.path.join(os.path.abspath(sys.argv[1]), "bin",
                                       "ckcache-storage-redis")):
        skip("built without hiredis")


class Redis(redis_storage.Server):
    """With whole replies: bytes, a number, a list, None."""

    def command(self, *words):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(hosts.PATIENCE)
            client.connect(self.path)
            password = self.settings[1:2] if "--requirepass" in self.settings[:1] else ()
            for secret in password:
                client.sendall(b"AUTH %s\r\n" % secret.encode())
            parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            client.sendall(b"*%d\r\n" % len(parts) +
                           b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
            with client.makefile("rb") as reader:
                for _ in password:
                    self.reply(reader)
                return self.reply(reader)

    def reply(self, reader):
        line = reader.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else reader.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply(reader) for _ in range(int(rest))]
        return rest

    def values(self):
        """{name: value} of what ckcache has stored."""
        names = [name for name in self.command("KEYS", "ckcache:*") if b":claim:" not in name]
        return {name: self.command("GET", name) for name in sorted(names)}

    def given(self):
        """How many values it has given."""
        told = self.command("INFO", "stats").decode().partition("keyspace_hits:")[2]
        return int(told.split()[0])

    def asked(self):
        """How many values it was asked for."""
        told = self.command("INFO", "stats").decode().partition("keyspace_misses:")[2]
        return self.given() + int(told.split()[0])

    def claims(self):
        return self.command("KEYS", "ckcache:claim:*")


class Key:
    """A private key in a file, and the line of those who trust it."""

    def __init__(self, case, name):
        self.name = name
        self.file = case.path(name + ".pem")
        made = subprocess.run([hosts.built("bin", "ckcache"), "key", "new", self.file, "--name",
                               name], env={"HOME": case.work, "PATH": os.environ["PATH"]},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        case.assertEqual(made.returncode, 0, made.stderr)
        self.line = made.stdout.strip()

    def id(self):
        import base64
        return hashlib.blake2b(base64.b64decode(self.line.split()[1]), digest_size=32).digest()

    def sign(self, value, purpose=PURPOSE):
        """The value with this key's name and signature, by OpenSSL."""
        value = value[:32] + self.id() + bytes(64) + value[HEADER:]
        message = purpose + hashlib.blake2b(value, digest_size=32).digest()
        with open(self.file + ".message", "wb") as file:
            file.write(message)
        signature = subprocess.run([OPENSSL, "pkeyutl", "-sign", "-rawin", "-inkey", self.file,
                                    "-in", self.file + ".message"], stdout=subprocess.PIPE,
                                   check=True).stdout
        return value[:SIGNATURE_AT] + signature + value[HEADER:]


def lengths(value):
    return struct.unpack("<QQ", value[16:32])


class SignedCase(hosts.Case):
    """A key; writers have the private key, readers trust it."""
    remote = None

    def setUp(self):
        super().setUp()
        self.key = Key(self, "farm")
        self.trust = self.trusted("trusted", self.key.line)

    def trusted(self, name, *lines):
        path = self.path(name)
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in lines)
        os.chmod(path, 0o600)
        return path

    def writer(self, name, remote=None, **settings):
        return self.host(name, self.remote if remote is None else remote,
                         **{"CKCACHE_REMOTE_KEY": self.key.file, "CKCACHE_REMOTE_TRUST": self.trust,
                            **settings})

    def reader(self, name, remote=None, **settings):
        return self.host(name, self.remote if remote is None else remote,
                         **{"CKCACHE_REMOTE_TRUST": self.trust, **settings})


class RedisCase(SignedCase):
    """With a server."""
    settings = ()

    def setUp(self):
        super().setUp()
        self.started = self.fillers = 0
        self.server = Redis(self, *self.settings)
        self.remote = self.server.url

    def fill(self, first, count, **settings):
        """A host that compiles programs and uploads them."""
        self.fillers += 1
        writer = self.writer("filler%d" % self.fillers, **settings)
        self.assertEqual(writer.use(first, count), "")
        writer.uploaded()
        return writer


class Proxy:
    """To a port of this machine; what it does to answers can change at any time."""

    def __init__(self, case, port):
        self.port = port
        self.cut_after = None      # bytes of an answer, and then the end of the connection
        self.delay = 0             # seconds, for each piece of step bytes
        self.step = 1 << 16
        self.passed = 0
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.own_port = self.listener.getsockname()[1]
        self.ended = threading.Event()
        case.addCleanup(self.end)
        threading.Thread(target=self.accept, daemon=True).start()

    def end(self):
        self.ended.set()
        self.listener.close()

    @property
    def url(self):
        return "redis://127.0.0.1:%d" % self.own_port

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.settimeout(None)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.carry, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.carry, args=(server, client, True), daemon=True).start()

    def carry(self, source, target, answers):
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                while data and answers and (self.delay or self.cut_after is not None):
                    cut = self.cut_after
                    if cut is not None and len(data) > cut:
                        target.sendall(data[:cut])
                        self.cuts += 1
                        raise OSError
                    piece, data = data[:self.step], data[self.step:]
                    if self.delay and self.ended.wait(self.delay):
                        raise OSError
                    target.sendall(piece)
                target.sendall(data)
                self.passed += len(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Stopwatch:
    def __enter__(self):
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_):
        self.took = time.monotonic() - self.begun
