# SPDX-License-Identifier: MIT
"""The protocol's cases, which every helper must pass on a storage that works.

CKCACHE_STORAGE_REQUESTS=1000000: so many requests in the test of memory.
"""
import fcntl
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

import helper

MANY = int(os.environ.get("CKCACHE_STORAGE_REQUESTS", "20000"))
SECRETS = ("sesam-secret", "tok3n-secret")


def memory(pid):
    """Resident bytes."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak(pid):
    """The most resident bytes so far."""
    with open("/proc/%d/status" % pid, encoding="ascii") as status:
        return 1024 * int(status.read().partition("VmHWM:")[2].split()[0])


def gives_back(case, pid, most):
    """Its memory is below that soon: it answers before it gives a value back."""
    end = time.monotonic() + helper.PATIENCE
    while memory(pid) >= most:
        case.assertLess(time.monotonic(), end, memory(pid))
        time.sleep(0.01)


def refuses_a_crowd(case, scheme, process, endpoint, more, rest):
    """Twelve clients at once ask for values that never end: it takes so many bytes more, and keeps the rest."""
    before = peak(process.pid)
    crowd = [case.client(endpoint) for _ in range(12)]
    for client in crowd:
        client.send(client.keyed(0, b"key"))
    for client in crowd:
        case.assertIn("no memory for the value now", case.message(client.value()))
    if not has_sanitizer(scheme):
        case.assertLess(peak(process.pid), before + more)
        gives_back(case, process.pid, before + rest)


def has_sanitizer(scheme):
    """Whose own memory grows, and hides the helper's."""
    with open(os.path.join(helper.PROGRAMS, "ckcache-storage-" + scheme), "rb") as program:
        code = program.read()  # which itself may ask whether there is one
    return b"__asan_report_" in code or b"__tsan_func_entry" in code


