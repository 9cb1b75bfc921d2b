# SPDX-License-Identifier: MIT
"""ckcache-storage-http with nginx, and with servers that misbehave (which need no nginx)."""
import http.server
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
import unittest

import helper
import protocol

NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")

SETTINGS = """
daemon off;
pid {work}/nginx.pid;
error_log {work}/nginx.log;
worker_processes 1;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
    client_max_body_size 64m;
    server {{
        listen {port}{tls};
        {server}
        root {work}/root;
        location / {{
            dav_methods PUT DELETE;
            create_full_put_path on;
            {location}
        }}
    }}
}}
"""


class Nginx:
    def __init__(self, case, server="", location="", tls=""):
        self.case = case
        work = case.path("nginx")
        os.mkdir(work)
        os.mkdir(work + "/root")
        os.chmod(work, 0o755)
        self.root = work + "/root"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.settings = case.write(work + "/nginx.conf", SETTINGS.format(
            work=work, port="127.0.0.1:%d" % self.port, server=server, location=location,
            tls=tls, user="user root;" if os.geteuid() == 0 else ""))
        self.process = None
        self.start()
        case.addCleanup(self.kill)

    def start(self):
        self.process = subprocess.Popen([NGINX, "-c", self.settings, "-p", self.root],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                pass
        raise RuntimeError("nginx does not start: " + self.case.read(
            self.case.path("nginx", "nginx.log")).decode())

    def kill(self):
        self.process.terminate()    # and its worker
        self.process.wait()

    def url(self, scheme="http", user=""):
        return "%s://%s127.0.0.1:%d" % (scheme, user, self.port)


class Begins(helper.Case):
    attributes = {}
    url = None

    def begin(self, attributes=(), url=None, **more):
        process, endpoint = self.helper(url or self.url, {**self.attributes, **dict(attributes)},
                                        **more)
        return self.client(endpoint), process, endpoint


@unittest.skipUnless(NGINX, "nginx is not installed")
class WithNginx(Begins):
    def setUp(self):
        super().setUp()
        self.server = Nginx(self)
        self.url = self.server.url()


class Common(protocol.Protocol, WithNginx):
    claims = False
    described = r"^http://127\.0\.0\.1:\d+/?, libcurl \d+\.\d+\.\d+$"
    atomic_add = False  # nginx does not know the hint


class Layouts(WithNginx):
    def test_subdirs(self):
        client, _, _ = self.begin(url=self.url + "/some/path//")
        client.put(b"\xab\xcd\xef", b"value")
        self.assertEqual(self.read(self.server.root + "/some/path/ab/cdef"), b"value")
        client, _, _ = self.begin({"layout": "subdirs"}, self.url + "/some/path")
        self.assertEqual(client.get(b"\xab\xcd\xef"), b"value")

    def test_flat(self):
        client, _, _ = self.begin({"layout": "flat"})
        for key in (b"\xab\xcd\xef", b"\xab", b""):
            self.assertEqual(client.put(key, b"value"), helper.OK)
            self.assertEqual(client.get(key), b"value")
        self.assertEqual(self.read(self.server.root + "/abcdef"), b"value")

    def test_settings(self):
        for attributes in ({"layout": "other"}, {"header": "none"}, {"header": "A: b\r\nC: d"},
                           {"header": ": b"}, {"bearer-token": "a\nb"}):
            self.refused(self.url, attributes)
        for url in ("http:relative", "http:///path", "http://host/?query"):
            self.refused(url)

    def test_a_server_that_goes_and_comes_back(self):
        clock = self.write(self.path("clock"), "")
        client, _, _ = self.begin(extra=self.fault("clock", STORAGE_CLOCK=clock))
        self.assertEqual(client.put(b"key", b"value"), helper.OK)
        self.server.kill()
        self.message(client.get(b"key"))
        self.assertIn("not tried", self.message(client.get(b"key")))
        self.server.start()
        os.truncate(clock, 1)
        self.assertEqual(client.get(b"key"), b"value")

    def test_a_restart_between_requests_is_not_seen(self):
        client, _, _ = self.begin()
        self.assertEqual(client.put(b"key", b"value"), helper.OK)
        self.server.kill()
        self.server.start()
        self.assertEqual(client.get(b"key"), b"value")


@unittest.skipUnless(NGINX, "nginx is not installed")
class Passwords(Begins):
    def test_basic(self):
        self.write(self.path("users"), "alice:{PLAIN}s/cret@1\n")
        os.chmod(self.work, 0o755)
        server = Nginx(self, location="auth_basic x; auth_basic_user_file %s;" % self.path("users"))
        for url, attributes in ((server.url(user="alice:s%2Fcret%401@"), {}),
                                (server.url(), {"username": "alice", "password": "s/cret@1"})):
            client, _, _ = self.begin(attributes, url)
            self.assertEqual(client.put(b"key", b"value"), helper.OK)
            self.assertEqual(client.get(b"key"), b"value")
            self.assertNotIn("cret", str(client.info()))
        for url in (server.url(), server.url(user="alice:wrong-secret@")):
            client, _, _ = self.begin(url=url)
            for answer in (client.get(b"key"), client.put(b"key", b"value"), client.remove(b"key"),
                           client.exists(b"key")):
                self.assertIn("HTTP status 401", self.message(answer))
                self.assertNotIn("secret", self.message(answer))

    def test_bearer_tokens_and_headers(self):
        server = Nginx(self, location='if ($http_authorization != "Bearer t0ken") { return 403; }'
                                      'if ($http_x_own != "some value") { return 402; }')
        good = {"bearer-token": "t0ken", "header": "X-Own: some value"}
        client, _, _ = self.begin(good, server.url())
        self.assertEqual(client.put(b"key", b"value"), helper.OK)
        client, _, _ = self.begin({**good, "header": "X-Own=some value"}, server.url())
        self.assertEqual(client.get(b"key"), b"value")
        client, _, _ = self.begin({**good, "bearer-token": "wrong"}, server.url())
        self.assertIn("403", self.message(client.get(b"key")))
        client, _, _ = self.begin({"bearer-token": "t0ken"}, server.url())
        self.assertIn("402", self.message(client.get(b"key")))

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls(self):
        key, certificate = self.path("key.pem"), self.path("cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "2", "-subj", "/CN=x",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        server = Nginx(self, tls=" ssl", server="ssl_certificate %s; ssl_certificate_key %s;" %
                       (certificate, key))
        client, _, _ = self.begin({"ca-file": certificate}, server.url("https"))
        self.assertEqual(client.put(b"key", os.urandom(1 << 20)), helper.OK)
        self.assertEqual(len(client.get(b"key")), 1 << 20)
        # Nobody has signed it; it is another one's; there is no such file.
        for attributes, url in (({}, server.url("https")),
                                ({"ca-file": certificate},
                                 server.url("https").replace("127.0.0.1", "localhost")),
                                ({"ca-file": self.path("none")}, server.url("https"))):
            client, _, _ = self.begin(attributes, url)
            self.message(client.get(b"key"))


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers by server.answer(self)."""
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        self.server.answer(self)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_CONNECT = handle_any

    def raw(self, data, close=True):
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = close

    def plain(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


class Misbehaviour(Begins):
    def odd(self, answer):
        server = Threads(("127.0.0.1", 0), Odd)
        server.answer, server.seen = answer, []
        server.url = "http://127.0.0.1:%d" % server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def ask(self, answer, attributes=()):
        server = self.odd(answer)
        return self.begin({"operation-timeout": 1000, **dict(attributes)}, server.url)[0]

    def test_codes(self):
        why = {401: ": credentials are wanted, or wrong", 403: ": not permitted", 413: ": too large for the server",
               507: ": the server's disk is full"}
        for code in (201, 204, 206, 300, 304, 400, 401, 403, 405, 407, 409, 413, 418, 429, 500, 502, 503, 507):
            client = self.ask(lambda request: request.plain(code))
            answers = [client.get(b"key"), client.remove(b"key"), client.put(b"key", b"value"),
                       client.exists(b"key")]
            if code in (204,):
                answers = answers[:1]
            if code == 201:
                answers = [answers[0], answers[1], answers[3]]
            for answer in answers:
                self.assertIn("HTTP status %d%s" % (code, why.get(code, "")), self.message(answer))
            # With other credentials it may be: those of another helper, if this one may end.
            state = "down" if code in (401, 407) else "up"
            self.assertIn("the storage is " + state, str(client.info()[1]))
        client = self.ask(lambda request: request.plain(401))
        self.assertIn("HTTP status 401", self.message(client.put(b"key", b"value")))
        self.assertIn("the storage is up", str(client.info()[1]))  # others may read without credentials
        for code in (404, 410):
            client = self.ask(lambda request: request.plain(code, b"<html>not here</html>"))
            self.assertIsNone(client.get(b"key"))
            self.assertEqual(client.remove(b"key"), helper.NOOP)
            self.assertIs(client.exists(b"key"), False)
        client = self.ask(lambda request: request.plain(412))
        self.assertEqual(client.put(b"key", b"value", overwrite=False), helper.NOOP)
        self.assertIn("412", client.put(b"key", b"value"))

    def test_the_hint(self):
        server = self.odd(lambda request: request.plain(201))
        client, _, _ = self.begin(url=server.url)
        client.put(b"key", b"value", overwrite=False)
        client.put(b"key", b"value")
        self.assertEqual([seen[2].get("If-None-Match") for seen in server.seen], ["*", None])
        self.assertEqual([seen[2].get("Expect") for seen in server.seen], [None, None])

    def test_bodies_that_are_cut(self):
        head = b"HTTP/1.1 200 OK\r\n"
        for data in (head + b"Content-Length: 100\r\n\r\nshort", head + b"Content-Length: 100\r\n\r\n",
                     head + b"Transfer-Encoding: chunked\r\n\r\n64\r\nshort",
                     head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
                     head + b"\r\nno length", b"HTTP/1.0 200 OK\r\n\r\nno length",
                     head + b"Content-Length: -1\r\n\r\nvalue", head + b"Content-Length: x\r\n\r\nvalue",
                     head[:12], b"", b"nonsense\r\n\r\n",
                     head + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nvalue",
                     head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"):
            client = self.ask(lambda request: request.raw(data))
            self.message(client.get(b"key"))
        for data in (head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nvalue\r\n0\r\n\r\n",
                     head + b"Content-Encoding: identity\r\nContent-Length: 5\r\n\r\nvalue",
                     b"HTTP/1.1 103 Early Hints\r\n\r\n" + head + b"Content-Length: 5\r\n\r\nvalue"):
            client = self.ask(lambda request: request.raw(data))
            self.assertEqual(client.get(b"key"), b"value")

    def test_a_server_that_hangs_up_upon_one_value(self):
        """As upon one too large for it: it takes others."""
        def answer(request):
            if request.command == "PUT":
                request.close_connection = True
                request.connection.shutdown(socket.SHUT_RDWR)
            else:
                request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvalue")

        client = self.ask(answer)
        for _ in range(3):
            self.message(client.put(b"large", bytes(8 << 20)))
            self.assertEqual(client.get(b"key"), b"value")
        self.assertIn("the storage is up", client.info()[1])

    def test_a_connection_that_ends_upon_the_next_request(self):
        """Of one that is not new nobody knows whether it still is: the value is sent again."""
        def answer(request):
            request.count = getattr(request, "count", 0) + 1
            if request.count == 1:
                return request.plain(201)
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)

        client = self.ask(answer, {"operation-timeout": 60000})
        for value in (b"one", bytes(1 << 20), b"", b"another"):
            self.assertEqual(client.put(b"key", value), helper.OK)
        self.assertIn("4 requests, 0 errors, 1 clients", client.info()[1])

    def test_bodies_without_end(self):
        def flood(request):
            request.raw(b"HTTP/1.1 %d x\r\nTransfer-Encoding: chunked\r\n\r\n" % code)
            while True:
                request.wfile.write((b"%x\r\n" % size + bytes(size) + b"\r\n") * (0x10000 // size))

        for code, size, words in ((200, 0x10000, "more than"), (500, 0x10000, "long page"), (404, 1, "long page")):
            client = self.ask(flood, {"max-value-size": "1M", "operation-timeout": 20000})
            self.assertIn(words, self.message(client.get(b"key")))

    def test_a_value_that_announces_too_much(self):
        client = self.ask(lambda request: (request.raw(
            b"HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n", close=False),
            request.rfile.read(1)), {"operation-timeout": 60000})
        self.assertIn("more than", self.message(client.get(b"key")))
        self.assertIn("the storage is up", client.info()[1])

    def test_many_values_without_end(self):
        def flood(request):
            request.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                request.wfile.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")

        server = self.odd(flood)
        process, endpoint = self.helper(server.url, {"max-value-size": "60Mi", "max-memory": "32Mi"})
        protocol.refuses_a_crowd(self, "http", process, endpoint, 56 << 20, 16 << 20)

    def test_headers_without_end(self):
        """Also before the answer, and behind a value."""
        def flood(request):
            request.raw(begin)
            while True:
                request.wfile.write(line * 1000)

        ok = b"HTTP/1.1 200 OK\r\n"
        for begin, line in ((ok, b"X-Name: value\r\n"), (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
                            (ok + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Name: value\r\n")):
            client = self.ask(flood, {"operation-timeout": 60000})
            self.assertIn("long page", self.message(client.get(b"key")))

    def test_an_answer_that_nobody_asked_for(self):
        """It is not taken for the next key's."""
        def answer(request):
            one = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
            request.raw(one + request.path[-5:].encode() + one + b"wrong", close=False)

        client = self.ask(answer)
        for key in (b"\1\2\3\4", b"\5\6\7\x08", b"\1\2\3\5"):
            self.assertEqual(client.get(key), key.hex()[-5:].encode())

    def test_slow_servers(self):
        stop = threading.Event()
        self.addCleanup(stop.set)

        def drip(request):
            request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while not stop.wait(0.1):
                request.raw(b"x")

        for answer in (drip, lambda request: stop.wait(60)):
            client = self.ask(answer, {"operation-timeout": 300})
            start = time.monotonic()
            self.assertIn("in time", self.message(client.get(b"key")))
            self.assertLess(time.monotonic() - start, 20)
            said = self.message(client.get(b"key"))
            self.assertTrue("not tried" in said or time.monotonic() > start + 1, said)

    def test_redirects(self):
        other = self.odd(lambda request: request.plain(200, b"stolen"))

        def answer(request):
            number = int(request.path.rpartition("n")[2] if "/n" in request.path else 0)
            if number == hops:
                request.plain(200, b"value")
            else:
                request.plain(302, Location="/n%d" % (number + 1) if target is None else target)

        for hops, target, good in ((1, None, True), (3, None, True), (9, None, False),
                                   (1, other.url + "/x", False), (1, "file:///etc/passwd", False),
                                   (1, "//127.0.0.2/x", False), (1, "", False)):
            client = self.ask(answer, {"bearer-token": "t0ken"})
            got = client.get(b"\xab\xcd")
            if good:
                self.assertEqual(got, b"value")
                self.assertIs(client.exists(b"\xab\xcd"), True)
            else:
                self.message(got)
            for refused in (client.put(b"\xab\xcd", b"v"), client.remove(b"\xab\xcd")):
                self.assertIn("302", self.message(refused))
        self.assertEqual(other.seen, [])

    def test_proxies(self):
        proxy = self.odd(lambda request: request.plain(200, request.path.encode()))
        for attributes, extra in (({"proxy": proxy.url}, {}), ({}, {"http_proxy": proxy.url})):
            client, _, _ = self.begin(attributes, "http://storage.invalid/x", extra=extra)
            self.assertEqual(client.get(b"\xab\xcd"), b"http://storage.invalid/x/ab/cd")
        # What a server that has gone to TLS answers.
        for target, good in (("storage.invalid", True), ("storage.invalid:444", False), ("other.invalid", False)):
            proxy = self.odd(lambda request: request.plain(302, Location="https://%s/x" % target))
            client, _, _ = self.begin({"proxy": proxy.url}, "http://storage.invalid/x")
            self.message(client.get(b"\xab\xcd"))
            self.assertEqual(len(proxy.seen), 1 + good)

    def test_nobody_there(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            client, _, _ = self.begin(url="http://127.0.0.1:%d" % closed.getsockname()[1])
            self.message(client.get(b"key"))
            self.assertIn("not tried", self.message(client.get(b"key")))


if __name__ == "__main__":
    if not os.path.exists(os.path.join(os.path.abspath(sys.argv[1]), "ckcache-storage-http")):
        helper.skip("built without libcurl")
    if not NGINX and sys.argv[2:] != ["Misbehaviour"]:
        helper.skip("nginx is not installed")
    helper.main()
