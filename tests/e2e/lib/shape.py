# SPDX-License-Identifier: Apache-2.0
"""shape - the nodes of a test cluster, shaped like those of a real GPU site.

Pure: from counts to Node objects. Node n goes to block and rack in equal runs; racks are numbered
through the whole cluster, so that a rack name alone says where it is.
"""

import uuid

MEMORY = {
    "NVIDIA-H100-80GB-HBM3": 81559,
    "NVIDIA-H200": 143771,
    "NVIDIA-A100-SXM4-80GB": 81920,
    "NVIDIA-A100-SXM4-40GB": 40960,
    "NVIDIA-B200": 183359,
}
NAMESPACE = uuid.UUID("a3d0a9f2-5d43-4f38-9a8f-6f8c1d2b7e11")


def add_options(parser):
    """The options that describe the nodes; the stand-in has the same."""
    parser.add_argument("--nodes", type=int, default=16, help="number of nodes (16)")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of a node (8)")
    parser.add_argument("--model", default="NVIDIA-H100-80GB-HBM3", help="GPU product")
    parser.add_argument("--blocks", type=int, default=2, help="blocks (2)")
    parser.add_argument("--racks-per-block", type=int, default=2, help="racks in a block (2)")


def labels(n, opts):
    racks = opts.blocks * opts.racks_per_block
    rack = n * racks // opts.nodes
    name = "gpu-%03d" % (n + 1)
    ret = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": "gpu-%dx" % opts.gpus,
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": "zone-1",
        "gang.queued/block": "block-%d" % (rack // opts.racks_per_block + 1),
        "gang.queued/rack": "rack-%d" % (rack + 1),
    }
    if opts.gpus:
        ret.update(
            {
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": opts.model,
                "nvidia.com/gpu.count": str(opts.gpus),
                "nvidia.com/gpu.replicas": "1",
                "nvidia.com/gpu.memory": str(MEMORY.get(opts.model, 81559)),
                "nvidia.com/gpu.sharing-strategy": "none",
                "nvidia.com/mig.capable": "true",
                "nvidia.com/mig.strategy": "single",
                "nvidia.com/cuda.driver-version.full": "570.133.20",
                "nvidia.com/cuda.driver-version.major": "570",
            }
        )
    return ret


def node(n, opts):
    """Node object number n (from 0) of a cluster described by opts, not Ready yet."""
    name = "gpu-%03d" % (n + 1)
    amounts = {
        "cpu": "192",
        "memory": "2147483648Ki",
        "ephemeral-storage": "1875308Mi",
        "pods": "110",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }
    if opts.gpus:
        amounts["nvidia.com/gpu"] = str(opts.gpus)

    def ident(what):
        return str(uuid.uuid5(NAMESPACE, name + what))

    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels(n, opts),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {},
        "status": {
            "capacity": dict(amounts),
            "allocatable": dict(amounts),
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.%d" % (n % 250 + 2)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "osImage": "Ubuntu 22.04.5 LTS",
                "bootID": ident("boot"),
                "machineID": ident("machine").replace("-", ""),
                "systemUUID": ident("system"),
                "kernelVersion": "5.15.0-119-generic",
                "containerRuntimeVersion": "containerd://1.7.27",
                "kubeletVersion": "v1.36.3",
                "kubeProxyVersion": "v1.36.3",
            },
        },
    }
