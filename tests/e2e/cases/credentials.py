# SPDX-License-Identifier: Apache-2.0
"""credentials - tokens, certificates and plugins that are made invalid by the real server.

A token is bound to a secret; with the secret it goes.
"""

import os
import subprocess

import procs
from casesite import want


def kubeconfig(site, user, cluster=""):
    """A kubeconfig of its own for the daemon."""
    authority = site.cluster.path("pki", "ca.crt")
    text = "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    text += 'clusters: [{name: c, cluster: {server: "%s", certificate-authority: %s%s}}]\n' % (
        site.cluster.record["server"],
        authority,
        cluster,
    )
    write(site, "kubeconfig", text + "users: [{name: u, user: {%s}}]\n" % user)
    site.kubeconfig = os.path.join(site.where, "kubeconfig")


def write(site, name, text):
    """Put a file in the place of the old one at once, as the kubelet does."""
    path = os.path.join(site.where, name)
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path + ".new", 0o700)
    os.rename(path + ".new", path)


def make_account(site):
    """What deploy/rbac.yaml asks for each tenant, for the service account."""
    group = "rbac.authorization.k8s.io"
    for ns in ("vision", "foundation", "infra"):
        binding = {
            "metadata": {"name": "queued-account"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "queued-tenant"},
            "subjects": [{"kind": "ServiceAccount", "name": "queued", "namespace": "kube-system"}],
        }
        site.put("/apis/%s/v1/namespaces/%s/rolebindings" % (group, ns), binding)


def make_token(site, secret):
    """A token of the service account that ends with this secret."""
    base = "/api/v1/namespaces/kube-system/"
    made = site.api.want("POST", base + "secrets", {"metadata": {"name": secret}})
    bound = {
        "kind": "Secret",
        "apiVersion": "v1",
        "name": secret,
        "uid": made["metadata"]["uid"],
    }
    asked = {"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}}
    answer = site.api.want("POST", base + "serviceaccounts/queued/token", asked)
    site.defer(site.api.call, "DELETE", base + "secrets/" + secret)
    return answer["status"]["token"]


def end_token(site, secret, token):
    """Take the secret away, and wait until the server knows the token no more."""
    site.api.want("DELETE", "/api/v1/namespaces/kube-system/secrets/" + secret)

    def is_refused():
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        answer = site.api.want("POST", path, {"spec": {"token": token}})
        return not answer["status"].get("authenticated")

    procs.wait_for(is_refused, 40, "the token to be refused", 0.5)


def gangs_through(site, names):
    for name in [site.run(n, run="200ms") for n in names]:
        site.wait_state(name, "Succeeded")


def hidden(site, *secrets):
    """No half of a secret is in the log."""
    for secret in secrets:
        for half in (secret[: len(secret) // 2], secret[len(secret) // 2 :]):
            want(half not in site.log(), "a token is in the log")


def case_token_file(site):
    """a token that the server refuses is read again from its file, work goes on"""
    make_account(site)
    first = make_token(site, "first")
    write(site, "token", first)
    kubeconfig(site, "tokenFile: token")
    site.start()
    gangs_through(site, ["one"])
    second = make_token(site, "second")
    write(site, "token", second)
    end_token(site, "first", first)
    gangs_through(site, ["two", "three"])
    want("does not answer" not in site.log(), "the server seemed to be away")
    hidden(site, first, second)


def case_plugin(site):
    """a token that the server refuses is asked for anew, by one run of the plugin for all"""
    make_account(site)
    first = make_token(site, "first")
    write(site, "token", first)
    write(
        site,
        "plugin",
        '#!/bin/sh\ncd "%s" || exit 9\necho run >> runs\nprintf \'{"kind":"ExecCredential",'
        '"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%%s"}}\' "$(cat token)"\n'
        % site.where,
    )
    kubeconfig(
        site,
        "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
        "command: ./plugin}",
    )
    site.start()
    gangs_through(site, ["one"])
    second = make_token(site, "second")
    write(site, "token", second)
    end_token(site, "first", first)
    gangs_through(site, ["two", "three", "four"])
    with open(os.path.join(site.where, "runs"), encoding="ascii") as f:
        runs = len(f.readlines())
    want(runs == 2, "the plugin ran %d times", runs)
    want("does not answer" not in site.log(), "the server seemed to be away")
    hidden(site, first, second)


def case_certificate_files(site):
    """a certificate that the server refuses is read again from its file, over HTTP/2"""
    pki = site.cluster.path("pki")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=queued", "-keyout", "me.key", "-out", "me.crt"]
    subprocess.run(command, cwd=site.where, capture_output=True, check=True)
    kubeconfig(site, "client-certificate: me.crt, client-key: me.key")
    site.start()
    site.wait_log("the API server does not answer")
    for kind in (".key", ".crt"):
        with open(os.path.join(pki, "queued" + kind), encoding="ascii") as f:
            write(site, "me" + kind, f.read())
    gangs_through(site, ["one", "two"])


def case_name_of_the_server(site):
    """tls-server-name is the name that is verified; another name ends before anything is sent"""
    cert = "client-certificate: {0}/queued.crt, client-key: {0}/queued.key"
    kubeconfig(site, cert.format(site.cluster.path("pki")), ", tls-server-name: other.example")
    site.start()
    site.wait_log("no alternative certificate subject name matches")
    kubeconfig(site, cert.format(site.cluster.path("pki")), ", tls-server-name: kubernetes")
    site.restart()
    gangs_through(site, ["one"])


def case_acts_as_another(site):
    """as: the server judges the daemon by whom it acts as"""
    cert = "client-certificate: {0}/admin.crt, client-key: {0}/admin.key"
    kubeconfig(site, cert.format(site.cluster.path("pki")) + ", as: nobody")
    site.start()
    site.wait_log("User .*nobody.* cannot list resource")
    kubeconfig(site, cert.format(site.cluster.path("pki")) + ", as: queued")
    site.restart()
    gangs_through(site, ["one"])