class Protocol:
    """For a helper.Case that has self.url and self.attributes, and says self.claims and self.described."""
    claims = True
    unknown = ["unknown attribute: max-size"]
    atomic_add = True   # put without overwrite never replaces

    def begin(self, attributes=(), **more):
        """A client of a new helper, its process and socket."""
        process, endpoint = self.helper(self.url, {**self.attributes, **dict(attributes)}, **more)
        return self.client(endpoint), process, endpoint

    def has_sanitizer(self):
        return has_sanitizer(self.url.partition(":")[0])

    def test_greeting(self):
        client, _, _ = self.begin()
        self.assertEqual(client.version, 1)
        self.assertEqual(client.capabilities, b"\0\1\2\x80" if self.claims else b"\0\1\2")

    def test_values(self):
        client, _, _ = self.begin()
        for key in (b"\xab\xcd\xef" * 7, b"\0", b"k" * 255, b"", bytes(range(256))[1:], b"ab"):
            for value in (b"some value", b"", b"as a head", b"\0\xff\r\n$5\r\n", bytes(range(256)) * 1000):
                self.assertIsNone(client.get(key), key)
                self.assertIs(client.exists(key), False)
                self.assertEqual(client.put(key, value), helper.OK)
                self.assertEqual(client.get(key), value)
                self.assertIs(client.exists(key), True)
                self.assertEqual(client.remove(key), helper.OK)
                self.assertEqual(client.remove(key), helper.NOOP)

    def test_keys_that_begin_alike(self):
        client, _, _ = self.begin()
        keys = [b"k" * length for length in (1, 2, 99, 100, 101, 102, 103, 200, 201, 202, 203, 255)]
        for key in keys:
            self.assertEqual(client.put(key, key), helper.OK)
        for key in keys:
            self.assertEqual(client.get(key), key)

    def test_large_values(self):
        client, _, _ = self.begin()
        value = os.urandom(4 << 20)
        self.assertEqual(client.put(b"large", value), helper.OK)
        self.assertEqual(client.get(b"large"), value)

    def test_overwrite(self):
        client, _, _ = self.begin()
        self.assertEqual(client.put(b"key", b"1", overwrite=False), helper.OK)
        self.assertEqual(client.put(b"key", b"2"), helper.OK)
        self.assertEqual(client.get(b"key"), b"2")
        self.assertIn(client.put(b"key", b"3", overwrite=False),
                      (helper.NOOP,) if self.atomic_add else (helper.OK, helper.NOOP))
        # Other bits of the flags mean nothing.
        client.send(client.putting(b"key", b"4", 0xff))
        self.assertEqual(client.status(), helper.OK)
        self.assertEqual(client.get(b"key"), b"4")

    def test_info(self):
        client, _, _ = self.begin({"spelt-wrong": "x", "max-connections": "3", "max-size": "1GiB"})
        client.get(b"key")
        identity, lines = client.info()
        self.assertRegex(identity, "^ckcache-storage-" + self.url.partition(":")[0] + " [0-9.]+$")
        self.assertEqual([line for line in lines if line.startswith("unknown")],
                         ["unknown attribute: spelt-wrong", *self.unknown])
        self.assertTrue([line for line in lines if re.search(self.described, line)], lines)
        self.assertIn("the storage is up", lines)
        self.assertIn("1 requests, 0 errors, 1 clients", lines)

    def test_stop(self):
        client, process, endpoint = self.begin()
        other = self.client(endpoint)
        client.stop()
        self.assertEqual(process.wait(helper.PATIENCE), 0)
        self.assertFalse(os.path.exists(endpoint))
        self.assertTrue(other.ended())

    def test_pipelined_requests(self):
        client, _, _ = self.begin()
        put = b"".join(client.putting(b"%d" % i, b"v%d" % i) for i in range(200))
        client.send(put)
        self.assertEqual([client.status() for _ in range(200)], [helper.OK] * 200)
        client.send(b"".join(client.keyed(0, b"%d" % i) for i in range(200)))
        self.assertEqual([client.value() for _ in range(200)], [b"v%d" % i for i in range(200)])

    def test_requests_in_pieces(self):
        client, _, _ = self.begin()
        for byte in client.putting(b"key", b"value"):
            client.send(bytes([byte]))
        self.assertEqual(client.status(), helper.OK)
        for byte in client.keyed(0, b"key"):
            client.send(bytes([byte]))
        self.assertEqual(client.value(), b"value")

    def test_half_requests(self):
        client, process, endpoint = self.begin({"request-timeout": 200})
        whole = client.putting(b"other", b"value")
        for length in range(1, len(whole)):
            # One leaves, one stalls.
            with helper.Client(endpoint) as leaver:
                leaver.send(whole[:length])
        stallers = [self.client(endpoint) for _ in range(1, len(whole))]
        for length, staller in enumerate(stallers, 1):
            staller.send(whole[:length])
        for staller in stallers:
            self.assertTrue(staller.ended())
        # Between requests it may be silent.
        self.assertIsNone(client.get(b"other"))
        self.assertIsNone(process.poll())

    def test_a_client_that_does_not_read(self):
        client, _, endpoint = self.begin({"request-timeout": 200})
        client.put(b"large", bytes(1 << 20))
        lazy = self.client(endpoint)
        lazy.send(lazy.keyed(0, b"large") * 8)
        self.assertEqual(client.get(b"large"), bytes(1 << 20))
        lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 60, 0))
        self.assertIsNone(client.get(b"none"))

    def test_nonsense(self):
        client, process, endpoint = self.begin()
        for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096, b"\x06", b"\x7f\0\0\0"):
            other = self.client(endpoint)
            other.send(nonsense)
            self.assertIn("unknown request", other.status())
            self.assertTrue(other.ended())
        self.assertIsNone(client.get(b"key"))
        self.assertIsNone(process.poll())

    def test_lengths_that_are_lies(self):
        client, process, endpoint = self.begin()
        before = memory(process.pid)
        for length in (1 << 29, 1 << 40, (1 << 64) - 1, 1 << 63):
            for _ in range(20):
                liar = self.client(endpoint)
                liar.send(liar.keyed(1, b"key") + b"\1" + struct.pack("=Q", length) + b"little")
        self.assertIsNone(client.get(b"key"))
        if not self.has_sanitizer():
            self.assertLess(memory(process.pid), before + (16 << 20))

    def test_many_that_store_at_once(self):
        """What does not fit is refused; nobody waits, and the memory is given back."""
        client, process, endpoint = self.begin({"max-memory": "16Mi"})
        client.put(b"first", b"value")
        before = peak(process.pid)
        crowd = [self.client(endpoint) for _ in range(12)]
        meanwhile, after, answers = threading.Barrier(13), threading.Barrier(13), []

        def store(number, one):
            data = one.putting(b"%d" % number, bytes(6 << 20))
            one.send(data[:-1])
            meanwhile.wait()
            after.wait()
            one.send(data[-1:])
            answers.append(one.status())

        threads = [threading.Thread(target=store, args=item) for item in enumerate(crowd)]
        for thread in threads:
            thread.start()
        meanwhile.wait()
        # Small ones always have room.
        self.assertEqual(client.put(b"small", bytes(64 << 10)), helper.OK)
        self.assertEqual(client.get(b"small"), bytes(64 << 10))
        after.wait()
        for thread in threads:
            thread.join()
        said = "put: no memory for the value now (max-memory)"
        self.assertEqual(len(answers), 12)
        self.assertEqual(set(answers), {helper.OK, said})
        self.assertLessEqual(answers.count(helper.OK), 2)
        self.assertEqual(client.put(b"large", bytes(6 << 20)), helper.OK)
        self.assertEqual(client.get(b"large"), bytes(6 << 20))
        self.assertEqual(crowd[0].put(b"large", bytes(6 << 20)), helper.OK)
        if not self.has_sanitizer():
            self.assertLess(peak(process.pid), before + (24 << 20))
            gives_back(self, process.pid, before + (6 << 20))

    def test_sizes(self):
        """A value is at most a half of what all may take, if nobody says otherwise."""
        for attributes, most in (({"max-memory": "8Mi"}, 4 << 20),
                                 ({"max-memory": "8Mi", "max-value-size": "5Mi"}, 5 << 20)):
            client, _, _ = self.begin(attributes)
            self.assertEqual(client.put(b"key", bytes(most)), helper.OK)
            self.assertEqual(client.put(b"key", bytes(most + 1)),
                             "the value has more than %d bytes" % most)
        for size in ("x", "-1", "99999999999999999999"):
            self.refused(self.url, {**self.attributes, "max-memory": size})

    def test_values_over_the_bound(self):
        client, _, _ = self.begin({"max-value-size": "1K"})
        self.assertEqual(client.put(b"key", bytes(1000)), helper.OK)
        self.assertIn("more than 1000 bytes", client.put(b"key2", bytes(1001)))
        self.assertIn("more than 1000 bytes", client.put(b"key2", bytes(1 << 20)))
        self.assertIsNone(client.get(b"key2"))
        self.assertEqual(client.get(b"key"), bytes(1000))
        # As another helper, with another bound, has left it.
        wide, _, _ = self.begin()
        self.assertEqual(wide.put(b"wide", bytes(1 << 20)), helper.OK)
        self.message(client.get(b"wide"))
        self.assertEqual(client.get(b"key"), bytes(1000))

    def test_a_second_one_on_the_socket(self):
        client, _, endpoint = self.begin()
        self.assertIn("in use", self.refused(self.url, self.attributes, 1, endpoint=endpoint))
        self.assertIsNone(client.get(b"key"))
        self.assertIsNone(self.client(endpoint).get(b"key"))

    def test_a_socket_left_behind(self):
        _, process, endpoint = self.begin()
        process.kill()
        process.wait()
        self.assertTrue(os.path.exists(endpoint))
        # Of many that start together one gets it.
        many = [self.launch(self.url, self.attributes, endpoint=endpoint)[0] for _ in range(6)]
        said = [process.stderr.read() for process in many]
        self.assertEqual(said.count(b""), 1, said)
        self.assertIsNone(self.client(endpoint).get(b"key"))
        ended = [process for process, text in zip(many, said) if text]
        self.assertEqual([process.wait() for process in ended], [1] * 5)

    def test_places_where_it_cannot_listen(self):
        file = self.write(self.path("file"), "")
        for endpoint in (file, self.path("none", "socket"), file + "/socket", "/x" * 100):
            self.refused(self.url, self.attributes, 1, endpoint=endpoint)
        self.assertEqual(self.read(file), b"")

    def test_the_sockets_mode(self):
        _, _, endpoint = self.begin()
        self.assertEqual(os.stat(endpoint).st_mode & 0o077, 0)

    def test_a_signal_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            _, process, endpoint = self.begin()
            process.send_signal(number)
            self.assertEqual(process.wait(helper.PATIENCE), 0, number)
            self.assertFalse(os.path.exists(endpoint))
        # What is not its own any more stays.
        _, process, endpoint = self.begin()
        os.unlink(endpoint)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(endpoint)
            process.terminate()
            self.assertEqual(process.wait(helper.PATIENCE), 0)
            self.assertTrue(os.path.exists(endpoint))

    def test_it_keeps_nothing_of_its_parents(self):
        reader, writer = os.pipe()
        endpoint = self.path("s")
        program = os.path.join(helper.PROGRAMS, "ckcache-storage-" + self.url.partition(":")[0])
        process = subprocess.Popen([program], pass_fds=[writer], cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT,
                                   env=self.environment(self.url, endpoint, 0, self.attributes))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b"")
        os.close(reader)
        self.assertIsNone(self.client(endpoint).get(b"key"))
        self.assertEqual(os.readlink("/proc/%d/cwd" % process.pid), "/")

    def test_without_standard_streams(self):
        """Its own descriptors do not take their numbers, which /dev/null is to have."""
        def close():
            for number in range(3):
                os.close(number)

        process, endpoint = self.launch(self.url, self.attributes, preexec_fn=close)
        start, client = time.monotonic(), None
        while not client:
            self.assertLess(time.monotonic(), start + helper.PATIENCE)
            try:
                client = self.client(endpoint)
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.01)     # nobody says when it listens
        self.assertEqual(client.put(b"key", b"value"), helper.OK)
        self.assertEqual(client.get(b"key"), b"value")
        process.terminate()
        self.assertEqual(process.wait(helper.PATIENCE), 0)
        self.assertFalse(os.path.exists(endpoint))

    def test_it_keeps_a_lock_on_descriptor_3(self):
        self.check_lock({})

    def test_it_keeps_a_lock_on_an_old_kernel(self):
        self.check_lock(self.fault("old"))

    def test_it_gives_the_lock_to_the_next_one(self):
        clock = self.write(self.path("clock"), "")
        self.check_lock(self.fault("clock", STORAGE_CLOCK=clock), clock)

    def check_lock(self, extra, clock=None):
        path, endpoint = self.write(self.path("lock"), ""), self.path("s")
        program = os.path.join(helper.PROGRAMS, "ckcache-storage-" + self.url.partition(":")[0])
        other = open(self.write(self.path("other"), ""), encoding="ascii")
        lock = open(path, encoding="ascii")
        fcntl.flock(lock, fcntl.LOCK_EX)

        def number():
            os.dup2(other.fileno(), 60)
            os.dup2(lock.fileno(), 3)
            if clock:
                resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))

        process = subprocess.Popen([program], preexec_fn=number, close_fds=False,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE,
                                   env=self.environment(self.url, endpoint, 0, self.attributes,
                                                        extra))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        lock.close()
        other.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        client = self.client(endpoint)
        self.assertIsNone(client.get(b"key"))
        opened = {os.readlink("/proc/%d/fd/%s" % (process.pid, number)): number
                  for number in os.listdir("/proc/%d/fd" % process.pid)}
        self.assertEqual(opened.get(path), "3")
        self.assertNotIn(self.path("other"), opened)
        with open(path, encoding="ascii") as again:
            with self.assertRaises(BlockingIOError):
                fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if clock:
                os.truncate(clock, 61)
                fcntl.flock(again, fcntl.LOCK_EX)
                self.assertIsNone(client.get(b"key"))
            client.stop()
            self.assertEqual(process.wait(helper.PATIENCE), 0)
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def leaves(self, leave, **more):
        """It makes room for another one, and its clients notice nothing."""
        client, process, endpoint = self.begin(**more)
        client.put(b"key", b"value")
        leave()
        start = time.monotonic()
        while os.path.exists(endpoint):
            self.assertLess(time.monotonic(), start + 30)
            time.sleep(0.01)
        other, _, _ = self.begin(endpoint=endpoint)
        self.assertEqual(other.get(b"key"), b"value")
        self.assertEqual(client.get(b"key"), b"value")
        self.assertEqual(client.get(b"key"), b"value")
        # What is stored is another one's, which may have what this one lacks.
        self.assertEqual(client.put(b"key", b"new"), helper.OK)
        self.assertTrue(client.ended())
        self.assertEqual(process.wait(helper.PATIENCE), 0)
        self.assertEqual(self.client(endpoint).get(b"key"), b"new")

    def test_less_than_others_may_need(self):
        """Limits that it cannot raise, and priorities, are those of the program that started it."""
        hard = lambda name, value: lambda: resource.setrlimit(getattr(resource, "RLIMIT_" + name),
                                                              (value, value))
        cases = [hard("FSIZE", 1 << 20), hard("CPU", 1000), hard("NOFILE", 600), hard("NPROC", 1023),
                 lambda: os.nice(1), lambda: os.sched_setscheduler(0, os.SCHED_IDLE,
                                                                   os.sched_param(0))]
        if not self.has_sanitizer():
            cases += [hard("AS", (4 << 30) - 1), hard("DATA", 1 << 30)]
        for number, limit in enumerate(cases):
            clock = self.write(self.path("clock%d" % number), "")
            self.leaves(lambda clock=clock: os.truncate(clock, 61), preexec_fn=limit,
                        extra=self.fault("clock", STORAGE_CLOCK=clock))

    @unittest.skipIf(os.geteuid() and os.nice(0) > 0, "this process is nice")
    def test_limits_that_it_can_raise(self):
        def limit():
            for name, value in (("FSIZE", 1 << 20), ("CPU", 1000), ("NOFILE", 100)):
                number = getattr(resource, "RLIMIT_" + name)
                resource.setrlimit(number, (value, resource.getrlimit(number)[1]))

        clock = self.write(self.path("clock"), "")
        client, process, endpoint = self.begin(preexec_fn=limit,
                                               extra=self.fault("clock", STORAGE_CLOCK=clock))
        os.truncate(clock, 61)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.5)
        self.assertTrue(os.path.exists(endpoint))
        self.assertEqual(client.put(b"key", bytes(2 << 20)), helper.OK)

    def test_an_update_replaces_it(self):
        name = "ckcache-storage-" + self.url.partition(":")[0]
        program, new = self.path("bin"), self.path("new")
        for path in (program, new):
            shutil.copy(os.path.join(helper.PROGRAMS, name), path)
        clock = self.write(self.path("clock"), "")

        def update():
            os.rename(new, program)
            os.truncate(clock, 21)

        self.leaves(update, program=program, extra=self.fault("clock", STORAGE_CLOCK=clock))

    def test_it_says_what_it_is(self):
        program = os.path.join(helper.PROGRAMS, "ckcache-storage-" + self.url.partition(":")[0])
        ran = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=helper.PATIENCE)
        self.assertEqual((ran.returncode, ran.stderr), (2, b""))
        self.assertRegex(ran.stdout.decode(), "^ckcache-storage-[a-z]+ [0-9.]+\nA storage helper, which ccache or "
                                              "ckcache starts.\n$")

    def test_settings_at_their_bounds(self):
        most = "3600000"
        for key, least, largest in (("connect-timeout", "1", most), ("operation-timeout", "1", most),
                                    ("request-timeout", "1", most), ("max-connections", "1", "1000")):
            for value in (least, largest):
                self.assertEqual(self.begin({key: value})[0].version, 1, (key, value))
            for value in (str(int(least) - 1), str(int(largest) + 1), "", "1s"):
                self.refused(self.url, {**self.attributes, key: value})

    def test_settings_that_make_no_sense(self):
        for attributes in ({"connect-timeout": "soon"}, {"operation-timeout": "-1"},
                           {"max-value-size": "1X"}, {"max-connections": "0"},
                           {"request-timeout": "1s"}):
            self.refused(self.url, {**self.attributes, **attributes})
        for extra in ({"CRSH_NUM_ATTR": "x"}, {"CRSH_NUM_ATTR": "5"}, {"CRSH_IPC_ENDPOINT": ""},
                      {"CRSH_IDLE_TIMEOUT": "-1"}):
            self.refused(self.url, self.attributes, extra=extra)
        scheme = self.url.partition(":")[0]
        for url in (scheme + ":", scheme + "://host:port/", scheme + "://host:99999/",
                    scheme + "://%zz@host/", scheme + "://[::1/", scheme + ":/a b", "gopher://host"):
            program = self.url if url.startswith("gopher") else url
            self.refused(program, self.attributes, extra={"CRSH_URL": url})

    def test_many_clients(self):
        client, _, endpoint = self.begin()
        client.put(b"common", b"value")
        wrong = []

        def work(number):
            with helper.Client(endpoint) as one:
                for turn in range(15):
                    key = b"%d-%d" % (number, turn)
                    if one.put(key, key * 100) != helper.OK or one.get(key) != key * 100 or \
                            one.get(b"common") != b"value":
                        wrong.append(key)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_more_clients_than_it_has_room_for(self):
        client, _, endpoint = self.begin()
        crowd = [self.client(endpoint) for _ in range(511)]
        late = [self.client(endpoint, greet=False) for _ in range(30)]
        for _ in range(3):
            self.assertIsNone(client.get(b"key"))
            self.assertEqual(select.select([one.socket for one in late], [], [], 0)[0], [])
        # For each one that leaves, one comes in.
        for one, other in zip(crowd, late):
            one.close()
            other.greeted()
            self.assertIsNone(other.get(b"key"))
        self.assertIsNone(client.get(b"key"))

    def test_secrets_do_not_show(self):
        password, token = SECRETS
        url = self.url.replace("://", "://user:%s@" % password, 1) if "://" in self.url else self.url
        attributes = {**self.attributes, "secret-token": token}
        process, endpoint = self.launch(url, attributes)
        said = process.stderr.read()
        if process.poll() is not None:
            self.assertFalse(any(secret.encode() in said for secret in SECRETS), said)
            return
        client = self.client(endpoint)
        seen = [self.read("/proc/%d/%s" % (process.pid, name)) for name in ("environ", "cmdline")]
        seen += [str(answer).encode() for answer in (client.get(b"key"), client.put(b"k", b"v"),
                                                     client.get(b"key"), client.info())]
        for text in seen:
            for secret in SECRETS:
                self.assertNotIn(secret.encode(), text)

    def test_memory_stays_constant(self):
        client, process, endpoint = self.begin()
        others = [self.client(endpoint) for _ in range(8)]
        client.put(b"key", b"v" * 3000)

        def turn(count):
            for _ in range(count // 400):
                for one in others:
                    one.send(one.keyed(0, b"key") * 50)
                for one in others:
                    for _ in range(50):
                        self.assertEqual(len(one.value()), 3000)
            for _ in range(4):
                client.put(b"large", bytes(8 << 20))
                client.get(b"large")
            client.remove(b"large")

        turn(4000)
        before = memory(process.pid)
        turn(MANY)
        after = memory(process.pid)
        print("memory: %d KiB, after %d more requests %d KiB" % (before >> 10, MANY, after >> 10))
        if not self.has_sanitizer():
            self.assertLess(after, before + (2 << 20))

    def test_a_large_value_leaves_no_memory(self):
        client, process, _ = self.begin()
        client.put(b"small", b"v")
        client.get(b"small")
        before = memory(process.pid)
        client.put(b"large", bytes(64 << 20))
        self.assertEqual(len(client.get(b"large")), 64 << 20)
        client.info()  # the helper is done with it
        if not self.has_sanitizer():
            self.assertLess(memory(process.pid), before + (16 << 20))

    def test_claims(self):
        if not self.claims:
            client, _, _ = self.begin()
            self.assertIn("unknown request", self.message(client.claim(b"key", 1000)))
            return
        one, _, endpoint = self.begin()
        other = self.client(endpoint)
        far, _, _ = self.begin()
        for key in (b"key", b"", b"k" * 255):
            self.assertIs(one.claim(key, 60000), True)
            for client in (one, other, far):
                self.assertIs(client.claim(key, 60000), False)
            self.assertIsNone(far.get(key))
            self.assertIs(far.exists(key), False)
            # Another helper's is not theirs to release.
            self.assertEqual(far.release(key), helper.NOOP)
            self.assertIs(far.claim(key, 60000), False)
            self.assertEqual(one.put(key, b"value"), helper.OK)
            # That has ended the claim.
            self.assertEqual(one.release(key), helper.NOOP)
            for client in (one, other, far):
                self.assertEqual(client.claim(key, 60000), b"value")
            self.assertEqual(one.remove(key), helper.OK)
            self.assertIs(far.claim(key, 60000), True)
            self.assertIs(one.claim(key, 60000), False)
            self.assertEqual(far.release(key), helper.OK)
            self.assertIs(one.claim(key, 0xffffffffffffffff), True)

    def test_claims_expire(self):
        if not self.claims:
            self.skipTest("no claims")
        one, _, _ = self.begin()
        far, _, _ = self.begin()
        for ttl in (300, 1, 0):
            self.assertIs(one.claim(b"key", ttl), True)
            start = time.monotonic()
            while far.claim(b"key", 300) is not True:
                self.assertLess(time.monotonic() - start, 60)
            if ttl == 300:
                self.assertGreater(time.monotonic() - start, 0.2)
            self.assertEqual(far.release(b"key"), helper.OK)

    def test_one_of_many_has_the_claim(self):
        if not self.claims:
            self.skipTest("no claims")
        endpoints = [self.begin()[2] for _ in range(2)]
        won = []

        def work(number):
            with helper.Client(endpoints[number % 2]) as client:
                for turn in range(40):
                    if client.claim(b"%d" % turn, 60000) is True:
                        won.append(turn)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(won), list(range(40)))
