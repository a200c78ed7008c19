# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For the stories: a ministore that is there until the next one is wanted. Sourced by a shell.

# serve OPTION...: starts a ministore; $daemon is its process, $port where it listens
serve() {
    stop_serving
    rm -rf data
    mkdir data
    ministore --port 0 --data data "$@" >ministore.log 2>&1 &
    daemon=$!
    local tries=0
    until port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' ministore.log) && [ -n "$port" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ] || ! kill -0 "$daemon" 2>/dev/null; then
            cat ministore.log >&2
            return 1
        fi
        sleep 0.05
    done
}

stop_serving() {
    [ -n "${daemon:-}" ] || return 0
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    daemon=
}

# load ARGUMENT...: puts load on it, as `ministore-load` has it, and prints the throughput
load() {
    ministore-load "$1" "$seconds" --port "$port" --quiet "${@:2}" >load.txt 2>&1 || {
        cat load.txt >&2
        return 1
    }
    grep -E '^(Average IOPS|Average Latency)' load.txt
}
