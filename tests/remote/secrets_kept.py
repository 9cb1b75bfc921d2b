# SPDX-License-Identifier: MIT
"""The server's password and the private key are where they belong and nowhere else.

    secrets_kept.py BUILD-DIRECTORY [TEST...]
"""
import os
import threading
import unittest

import hosts
import tiers
import http_storage  # in tests/storage, as tiers.py says

PASSWORD = "pass-w0rd-of-the-server"


class Secrets(tiers.RedisCase):
    settings = ("--requirepass", PASSWORD)

    def setUp(self):
        super().setUp()
        self.secrets = self.write("secrets", "# the server's\npassword=%s\n" % PASSWORD, 0o600)
        with open(self.key.file, encoding="ascii") as file:
            self.private = "".join(line.strip() for line in file if not line.startswith("-"))
        self.trace = self.path("trace")

    def write(self, name, text, mode):
        path = self.path(name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def host_with(self, name, remote=None, **settings):
        return self.writer(name, remote, **{"CKCACHE_REMOTE_SECRETS": self.secrets,
                                            "CKCACHE_LOG": "debug", "CKCACHE_TRACE": self.trace,
                                            **settings})

    def check(self, what, data):
        data = data if isinstance(data, bytes) else data.encode()
        for name, secret in (("password", PASSWORD), ("private key", self.private[-40:])):
            self.assertNotIn(secret.encode(), data, "the %s is in %s" % (name, what))

    def check_processes(self):
        for pid, command in self.processes().items():
            if "redis-server" in command:
                continue  # this test gave it the password
            for name in ("cmdline", "environ"):
                try:
                    with open("/proc/%d/%s" % (pid, name), "rb") as file:
                        self.check("%s of %s" % (name, command), file.read())
                except OSError:
                    pass

    def check_files(self):
        for folder, _, names in os.walk(self.work):
            for name in names:
                path = os.path.join(folder, name)
                if path in (self.secrets, self.key.file) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    self.check(path, file.read())

    def check_tools(self, host):
        for words in (["stats"], ["stats", "--json"], ["doctor"], ["doctor", "--json"],
                      ["report", "--output", self.path("report.html")], ["explain"], ["list"],
                      ["key", "show"], ["key", "show", self.key.file]):
            done = host.tool(*words)
            self.check(" ".join(words), done.stdout + done.stderr)

    def test_where_they_are_not(self):
        one, two = self.host_with("one"), self.host_with("two")
        said = one.use(0, 3)
        self.assertEqual(one.builds(), 3)
        self.check_processes()
        one.uploaded()
        said += two.finds(0, 3)
        self.check("a log", said)
        self.check_processes()
        self.check_tools(two)
        self.check_files()

    def test_a_password_in_the_address(self):
        """Also then what people see is without it."""
        remote = "redis://:%s@127.0.0.1:%d" % (PASSWORD, self.server.port)
        one = self.host_with("one", remote, CKCACHE_REMOTE_SECRETS=None)
        said = one.use(0, 3)
        one.uploaded()
        self.server.kill()
        said += one.use(3, 3)
        self.check("a log", said)
        self.check_tools(one)
        self.check_files()

    def test_a_wrong_password(self):
        self.server.kill()
        self.server = tiers.Redis(self, "--requirepass", "another")
        one = self.host_with("one", self.server.url)
        said = one.use(0, 3)
        self.assertEqual(one.builds(), 3)
        self.assertIsNotNone(one.down())
        self.check("a log", said)
        self.check_tools(one)
        self.check_files()

    def test_an_applications_memory(self):
        """It holds the file's name alone."""
        one = self.host_with("one", STUB_DELAY_MS="600000")
        process = one.begin(0, 1)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.wait_until("a build, after a look-up", one.builds)
        self.assertTrue(self.processes("ckcache-storage-redis"))
        needles = [PASSWORD.encode(), self.private[-40:].encode()]
        found, size = [], 0
        with open("/proc/%d/maps" % process.pid, encoding="ascii") as maps, \
                open("/proc/%d/mem" % process.pid, "rb", 0) as memory:
            for line in maps:
                first, last = (int(word, 16) for word in line.split()[0].split("-"))
                if "rw" not in line.split()[1] or last - first > 1 << 28:
                    continue
                try:
                    memory.seek(first)
                    data = memory.read(last - first)
                except (OSError, ValueError, OverflowError):
                    continue
                size += len(data)
                found += [line for needle in needles if needle in data]
        self.assertGreater(size, 100000)
        self.assertEqual(found, [])

    def refused(self, path, words):
        self.started += 1
        host = self.host_with("refused%d" % self.started, CKCACHE_REMOTE_SECRETS=path)
        said = host.use(0, 2)
        self.assertEqual(host.builds(), 2)
        self.wait_until("the reason", lambda: words in (host.down() or ""))
        self.check("a log", said)
        self.check("the note", host.down())

    def test_files_that_others_may_read(self):
        for mode in (0o644, 0o640, 0o604, 0o660):
            os.chmod(self.secrets, mode)
            self.refused(self.secrets, "is not this user's alone (chmod 600)")

    def test_files_that_are_none(self):
        os.symlink(self.secrets, self.path("link"))
        os.mkdir(self.path("folder"), 0o700)
        os.mkfifo(self.path("pipe"), 0o600)
        for name in ("link", "none", "folder", "pipe"):
            self.refused(self.path(name), "cannot be read")
        for number, text in enumerate(("password\n", "=x\n", "x" * 70000)):
            self.refused(self.write("bad%d" % number, text, 0o600), "remote_secrets")

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_files_of_others(self):
        os.chown(self.secrets, 12345, -1)
        self.refused(self.secrets, "is not this user's alone")

    def test_a_token_that_has_changed(self):
        """The helper that has the old one ends soon, and the next one has the new one."""
        if not os.path.exists(hosts.built("bin", "ckcache-storage-http")):
            self.skipTest("built without libcurl")

        def answer(request):
            if request.headers["Authorization"] != "Bearer " + server.token:
                request.plain(401)
            elif request.command == "PUT":
                values[request.path] = request.body
                request.plain(201)
            else:
                request.plain(200 if request.path in values else 404, values.get(request.path, b""))

        values = {}
        server = http_storage.Threads(("127.0.0.1", 0), http_storage.Odd)
        server.answer, server.seen, server.token = answer, [], "old"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        one = self.host_with("one", "http://127.0.0.1:%d" % server.server_address[1],
                             CKCACHE_REMOTE_SECRETS=self.write("token", "bearer-token=old\n", 0o600))
        one.use(0, 3)
        one.uploaded()
        server.token = "new"
        self.write("token", "bearer-token=new\n", 0o600)
        one.forget()
        one.use(0, 3)
        self.assertEqual(one.builds(), 6)
        self.wait_until("the end of the helper", lambda: not self.processes("ckcache-storage-http"))
        one.finds(0, 3)


if __name__ == "__main__":
    tiers.need_redis()
    hosts.main()
