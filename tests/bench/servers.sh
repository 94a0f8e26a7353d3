# shellcheck shell=sh disable=SC2034,SC2086,SC2154
# SPDX-License-Identifier: GPL-2.0-only
# servers.sh - the two that are compared; sourced behind tests/net/lib.sh
#
# Place    tests/bench/*.sh. Both run on CPU 1, one at a time.

nginx_port=8081

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

need() { # PROGRAM...
	[ "$(nproc)" -ge 2 ] || die 'needs two CPUs: one for the server, one for the client'
	for one; do
		command -v "$one" > /dev/null || die "needs $one"
	done
}

saker_up() { # OPTIONS...
	spawn_s taskset -c 1 "$build/saker" -i server0 -p $port --io-cpu=1 --io=xdp-native "$@" \
		2> "$dir/log"
	saker=$spawned
	soon 10 is_ready || die "$(cat "$dir/log")"
}

down() { # NUMBER
	kill "$1"
	wait "$1"
}

# As many bytes of body as ours. nginx's defaults, but one worker, no log, and no
# end of keep-alive connections.
nginx_conf() {
	mkdir -p "$dir/nginx"
	cat > "$dir/nginx/conf" <<- END
	daemon off;
	user root;
	worker_processes 1;
	pid $dir/nginx/pid;
	error_log $dir/nginx/error;
	events { }
	http {
		access_log off;
		keepalive_requests 1000000000;
		client_body_temp_path $dir/nginx/body;
		proxy_temp_path $dir/nginx/proxy;
		fastcgi_temp_path $dir/nginx/fastcgi;
		uwsgi_temp_path $dir/nginx/uwsgi;
		scgi_temp_path $dir/nginx/scgi;
		server {
			listen $nginx_port;
			default_type application/json;
			return 200 '$1';
		}
	}
	END
}

nginx_answers() {
	in_c curl -sf -o /dev/null "http://$server4:$nginx_port/"
}

nginx_up() {
	spawn_s taskset -c 1 nginx -p "$dir/nginx" -c "$dir/nginx/conf"
	nginx=$spawned
	soon 10 nginx_answers || die 'nginx does not answer'
}
