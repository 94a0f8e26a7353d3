// SPDX-License-Identifier: GPL-2.0-only
// node_client.js ADDRESS PORT
// What Node's http and fetch do that curl does not: 100 Continue as an event,
// streams as chunks, an answer that comes before the body is sent.
// Prints "ok - NAME" or "not ok - NAME".
'use strict';
const http = require('http');

const [address, port] = process.argv.slice(2);
const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const type = { 'Content-Type': 'application/json' };
const right = '0xa06ae7fd'; // fnv1a32, n=1000

function report(name, got, wanted) {
	got = JSON.stringify(got);
	wanted = JSON.stringify(wanted);
	console.log(got === wanted ? `ok - ${name}` : `not ok - ${name}\n# got ${got}, wanted ${wanted}`);
}

// send(request) writes the body and ends the request; resolves to [status, body].
function ask(options, send) {
	return new Promise((resolve, reject) => {
		const request = http.request(url, { agent, ...options }, (response) => {
			let body = '';
			response.on('data', (part) => (body += part));
			response.on('end', () => resolve([response.statusCode, body]));
		});
		request.on('error', reject);
		send(request);
	});
}

async function tellsToContinue() {
	let told = 0;
	const [status, body] = await ask(
		{ method: 'POST', path: '/compute', headers: { ...type, Expect: '100-continue' } },
		(request) => {
			request.on('continue', () => {
				told++;
				request.end('{"n":1000}');
			});
			request.flushHeaders();
		},
	);
	report('100 Continue, once, then the answer', [told, status, JSON.parse(body).hash], [1, 200, right]);
}

async function takesChunks() {
	const [status, body] = await ask({ method: 'POST', path: '/compute', headers: type }, (request) => {
		for (const byte of '{"n":1000}')
			request.write(byte);
		request.end();
	});
	report('a chunk for each byte', [status, JSON.parse(body).hash], [200, right]);
}

// The length alone says that the body is too long; it comes all the same.
async function refusesEarly() {
	const [status] = await ask({ method: 'POST', path: '/compute', headers: { ...type, 'Content-Length': 1 << 20 } },
		(request) => request.end(Buffer.alloc(1 << 20, ' ')));
	report('413 to a body of 1 MiB, read while it is still sent', status, 413);
}

async function fetches() {
	const got = await fetch(`${url}/compute?n=1000`);
	report('fetch: GET', [got.status, (await got.json()).hash], [200, right]);
	const body = new ReadableStream({
		start(controller) {
			for (const part of ['{"n":', '1000', '}'])
				controller.enqueue(Buffer.from(part));
			controller.close();
		},
	});
	const posted = await fetch(`${url}/compute`, { method: 'POST', headers: type, body, duplex: 'half' });
	report('fetch: POST of a stream', [posted.status, (await posted.json()).hash], [200, right]);
	const all = await Promise.all(Array.from({ length: 50 }, (_, i) => fetch(`${url}/compute?n=1000&seed=${i}`)));
	report('fetch: 50 at once', all.filter((one) => one.ok).length, 50);
}

async function main() {
	await tellsToContinue();
	await takesChunks();
	await fetches();
	await refusesEarly();
	process.exit();
}

main();
