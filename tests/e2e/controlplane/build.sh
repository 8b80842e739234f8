#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh - a real kube-apiserver, etcd and kwok for the tests, built once from pinned Go modules,
# and kube-controller-manager, which a few cases want.
#
# Each program has a module of its own here (go.mod, go.sum), for their dependency sets do not mix.
# The programs go to a cache outside the tree, in a folder named by a digest of those files, so
# another version never overwrites this one. A folder in KUBEBUILDER_ASSETS that holds the first three
# is used as it is. What starts them is tests/e2e/cluster.
#
# usage: build.sh            build what is missing
#        build.sh --print    print the folder that holds the programs
# exit:  0 they are there; 1 a build failed; 3 not there and cannot be built here
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
programs="etcd kwok kube-apiserver"
built="$programs kube-controller-manager"
digest=$(cat "$here"/*/go.mod "$here"/*/go.sum | sha256sum | cut -c1-12)
root=${QUEUED_CONTROLPLANE_DIR:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/queued/controlplane}
dir=$root/$digest

holds_all() { # FOLDER PROGRAM...
    folder=$1
    shift
    for name in "$@"; do
        [ -x "$folder/$name" ] || return 1
    done
}

version_of() { # MODULE-DIR MODULE-PATH
    awk -v m="$2" '$1 == "require" && $2 == m { print $3; exit }
        $1 == m && NF >= 2 { print $2; exit }' "$here/$1/go.mod"
}

refuse() { # SENTENCE
    echo "controlplane: $1 KUBEBUILDER_ASSETS to a folder that holds etcd, kube-apiserver and kwok" >&2
    exit 3
}

need_go() {
    if ! command -v go > /dev/null 2>&1; then
        refuse "Go is not installed: nothing can be built here; install golang 1.26 or set"
    fi
    found=$(go version | awk '{ print substr($3, 3) }')
    minor=$(echo "$found" | cut -d. -f2 | tr -cd 0-9)
    chain=$(go env GOTOOLCHAIN 2> /dev/null || echo local)
    if [ "${minor:-0}" -lt 26 ] && { [ "${minor:-0}" -lt 21 ] || [ "$chain" = local ]; }; then
        refuse "Go $found is too old: install golang 1.26 or set"
    fi
}

build_one() { # NAME MODULE-DIR PACKAGE LDFLAGS
    if [ -x "$dir/$1" ]; then
        return 0
    fi
    echo "controlplane: building $1 ..." >&2
    if ! (cd "$here/$2" && CGO_ENABLED=0 nice -n 19 go build -p "${BUILD_PROCS:-2}" -trimpath \
        -ldflags "-s -w $4" -o "$tmp/$1" "$3"); then
        echo "controlplane: building $1 failed; see above (can Go download modules here?)" >&2
        exit 1
    fi
    mv "$tmp/$1" "$dir/$1"
}

# shellcheck disable=SC2086 # the names hold no blanks
if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    if holds_all "$KUBEBUILDER_ASSETS" $programs; then
        dir=$KUBEBUILDER_ASSETS
        built=$programs
    else
        echo "controlplane: KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS is not used, it lacks one of:" \
            "$programs" >&2
    fi
fi

case ${1:-} in
--print)
    # shellcheck disable=SC2086
    if ! holds_all "$dir" $programs; then
        refuse "not built: run 'make controlplane' (needs Go 1.26, takes some minutes) or set"
    fi
    echo "$dir"
    exit 0
    ;;
"") ;;
*)
    echo "usage: build.sh [--print]" >&2
    exit 64
    ;;
esac

# shellcheck disable=SC2086
if holds_all "$dir" $built; then
    echo "controlplane: all there, nothing to do: $dir"
    exit 0
fi
need_go
mkdir -p "$dir"
exec 9> "$dir/.lock"
flock 9
tmp=$(mktemp -d "$dir/.tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

kube=$(version_of kubernetes k8s.io/kubernetes)
minor=$(echo "$kube" | cut -d. -f2)
base=k8s.io/component-base/version
build_one etcd etcd go.etcd.io/etcd/server/v3 ""
build_one kwok kwok sigs.k8s.io/kwok/cmd/kwok ""
for name in kube-apiserver kube-controller-manager; do
    build_one "$name" kubernetes "k8s.io/kubernetes/cmd/$name" \
        "-X $base.gitVersion=$kube -X $base.gitMajor=1 -X $base.gitMinor=$minor"
done
echo "controlplane: built etcd, kwok, kube-apiserver and kube-controller-manager $kube: $dir"
