# SPDX-License-Identifier: MIT
"""ckcache-storage-redis with real servers: redis-server, or valkey-server (CKCACHE_TEST_REDIS)."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import helper
import protocol

SERVER = os.environ.get("CKCACHE_TEST_REDIS") or shutil.which("redis-server") or \
    shutil.which("valkey-server")


class Server:
    """On a Unix socket in the test's directory, and on a port of the kernel's choice."""

    def __init__(self, case, *settings, port=0):
        self.case = case
        self.settings = settings
        self.path = case.path("redis%d" % case.started)
        case.started += 1
        case.addCleanup(self.kill)
        for attempt in range(3):
            self.port = port or self.free_port()
            try:
                self.start()
                break
            except RuntimeError:
                if attempt == 2:	# until then another process may have taken the port
                    raise

    @staticmethod
    def free_port():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def start(self):
        self.process = subprocess.Popen(
            [SERVER, "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.path,
             "--save", "", "--appendonly", "no", "--dir", self.case.work, *self.settings],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        end = time.monotonic() + helper.PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("%s does not start" % SERVER)
            time.sleep(0.01)
        # What it says later goes nowhere, and does not stop it.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def answers(self):
        """By the socket: what a server says of its start is another thing in each version."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.path)
                return True
        except OSError:
            return False

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def command(self, *words):
        """The reply, as it comes (a short one)."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(helper.PATIENCE)
            client.connect(self.path)
            parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            client.sendall(b"*%d\r\n" % len(parts) +
                           b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
            return client.recv(65536)

    @property
    def url(self):
        return "redis://127.0.0.1:%d" % self.port


class WithServer(helper.Case):
    settings = ()
    attributes = {}

    def setUp(self):
        super().setUp()
        self.server = Server(self, *self.settings)
        self.url = self.server.url

    def begin(self, attributes=(), url=None, **more):
        process, endpoint = self.helper(url or self.url, {**self.attributes, **dict(attributes)},
                                        **more)
        return self.client(endpoint), process, endpoint


class Common(protocol.Protocol, WithServer):
    described = r"^redis://127\.0\.0\.1:\d+, keys ckcache:\*, hiredis \d+\.\d+\.\d+$"


class Settings(WithServer):
    def test_names_of_keys(self):
        client, _, _ = self.begin()
        client.put(b"\xab\x01", b"value")
        self.assertIn(b"value", self.server.command("GET", "ckcache:ab01"))
        client.claim(b"\x02", 60000)
        self.assertIn(b":1\r\n", self.server.command("EXISTS", "ckcache:claim:02"))
        client, _, _ = self.begin({"key-prefix": "own/"})
        self.assertIsNone(client.get(b"\xab\x01"))
        client.put(b"\xab\x01", b"other")
        self.assertIn(b"other", self.server.command("GET", "own/ab01"))
        self.refused(self.url, {"key-prefix": "x" * 201})

    def test_values_expire(self):
        client, _, _ = self.begin({"ttl": 100})
        for overwrite in (True, False):
            client.put(b"\xab", b"value", overwrite)
            self.assertIn(self.server.command("TTL", "ckcache:ab"), (b":100\r\n", b":99\r\n"))
            client.remove(b"\xab")
        client, _, _ = self.begin({"ttl": 1})
        client.put(b"\xab", b"value")
        start = time.monotonic()
        while client.get(b"\xab"):
            self.assertLess(time.monotonic() - start, 60)
        client, _, _ = self.begin()
        client.put(b"\xab", b"value")
        self.assertEqual(self.server.command("TTL", "ckcache:ab"), b":-1\r\n")
        for ttl in ("0", "-1", "x", "99999999999"):
            self.refused(self.url, {"ttl": ttl})

    def test_databases(self):
        for url, attributes in ((self.url + "/3", {}), (self.url, {"database": 3}),
                                ("redis://" + self.server.path, {"database": 3}),
                                ("redis+unix:%s?db=3" % self.server.path, {})):
            client, _, _ = self.begin(attributes, url)
            self.assertEqual(client.put(b"\xab", b"value"), helper.OK)
            self.assertIn(b"db3:keys=1", self.server.command("INFO", "keyspace"))
            self.assertNotIn(b"db0", self.server.command("INFO", "keyspace"))
            client.remove(b"\xab")
        client, _, _ = self.begin(url=self.url + "/999999")
        self.assertIn("choosing the database", self.message(client.get(b"\xab")))
        self.refused(self.url + "/name")
        self.refused(self.url, {"database": "name"})

    def test_urls(self):
        self.assertIn("rediss", self.refused("rediss://127.0.0.1:%d" % self.server.port)
                      if not self.has_tls() else "rediss")
        self.refused("redis:relative")
        for url in ("redis+unix:" + self.server.path, "redis+unix://" + self.server.path,
                    "redis://localhost:%d/0" % self.server.port):
            self.assertIsNone(self.begin(url=url)[0].get(b"key"))

    def test_an_address_of_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        server = Server(self, "--bind", "127.0.0.1", "::1")
        client, _, _ = self.begin(url="redis://[::1]:%d" % server.port)
        client.put(b"key", b"value")
        self.assertEqual(client.get(b"key"), b"value")
        self.assertEqual(server.command("DBSIZE"), b":1\r\n")

    def has_tls(self):
        return b"redisInitiateSSL" in self.read(os.path.join(helper.PROGRAMS,
                                                             "ckcache-storage-redis"))

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls(self):
        if not self.has_tls():
            self.skipTest("hiredis has no TLS here")
        key, certificate = self.path("key.pem"), self.path("cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "2", "-subj", "/CN=x",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        port = Server.free_port()
        Server(self, "--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key,
               "--tls-auth-clients", "no", "--requirepass", "s3cret")
        url = "rediss://:s3cret@127.0.0.1:%d" % port
        client, _, endpoint = self.begin({"ca-file": certificate}, url)
        value = os.urandom(4 << 20)
        self.assertEqual(client.put(b"key", value), helper.OK)
        self.assertEqual(client.get(b"key"), value)
        self.assertIs(self.client(endpoint).claim(b"other", 60000), True)
        # Nobody has signed it; it is another one's; the server has no TLS.
        for attributes, other in (({}, url),
                                  ({"ca-file": certificate}, url.replace("127.0.0.1", "localhost")),
                                  ({"ca-file": certificate},
                                   self.url.replace("redis:", "rediss:"))):
            client, _, _ = self.begin({**attributes, "operation-timeout": 1000}, other)
            self.assertIn("certificate", self.message(client.get(b"key")))
        self.refused(url, {"ca-file": self.path("none")})

    def connections(self):
        """How many there have been, with this question's."""
        text = self.server.command("INFO", "stats").decode()
        return int(text.partition("total_connections_received:")[2].split()[0])

    def test_connections_are_used_again(self):
        before = self.connections()
        client, _, endpoint = self.begin()
        for number in range(50):
            self.client(endpoint).put(b"%d" % number, b"")
            client.get(b"%d" % number)
        self.assertEqual(self.connections(), before + 2)     # one is the question's
        # Who has made no claims looks for none after a put.
        self.assertNotIn(b"cmdstat_eval", self.server.command("INFO", "commandstats"))

    def test_connections_rest_for_some_minutes(self):
        clock = self.write(self.path("clock"), "")
        client, _, _ = self.begin(extra=self.fault("clock", STORAGE_CLOCK=clock))
        client.get(b"key")
        first = self.connections()
        os.truncate(clock, 298)
        client.get(b"key")
        self.assertEqual(self.connections(), first + 1)     # the question's
        os.truncate(clock, 2 * 298)
        client.get(b"key")
        self.assertEqual(self.connections(), first + 2)
        os.truncate(clock, 2 * 298 + 301)
        client.get(b"key")
        self.assertEqual(self.connections(), first + 4)

    def test_connections_are_few(self):
        _, _, endpoint = self.begin({"max-connections": 3})
        clients = [self.client(endpoint) for _ in range(20)]
        for _ in range(20):
            for client in clients:
                client.send(client.keyed(0, b"key"))
            for client in clients:
                self.assertIsNone(client.value())
        text = self.server.command("INFO", "clients").decode()
        self.assertLessEqual(int(text.partition("connected_clients:")[2].split()[0]), 4)


