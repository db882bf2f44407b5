# What the hooks of this charm share. Sourced by them.

set -eu

dir=$DROVER_UNIT_DIR
pid_file=$dir/store.pid
port=$(config-get port)
address=$(unit-get private-address)

# running says whether the server of the pid file is alive. The name is checked,
# because after a reboot the pid may be somebody else's.
running() {
    [ -s "$pid_file" ] && grep -q demo-store "/proc/$(cat "$pid_file")/cmdline" 2>/dev/null
}

answers() {
    (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null
}

start_server() {
    if ! running; then
        mkdir -p "$dir/data"
        setsid drover demo-store --listen "$address:$port" --dir "$dir/data" \
            --password-file "$dir/password" >>"$dir/store.log" 2>&1 </dev/null &
        echo $! >"$pid_file"
    fi
    for _ in $(seq 100); do
        if answers; then
            return 0
        fi
        kill -0 "$(cat "$pid_file")" 2>/dev/null || break
        sleep 0.05
    done
    juju-log -l ERROR "the server does not answer on $address:$port: $(tail -n 1 "$dir/store.log")"
    return 1
}

stop_server() {
    if running; then
        kill "$(cat "$pid_file")"
        for _ in $(seq 100); do
            running || break
            sleep 0.05
        done
    fi
    rm -f "$pid_file"
}

# publish tells one relation, or the hook's own, where the server is.
publish() {
    relation-set ${1:+-r "$1"} address="$address" port="$port" password="$(cat "$dir/password")"
}
