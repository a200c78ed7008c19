# SPDX-License-Identifier: MIT
"""A headless Chromium, driven over its DevTools protocol: just enough for tests of a page."""
import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program():
    """The browser's path; None when there is none."""
    found = [shutil.which(name) for name in PROGRAMS]
    return next((path for path in found if path), None)


class WebSocket:
    """The client's side of RFC 6455, for texts."""

    def __init__(self, address):
        host, path = address.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                            "Sec-WebSocket-Version: 13\r\n\r\n".encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.socket.recv(4096)
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def send(self, text):
        data = text.encode()
        length = (bytes([0x80 | len(data)]) if len(data) < 126 else
                  bytes([0x80 | 126]) + struct.pack(">H", len(data)) if len(data) < 65536 else
                  bytes([0x80 | 127]) + struct.pack(">Q", len(data)))
        self.socket.sendall(b"\x81" + length + b"\0\0\0\0" + data)

    def take(self, count):
        while len(self.rest) < count:
            more = self.socket.recv(1 << 16)
            assert more, "the browser has closed the connection"
            self.rest += more
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def receive(self):
        text = b""
        while True:
            first, second = self.take(2)
            length = second & 0x7f
            if length == 126:
                length, = struct.unpack(">H", self.take(2))
            elif length == 127:
                length, = struct.unpack(">Q", self.take(8))
            payload = self.take(length)
            if first & 0x0f in (0, 1):
                text += payload
                if first & 0x80:
                    return text.decode()

    def close(self):
        self.socket.close()


class Browser:
    """One page of a browser of its own."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="optrail-browser-")
        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--no-first-run", "--disable-extensions", f"--user-data-dir={self.home}",
             "about:blank"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.errors = []
        self.number = 0
        self.loaded = False
        try:
            self.page = WebSocket(self.find_page())
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def find_page(self):
        """Waits until the browser says where it listens."""
        file = os.path.join(self.home, "DevToolsActivePort")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "the browser does not start"
            try:
                with open(file) as lines:
                    port = int(lines.readline())
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=60) as answer:
                    pages = [one for one in json.load(answer) if one["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            except (OSError, ValueError):
                pass
            time.sleep(0.02)
        raise AssertionError("the browser does not say where it listens")

    def note(self, message):
        """What the page says by itself: errors, and that it is loaded."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + params["message"])

    def call(self, method, **params):
        self.number += 1
        self.page.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.page.receive())
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.note(message)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url="file://" + str(path))
        while not self.loaded:
            self.note(json.loads(self.page.receive()))

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, key, text=None):
        code = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37,
                "ArrowRight": 39, "Home": 36}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        """Ends the browser and what it has started, by the session that is its own."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if hasattr(self, "page"):
            self.page.close()
        shutil.rmtree(self.home, ignore_errors=True)