class Passwords(WithServer):
    settings = ("--requirepass", "pass:w@rd/1", "--user", *"alice on >al1ce-secret ~* &* +@all".split(),
                "--user", *"reader on >reader-secret ~* +get".split())

    def test_passwords(self):
        at = "@127.0.0.1:%d" % self.server.port
        for url, attributes in (("redis://pass%3Aw%40rd%2F1" + at, {}),
                                ("redis://:pass%3Aw%40rd%2F1" + at, {}),
                                ("redis://default:pass%3Aw%40rd%2F1" + at, {}),
                                (self.url, {"password": "pass:w@rd/1"}),
                                ("redis://alice:al1ce-secret" + at, {}),
                                (self.url, {"username": "alice", "password": "al1ce-secret"})):
            client, process, _ = self.begin(attributes, url)
            self.assertEqual(client.put(b"key", b"value"), helper.OK)
            self.assertIs(client.claim(b"other", 60000), True)
            self.assertEqual(client.release(b"other"), helper.OK)
            self.assertEqual(client.get(b"key"), b"value")
            shown = self.read("/proc/%d/environ" % process.pid) + str(client.info()).encode()
            for secret in (b"al1ce-secret", b"w@rd", b"w%40rd"):
                self.assertNotIn(secret, shown)

    def test_wrong_passwords(self):
        client, _, _ = self.begin()
        self.assertIn("wants a password (NOAUTH)", self.message(client.get(b"key")))
        # Of a large value the server says something else, and hangs up before it has read it.
        for size in (20 << 10, 1 << 20, 8 << 20):
            for _ in range(5):
                self.assertIn("put: the server wants a password (NOAUTH)",
                              self.message(client.put(b"key", bytes(size))))
        self.assertIn("the storage is up", client.info()[1])
        for url in ("redis://wrong-secret@", "redis://bob:wrong-secret@",
                    "redis://alice:wrong-secret@"):
            client, _, _ = self.begin(url=url + "127.0.0.1:%d" % self.server.port)
            for _ in range(3):
                said = self.message(client.get(b"key"))
                self.assertIn("refuses this user or password", said)
                self.assertNotIn("wrong-secret", said)

    def test_a_user_who_may_only_read(self):
        client, _, _ = self.begin(url="redis://reader:reader-secret@127.0.0.1:%d" %
                                  self.server.port)
        self.assertIsNone(client.get(b"key"))
        for said in (client.put(b"key", b"value"), client.claim(b"key", 1), client.remove(b"key")):
            self.assertIn("does not let this user", self.message(said))
        self.assertIsNone(client.get(b"key"))


