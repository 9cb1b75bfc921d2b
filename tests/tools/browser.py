# SPDX-License-Identifier: MIT
"""The page of `ckcache report` in a real browser: Chromium without a window, by
its own protocol over a pipe. Light, dark, narrow and in print: pictures to be
looked at are left in PICTURES. Fails if the browser has anything to say, asks for
anything, finds a script, or if a page is wider than its window. With REPORT_ENTRIES=N
one cache has so many entries.

    browser.py CKCACHE FILL_CACHE PICTURES [CHROMIUM]
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

import report_samples as samples

WIDTHS = (360, 400, 800, 1600)
HEIGHT = 900


class Browser:
    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.fro, to_write = os.pipe()

        def descriptors():
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        for fd in (to_read, to_write):
            os.set_inheritable(fd, True)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--hide-scrollbars", "--user-data-dir=" + folder, "about:blank"],
            close_fds=False, preexec_fn=descriptors, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.left, self.count, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.left:
            piece = os.read(self.fro, 1 << 16)
            if not piece:
                raise EOFError("the browser has gone")
            self.left += piece
        message, self.left = self.left.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]

    def open(self, path):
        self.events = []
        self.call("Page.navigate", url="file://" + path)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def look(self, size, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression,
                         returnByValue=True)["result"]["value"]

    def picture(self, path):
        height = min(6000, self.evaluate("document.documentElement.scrollHeight"))
        width = self.evaluate("innerWidth")
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def print(self, path):
        data = self.call("Page.printToPDF", printBackground=False, paperWidth=8.27,
                         paperHeight=11.69)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def end(self):
        self.call("Browser.close")
        self.process.wait(timeout=60)


def problems(browser, path):
    """What must not be, line by line."""
    for event in browser.events:
        params = event["params"]
        if event["method"] == "Network.requestWillBeSent" and \
                params["request"]["url"] != "file://" + path:
            yield "asks for " + params["request"]["url"]
        elif event["method"] in ("Log.entryAdded", "Runtime.consoleAPICalled",
                                 "Runtime.exceptionThrown"):
            yield "the browser says %s" % json.dumps(params)
    for selector in ("script", "img", "a", "link", "iframe", "object", "[style]", "[onclick]"):
        if browser.evaluate("document.querySelectorAll('%s').length" % selector):
            yield "has a %s" % selector
    if browser.evaluate("getComputedStyle(document.querySelector('h1')).fontSize") == "32px":
        yield "is without its style"
    wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wide > 0:
        yield "is %d pixels wider than its window" % wide
    for text in browser.evaluate("[...document.querySelectorAll('.scroll, .tiles dd')].filter("
                                 "e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"):
        yield "has something wider than its place: %r" % text[:80]


def main(ckcache, fill_cache, pictures, chromium):
    work = tempfile.mkdtemp(prefix="ckcache-browser-")
    browser = Browser(chromium, os.path.join(work, "profile"))
    failed = False
    os.makedirs(pictures, exist_ok=True)
    for name in ("lively", "few", "many", "hostile", "none"):
        root, page = os.path.join(work, name), os.path.join(work, name + ".html")
        if name == "lively":
            samples.lively(fill_cache, root)
        elif name == "few":
            samples.fill(fill_cache, root, [samples.row(samples.kernel("kernel_%d" % i)) for i in range(10)])
            samples.write_usage(root, [(2, [3, 7, 10, 0, 10 ** 9, 2 * 10 ** 9])],
                                [(b"darktable", 2, [3, 7, 10, 0, 10 ** 9, 2 * 10 ** 9])])
            samples.write_stats(root, hits_memory=3, hits_disk=7, misses=10, stores=10)
        elif name == "many":
            samples.huge(fill_cache, root, int(os.environ.get("REPORT_ENTRIES", "1000")))
        elif name == "hostile":
            samples.fill(fill_cache, root, samples.hostile_rows())
            samples.write_usage(root, [(ago, [1] * 6) for ago in range(200)],
                                [(text[:60], 0, [1, 1, 1, 1, 1, 1 + i])
                                 for i, text in enumerate(samples.HOSTILE)])
        subprocess.run([ckcache, "report", "--dir", root, page], check=True)
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                look = "%d-%s" % (width, scheme)
                browser.look((width, HEIGHT), scheme)
                browser.open(page)
                for problem in problems(browser, page):
                    print("%s, %s: it %s" % (name, look, problem))
                    failed = True
                browser.picture(os.path.join(pictures, "%s-%s.png" % (name, look)))
        browser.print(os.path.join(pictures, name + ".pdf"))
    browser.end()
    shutil.rmtree(work)
    print("failed" if failed else "Nothing was said or asked for; pictures are in " + pictures)
    return failed


if __name__ == "__main__":
    sys.exit(main(*[os.path.abspath(path) for path in sys.argv[1:4]],
                  *(sys.argv[4:5] or ["chromium"])))
