# What the hooks of this charm share. Sourced by them.

set -eu

dir=$DROVER_UNIT_DIR
pid_file=$dir/page.pid
port=$(config-get port)
address=$(unit-get private-address)

running() {
    [ -s "$pid_file" ] && grep -q demo-page "/proc/$(cat "$pid_file")/cmdline" 2>/dev/null
}

answers() {
    (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null
}

start_page() {
    if ! running; then
        setsid drover demo-page --listen "$address:$port" --config "$dir/page.conf" \
            >>"$dir/page.log" 2>&1 </dev/null &
        echo $! >"$pid_file"
    fi
    for _ in $(seq 100); do
        if answers; then
            return 0
        fi
        kill -0 "$(cat "$pid_file")" 2>/dev/null || break
        sleep 0.05
    done
    juju-log -l ERROR "the page does not answer on $address:$port: $(tail -n 1 "$dir/page.log")"
    return 1
}

stop_page() {
    if running; then
        kill "$(cat "$pid_file")"
        for _ in $(seq 100); do
            running || break
            sleep 0.05
        done
    fi
    rm -f "$pid_file"
}

# stores prints a line for each store that has published all it must.
stores() {
    local id unit host store_port password
    for id in $(relation-ids db); do
        for unit in $(relation-list -r "$id"); do
            host=$(relation-get -r "$id" address "$unit")
            store_port=$(relation-get -r "$id" port "$unit")
            password=$(relation-get -r "$id" password "$unit")
            if [ -n "$host" ] && [ -n "$store_port" ] && [ -n "$password" ]; then
                echo "store $unit $host $store_port $password"
            fi
        done
    done
}

# update writes the page's configuration from the relations, and runs the page
# if there is a store to run it over. The page reads the file at each request.
update() {
    local found count old
    found=$(stores)
    if [ -z "$found" ]; then
        stop_page
        status-set waiting "for a store to publish its address and password"
        return 0
    fi
    umask 077
    mkdir -p "$dir"
    {
        echo "title $(config-get title | head -n 1)"
        echo "unit $JUJU_UNIT_NAME"
        echo "$found"
    } >"$dir/page.conf.new"
    mv "$dir/page.conf.new" "$dir/page.conf"
    old=$(cat "$dir/port" 2>/dev/null || echo "$port")
    if [ "$old" != "$port" ]; then
        stop_page
        close-port "$old/tcp"
    fi
    start_page
    echo "$port" >"$dir/port"
    open-port "$port/tcp"
    for id in $(relation-ids website); do
        relation-set -r "$id" address="$address" port="$port" started="$(stat -c %Y "$pid_file")"
    done
    count=$(echo "$found" | wc -l)
    status-set active "serving on port $port from $count store(s)"
}
