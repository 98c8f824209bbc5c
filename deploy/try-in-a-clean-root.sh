#!/bin/sh
# Builds the images of Dockerfile without an engine and runs them as docker-compose.yml says, on this machine alone:
# a minimal Debian (debootstrap) stands for the Python base image, buildah executes the Dockerfile in chroots, runc
# runs the services with their user, seccomp profile, read-only root and mounts, beside a Redis on loopback.
# Then one saxpy goes through. As root: deploy/try-in-a-clean-root.sh [folder]  (default: a new one below /tmp, removed)
set -eu

cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
PATH=$PATH:/usr/sbin:/sbin
missing=
for tool in debootstrap buildah runc redis-server; do
    command -v $tool > /dev/null || missing="$missing $tool"
done
if [ -n "$missing" ] || [ "$(id -u)" != 0 ]; then
    echo "needs root, and on Debian: apt-get install -y --no-install-recommends debootstrap buildah runc redis-server" >&2
    exit 77
fi

work=${1:-$(mktemp -d /tmp/warpyard-clean-root-XXXXXX)}
mkdir -p "$work/volumes/data" "$work/volumes/toolchain"
begin=$(date +%s)
build="buildah --root $work/store --runroot $work/runroot"
id=warpyard-$$
redis=

finish() {
    code=$?
    trap - EXIT INT TERM
    for service in app worker compiler toolchain; do
        runc kill "$id-$service" KILL 2> /dev/null || true
        runc delete --force "$id-$service" 2> /dev/null || true
        [ $code = 0 ] || tail -n 15 "$work/$service.log" 2> /dev/null || true
    done
    [ -z "$redis" ] || kill "$redis" 2> /dev/null || true
    $build umount --all > /dev/null 2>&1 || true
    $build rm --all > /dev/null 2>&1 || true
    [ -n "${1:-}" ] || rm -rf "$work"
    exit $code
}
trap 'finish "${keep:-}"' EXIT INT TERM
keep=${1:-}

say() {
    printf '%5d s  %s\n' "$(($(date +%s) - begin))" "$1"
}

size() {
    du -sm --exclude=proc --exclude=sys --exclude=dev "$1" | cut -f 1
}

if [ ! -e "$work/base.done" ]; then
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates \
        "${SUITE:-trixie}" "$work/base" > "$work/debootstrap.log" 2>&1 || { tail -n 5 "$work/debootstrap.log"; exit 1; }
    rm -rf "$work"/base/var/cache/apt/* "$work"/base/var/lib/apt/lists/*
    touch "$work/base.done"
fi
say "a minimal Debian with Python: $(size "$work/base") MB"

scratch=$($build from scratch)
$build add --quiet "$scratch" "$work/base" / > /dev/null
$build commit --quiet --rm "$scratch" localhost/base > /dev/null
for target in app worker; do
    $build bud --quiet --layers --isolation chroot --format docker --build-arg PYTHON_IMAGE=localhost/base \
        --build-arg PIP_INDEX_URL="${PIP_INDEX_URL:-}" --volume /etc/ssl/certs:/etc/ssl/certs:ro \
        --target $target --tag localhost/$target . > "$work/build-$target.log" 2>&1 \
        || { tail -n 15 "$work/build-$target.log"; exit 1; }
    container=$($build from --name $id-$target localhost/$target)
    $build mount "$container" > "$work/$target.root"
    $build inspect "$container" > "$work/$target.json"
    say "image $target: $(($(size "$(cat "$work/$target.root")") - $(size "$work/base"))) MB beyond that"
done
if find "$(cat "$work/worker.root")/opt/venv" -path '*/nvidia/*' -type f | grep -q .; then
    echo "the worker's image holds files of NVIDIA's compiler" >&2
    exit 1
fi

port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --port "$port" --bind 127.0.0.1 --dir "$work" --save '' --appendonly yes --loglevel warning \
    > "$work/redis.log" 2>&1 &
redis=$!
chown 10001:10001 "$work/volumes/data" "$work/volumes/toolchain"
chmod 755 "$work" "$work/volumes"

start() {
    "$PYTHON" deploy/oci_bundle.py "$1" "$(cat "$work/$2.root")" "$work/volumes" "$work/bundle-$1" \
        REDIS_URL="redis://127.0.0.1:$port/0" APP_PORT="$http" < "$work/$2.json"
    if [ "$1" = toolchain ]; then
        runc run --bundle "$work/bundle-$1" "$id-$1" > "$work/$1.log" 2>&1
    else
        runc run --bundle "$work/bundle-$1" "$id-$1" > "$work/$1.log" 2>&1 &
    fi
}

http=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start toolchain worker
say "NVIDIA's compiler in its volume: $(size "$work/volumes/toolchain") MB"
start app app
start worker worker
start compiler worker
"$PYTHON" deploy/first_run.py "http://127.0.0.1:$http" saxpy
for service in app worker compiler; do
    target=$service
    [ "$service" != compiler ] || target=worker
    runc exec "$id-$service" python deploy/container.py health "$target"
done
say "one run through all of it; the containers' own health checks agree"
for service in app worker compiler; do
    runc kill "$id-$service" TERM
done
for _ in $(seq 100); do
    [ "$(runc list --quiet | grep -c "^$id-")" != 0 ] || break
    sleep 0.1
done
[ "$(runc list --quiet | grep -c "^$id-")" = 0 ]
say "stopped in order"