class Trouble(WithServer):
    def test_full_memory(self):
        self.server.command("CONFIG", "SET", "maxmemory", 4 << 20)
        client, _, _ = self.begin()
        client.put(b"first", b"value")
        # What is refused is waited for no longer.
        self.assertIs(client.claim(b"large", 60000), True)
        self.assertIn("memory is full", self.message(client.put(b"large", bytes(8 << 20))))
        self.assertEqual(client.release(b"large"), helper.NOOP)
        answers = [client.put(b"%d" % number, bytes(1 << 20)) for number in range(8)]
        self.assertIn("put: the server's memory is full", answers)
        self.assertEqual(client.get(b"first"), b"value")

    def test_a_value_that_is_too_large_for_the_server(self):
        self.server.command("CONFIG", "SET", "proto-max-bulk-len", 1 << 20)
        client, _, _ = self.begin()
        self.assertEqual(client.put(b"first", b"value"), helper.OK)
        self.assertIs(client.claim(b"large", 60000), True)
        # It hangs up, which says nothing of other values.
        self.assertIn("put: ", self.message(client.put(b"large", bytes(8 << 20))))
        self.assertEqual(client.get(b"first"), b"value")
        lines = client.info()[1]
        self.assertIn("the storage is up", lines)
        self.assertIn("4 requests, 1 errors, 1 clients", lines)
        # What is refused is waited for no longer.
        self.assertEqual(client.release(b"large"), helper.NOOP)

    def test_a_read_only_replica(self):
        other = Server(self, "--repl-diskless-sync-delay", "0")
        client, _, _ = self.begin()
        client.put(b"key", b"value")
        self.server.command("REPLICAOF", "127.0.0.1", other.port)
        start = time.monotonic()
        while b"master_link_status:up" not in self.server.command("INFO", "replication"):
            self.assertLess(time.monotonic() - start, 60)
        self.assertIn("read-only", client.put(b"key", b"value"))
        self.assertIsNone(client.get(b"key"))

    def test_a_key_of_another_type(self):
        self.server.command("LPUSH", "ckcache:ab", "x")
        client, _, _ = self.begin()
        self.assertIn("something else", self.message(client.get(b"\xab")))
        self.assertEqual(client.put(b"\xab", b"value"), helper.OK)

    def test_a_server_that_goes_and_comes_back(self):
        clock = self.write(self.path("clock"), "")
        client, _, _ = self.begin(extra=self.fault("clock", STORAGE_CLOCK=clock))
        client.put(b"key", b"value")
        self.server.kill()
        said = self.message(client.get(b"key"))
        self.assertIn("connecting: ", said)
        # Then without asking, however many.
        for _ in range(100):
            self.assertIn("not tried, since connecting", self.message(client.get(b"key")))
        self.assertIn("the storage is down", " ".join(client.info()[1]))
        self.server.start()
        os.truncate(clock, 1)
        self.assertIsNone(client.get(b"key"))
        self.assertEqual(client.put(b"key", b"value"), helper.OK)
        self.assertIn("the storage is up", client.info()[1])

    def test_a_restart_between_requests_is_not_seen(self):
        client, _, endpoint = self.begin()
        many = [self.client(endpoint) for _ in range(8)]
        for turn in range(3):
            for one in many:
                one.send(one.keyed(0, b"key"))
            for one in many:
                self.assertIsNone(one.value())
            self.server.kill()
            self.server.start()
            self.assertEqual(client.put(b"%d" % turn, b"value"), helper.OK)
            self.assertIs(client.claim(b"claim", 60000), True)

    def test_a_server_that_is_stopped(self):
        client, _, endpoint = self.begin({"operation-timeout": 300})
        client.put(b"key", b"value")
        self.server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.server.process.send_signal, signal.SIGCONT)
        start = time.monotonic()
        self.assertIn("in time", self.message(client.get(b"key")))
        self.assertLess(time.monotonic() - start, 10)
        other = self.client(endpoint)
        for _ in range(10):
            said = self.message(other.get(b"key"))
            self.assertTrue("not tried" in said or time.monotonic() > start + 1, said)
        self.server.process.send_signal(signal.SIGCONT)
        start = time.monotonic()
        while client.get(b"key") != b"value":
            self.assertLess(time.monotonic() - start, 60)

    def test_it_ends_soon_while_the_server_is_away(self):
        """Another one may have a network that it has not."""
        clock = self.write(self.path("clock"), "")
        client, process, _ = self.begin(idle=600, extra=self.fault("clock", STORAGE_CLOCK=clock))
        client.get(b"key")
        os.truncate(clock, 60)
        client.get(b"key")
        self.server.kill()
        self.message(client.get(b"key"))
        os.truncate(clock, 60 + 29)
        self.assertIn("the storage is down", " ".join(client.info()[1]))  # which keeps it, too
        os.truncate(clock, 60 + 29 + 29)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.5)
        os.truncate(clock, 60 + 29 + 29 + 31)	# it may have looked at the clock late
        self.assertEqual(process.wait(helper.PATIENCE), 0)

    def test_pauses_grow(self):
        clock = self.write(self.path("clock"), "")
        client, _, _ = self.begin(extra=self.fault("clock", STORAGE_CLOCK=clock))
        self.server.kill()
        tried = []
        for second in (0, 0, 1, 1, 2, 3, 6, 7):
            os.truncate(clock, second)
            if "not tried" not in self.message(client.get(b"key")):
                tried.append(second)
        self.assertEqual(tried, [0, 1, 3, 7])

    def test_stop_does_not_wait(self):
        client, process, endpoint = self.begin({"operation-timeout": 600000})
        self.server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.server.process.send_signal, signal.SIGCONT)
        client.send(client.keyed(0, b"key"))
        self.client(endpoint).stop()
        self.assertEqual(process.wait(helper.PATIENCE), 0)


