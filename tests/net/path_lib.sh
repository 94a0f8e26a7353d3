# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# path_lib.sh - nginx and the responder on one port of one veth
#
# Place    The path*.sh source it behind lib.sh.
# nginx    Beside the responder, on the clients' CPU unless a script says otherwise: the
#          responder's spins. It says that it is nginx in a header, which
#          stays on what it proxies. `/` is its own; the proxy_pass are those of saker.8,
#          SHARING A PORT.
# shellcheck disable=SC2154 # lib.sh has them

local_port=8081
nginx_cpu=$client_cpu nginx_workers=2
nginx=

shared_conf() { # [LINES...]: of the server block
	cat << END
daemon off;
worker_processes $nginx_workers;
worker_rlimit_nofile 8192;
pid $dir/nginx.pid;
error_log $dir/nginx.log warn;
events { worker_connections 4096; }
http {
	access_log off;
	keepalive_requests 1000000;
	client_body_temp_path $dir/nginx-body;
	proxy_temp_path $dir/nginx-proxy;
	fastcgi_temp_path $dir/nginx-fastcgi;
	uwsgi_temp_path $dir/nginx-uwsgi;
	scgi_temp_path $dir/nginx-scgi;
	server {
		listen $port reuseport;
		listen [::]:$port reuseport;
		add_header X-Server nginx always;
		$*
		location / {
			default_type text/plain;
			return 200 "the page\n";
		}
		location = /compute { proxy_pass http://127.0.0.1:$local_port; }
		location /compute/  { proxy_pass http://127.0.0.1:$local_port; }
	}
}
END
}

# Answers even before the responder is there.
page_answers() {
	[ "$(in_s curl -s --max-time 2 "http://127.0.0.1:$port/")" = 'the page' ]
}

start_nginx() { # [LINES...]: of the server block
	shared_conf "$@" > "$dir/nginx.conf"
	spawn_s taskset -c "$nginx_cpu" nginx -e "$dir/nginx.log" -p "$dir" -c "$dir/nginx.conf"
	nginx=$spawned
	soon 10 page_answers && return
	fail 'nginx answers' "$(cat "$dir/nginx.log")"
	finish
}

# Its workers are not ours to kill: it ends them itself.
stop_nginx() {
	[ -z "$nginx" ] || kill -TERM "$nginx"
	[ -z "$nginx" ] || wait "$nginx"
	nginx=
}

need_nginx() { # NAME
	has nginx "$1" || finish
	trap 'stop_nginx; clear_up' EXIT
}

start_path() { # ARGUMENTS...
	start_saker --steer=path "$@"
}

# Who answered: nginx says so, the responder's answers over frames do not.
who() { # CURL_ARGUMENTS...: "STATUS nginx" or "STATUS saker"
	ask -o "$dir/body" -D "$dir/head" -w '%{http_code}' "$@"
	if grep -qi '^x-server: nginx' "$dir/head"; then echo ' nginx'; else echo ' saker'; fi
}
