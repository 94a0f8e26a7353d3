#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path_tls.sh BUILD_DIR
# nginx terminates TLS and hands /compute on: on the responder's machine to --local-port,
# and from the clients' namespace across the veth, over AF_XDP. Both configurations are
# those of saker.8, SHARING A PORT, read from there. And what each hop costs, as notes.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/path_lib.sh"
need_nginx 'nginx terminates TLS'
front=
# shellcheck disable=SC2317 # the trap does
stop_front() {
	[ -z "$front" ] || kill -TERM "$front" 2> /dev/null
	[ -z "$front" ] || wait "$front"
	front=
}
trap 'stop_front; stop_nginx; clear_up' EXIT
if ! has openssl 'nginx terminates TLS'; then finish; fi
# shellcheck disable=SC2119 # one queue
network

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=saker \
	-keyout "$dir/key.pem" -out "$dir/cert.pem" > "$dir/openssl" 2>&1
is 'a certificate' $? 0

# --- what saker.8 says ----------------------------------------------------------------------
manual() { # NUMBER: that display of the section
	awk -v wanted="$1" '
	/^\.Sh / { inside = $0 == ".Sh SHARING A PORT" }
	/^\.Bd / && inside { shown = ++number == wanted; next }
	/^\.Ed/ { shown = 0 }
	shown' "$here/../../docs/saker.8"
}

# Its own addresses and files; the worker processes' end is nginx's, `front` the master.
front_conf() {
	cat << END
daemon off;
worker_processes 1;
pid $dir/front.pid;
error_log $dir/front.log warn;
events { }
http {
	access_log off;
	add_header X-Front nginx always;
	client_body_temp_path $dir/front-body;
	proxy_temp_path $dir/front-proxy;
	fastcgi_temp_path $dir/front-fastcgi;
	uwsgi_temp_path $dir/front-uwsgi;
	scgi_temp_path $dir/front-scgi;
	$(manual 2 | sed "s|192.0.2.1:80|$server4:$port|
		s|/etc/nginx/|$dir/|
		s|443 ssl|8443 ssl|")
	server {
		listen 8444 ssl;
		ssl_certificate     $dir/cert.pem;
		ssl_certificate_key $dir/key.pem;
		location = /compute { proxy_pass http://$server4:$port; }
	}
}
END
}

# shellcheck disable=SC2317 # by soon
front_answers() {
	in_c curl -sk -o "$dir/body" --max-time 2 "https://$client4:8443/"
}

start_nginx "
		listen 8082 reuseport;
		listen 8443 ssl http2 reuseport;
		ssl_certificate     $dir/cert.pem;
		ssl_certificate_key $dir/key.pem;"
sed 's/^[[:space:]]*//' "$dir/nginx.conf" > "$dir/lines"
is 'nginx has the lines of saker.8' \
	"$(manual 1 | grep -c . ) $(manual 1 | grep -cxFf - "$dir/lines")" '2 2'
start_path --path-keepalive --local-port=$local_port
front_conf > "$dir/front.conf"
spawn_c nginx -e "$dir/front.log" -p "$dir" -c "$dir/front.conf"
front=$spawned
ok 'nginx beside the clients answers' soon 10 front_answers

# --- answers ----------------------------------------------------------------------------------
direct=$url/compute
proxy=http://$server4:8082/compute
local_tls=https://$server4:8443/compute
front_tls=https://$client4:8443/compute
front_anew=https://$client4:8444/compute

right() { # NAME URL
	is "$1: the right result" "$(hash_of -k "$2?n=1000")" 0xa06ae7fd
	is "$1: of what was posted" "$(hash_of -k -H 'Content-Type: application/json' -d '{"n":2}' "$2")" 0x1076963a
	is "$1: a mistake is answered as one" \
		"$(ask -k -o "$dir/body" -w '%{http_code}' "$2?n=x")" 400
	is "$1: 40 on 8 connections" "$(ask -k -Z --parallel-max 8 -o "$dir/body" -w '%{http_code}\n' \
		"$2?n=[1-40]" | grep -c '^200')" 40
}

# Connections over frames, connections on sockets of the kernel, right answers.
served() {
	stat_json | jq -r '"\(.counters.tcp_opened) \(.counters.sock_accepted) \(.counters.http_ok)"'
}

# shellcheck disable=SC2046 # words
{
	set -- $(served)
	right 'nginx with TLS, to --local-port' $local_tls
	is 'HTTP/2 on the outside' "$(ask -k --http2 -o "$dir/body" -w '%{http_version} %{http_code}' \
		"$local_tls?n=1000")" '2 200'
	is 'below the path too' "$(ask -k -o "$dir/body" -w '%{http_code}' "$local_tls/x")" 404
	set -- "$@" $(served)
	is 'none of it came over frames' $(($4 - $1)) 0
	is 'all of it on the loopback, a connection each' $(($5 - $2)) 45
	is 'the responder counted as many answers' $(($6 - $3)) 43

	set -- $(served)
	right 'nginx with TLS, across the veth' $front_tls
	set -- "$@" $(served)
	is 'none of it came on sockets of the kernel' $(($5 - $2)) 0
	is 'all of it over frames' $(($6 - $3)) 42
	note "connections of nginx: $(($4 - $1))"
	is 'on 8 at most, which nginx keeps' "$(($4 - $1 >= 1 && $4 - $1 <= 8))" 1
}

# --- what each hop costs ------------------------------------------------------------------------
# By turns, so that what else the machine does is in all of them. curl's time from before
# the connection, where there is a new one, to the end of the answer.
timed() { # FILE URL CURL_ARGUMENTS...
	timed_file=$1 timed_url=$2
	shift 2
	in_c curl -sSk --http1.1 --no-sessionid --max-time 10 -o /dev/null -w '%{http_code} %{time_total}\n' "$@" \
		"$timed_url?n=0#[1-100]" >> "$dir/times-$timed_file" 2>&1
}
both() { # FILE URL
	timed "$1" "$2"
	timed "$1-open" "$2" -H 'Connection: close'
}
for _ in 1 2 3 4; do
	both direct $direct
	both proxy $proxy
	both local_tls $local_tls
	both front_anew $front_anew
	both front_tls $front_tls
done
is 'all that were timed were answered' "$(cat "$dir"/times-* | grep -c '^200 ')" 4000

median() { # FILE: in microseconds, without the first of each hundred
	awk 'NR % 100 != 1 { print $2 * 1e6 }' "$dir/times-$1" | sort -n | awk '{ at[NR] = $1 }
	END { print at[int((NR + 1) / 2)] }'
}
cost() { # FILE WHAT
	note "$(printf '%6d us %6d us  %s' "$(median "$1")" "$(median "$1-open")" "$2")"
}
note 'median of a request for /compute?n=0, on an open connection and on a new one each:'
cost direct 'directly, over AF_XDP'
cost proxy 'by nginx, to --local-port'
cost local_tls 'by nginx with TLS, to --local-port'
cost front_anew 'by nginx with TLS, over AF_XDP, a connection each'
cost front_tls 'by nginx with TLS, over AF_XDP, connections kept'
stop_saker
finish
