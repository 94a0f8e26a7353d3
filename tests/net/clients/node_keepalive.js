// SPDX-License-Identifier: GPL-2.0-only
// node_keepalive.js ADDRESS PORT REQUESTS CONNECTIONS
// Node's own http client with a keep-alive agent; every answer is checked, and so
// is that no more sockets were opened than asked for.
'use strict';
const http = require('http');

const [address, port, requests, connections] = process.argv.slice(2).map((word, i) => (i ? Number(word) : word));
const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
const sockets = new Set();
let asked = 0;
let right = 0;

function stop(why) {
	console.log(why);
	process.exit(1);
}

function judge(body) {
	if (JSON.parse(body).hash !== '0xa06ae7fd')
		stop(`wrong answer: ${body}`);
	if (++right < requests)
		return;
	console.log(`${right} answers right, ${sockets.size} sockets`);
	agent.destroy();
	process.exit(sockets.size > connections ? 1 : 0);
}

function ask() {
	if (asked++ >= requests)
		return;
	const request = http.get({ host: address, port, path: '/compute?n=1000', agent }, (response) => {
		let body = '';
		response.on('data', (part) => (body += part));
		response.on('end', () => {
			if (response.statusCode !== 200)
				stop(`status ${response.statusCode}: ${body}`);
			judge(body);
			ask();
		});
	});
	request.on('socket', (socket) => sockets.add(socket));
	request.on('error', (error) => stop(`error: ${error.message}`));
}

for (let i = 0; i < connections; i++)
	ask();