class Liar:
    """A server that answers each command with the next of its answers, whatever it is."""

    def __init__(self, case, *answers, then=None):
        self.answers = list(answers)
        self.then = then
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "redis://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.clients = []
        threading.Thread(target=self.serve, daemon=True).start()
        case.addCleanup(self.listener.close)

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        try:
            while client.recv(1 << 20):
                answer = self.answers.pop(0) if self.answers else b""
                client.sendall(answer)
                if self.then:
                    self.then(client)
        except OSError:
            pass
        client.close()


class Lies(helper.Case):
    def ask(self, answer, request=lambda client: client.get(b"key"), then=None, attributes=(), extra=None):
        liar = Liar(self, answer, then=then)
        process, endpoint = self.helper(liar.url, {"operation-timeout": 300, **dict(attributes)}, extra=extra)
        got = request(self.client(endpoint))
        self.assertIsNone(process.poll())
        return got

    def test_wrong_types(self):
        get, put = (lambda client: client.get(b"key")), (lambda client: client.put(b"key", b"v"))
        rest = [lambda client: client.remove(b"key"), lambda client: client.exists(b"key"),
                lambda client: client.release(b"key")]
        claim = lambda client: client.claim(b"key", 1)
        for answer, requests in ((b":1\r\n", [get, put]), (b"+OK\r\n", [get, claim, *rest]),
                                 (b"$2\r\nOK\r\n", [put, *rest]), (b"$-1\r\n", [put, claim, *rest]),
                                 (b"*0\r\n", [get, put, claim, *rest]),
                                 (b"*-1\r\n", [put, claim, *rest]),
                                 (b"*2147483647\r\n", [get, put, claim, *rest]),
                                 (b"*1\r\n$1\r\nx\r\n", [get, put]), (b"!\r\n", [get, put]),
                                 (b"HTTP/1.1 400 Bad Request\r\n\r\n", [get]), (b"\0" * 100, [get])):
            for request in requests:
                self.message(self.ask(answer, request))

    def test_wrong_lengths(self):
        for length in (b"999999999999999999", b"99999999999999999999999", b"-2", b"x", b"10",
                       b"2147483647", b"9223372036854775807", b""):
            self.message(self.ask(b"$" + length + b"\r\nshort\r\n",
                                  attributes={"operation-timeout": 100}))

    def test_a_line_without_end(self):
        def flood(client):
            while True:
                client.sendall(b"1" * (1 << 12))

        for kind in (b"+", b"-", b":", b"$"):
            said = self.message(self.ask(kind, then=flood, attributes={
                "max-value-size": "1M", "operation-timeout": 9000}))
            self.assertIn("does not speak Redis's protocol", said)

    def test_a_value_without_end(self):
        def flood(client):
            while True:
                client.sendall(bytes(1 << 16))

        said = self.message(self.ask(b"$1000000000\r\n", then=flood,
                                     attributes={"max-value-size": "1M", "operation-timeout": 9000}))
        self.assertIn("more than", said)

    def test_a_value_that_announces_too_much(self):
        """It is not waited for: what the server says is enough."""
        for split in (0, 1, 4):
            text = b"$900000000\r\n"
            said = self.message(self.ask(text[:split] or text, attributes={"operation-timeout": 60000},
                                         then=(lambda c: c.sendall(text[split:])) if split else None))
            self.assertIn("more than", said)

    def test_many_values_without_end(self):
        def flood(client):
            client.sendall(b"$60000000\r\n")
            while True:
                client.sendall(bytes(1 << 16))

        liar = Liar(self, then=flood)
        process, endpoint = self.helper(liar.url, {"max-value-size": "60Mi", "max-memory": "64Mi"})
        protocol.refuses_a_crowd(self, "redis", process, endpoint, 96 << 20, 8 << 20)

    def test_long_answers_where_none_is_expected(self):
        def flood(client):
            while True:
                client.sendall(bytes(1 << 16))

        for request in (lambda client: client.put(b"key", b"v"), lambda client: client.exists(b"key")):
            self.message(self.ask(b"$60000000\r\n", request, then=flood,
                                  attributes={"operation-timeout": 60000}))

    def test_an_answer_that_nobody_asked_for(self):
        """It is not taken for the next key's."""
        liar = Liar(self, b"$5\r\nfirst\r\n$5\r\nwrong\r\n", b"$6\r\nsecond\r\n", b"$5\r\nthird\r\n")
        _, endpoint = self.helper(liar.url)
        client = self.client(endpoint)
        self.assertEqual([client.get(key) for key in (b"1", b"2", b"3")],
                         [b"first", b"second", b"third"])
        self.assertEqual(len(liar.clients), 2)
        # The same, where it comes later.
        liar = Liar(self, b"$5\r\nfirst\r\n", b"$6\r\nsecond\r\n")
        _, endpoint = self.helper(liar.url)
        client = self.client(endpoint)
        self.assertEqual(client.get(b"1"), b"first")
        liar.clients[0].sendall(b"$5\r\nwrong\r\n")
        self.assertEqual(client.get(b"2"), b"second")

    def test_a_value_that_is_cut(self):
        clock = self.write(self.path("clock"), "")
        first, second = self.ask(b"$10\r\nshort", lambda client: (client.get(b"key"), client.get(b"key")),
                                 then=lambda c: c.shutdown(2), extra=self.fault("clock", STORAGE_CLOCK=clock))
        self.assertIn("closed", self.message(first))
        self.assertIn("not tried, since get: the server closed", self.message(second))

    def test_a_byte_now_and_then(self):
        def drip(client):
            while True:
                client.sendall(b"x")
                threading.Event().wait(0.1)

        start = time.monotonic()
        self.assertIn("in time", self.message(self.ask(b"$1000\r\n", then=drip)))
        self.assertLess(time.monotonic() - start, 20)

    def test_refusals(self):
        for answer, words in ((b"-MOVED 3999 127.0.0.1:6381\r\n", "cluster: use a proxy"),
                              (b"-ASK 3999 127.0.0.1:6381\r\n", "cluster: use a proxy"),
                              (b"-CLUSTERDOWN The cluster is down\r\n", "cluster: use a proxy"),
                              (b"-LOADING Redis is loading\r\n", "loading"),
                              (b"-MISCONF x\r\n", "disk"),
                              (b"-ERR unknown command, with args beginning with: 'secret'\r\n",
                               "get: the server answers with an error (ERR)"),
                              (b"-ERR Protocol error: unauthenticated bulk length\r\n", "NOAUTH"),
                              (b"-ERR Protocol error: unauthenticated multibulk length\r\n", "NOAUTH"),
                              (b"-\r\n", "the server answers with an error ()")):
            said = self.message(self.ask(answer))
            self.assertIn(words, said)
            self.assertNotIn("secret", said)

    def test_nobody_there(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            _, endpoint = self.helper("redis://127.0.0.1:%d" % closed.getsockname()[1])
            self.assertIn("refused", self.message(self.client(endpoint).get(b"key")))
        _, endpoint = self.helper("redis://" + self.path("none"))
        self.assertIn("No such file", self.message(self.client(endpoint).get(b"key")))
        _, endpoint = self.helper("redis://no-such-host.invalid")
        self.assertIn("address is not known", self.message(self.client(endpoint).get(b"key")))


if __name__ == "__main__":
    if not SERVER and sys.argv[2:] != ["Lies"]:
        helper.skip("neither redis-server nor valkey-server is installed")
    if not os.path.exists(os.path.join(os.path.abspath(sys.argv[1]), "ckcache-storage-redis")):
        helper.skip("built without hiredis")
    helper.main()
