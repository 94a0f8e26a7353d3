#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: dashboard.sh BUILD_DIR
# packaging/grafana/saker.json: each name in it is one that /metrics prints, and each of its
# queries is answered by a Prometheus that has scraped a responder under load.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
dashboard=$here/../../packaging/grafana/saker.json
prometheus=127.0.0.1:9190 # in the namespace of the responder
network

ok 'it is JSON, with panels, and no two in one place' jq -e '
	[.panels[] | select(.type != "row") | .gridPos | "\(.x) \(.y)"]
	| length > 20 and length == (unique | length)' "$dashboard"
start_saker
ok 'load' in_c ab -q -k -n 2000 -c 8 "$url/compute?n=1000"
ask -f "$url/metrics" > "$dir/text"
sed -n 's/^# TYPE \(saker_[a-z0-9_]*\) .*/\1/p' "$dir/text" | sort > "$dir/printed"
jq -r '.. | .expr? // empty, .query?.query? // empty' "$dashboard" > "$dir/queries"
grep -oE 'saker_[a-z0-9_]+[a-z0-9]' "$dir/queries" | sed 's/_seconds_bucket$/_seconds/' |
	grep -v '^saker_\(xdp_pass\|xdp_drop\|pkt\)$' | sort -u > "$dir/used"
least 'names in it' "$(wc -l < "$dir/used")" 40
is 'each is printed by /metrics' "$(comm -23 "$dir/used" "$dir/printed")" ''

scraped() {
	[ "$(in_s curl -s "http://$prometheus/api/v1/query" --data-urlencode 'query=count_over_time(saker_ready[1m])' |
		jq -r '.data.result[0].value[1] // 0')" -ge 6 ]
}

if has prometheus 'Prometheus answers each query'; then
	cat > "$dir/prometheus.yml" <<- END
		global: { scrape_interval: 1s }
		scrape_configs:
		  - { job_name: saker, static_configs: [ { targets: [ "$server4:$port" ] } ] }
	END
	spawn_s prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" \
		--web.listen-address=$prometheus --log.level=error > "$dir/prometheus.log" 2>&1
	ok 'Prometheus scrapes the responder' soon 40 scraped
	in_c ab -q -k -n 4000 -c 8 "$url/compute?n=1000" > /dev/null 2>&1
	sleep 2
	adopt <<- END
		$(in_s "$here/clients/dashboard.py" "$dashboard" http://$prometheus)
	END
	kill "$spawned"
fi
stop_saker
finish
