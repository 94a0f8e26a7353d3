// SPDX-License-Identifier: GPL-2.0-only
// origin.js ADDRESS PORT
// Both paths of one origin by Node's http with a keep-alive agent, and by its fetch.
// Prints "ok - NAME" or "not ok - NAME".
'use strict';
const http = require('http');

const [address, port] = process.argv.slice(2);
const origin = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
const right = { '/': 'the page\n', '/compute?n=1000': '"hash":"0xa06ae7fd"' };
const count = 1000;
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function byAgent(target) {
	return new Promise((resolve, reject) => {
		http.get(origin + target, { agent }, (response) => {
			let body = '';
			response.on('data', (part) => (body += part));
			response.on('end', () => resolve([response.statusCode, body]));
		}).on('error', reject);
	});
}

async function byFetch(target) {
	const response = await fetch(origin + target);
	return [response.status, await response.text()];
}

// Eight at a time; which path is next is drawn from a fixed sequence.
async function all(name, ask) {
	let asked = 0;
	let good = 0;
	let random = 1;
	const wrong = [];
	async function some() {
		while (asked++ < count) {
			random = (random * 1103515245 + 12345) % 2147483648;
			const target = Object.keys(right)[(random >> 16) & 1];
			try {
				const [status, body] = await ask(target);
				if (status === 200 && body.includes(right[target]))
					good++;
				else
					wrong.push([target, status, body]);
			} catch (error) {
				wrong.push([target, String(error.cause ?? error)]);
			}
		}
	}
	await Promise.all(Array.from({ length: 8 }, some));
	console.log(good === count ? `ok - ${name}` :
		`not ok - ${name}\n# ${good} of ${count} right; ${JSON.stringify(wrong.slice(0, 3))}`);
}

(async () => {
	await all('Node\'s agent: 1,000 of both', byAgent);
	await all('Node\'s fetch: 1,000 of both', byFetch);
	agent.destroy();
})();
