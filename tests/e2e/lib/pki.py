# SPDX-License-Identifier: Apache-2.0
"""pki - fresh certificates for one test control plane, by openssl.

A CA, a server certificate for loopback, client certificates (O = group, CN = user), and the key
pair that signs service-account tokens. Everything is thrown away with the directory it is made
in.
"""

import os
import subprocess

from procs import Trouble

SAN = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes,IP:10.0.0.1\n"


def _openssl(where, *args):
    try:
        done = subprocess.run(
            ["openssl", *args], cwd=where, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as e:
        raise Trouble("openssl is not installed: install the package openssl") from e
    if done.returncode != 0:
        raise Trouble("openssl %s failed: %s" % (args[0], done.stderr.strip()[-300:]))


def _signed(where, name, subject):
    with open(os.path.join(where, name + ".ext"), "w", encoding="ascii") as f:
        f.write(SAN)
    _openssl(
        where,
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        name + ".key",
        "-out",
        name + ".csr",
        "-subj",
        subject,
    )
    _openssl(
        where,
        "x509",
        "-req",
        "-in",
        name + ".csr",
        "-CA",
        "ca.crt",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "30",
        "-out",
        name + ".crt",
        "-extfile",
        name + ".ext",
    )


def make(where):
    """Write ca, apiserver, admin and queued .crt/.key and sa.key, sa.pub into the folder where."""
    os.makedirs(where, mode=0o700, exist_ok=True)
    _openssl(
        where,
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "ca.key",
        "-out",
        "ca.crt",
        "-days",
        "30",
        "-subj",
        "/CN=queued-test-ca",
    )
    _signed(where, "apiserver", "/CN=kube-apiserver")
    _signed(where, "admin", "/O=system:masters/CN=admin")
    _signed(where, "queued", "/CN=queued")
    _openssl(where, "genrsa", "-out", "sa.key", "2048")
    _openssl(where, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
