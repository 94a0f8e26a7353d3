#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-only
/*
 * compute.js ADDRESS PORT - /compute by Node's http module, as one would write it
 *
 * Place    A peer of the latency lab (docs/peer.md): experiments start it, saker-load asks.
 * Model    One event loop. A request is computed at once, so others wait meanwhile; that is
 *          what such a service does, and what is compared. No cluster, no worker threads.
 * Limits   n up to 100000000; bodies up to 16 KiB; JSON and query, no forms.
 *          64-bit algorithms use BigInt, which is some 100 times slower than 32 bits are.
 */
'use strict';
const http = require('http');

const MAX_N = 100000000;
const MAX_BODY = 16384;
const mask = (1n << 64n) - 1n;

// Math.imul is the low 32 bits of a product; `>>> 0` makes it unsigned.
function fnv1a32(n, seed) {
	let h = Number(seed) | 0;
	for (let i = 0; i < n; i++)
		h = Math.imul(h ^ i, 16777619);
	return BigInt(h >>> 0);
}

function fnv1a64(n, seed) {
	let h = seed;
	for (let i = 0n, end = BigInt(n); i < end; i++)
		h = ((h ^ i) * 1099511628211n) & mask;
	return h;
}

function mix64(n, seed) {
	let h = seed;
	for (let i = 0n, end = BigInt(n); i < end; i++) {
		h ^= i;
		h ^= h >> 30n;
		h = (h * 0xbf58476d1ce4e5b9n) & mask;
		h ^= h >> 27n;
		h = (h * 0x94d049bb133111ebn) & mask;
		h ^= h >> 31n;
	}
	return h;
}

const algorithms = {
	fnv1a32: { loop: fnv1a32, seed: 2166136261n, bits: 32n },
	fnv1a64: { loop: fnv1a64, seed: 0xcbf29ce484222325n, bits: 64n },
	mix64: { loop: mix64, seed: 0n, bits: 64n },
};

// What was asked, checked; throws a text for the client.
function read({ n = '10000000', seed, alg = 'fnv1a32' }) {
	if (!Object.hasOwn(algorithms, alg))
		throw 'alg: fnv1a32, fnv1a64 or mix64';
	const algorithm = algorithms[alg];
	if (!/^\d{1,9}$/.test(n) || Number(n) > MAX_N)
		throw `n: 0 ... ${MAX_N}`;
	if (seed !== undefined && !/^(\d{1,20}|0x[0-9a-f]{1,16})$/i.test(seed))
		throw 'seed: decimal or 0x...';
	const start = seed === undefined ? algorithm.seed : BigInt(seed);
	if (start >> algorithm.bits)
		throw `seed: at most ${algorithm.bits} bits`;
	return { alg, n: Number(n), seed: start, loop: algorithm.loop, bits: algorithm.bits };
}

function answer({ alg, n, seed, loop, bits }) {
	const spell = (value) => '0x' + value.toString(16).padStart(Number(bits / 4n), '0');
	const began = process.hrtime.bigint();
	const hash = loop(n, seed);
	const took = Number(process.hrtime.bigint() - began);
	return { alg, n, seed: spell(seed), hash: spell(hash), compute_ns: took };
}

function send(response, status, value, headers = {}) {
	const body = JSON.stringify(value);
	response.writeHead(status, {
		'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers });
	response.end(body);
}

function compute(response, values) {
	let request;
	try {
		request = read(values);
	} catch (error) {
		return send(response, 400, { error: String(error) });
	}
	const done = answer(request);
	send(response, 200, done, { 'Server-Timing': `compute;dur=${done.compute_ns / 1e6}` });
}

// Numbers of a JSON body as the texts that they have in a query. A seed above 2^53 must come
// as a string: JSON.parse rounds it.
function texts(body) {
	const values = JSON.parse(body);
	return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

function post(request, response) {
	let body = '';
	request.on('data', (part) => {
		body += part;
		if (body.length > MAX_BODY)
			request.destroy();
	});
	request.on('end', () => {
		let values;
		try {
			values = texts(body);
		} catch {
			return send(response, 400, { error: 'body: not JSON' });
		}
		compute(response, values);
	});
}

const server = http.createServer((request, response) => {
	const { pathname, searchParams } = new URL(request.url, 'http://peer');
	if (pathname !== '/compute')
		return send(response, 404, { error: 'only /compute is here' });
	if (request.method === 'GET' || request.method === 'HEAD')
		return compute(response, Object.fromEntries(searchParams));
	if (request.method === 'POST')
		return post(request, response);
	send(response, 405, { error: 'GET, HEAD or POST' }, { Allow: 'GET, HEAD, POST' });
});

const [address, port] = process.argv.slice(2);
if (!port) {
	console.error('usage: compute.js ADDRESS PORT');
	process.exit(2);
}
server.keepAliveTimeout = 60000; // as long as the responder's --idle-timeout, not Node's 5 s
server.on('error', (error) => {
	console.error(`compute.js: ${address} port ${port}: ${error.code}`);
	process.exit(1);
});
process.on('SIGTERM', () => process.exit(0));
server.listen({ host: address, port: Number(port), backlog: 4096 });
