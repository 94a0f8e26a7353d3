// SPDX-License-Identifier: GPL-2.0-only
// browser.js ADDRESS PORT COMMAND...
// COMMAND is a headless Chromium: it opens /compute as a page, and that page fetches /compute
// again and reads what Server-Timing said.
// With SHARED=1 the page is / of the web server on the same port, and fetches from both.
// Prints "ok - NAME" or "not ok - NAME".
'use strict';
const { report, start } = require('../../chromium');

const [address, port, ...command] = process.argv.slice(2);
const origin = `http://${address}:${port}`;
let loaded = () => {};
// Server-Timing is shown to secure origins only: TLS, or one named here.
const browser = start(command, [`--unsafely-treat-insecure-origin-as-secure=${origin}`],
	(message) => message.method === 'Page.loadEventFired' && loaded());
const { call } = browser;

// In the page: a list of [name, milliseconds].
const timings = (entry) => `${entry}.serverTiming.map((one) => [one.name, one.duration])`;
const took = (list, name) => list?.find(([one]) => one === name)?.[1];

// A port that is shared path by path: SHARED=1.
async function shared(inPage) {
	const counts = await inPage(`Promise.all(Array.from({ length: 120 }, (_, i) => i * 7 % 3 ?
		fetch('/compute?n=1000&seed=' + i, { cache: 'no-store' })
			.then(async (a) => a.status === 200 && (await a.json()).n === 1000 ? 'ours' : a.status) :
		fetch('/?' + i, { cache: 'no-store' })
			.then(async (a) => a.status === 200 && (await a.text()) === 'the page\\n' ? 'web' : a.status)))
		.then((all) => all.reduce((sum, one) => ({ ...sum, [one]: (sum[one] ?? 0) + 1 }), {}))`);
	report('the page of one server fetches 120 times from both', counts?.ours === 80 && counts?.web === 40, counts);
}

async function main() {
	const { sessionId, inPage } = await browser.open();
	await call('Page.enable', {}, sessionId);
	const isLoaded = new Promise((resolve) => (loaded = resolve));
	await call('Page.navigate', { url: `${origin}${process.env.SHARED ? '/' : '/compute?n=1000'}` }, sessionId);
	await isLoaded;
	if (process.env.SHARED) {
		await shared(inPage);
		return;
	}

	const text = await inPage('document.body.innerText');
	report('/compute as a page', /"hash":"0xa06ae7fd"/.test(text), text);
	const own = await inPage(timings("performance.getEntriesByType('navigation')[0]"));
	report('the page reads Server-Timing of itself', took(own, 'compute') >= 0, own);
	const fetched = await inPage(`(async () => {
		const answer = await fetch('/compute?n=2000000', { cache: 'no-store' });
		const body = await answer.json();
		const times = ${timings('performance.getEntriesByName(answer.url)[0]')};
		return { status: answer.status, n: body.n, times };
	})()`);
	report('the page fetches /compute', fetched?.status === 200 && fetched.n === 2000000, fetched);
	report('and reads Server-Timing: two million rounds took time', took(fetched?.times, 'compute') > 0.1, fetched);
	const posted = await inPage(`Promise.all(Array.from({ length: 24 }, (_, i) => fetch('/compute', {
		method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ n: 1000 + i }) })
		.then((answer) => answer.json()).then((body) => body.n))).then((all) => all.join())`);
	report('24 posts at once', posted === Array.from({ length: 24 }, (_, i) => 1000 + i).join(), posted);
}

browser.run(main, 40);
