# SPDX-License-Identifier: Apache-2.0
"""controlplane - a test cluster in a folder: real or stand-in, behind one face.

D/cluster.json is the whole record: kind, versions, server, the programs and how to start them
again. The real one is etcd, kube-apiserver and kwok of tests/e2e/controlplane on loopback; the
stand-in is one program. Ports come from the kernel, certificates are fresh, nothing outside D is
written. A test breaks a program by kill(), pause() and respawn(), its data by lib/etcd.py.
"""

import json
import os
import signal
import subprocess
import urllib.request

import miniyaml
import pki
import procs
import shape
from kubeapi import Api
from procs import Trouble

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD_SH = os.path.join(TREE, "tests", "e2e", "controlplane", "build.sh")
STAGES = os.path.join(TREE, "tests", "data", "kwok", "stages.yaml")
RBAC = os.path.join(TREE, "deploy", "rbac.yaml")


def assets(required=True):
    """Folder with the real programs; None, or Trouble when required, if they are not there."""
    done = subprocess.run([BUILD_SH, "--print"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip()
    if required:
        raise Trouble(done.stderr.strip() or "build.sh --print failed")
    return None


def standin_program():
    return os.environ.get("STANDIN") or os.path.join(
        os.environ.get("B", os.path.join(TREE, "build")), "tests", "standin"
    )


class Cluster:
    def __init__(self, where):
        self.where = os.path.abspath(where)
        self.record = {"kind": "", "programs": {}, "argv": {}, "versions": {}, "namespaces": []}

    def path(self, *names):
        return os.path.join(self.where, *names)

    def load(self):
        try:
            with open(self.path("cluster.json"), encoding="utf-8") as f:
                self.record = json.load(f)
        except (OSError, ValueError) as e:
            raise Trouble("no cluster in %s: %s" % (self.where, e)) from e
        return self

    def save(self):
        text = json.dumps(self.record, indent=1) + "\n"
        with open(self.path("cluster.json.new"), "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(self.path("cluster.json.new"), self.path("cluster.json"))

    def spawn(self, name, argv=None, extra=()):
        """Start a program of the cluster, the second time as it was started first, with the
        flags extra behind the others for this time; a flag given twice counts as given last."""
        if argv:
            self.record["argv"][name] = argv
        log = self.path(name + ".log")
        argv = self.record["argv"][name] + list(extra)
        self.record["programs"][name] = procs.spawn(argv, log)[1]
        self.save()

    def kill(self, name, sig=signal.SIGKILL, wait_s=10):
        """Send sig to a program and wait for its end; harmless when it has ended."""
        procs.kill(self.record["programs"].get(name), sig, wait_s)

    def send(self, name, sig):
        """Send sig to a program and do not wait: SIGSTOP, SIGCONT, or SIGTERM under watch."""
        self.is_up(name)
        os.kill(self.record["programs"][name]["pid"], sig)

    def pause(self, name):
        self.send(name, signal.SIGSTOP)

    def resume(self, name):
        self.send(name, signal.SIGCONT)

    def respawn(self, name, extra=(), sig=signal.SIGKILL):
        """Kill a program, when it runs, and start it as before plus the flags extra; waits until
        the API server is ready again."""
        self.kill(name, sig)
        self.spawn(name, extra=extra)
        if name == "etcd":
            self.wait_etcd()
        if name != "kwok":
            self.wait_ready()

    def is_up(self, name):
        record = self.record["programs"][name]
        if procs.reap(record["pid"]) or not procs.is_alive(record):
            raise Trouble(
                "%s ended while it started; the end of its log:\n%s"
                % (name, procs.tail(self.path(name + ".log")))
            )
        return True

    def api(self):
        return Api(self.path("kubeconfig"))

    def server_name(self):
        return "standin" if self.record["kind"] == "standin" else "kube-apiserver"

    def wait_ready(self, limit_s=60):
        name = self.server_name()
        procs.wait_for(
            lambda: self.is_up(name) and self.api().is_ready(), limit_s, name + " to be ready", 0.2
        )

    def wait_etcd(self, limit_s=20):
        def answers():
            self.is_up("etcd")
            try:
                with urllib.request.urlopen(self.record["etcd"] + "/health", timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False

        procs.wait_for(answers, limit_s, "etcd to be healthy", 0.1)

    def wait_nodes(self, count, limit_s=60):
        api = self.api()

        def ready():
            found = api.items("/api/v1/nodes")
            good = [
                n
                for n in found
                for c in n.get("status", {}).get("conditions") or []
                if c["type"] == "Ready" and c["status"] == "True"
            ]
            return len(good) >= count

        procs.wait_for(ready, limit_s, "%d nodes to be Ready" % count, 0.2)

    def stop(self):
        for name in ("kwok", "kube-controller-manager", "kube-apiserver", "standin", "etcd"):
            self.kill(name)

    def restart_apiserver(self):
        """Kill the server and start it again on the same port and data."""
        name = self.server_name()
        # the stand-in saves at its end
        self.respawn(name, sig=signal.SIGTERM if name == "standin" else signal.SIGKILL)

    def line(self):
        return "API server: %s at %s, %d nodes, namespaces %s" % (
            self.record["title"],
            self.record["server"],
            self.record["nodes"],
            " ".join(self.record["namespaces"]),
        )


def _kubeconfig(cluster, name, user):
    """Block YAML by hand: what the daemon, kwok and kubectl read alike."""
    pki_dir = cluster.path("pki")
    text = """apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: %s
    certificate-authority: %s/ca.crt
users:
- name: %s
  user:
    client-certificate: %s/%s.crt
    client-key: %s/%s.key
contexts:
- name: test
  context:
    cluster: test
    user: %s
current-context: test
""" % (cluster.record["server"], pki_dir, user, pki_dir, user, pki_dir, user, user)
    with open(cluster.path(name), "w", encoding="utf-8") as f:
        f.write(text)


def _apiserver_argv(bin_dir, pki_dir, etcd_port, port):
    return [
        os.path.join(bin_dir, "kube-apiserver"),
        "--etcd-servers=http://127.0.0.1:%d" % etcd_port,
        "--bind-address=127.0.0.1",
        "--secure-port=%d" % port,
        "--tls-cert-file=%s/apiserver.crt" % pki_dir,
        "--tls-private-key-file=%s/apiserver.key" % pki_dir,
        "--client-ca-file=%s/ca.crt" % pki_dir,
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        "--service-account-issuer=https://127.0.0.1:%d/" % port,
        "--service-account-key-file=%s/sa.pub" % pki_dir,
        "--service-account-signing-key-file=%s/sa.key" % pki_dir,
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    ]


def tenant_binding(ns):
    """The binding that each tenant's namespace needs beside deploy/rbac.yaml."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": group + "/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "queued-tenant", "namespace": ns},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "queued-tenant"},
        "subjects": [{"kind": "User", "name": "queued", "apiGroup": group}],
    }


def _apply_rbac(api, namespaces):
    """Post deploy/rbac.yaml, and the binding that each tenant's namespace needs."""
    with open(RBAC, encoding="utf-8") as f:
        objects = miniyaml.load_all(f.read())
    for ns in namespaces:
        objects.append(tenant_binding(ns))
    for obj in objects:
        version, ns = obj["apiVersion"], obj["metadata"].get("namespace")
        path = ("/api/" if version == "v1" else "/apis/") + version
        path += "/namespaces/" + ns if ns else ""
        api.want("POST", "%s/%ss" % (path, obj["kind"].lower()), obj, ok=(201, 409))


def start_real(cluster, opts, namespaces, flags):
    bin_dir = assets()
    pki.make(cluster.path("pki"))
    etcd_port, port = procs.free_port(), procs.free_port()
    client = "http://127.0.0.1:%d" % etcd_port
    cluster.record.update(kind="real", server="https://127.0.0.1:%d" % port, etcd=client)
    cluster.spawn(
        "etcd",
        [
            os.path.join(bin_dir, "etcd"),
            "--data-dir=" + cluster.path("etcd"),
            "--listen-client-urls=" + client,
            "--advertise-client-urls=" + client,
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync",
            "--quota-backend-bytes=8589934592",
            "--log-level=warn",
        ]
        + flags.get("etcd", []),
    )
    cluster.spawn(
        "kube-apiserver",
        _apiserver_argv(bin_dir, cluster.path("pki"), etcd_port, port)
        + flags.get("kube-apiserver", []),
    )
    _kubeconfig(cluster, "kubeconfig", "admin")
    _kubeconfig(cluster, "kubeconfig-queued", "queued")
    cluster.wait_ready()
    api = cluster.api()
    cluster.record["versions"] = {"kube-apiserver": api.want("GET", "/version")["gitVersion"]}
    cluster.record["title"] = (
        "real kube-apiserver %s" % cluster.record["versions"]["kube-apiserver"]
    )
    procs.wait_for(
        lambda: api.call("GET", "/api/v1/namespaces/kube-system")[0] == 200, 20, "kube-system"
    )
    for ns in namespaces:
        api.want("POST", "/api/v1/namespaces", {"metadata": {"name": ns}}, ok=(201, 409))
    _apply_rbac(api, namespaces)
    for n in range(opts.nodes):
        api.want("POST", "/api/v1/nodes", shape.node(n, opts), ok=(201, 409))
    cluster.spawn(
        "kwok",
        [
            os.path.join(bin_dir, "kwok"),
            "--kubeconfig=" + cluster.path("kubeconfig"),
            "--manage-all-nodes=true",
            "--config=" + STAGES,
            "--node-lease-duration-seconds=0",
        ]
        + flags.get("kwok", []),
    )
    if "kube-controller-manager" in flags:
        start_controllers(cluster, flags["kube-controller-manager"])


def start_controllers(cluster, extra=()):
    """kube-controller-manager beside the others: quota status, collection of pods and owners."""
    kubeconfig, pki_dir = cluster.path("kubeconfig"), cluster.path("pki")
    cluster.spawn(
        "kube-controller-manager",
        [
            os.path.join(assets(), "kube-controller-manager"),
            "--kubeconfig=" + kubeconfig,
            "--authentication-kubeconfig=" + kubeconfig,
            "--authorization-kubeconfig=" + kubeconfig,
            "--leader-elect=false",
            "--service-account-private-key-file=%s/sa.key" % pki_dir,
            "--root-ca-file=%s/ca.crt" % pki_dir,
            "--bind-address=127.0.0.1",
            "--secure-port=%d" % procs.free_port(),
        ]
        + list(extra),
    )


def start_standin(cluster, opts, namespaces, flags):
    program = standin_program()
    if not os.access(program, os.X_OK):
        raise Trouble(
            "the stand-in API server %s is not built: run 'make standin' or set STANDIN" % program
        )
    port = procs.free_port()
    cluster.record.update(kind="standin", title="stand-in", server="http://127.0.0.1:%d" % port)
    cluster.spawn(
        "standin",
        [
            program,
            "--port",
            str(port),
            "--port-file",
            cluster.path("port"),
            "--kubeconfig-out",
            cluster.path("kubeconfig"),
            "--make-nodes",
            str(opts.nodes),
            "--gpus",
            str(opts.gpus),
            "--model",
            opts.model,
            "--blocks",
            str(opts.blocks),
            "--racks-per-block",
            str(opts.racks_per_block),
            "--namespaces",
            ",".join(namespaces),
            "--state",
            cluster.path("standin.state"),
            "--audit",
            cluster.path("audit.jsonl"),
        ]
        + flags.get("standin", []),
    )
    procs.wait_for(
        lambda: cluster.is_up("standin") and os.path.exists(cluster.path("kubeconfig")),
        20,
        "the stand-in's kubeconfig",
        0.05,
    )
    if not os.path.exists(cluster.path("kubeconfig-queued")):
        os.symlink("kubeconfig", cluster.path("kubeconfig-queued"))
    cluster.wait_ready()


def start(where, kind, opts, namespaces, flags=None):
    """Start a cluster in the new folder where and wait until its nodes are Ready. flags: {program:
    [more flags]}; kube-controller-manager is started only when it is named there."""
    cluster = Cluster(where)
    os.makedirs(cluster.where, exist_ok=True)
    if os.path.exists(cluster.path("cluster.json")):
        raise Trouble(
            "%s holds a cluster already: 'cluster stop --dir' it and remove the folder" % where
        )
    cluster.record.update(nodes=opts.nodes, namespaces=namespaces)
    try:
        begin = start_real if kind == "real" else start_standin
        begin(cluster, opts, namespaces, flags or {})
        cluster.wait_nodes(opts.nodes)
        cluster.save()
    except BaseException:
        cluster.stop()
        raise
    return cluster
