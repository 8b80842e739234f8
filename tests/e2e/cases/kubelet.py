# SPDX-License-Identifier: Apache-2.0
"""kubelet - a node whose kubelet refuses what it was given, by a stage of kwok of its own."""

import os

from casesite import want

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = {"kwok": ["--config=" + os.path.join(HERE, "admission-error.yaml")]}
BAD = "gpu-001"  # as in that file


def cordon(site, nodes, is_on):
    for node in nodes:
        site.patch("/api/v1/nodes/gpu-%03d" % node, {"spec": {"unschedulable": is_on or None}})


def only(site, count):
    """Leave the first nodes alone, so that the first attempt must meet the bad one."""
    cordon(site, range(count + 1, 17), True)
    site.defer(all_of_them, site)


def all_of_them(site):
    cordon(site, range(1, 17), False)


def case_an_unexpected_admission_error(site):
    """one node fails each pod with UnexpectedAdmissionError: the second attempt avoids it"""
    site.start()
    only(site, 1)
    name = site.run("unlucky", pods=1, run="1s")
    site.wait_log("UnexpectedAdmissionError")
    all_of_them(site)
    site.wait_state(name, "Running", "Succeeded", limit_s=60)
    nodes = {p["spec"]["nodeName"] for p in site.pods(name) if p["status"]["phase"] != "Failed"}
    want(BAD not in nodes, "it is on %s", nodes)
    want(site.attempt(name) >= 2, "it never met the node")
    site.wait_state(name, "Succeeded")


def case_a_gang_with_one_member_on_it(site):
    """a gang of 6 whole nodes meets the bad node: undone whole, then placed beside it"""
    site.start()
    only(site, 6)
    name = site.run("wide", pods=6, level="block", run="1s")
    site.wait_log("UnexpectedAdmissionError")
    all_of_them(site)
    site.wait_state(name, "Succeeded", limit_s=60)
    used = {p["spec"]["nodeName"] for p in site.pods(name) if p["status"]["phase"] == "Succeeded"}
    want(BAD not in used, "a member succeeded on the bad node")
    want(len(used) == 6, "%d members succeeded", len(used))
