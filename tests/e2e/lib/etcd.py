# SPDX-License-Identifier: Apache-2.0
"""etcd - what a test does to the data below an API server: copy it, put a copy back, compact it.

Speaks etcd's JSON gateway, and moves the data folder while etcd does not run. Knows nothing of
the objects inside.
"""

import base64
import json
import os
import shutil
import urllib.request

from procs import Trouble


def _post(cluster, path, body):
    request = urllib.request.Request(
        cluster.record["etcd"] + path,
        json.dumps(body).encode("ascii"),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())
    except OSError as e:
        raise Trouble("etcd %s: %s" % (path, e)) from e


def revision(cluster):
    """The revision of the newest write; resourceVersions are these numbers."""
    key = base64.b64encode(b"none").decode("ascii")
    return int(_post(cluster, "/v3/kv/range", {"key": key})["header"]["revision"])


def compact(cluster):
    """Forget every version but the newest; returns the revision."""
    newest = revision(cluster)
    _post(cluster, "/v3/kv/compaction", {"revision": str(newest), "physical": True})
    return newest


def forget(cluster, prefix):
    """Remove every object whose key begins with prefix, like "/registry/pods/", behind the API
    server, whose watches show each as deleted."""
    first = prefix.encode("ascii")
    last = first[:-1] + bytes([first[-1] + 1])
    keys = {"key": first, "range_end": last}
    body = {k: base64.b64encode(v).decode("ascii") for k, v in keys.items()}
    return int(_post(cluster, "/v3/kv/deleterange", body).get("deleted", 0))


def copy(cluster, name):
    """Keep the data as it is now under this name. Both programs end and start for it."""
    cluster.kill("kube-apiserver")
    cluster.kill("etcd")
    shutil.rmtree(cluster.path(name), ignore_errors=True)
    shutil.copytree(cluster.path("etcd"), cluster.path(name))
    _start(cluster)


def restore(cluster, name):
    """Put the copy of this name back: what was written since is gone, and versions count again
    from there."""
    if not os.path.isdir(cluster.path(name)):
        raise Trouble("there is no copy %s of etcd's data" % name)
    cluster.kill("kube-apiserver")
    cluster.kill("etcd")
    shutil.rmtree(cluster.path("etcd"))
    shutil.copytree(cluster.path(name), cluster.path("etcd"))
    _start(cluster)


def _start(cluster):
    cluster.spawn("etcd")
    cluster.wait_etcd()
    cluster.spawn("kube-apiserver")
    cluster.wait_ready()
