# SPDX-License-Identifier: Apache-2.0
"""cred_gate - a TLS door before the stand-in API server that asks who comes, and a proxy.

Helpers of test_credentials.py; holds no tests. What the door lets through is forwarded to the
stand-in; everything else is answered 401 as the real server does. Certificates are made by openssl.
"""

import http.client
import http.server
import os
import select
import socket
import ssl
import subprocess
import threading

REFUSAL = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"Unauthorized","reason":"Unauthorized","code":401}'
)


class Pki:
    """A folder with two authorities, certificates of the server and of two clients."""

    def __init__(self, where):
        self.where = where
        os.makedirs(where, exist_ok=True)
        for ca in ("ca-one", "ca-two"):
            self.openssl("req", "-x509", *self.fresh(ca), "-out", ca + ".crt", "-subj", "/CN=" + ca)
        self.sign("ca-one", "named", "DNS:api.cluster.example")
        self.sign("ca-one", "plain", "IP:127.0.0.1")
        self.sign("ca-two", "moved", "IP:127.0.0.1")
        self.sign("ca-one", "alice", "DNS:alice")
        self.sign("ca-one", "bob", "DNS:bob")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.where, capture_output=True, check=True)

    @staticmethod
    def fresh(name):
        curve = "ec_paramgen_curve:prime256v1"
        return ("-newkey", "ec", "-pkeyopt", curve, "-nodes", "-days", "2", "-keyout", name + ".key")

    def sign(self, ca, name, san):
        with open(self.path(name + ".ext"), "w", encoding="ascii") as f:
            f.write("subjectAltName=%s\n" % san)
        request = [*self.fresh(name)]
        del request[request.index("-days") : request.index("-days") + 2]
        self.openssl("req", *request, "-out", name + ".csr", "-subj", "/CN=" + name)
        self.openssl(
            *("x509", "-req", "-in", name + ".csr", "-CA", ca + ".crt", "-CAkey", ca + ".key"),
            *("-CAcreateserial", "-days", "2", "-out", name + ".crt", "-extfile", name + ".ext"),
        )

    def path(self, name):
        return os.path.join(self.where, name)

    def text(self, name):
        with open(self.path(name), encoding="ascii") as f:
            return f.read()


class Door(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def handle(self):
        try:
            context = self.server.context
            self.connection = context.wrap_socket(self.request, server_side=True)
        except (OSError, ssl.SSLError):
            self.server.broken += 1
            return
        self.sni = self.connection.sni if hasattr(self.connection, "sni") else None
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)
        self.server.open.add(self.connection)
        try:
            super().handle()
        except OSError:
            pass  # it hung up
        finally:
            self.server.open.discard(self.connection)
            self.connection.close()

    def user(self):
        peer = self.connection.getpeercert() or {}
        return dict(pair[0] for pair in peer.get("subject", ())).get("commonName")

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_good = self.server.admit(self)
        if not is_good:
            self.send_response(401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(REFUSAL)))
            self.end_headers()
            self.wfile.write(REFUSAL)
            return
        self.forward(body)

    do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = serve

    def forward(self, body):
        """Pass the request on, and the answer back piece by piece: watches have no end."""
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind)
        headers = {k: self.headers[k] for k in ("Accept", "Content-Type") if k in self.headers}
        behind.request(self.command, self.path, body or None, headers)
        answer = behind.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", ""))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            piece = answer.read1(65536)
            while piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                piece = answer.read1(65536)
            self.wfile.write(b"0\r\n\r\n")
        finally:
            behind.close()

    def log_message(self, *args):
        pass


class Gate(http.server.ThreadingHTTPServer):
    """The door. tokens and users say who may pass; seen is who came."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, behind, pki, certificate="plain"):
        super().__init__(("127.0.0.1", 0), Door)
        self.behind, self.pki = behind, pki
        self.port = self.server_address[1]
        self.tokens, self.users = set(), set()
        self.seen, self.open, self.broken = [], set(), 0
        self.lock = threading.Lock()
        self.use(certificate)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def use(self, certificate):
        """The server's certificate, for connections from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.pki.path(certificate + ".crt"), self.pki.path(certificate + ".key"))
        context.load_verify_locations(self.pki.path("ca-one.crt"))
        context.verify_mode = ssl.CERT_OPTIONAL

        def on_name(connection, name, _):
            connection.sni = name

        context.sni_callback = on_name
        self.context = context

    def admit(self, door):
        """Note the request; may it pass?"""
        header = door.headers.get("Authorization", "")
        token = header[len("Bearer ") :] if header.startswith("Bearer ") else None
        with self.lock:
            user = door.user()
            is_good = token in self.tokens or user in self.users
            self.seen.append(
                {
                    "what": (door.command, door.path.partition("?")[0]),
                    "token": token,
                    "user": user,
                    "good": is_good,
                    "name": door.sni,
                    "headers": door.headers,
                }
            )
        return is_good

    def refused(self):
        with self.lock:
            return [s for s in self.seen if not s["good"]]

    def never_repeated(self):
        """Refused requests after which the same did not come and pass."""
        with self.lock:
            return [
                s["what"]
                for i, s in enumerate(self.seen)
                if not s["good"]
                and not any(t["good"] and t["what"] == s["what"] for t in self.seen[i + 1 :])
            ]

    def hang_up(self):
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is gone already

    def handle_error(self, request, client_address):
        pass  # a connection that broke; what matters shows in the daemon


class Proxy(threading.Thread):
    """An HTTP proxy that knows CONNECT; heads is what it was asked."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heads = []
        self.start()

    def run(self):
        while True:
            try:
                peer = self.listener.accept()[0]
            except OSError:
                return  # closed
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = peer.recv(4096)
            if not piece:
                return
            head += piece
        self.heads.append(head.decode())
        host, _, port = head.split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as behind, peer:
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            try:
                self.pump({peer: behind, behind: peer})
            except OSError:
                pass  # one of them hung up

    @staticmethod
    def pump(other):
        while True:
            for ready in select.select(list(other), [], [])[0]:
                piece = ready.recv(65536)
                if not piece:
                    return
                other[ready].sendall(piece)

    def stop(self):
        self.listener.close()
