// SPDX-License-Identifier: GPL-2.0-only
//
// diff_node.js HTTP_ORACLE [SEED [COUNT]]: our parser against Node's, on mutations of the corpus
//
// Model    Each request goes to http.createServer (llhttp, insecureHTTPParser off) through a
//          stream, and to HTTP_ORACLE. Of what we accept Node gets the first message, neither more nor
//          less, so that it must see the same end. What Node rejects and
//          we accept fails, unless EXCUSED names the clause that lets us. What only we reject
//          is counted by our reason: to be stricter is no fault. TAP.

'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const { Duplex } = require('stream');
const { spawnSync } = require('child_process');

const oracle = process.argv[2];
const seed = Number(process.argv[3] || 1);
const count = Number(process.argv[4] || 100000);

// What Node rejects though the RFC allows it: [Node's code, the request, the clause].
const EXCUSED = [
	['HPE_INVALID_METHOD', /^(\r\n)*[!#$%&'*+.^_`|~\w-]+ /,
		'RFC 9110 9.1: any token is a method (ours is answered 501)'],
	[/^HPE_INVALID_(CONTENT_LENGTH|TRANSFER_ENCODING)$/,
		/\r\n(content-length|transfer-encoding):[^\r]*\t[ \t]*\r\n/i,
		'RFC 9112 5: a tab behind a value is white space'],
	[/^HPE_(INVALID|UNEXPECTED)_(CONTENT_LENGTH|TRANSFER_ENCODING)$|^CLOSED$/,
		/\r\n0+(;[^\r]*)?\r\n([^\r]+\r\n)*(content-length|transfer-encoding):/i,
		'RFC 9110 6.5.1: trailers may be discarded, whatever they are'],
];

// --- requests ------------------------------------------------------------------------------

// xorshift32: the same seed, the same requests, everywhere.
let state = (seed * 2654435761) >>> 0 || 1;
function draw(below) {
	state ^= state << 13;
	state >>>= 0;
	state ^= state >>> 17;
	state ^= state << 5;
	state >>>= 0;
	return state % below;
}
const pick = (list) => list[draw(list.length)];

const BYTES = [...'\r\n\t :;,=+-_"\\/%?#@[]*0123456789abcXYZ\0\x01\x0b\x7f\x80\xff'];
const PIECES = [
	'\r\n', '\n', '\r', '\r\n\r\n', ' ', '\t', '  ', ' \r\n', '\r\n ', '\r\n\t', ':', ': ', '0x', '+',
	'Host: b\r\n', 'Host:\r\n', 'Host: a b\r\n', 'Host: u@a\r\n',
	'Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'Content-Length: 5, 5\r\n',
	'Content-Length: +5\r\n', 'Content-Length: 5 \r\n', 'Content-Length:\t5\r\n',
	'Content-Length : 5\r\n', 'Content-Length: 18446744073709551616\r\n', 'content_length: 5\r\n',
	'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip, chunked\r\n',
	'Transfer-Encoding: chunked, gzip\r\n', 'Transfer-Encoding: chunked, chunked\r\n',
	'Transfer-Encoding: identity\r\n', 'Transfer-Encoding:\r\n', 'Transfer-Encoding: xchunked\r\n',
	'Transfer-Encoding: ,chunked\r\n', 'Transfer-Encoding\t: chunked\r\n', 'chunked', 'Chunked',
	'Connection: close\r\n', 'Connection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n',
	'Expect: 100-continue\r\n', 'Expect: x\r\n', 'A: b\r\n', 'A:b\r\n', 'A : b\r\n', ': b\r\n', 'A\r\n',
	'A: \x01\r\n', 'A: \x80\r\n', 'HTTP/1.0', 'HTTP/1.1', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 ',
	'GET ', 'POST ', 'OPTIONS * ', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'http://a/', 'http://a:b/', '//', '#x',
	'0\r\n\r\n', '5\r\nhello\r\n', '5;a=b\r\nhello\r\n', '5;\r\nhello\r\n', '5 \r\nhello\r\n',
	'5;a="\r\nb"\r\nhello\r\n', '00000000000000000005\r\nhello\r\n', 'fffffffffffffffff\r\n', '0\r\nT: u\r\n\r\n',
	'0\r\n\n', '5\nhello\n',
].map((piece) => Buffer.from(piece, 'latin1'));

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const SEEDS = [
	'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
	'POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
	CHUNKED + '5;a=b\r\nhello\r\n0\r\nT: u\r\n\r\n',
	CHUNKED + 'A\r\n0123456789\r\n1;a="b;\\"c"\r\nx\r\n0\r\n\r\n',
	'HEAD http://a:80/b HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n',
];

// The first byte of a file there says how fuzz_http cuts it.
function corpus() {
	const folder = path.join(__dirname, 'corpus', 'http');
	const files = fs.readdirSync(folder).sort();
	return SEEDS.map((text) => Buffer.from(text, 'latin1'))
		.concat(files.map((name) => fs.readFileSync(path.join(folder, name)).subarray(1)))
		.filter((request) => request.length < 4096);
}

function replaced(request, at, gone, piece) {
	return Buffer.concat([request.subarray(0, at), piece, request.subarray(at + gone)]);
}

// Where a line begins, mostly: there the grammar turns.
function place(request) {
	if (!request.length || draw(3) === 0)
		return draw(request.length + 1);
	const at = request.indexOf('\r\n', draw(request.length));
	return at < 0 ? request.length : at + 2;
}

const MUTATIONS = [
	(r) => replaced(r, place(r), 0, pick(PIECES)),
	(r) => replaced(r, place(r), 0, pick(PIECES)),
	(r) => replaced(r, draw(r.length + 1), 1, Buffer.from(pick(BYTES), 'latin1')),
	(r) => replaced(r, draw(r.length + 1), 0, Buffer.from(pick(BYTES), 'latin1')),
	(r) => replaced(r, draw(r.length + 1), 1 + draw(3), Buffer.alloc(0)),
	(r) => { // a line twice, or somewhere else
		const at = place(r), end = r.indexOf('\r\n', at);
		return end < 0 ? r : replaced(r, place(r), 0, r.subarray(at, end + 2));
	},
];

function requests() {
	const seeds = corpus(), made = seeds.slice();
	while (made.length < count) {
		let request = pick(seeds);
		for (let n = draw(4); n >= 0; n--)
			request = pick(MUTATIONS)(request);
		made.push(request);
	}
	return made;
}

// --- the two parsers --------------------------------------------------------------------------

function askOracle(made) {
	const input = [];
	for (const request of made) {
		const prefix = Buffer.alloc(4);
		prefix.writeUInt32LE(request.length);
		input.push(prefix, request);
	}
	const run = spawnSync(oracle, { input: Buffer.concat(input), maxBuffer: 1 << 28, encoding: 'latin1' });
	if (run.status !== 0)
		throw new Error(`${oracle}: status ${run.status}, ${run.error || run.stderr}`);
	return run.stdout.split('\n').slice(0, -1).map((line) => {
		const [verdict, a, b, c, d] = line.split(' ');
		return verdict === 'accept' ?
			{ verdict, method: a, target: b, body: Number(c), used: Number(d) } : { verdict, why: a };
	});
}

const server = http.createServer({ insecureHTTPParser: false, keepAliveTimeout: 0 });
server.on('request', (request) => request.socket.begin(request));
server.on('checkContinue', (request) => request.socket.begin(request));
server.on('checkExpectation', (request) => request.socket.end2({ verdict: 'reject', why: '417' }));
server.on('connect', ({ method, url }, socket) => socket.end2({ verdict: 'accept', method, target: url, body: 0 }));
server.on('clientError', (error, socket) => {
	const early = error.code === 'HPE_INVALID_EOF_STATE' || error.code === 'ECONNRESET';
	socket.end2(early ? { verdict: 'more' } : { verdict: 'reject', why: error.code });
});

// A client that sends it all, then FIN; answers to what becomes of its first message.
function askNode(bytes) {
	return new Promise((resolve) => {
		let message = null;
		const socket = new Duplex({
			read() {},
			write(chunk, encoding, done) {
				// Node's own 400 for a missing Host, before it tells anybody
				if (!message)
					socket.end2({ verdict: 'reject', why: chunk.toString('latin1', 9, 12) });
				done();
			},
		});
		socket.end2 = (outcome) => {
			resolve(outcome);
			socket.destroy();
		};
		socket.begin = (request) => {
			if (message)
				return; // pipelined behind it
			message = request;
			let body = 0;
			request.on('data', (chunk) => { body += chunk.length; });
			request.on('end', () => socket.end2({
				verdict: 'accept', method: request.method, target: request.url, body }));
			request.on('error', () => {}); // clientError says why
		};
		socket.on('error', () => {});
		socket.on('close', () => resolve({ verdict: 'reject', why: 'CLOSED' })); // with Upgrade: no word why
		server.emit('connection', socket);
		socket.push(bytes);
		socket.push(null);
	});
}

// --- the comparison ------------------------------------------------------------------------------

function excused(node, request) {
	const text = request.toString('latin1');
	return EXCUSED.find(([code, pattern]) => node.why.match(code) && pattern.test(text));
}

function same(ours, node) {
	// Ours is cut down to path and query where Node's is in absolute-form.
	const target = node.target === ours.target || node.target.endsWith(ours.target) ||
		/^https?:\/\/[^/?]*$/i.test(node.target);
	return ours.method === node.method && ours.body === node.body && target;
}

function tell(list, made) {
	for (const { index, ours, node } of list.slice(0, 10))
		console.log(`# ${JSON.stringify(made[index].toString('latin1'))}\n` +
			`#   ours ${JSON.stringify(ours)}, Node's ${JSON.stringify(node)}`);
}

async function main() {
	const made = requests(), ours = askOracle(made);
	const tally = {}, accepted = [], different = [];
	const add = (what) => { tally[what] = (tally[what] || 0) + 1; };

	for (let index = 0; index < made.length; index++) {
		const our = ours[index], node = await askNode(made[index].subarray(0, our.used));
		const found = { index, ours: our, node };
		if (our.verdict === 'accept' && node.verdict === 'accept' && !same(our, node))
			different.push(found);
		if (our.verdict === 'accept' && node.verdict !== 'accept') {
			const excuse = node.verdict === 'reject' && excused(node, made[index]);
			if (excuse)
				add(`only Node rejects: ${excuse[2]}`);
			else
				accepted.push(found);
		} else if (our.verdict === 'reject' && node.verdict === 'accept') {
			add(`only we reject: ${our.why}`);
		} else {
			add(our.verdict === node.verdict ? `both ${our.verdict}` : `ours ${our.verdict}, Node's ${node.verdict}`);
		}
	}

	console.log('1..3');
	console.log(`${accepted.length ? 'not ' : ''}ok 1 - of ${made.length} requests (seed ${seed}) none that Node ${process.version} rejects is accepted`);
	tell(accepted, made);
	console.log(`${different.length ? 'not ' : ''}ok 2 - where both accept, they see the same message`);
	tell(different, made);
	const enough = tally['both accept'] > made.length / 50 && tally['both reject'] > made.length / 10;
	console.log(`${enough ? '' : 'not '}ok 3 - there are enough of both kinds`);
	for (const what of Object.keys(tally).sort())
		console.log(`# ${String(tally[what]).padStart(6)} ${what}`);
	process.exit(accepted.length || different.length || !enough ? 1 : 0);
}

main();
