# SPDX-License-Identifier: Apache-2.0
"""kubeapi - a small client of an API server, for harness programs only.

Reads the kubeconfigs that the harness and the stand-in write (client certificate, token or
nothing). One connection, opened again when it broke. Answers are (HTTP code, parsed body); a list
walks all pages.
"""

import base64
import http.client
import json
import os
import ssl
import tempfile
import urllib.parse

import miniyaml


class Refused(Exception):
    """The server answered with an error code."""

    def __init__(self, code, text):
        super().__init__("%d: %s" % (code, text))
        self.code = code


def _by_name(items, name, key):
    for item in items or []:
        if item.get("name") == name:
            return item.get(key) or {}
    return {}


class Api:
    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as f:
            conf = miniyaml.load(f.read())
        context = _by_name(conf.get("contexts"), conf.get("current-context"), "context")
        self.cluster = _by_name(conf.get("clusters"), context.get("cluster"), "cluster")
        self.user = _by_name(conf.get("users"), context.get("user"), "user")
        self.base = os.path.dirname(os.path.abspath(kubeconfig))
        self.server = self.cluster.get("server")
        if not self.server:
            raise ValueError("%s: its current context names no server" % kubeconfig)
        self.conn = None
        self.scratch = None

    def _file(self, holder, key):
        """Path of a file that the kubeconfig names, or holds as base64 under KEY-data."""
        if holder.get(key):
            return os.path.join(self.base, holder[key])
        if not holder.get(key + "-data"):
            return None
        if self.scratch is None:
            self.scratch = tempfile.TemporaryDirectory()
        path = os.path.join(self.scratch.name, key)
        with open(path, "wb") as f:
            f.write(base64.b64decode(holder[key + "-data"]))
        return path

    def connect(self, timeout_s=30):
        """A new connection of its own, for a watch."""
        url = urllib.parse.urlsplit(self.server)
        if url.scheme == "http":
            return http.client.HTTPConnection(url.hostname, url.port or 80, timeout=timeout_s)
        tls = ssl.create_default_context(cafile=self._file(self.cluster, "certificate-authority"))
        cert = self._file(self.user, "client-certificate")
        if cert:
            tls.load_cert_chain(cert, self._file(self.user, "client-key"))
        return http.client.HTTPSConnection(
            url.hostname, url.port or 443, timeout=timeout_s, context=tls
        )

    def headers(self):
        head = {"Accept": "application/json", "User-Agent": "queued-e2e"}
        if self.user.get("token"):
            head["Authorization"] = "Bearer " + self.user["token"]
        return head

    def call(self, method, path, body=None, content="application/json"):
        """One request; (code, parsed body or text). OSError when the server is not there."""
        head, data = self.headers(), None
        if body is not None:
            data = json.dumps(body)
            head["Content-Type"] = content
        for last in (False, True):
            fresh = self.conn is None
            try:
                if fresh:
                    self.conn = self.connect()
                self.conn.request(method, path, data, head)
                answer = self.conn.getresponse()
                text = answer.read().decode("utf-8", "replace")
                break
            except (OSError, http.client.HTTPException) as e:
                self.conn = None
                if fresh or last:
                    raise e if isinstance(e, OSError) else OSError(str(e))
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def want(self, method, path, body=None, ok=(200, 201)):
        """Like call(), but an answer outside ok raises Refused."""
        code, answer = self.call(method, path, body)
        if code not in ok:
            text = answer.get("message", "") if isinstance(answer, dict) else str(answer)[:200]
            raise Refused(code, "%s %s: %s" % (method, path, text))
        return answer

    def items(self, path, **query):
        """All items of a collection, page by page."""
        found = []
        query["limit"] = 500
        while True:
            page = self.want("GET", path + "?" + urllib.parse.urlencode(query))
            found += page.get("items") or []
            query["continue"] = (page.get("metadata") or {}).get("continue") or ""
            if not query["continue"]:
                return found

    def is_ready(self):
        try:
            return self.call("GET", "/readyz")[0] == 200
        except OSError:
            return False
