// SPDX-License-Identifier: GPL-2.0-only
// chromium.js - a headless Chromium, driven over its debugging pipe: JSON, each message ended by
// NUL, on descriptors 3 and 4. With it the few lines that its users print: "ok - NAME" or
// "not ok - NAME". end() closes it, removes its profile and ends the program.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const PATIENCE_MS = 5000; // for it to close when it is asked to

function report(name, good, detail) {
	console.log(good ? `ok - ${name}` : `not ok - ${name}\n# ${JSON.stringify(detail)}`);
}

// command: the program and its first words. heard(message): an event.
function start(command, options, heard) {
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'saker-browser-'));
	// --no-sandbox: it refuses to run as root otherwise; it sees our pages only.
	const browser = spawn(command[0], [...command.slice(1), '--headless', '--no-sandbox', '--disable-gpu',
		'--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', ...options,
		`--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank'],
		{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
	const [, , , writer, reader] = browser.stdio;
	const waiting = new Map();
	let number = 0;
	let unread = '';

	reader.on('data', (part) => {
		const messages = (unread + part).split('\0');
		unread = messages.pop();
		for (const message of messages.map((text) => JSON.parse(text))) {
			heard(message);
			waiting.get(message.id)?.(message);
			waiting.delete(message.id);
		}
	});

	function call(method, params = {}, sessionId = undefined) {
		return new Promise((resolve, reject) => {
			waiting.set(++number, (m) => (m.error ? reject(new Error(m.error.message)) : resolve(m.result)));
			writer.write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
		});
	}

	function end(status) {
		browser.on('exit', () => {
			fs.rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
			process.exit(status);
		});
		// Asked to, it ends its children too; killed, they would write to the profile once more.
		call('Browser.close').catch(() => {});
		setTimeout(() => browser.kill('SIGKILL'), PATIENCE_MS);
	}

	// An empty page: its session, and what an expression is worth in it.
	async function open() {
		const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
		const inPage = async (expression) => {
			const answer = await call('Runtime.evaluate',
				{ expression, awaitPromise: true, returnByValue: true }, sessionId);
			return answer.result.value;
		};
		return { sessionId, inPage };
	}

	// main, which ends by itself, or what went wrong.
	function run(main, patienceSeconds) {
		setTimeout(() => {
			console.log(`not ok - the browser answered within ${patienceSeconds} s`);
			end(1);
		}, patienceSeconds * 1000);
		main().then(() => end(0), (error) => {
			console.log(`not ok - the browser works\n# ${error.message}`);
			end(1);
		});
	}

	return { call, open, run };
}

module.exports = { report, start };
