# SPDX-License-Identifier: Apache-2.0
"""proxy - stands between the daemon and an API server, and lets calls go wrong at an exact point.

The calls that matter pass one at a time, so that "before call k" means: k - 1 calls were carried
out and answered, call k and all behind it never reached the server. Watches and everything that is
not about a gang pass by. Speaks plain HTTP/1.1 to the daemon and whatever the kubeconfig says to
the server; what a call is for the daemon is not known here.
"""

import http.client
import http.server
import json
import re
import socket
import threading

from kubeapi import Api

DROPPED = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding", "expect")
KEPT = ("content-type", "retry-after")
CALL = re.compile(r"/namespaces/(?!kube-)[^/?]+/[^?]+|/events\?")


class Gate:
    """What the handlers share. kill: how to end the daemon that is connected."""

    def __init__(self, kill):
        self.kill_daemon = kill
        self.lock = threading.Lock()  # held by the call that passes
        self.generation = 0  # of the daemon; calls of one that was killed do not pass
        self.count, self.at, self.side = 0, 0, None
        self.seen = []  # what each call was, from 1
        self.was_hit = threading.Event()
        self.hook = None  # hook(label): None, or (code, body) to answer instead of the server
        self.streams = set()

    def set(self, at=0, side=None, hook=None):
        """Count calls from 0 and let the at-th go wrong: before, after, lost or cut."""
        with self.lock:
            self.count, self.at, self.side, self.hook = 0, at, side, hook
            self.seen = []
            self.was_hit.clear()

    def is_hit(self, side):
        return self.count == self.at and self.side == side

    def daemon_died(self):
        """No call of the daemon that was there passes any more, and its watches end."""
        self.generation += 1
        for stream in list(self.streams):
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def kill(self):
        self.generation += 1
        self.kill_daemon()
        self.was_hit.set()


def label_of(method, path, body):
    """A call in a few words: 'POST pods x-0-1', 'POST binding x-0-1', 'DELETE services x'."""
    parts = path.partition("?")[0].split("/namespaces/")[-1].split("/")[1:]
    if len(parts) == 3:
        return "%s %s %s" % (method, parts[2], parts[1])
    name = parts[1] if len(parts) > 1 else ""
    if not name and body:
        try:
            name = json.loads(body)["metadata"].get("name", "")
        except (ValueError, KeyError):
            name = "?"
    return "%s %s %s" % (method, parts[0], name)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.gate = self.server.gate
        self.generation = self.gate.generation
        self.upstream = None

    def finish(self):
        if self.upstream:
            self.upstream.close()
        try:
            super().finish()
        except OSError:
            pass

    def log_message(self, *args):
        pass

    def ask(self, body):
        """Send the request on; the answer, its body unread."""
        head = {k: v for k, v in self.headers.items() if k.lower() not in DROPPED}
        head.update(self.server.api.headers() if self.server.api.user.get("token") else {})
        for last in (False, True):
            fresh = self.upstream is None
            try:
                if fresh:
                    self.upstream = self.server.api.connect(timeout_s=900)
                self.upstream.request(self.command, self.path, body or None, head)
                return self.upstream.getresponse()
            except http.client.RemoteDisconnected:
                self.upstream = None
                if fresh or last:
                    raise

    def answer(self, code, head, body, cut=False):
        lines = ["HTTP/1.1 %d %s" % (code, http.client.responses.get(code, "?"))]
        lines += ["%s: %s" % (k, v) for k, v in head if k.lower() in KEPT]
        lines += ["Content-Length: %d" % len(body), "", ""]
        data = "\r\n".join(lines).encode() + body
        self.wfile.write(data[: len(data) - len(body) // 2 - 1] if cut else data)

    def close(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def stream(self):
        answer = self.ask(None)
        if answer.status != 200:
            self.answer(answer.status, answer.getheaders(), answer.read())
            return
        sock = self.upstream.sock
        self.gate.streams.add(sock)
        try:
            kind = answer.getheader("Content-Type", "application/json")
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
                % kind.encode()
            )
            while True:
                part = answer.read1(65536)
                if not part:
                    break
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            self.gate.streams.discard(sock)
            self.upstream.close()
            self.upstream = None

    def pass_call(self, body):
        """One call that matters, with the gate to itself."""
        gate = self.gate
        if self.generation != gate.generation:
            return self.close()
        gate.count += 1
        label = label_of(self.command, self.path, body)
        gate.seen.append(label)
        instead = gate.hook(label) if gate.hook else None
        if self.generation != gate.generation:
            return self.close()  # the daemon died under the hook
        if gate.is_hit("before"):
            gate.kill()
            return self.close()
        if instead:
            code, head, data = instead[0], [("Content-Type", "application/json")], instead[1]
        else:
            answer = self.ask(body)
            code, head, data = answer.status, answer.getheaders(), answer.read()
        if gate.is_hit("after"):
            gate.kill()
            return self.close()
        if gate.is_hit("lost") or gate.is_hit("cut"):
            if gate.side == "cut":
                self.answer(code, head, data, cut=True)
            gate.was_hit.set()
            return self.close()
        return self.answer(code, head, data)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if "watch=1" in self.path:
                self.stream()
            elif CALL.search(self.path):
                with self.gate.lock:
                    self.pass_call(body)
            else:
                answer = self.ask(body)
                self.answer(answer.status, answer.getheaders(), answer.read())
        except (OSError, http.client.HTTPException):
            self.close()

    do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = serve


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a daemon that was killed cuts its connections


def start(kubeconfig, kubeconfig_out, kill):
    """Serve on loopback, as the user of this kubeconfig; writes the one for the daemon.
    Returns the Gate."""
    server = Server(("127.0.0.1", 0), Handler)
    server.api, server.gate = Api(kubeconfig), Gate(kill)
    with open(kubeconfig_out, "w", encoding="utf-8") as f:
        f.write(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: proxy\n  cluster:\n"
            "    server: http://127.0.0.1:%d\nusers:\n- name: proxy\n  user: {}\ncontexts:\n"
            "- name: proxy\n  context:\n    cluster: proxy\n    user: proxy\n"
            "current-context: proxy\n" % server.server_address[1]
        )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.gate
