// SPDX-License-Identifier: GPL-2.0-only
// look.js PAGE FOLDER COMMAND...
// COMMAND is a headless Chromium. It opens PAGE as a file, wide, as wide as a phone, and dark:
// nothing may be fetched, nothing may be said on the console, and the page itself may not
// scroll sideways. Leaves wide.png, phone.png, dark.png in FOLDER. With OPEN=1 all that folds
// is open. Prints "ok - NAME" or "not ok - NAME".
'use strict';
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');
const { report, start } = require('../chromium');

const [file, folder, ...command] = process.argv.slice(2);
const address = pathToFileURL(path.resolve(file)).href;
const said = [];
const fetched = [];
let loaded = () => {};

function event(message) {
	const what = message.params;
	if (message.method === 'Page.loadEventFired')
		loaded();
	else if (message.method === 'Runtime.consoleAPICalled')
		said.push(what.args.map((one) => one.value ?? one.description).join(' '));
	else if (message.method === 'Runtime.exceptionThrown')
		said.push(what.exceptionDetails.text);
	else if (message.method === 'Log.entryAdded')
		said.push(`${what.entry.level}: ${what.entry.text} ${what.entry.url ?? ''}`);
	else if (message.method === 'Network.requestWillBeSent')
		fetched.push(what.request.url);
}

const browser = start(command, ['--hide-scrollbars'], event);
const { call } = browser;

// In the page: what reaches beyond the right edge, not counting what scrolls in a box of its own.
const BEYOND = `(() => {
	const wide = document.documentElement.clientWidth;
	const boxed = (e) => e.closest('.wide') && !e.matches('.wide') || e.closest('svg');
	return { scroll: document.documentElement.scrollWidth, wide,
		first: [...document.querySelectorAll('body *')].filter((e) => !boxed(e)
			&& e.getBoundingClientRect().right > wide + 1)
			.slice(0, 3).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 60)) };
})()`;

// Text of a plot that another text of it, or its edge, covers.
const COVERED = `(() => {
	const bad = [];
	for (const svg of document.querySelectorAll('svg.plot')) {
		const frame = svg.getBoundingClientRect();
		if (!frame.width)
			continue;
		const boxes = [...svg.querySelectorAll('text')].map((e) => [e.textContent, e.getBoundingClientRect()]);
		boxes.forEach(([text, a], i) => {
			if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.bottom > frame.bottom + 1)
				bad.push(svg.getAttribute('aria-label') + ': beyond the edge: ' + text);
			for (const [other, b] of boxes.slice(i + 1))
				if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
					bad.push(svg.getAttribute('aria-label') + ': ' + text + ' / ' + other);
		});
	}
	return bad.slice(0, 5);
})()`;

async function look(name, width, dark) {
	const { sessionId, inPage } = await browser.open();
	for (const domain of ['Page', 'Runtime', 'Log', 'Network'])
		await call(`${domain}.enable`, {}, sessionId);
	await call('Emulation.setDeviceMetricsOverride', { width, height: 900,
		deviceScaleFactor: width < 600 ? 2 : 1, mobile: width < 600 }, sessionId);
	await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme',
		value: dark ? 'dark' : 'light' }] }, sessionId);
	said.length = fetched.length = 0;
	const isLoaded = new Promise((resolve) => (loaded = resolve));
	await call('Page.navigate', { url: address }, sessionId);
	await isLoaded;

	const there = await inPage("[document.querySelectorAll('h2').length, document.querySelectorAll('svg.plot path').length]");
	report(`${name}: it is a report with plots`, there && there[0] > 3 && there[1] > 100, there);
	const folded = await call('Page.getLayoutMetrics', {}, sessionId);
	if (process.env.OPEN)
		await inPage("document.querySelectorAll('details').forEach((e) => (e.open = true))");
	const { cssContentSize } = process.env.OPEN ? await call('Page.getLayoutMetrics', {}, sessionId) : folded;
	const { data } = await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true,
		clip: { x: 0, y: 0, width, height: Math.min(cssContentSize.height, 16000), scale: 1 } }, sessionId);
	fs.writeFileSync(path.join(folder, `${name}.png`), Buffer.from(data, 'base64'));

	await inPage("document.querySelectorAll('details').forEach((e) => (e.open = true))");
	const beyond = await inPage(BEYOND);
	report(`${name}: ${width} px wide, nothing scrolls the page sideways`,
		beyond && beyond.scroll <= beyond.wide && !beyond.first.length, beyond);
	const covered = await inPage(COVERED);
	report(`${name}: no text of a plot covers another`, covered && !covered.length, covered);
	report(`${name}: nothing is fetched but the page`, fetched.filter((url) => !url.startsWith('data:')).join() === address,
		fetched);
	report(`${name}: nothing is said on the console`, !said.length, said);
}

browser.run(async () => {
	await look('wide', 1280, false);
	await look('phone', 390, false);
	await look('dark', 1280, true);
}, 90);
