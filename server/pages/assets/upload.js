// SPDX-License-Identifier: Apache-2.0
// Sends the files that were chosen, or dropped on any page, in pieces, and shows how far they are.
// Everything else of the pages works without scripts.

const SLICE = 4 << 20; // bytes that are read and hashed at a time
const NOTES_MAX = 1 << 20; // bytes of one section of notes
const TRIES = 20; // without a byte of progress: some minutes
const LOOK_AGAIN_MS = 1000;
// A network can be lost without the browser noticing: no error, and no byte moves. A request that
// does not move for so long is begun again; the server keeps what it has received.
const STALLED_MS = 20000;
const DROPPED_MAX = 1000; // files of folders that are dropped at once
const ANSWER_MS = 300000; // for an answer to a complete request: the server may have to check a file

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

// FIPS 180-4. The browser's own function needs the whole file at once, and is absent without TLS.
class Sha256 {
	static K = new Uint32Array([
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
		0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
		0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
		0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
		0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
		0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
		0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
		0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
		0xc67178f2,
	]);
	state = new Uint32Array([
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
		0x5be0cd19,
	]);
	words = new Uint32Array(64);
	tail = new Uint8Array(64);
	kept = 0; // bytes of tail
	size = 0;

	block(p, at) {
		const w = this.words, k = Sha256.K;
		for (let i = 0; i < 16; i++, at += 4)
			w[i] = p[at] << 24 | p[at + 1] << 16 | p[at + 2] << 8 | p[at + 3];
		for (let i = 16; i < 64; i++) {
			const x = w[i - 15], y = w[i - 2];
			w[i] = w[i - 16] + w[i - 7] +
				((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) +
				((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10);
		}
		let [a, b, c, d, e, f, g, h] = this.state;
		for (let i = 0; i < 64; i++) {
			const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
			const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
			const t1 = h + s1 + (e & f ^ ~e & g) + k[i] + w[i] | 0;
			const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
			h = g; g = f; f = e; e = d + t1 | 0;
			d = c; c = b; b = a; a = t1 + t2 | 0;
		}
		const s = this.state;
		s[0] += a; s[1] += b; s[2] += c; s[3] += d;
		s[4] += e; s[5] += f; s[6] += g; s[7] += h;
	}

	update(p) {
		let at = 0;
		this.size += p.length;
		if (this.kept > 0) {
			at = Math.min(64 - this.kept, p.length);
			this.tail.set(p.subarray(0, at), this.kept);
			this.kept += at;
			if (this.kept < 64)
				return this;
			this.block(this.tail, 0);
			this.kept = 0;
		}
		for (; at + 64 <= p.length; at += 64)
			this.block(p, at);
		this.tail.set(p.subarray(at));
		this.kept = p.length - at;
		return this;
	}

	digest() {
		const pad = new Uint8Array((this.kept < 56 ? 64 : 128) - this.kept);
		const view = new DataView(pad.buffer), bits = this.size * 8;
		pad[0] = 0x80;
		view.setUint32(pad.length - 8, Math.floor(bits / 2 ** 32));
		view.setUint32(pad.length - 4, bits >>> 0);
		this.update(pad);
		const out = new DataView(new ArrayBuffer(32));
		this.state.forEach((word, i) => out.setUint32(4 * i, word));
		return new Uint8Array(out.buffer);
	}
}

const bytesOf = async (file, from, size) =>
	new Uint8Array(await file.slice(from, from + size).arrayBuffer());

// The build IDs in a run of notes; view is in the file's byte order.
function notesIn(bytes, little, ids) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const pad = (n) => n + 3 & ~3;
	for (let at = 0; at + 12 <= bytes.length;) {
		const owner = view.getUint32(at, little), size = view.getUint32(at + 4, little);
		const type = view.getUint32(at + 8, little), data = at + 12 + pad(owner);
		if (owner > bytes.length || size > bytes.length || data + size > bytes.length)
			return;
		const name = String.fromCharCode(...bytes.subarray(at + 12, at + 12 + Math.min(owner, 8)));
		const content = bytes.subarray(data, data + size);
		if (name === "GNU\0" && type === 3 && size > 0 && size <= 64)
			ids.gnu ??= `gnu:${hex(content)}`;
		if (name.startsWith("Go\0") && type === 4 && size > 0 && size <= 128 &&
		    content.every((c) => c > 0x20 && c < 0x7f))
			ids.go ??= `go:${String.fromCharCode(...content)}`;
		at = data + pad(size);
	}
}

// Fields of ELF headers that differ by class: [offset, bytes].
const ELF = {
	1: {header: 52, phoff: [28, 4], shoff: [32, 4], phnum: 44, shnum: 48, ph: 32, sh: 40,
	    phOff: [4, 4], phSize: [16, 4], shOff: [16, 4], shSize: [20, 4], shFlags: [8, 4]},
	2: {header: 64, phoff: [32, 8], shoff: [40, 8], phnum: 56, shnum: 60, ph: 56, sh: 64,
	    phOff: [8, 8], phSize: [32, 8], shOff: [24, 8], shSize: [32, 8], shFlags: [8, 8]},
};

// IDs and kind of an ELF file, from its notes.
async function readElf(file, start) {
	const f = ELF[start[4]], little = start[5] === 1, ids = {};
	if (!f || start.length < f.header)
		throw new Error("the ELF file is truncated or damaged");
	const number = (view, base, [at, size]) =>
		size === 4 ? view.getUint32(base + at, little) : Number(view.getBigUint64(base + at, little));
	const head = new DataView(start.buffer);
	const table = async (off, count, size) => {
		const bytes = off > 0 ? await bytesOf(file, off, count * size) : new Uint8Array();
		return {view: new DataView(bytes.buffer), count: Math.floor(bytes.length / size)};
	};
	const sections = await table(number(head, 0, f.shoff), head.getUint16(f.shnum, little), f.sh);
	const segments = await table(number(head, 0, f.phoff), head.getUint16(f.phnum, little), f.ph);
	const notes = [];
	let code = segments.count > 0 && sections.count === 0;
	for (let i = 0, at = 0; i < sections.count; i++, at += f.sh) {
		const type = sections.view.getUint32(at + 4, little);
		if (type === 7)
			notes.push([number(sections.view, at, f.shOff), number(sections.view, at, f.shSize)]);
		if (type === 1 && (number(sections.view, at, f.shFlags) & 4) !== 0)
			code = true; // bytes that are executed: no debug file
	}
	for (let i = 0, at = 0; i < segments.count; i++, at += f.ph)
		if (segments.view.getUint32(at, little) === 4)
			notes.push([number(segments.view, at, f.phOff), number(segments.view, at, f.phSize)]);
	for (const [off, size] of notes)
		notesIn(await bytesOf(file, off, Math.min(size, NOTES_MAX)), little, ids);
	return {ids: [ids.gnu, ids.go].filter(Boolean), kind: code ? "executable" : "debuginfo"};
}

// The ID of a file that has none of its own: a hash of its first and last bytes (docs/formats/ids.md).
async function fileId(file) {
	const size = new DataView(new ArrayBuffer(8));
	size.setBigUint64(0, BigInt(file.size));
	const hash = new Sha256()
		.update(await bytesOf(file, 0, 4096))
		.update(await bytesOf(file, Math.max(0, file.size - 4096), 4096))
		.update(new Uint8Array(size.buffer));
	return `file:${hex(hash.digest().subarray(0, 16))}`;
}

async function identify(file) {
	const start = await bytesOf(file, 0, 64);
	const magic = hex(start.subarray(0, 4));
	if (magic === "7f454c46") {
		const elf = await readElf(file, start);
		if (elf.ids.length === 0 && elf.kind === "debuginfo")
			throw new Error("it is a debug file without a build ID");
		return elf.ids.length > 0 ? elf : {...elf, ids: [await fileId(file)]};
	}
	if (magic === "4d595347" && start[4] === 1 && start[7] > 0 && start[7] <= 20)
		return {ids: [`gnu:${hex(start.subarray(28, 28 + start[7]))}`], kind: "gsym"};
	throw new Error("it is neither an ELF file nor a GSYM with an ID; `unhex push` reads more");
}

async function hashOf(file, progress) {
	const hash = new Sha256();
	for (let at = 0; at < file.size; at += SLICE) {
		hash.update(await bytesOf(file, at, SLICE));
		progress(Math.min(file.size, at + SLICE));
	}
	return hex(hash.digest());
}

// The prefix of this server's paths: links of a page under /n/NAME/ stay there.
const base = document.querySelector(".mark").pathname.replace(/\/$/, "");

// The answer of the server; a failure of the network is status 0.
async function ask(method, path, body) {
	try {
		const answer = await fetch(base + path, {
			method,
			signal: AbortSignal.timeout(method === "GET" ? STALLED_MS : ANSWER_MS),
			headers: body ? {"Content-Type": "application/json"} : {},
			body: body && JSON.stringify(body),
		});
		return {status: answer.status, doc: await answer.json()};
	} catch (error) {
		return {status: 0, doc: {error: {message: error.message}}};
	}
}

// Like ask() for bytes, with progress. Aborted when no byte moves any more.
function put(path, blob, progress) {
	return new Promise((done) => {
		const x = new XMLHttpRequest();
		let timer = 0;
		const wait = (ms) => {
			clearTimeout(timer);
			timer = setTimeout(() => x.abort(), ms);
		};
		x.open("PUT", base + path);
		x.responseType = "json";
		x.upload.onprogress = (event) => {
			wait(STALLED_MS);
			progress(event.loaded);
		};
		x.upload.onload = () => wait(ANSWER_MS);
		x.onloadend = () => {
			clearTimeout(timer);
			done({status: x.status, doc: x.response ?? {}});
		};
		wait(STALLED_MS);
		x.send(blob);
	});
}

const wordsOf = (answer) =>
	answer.doc?.error?.message ?? (answer.status ? `status ${answer.status}` : "no connection");
const passing = (answer) => answer.status === 0 || answer.status === 429 || answer.status >= 500 ||
	answer.status === 409 && ["busy", "incomplete"].includes(answer.doc?.error?.code);

// Sends from the offset that the server has, again and again, as long as there is progress.
async function sendBytes(file, uid, chunk, progress) {
	const path = `/v1/uploads/${uid}`;
	for (let offset = 0, tries = 0; offset < file.size;) {
		const answer = await put(`${path}?offset=${offset}`, file.slice(offset, offset + chunk),
					 (n) => progress(offset + n));
		let now = answer.doc?.offset;
		if (answer.status !== 200) {
			if (++tries > TRIES || !(passing(answer) || answer.status === 409))
				throw new Error(wordsOf(answer));
			await sleep(Math.min(250 * 2 ** tries, 10000));
			now = (await ask("GET", path)).doc?.offset ?? offset;
		}
		tries = now > offset ? 0 : tries;
		offset = now;
		progress(offset);
	}
}

async function finish(uid) {
	for (let tries = 0;; tries++) {
		const answer = await ask("POST", `/v1/uploads/${uid}/finish`);
		if (answer.status === 200 || answer.status === 202)
			return answer.doc;
		if (tries === TRIES || !passing(answer))
			throw new Error(wordsOf(answer));
		await sleep(Math.min(250 * 2 ** tries, 10000));
	}
}

// Waits until the server has extracted an ELF file.
async function settle(uid) {
	for (let failures = 0;; ) {
		const answer = await ask("GET", `/v1/uploads/${uid}`);
		const state = answer.doc?.state;
		if (state === "done")
			return answer.doc;
		if (state === "failed")
			throw new Error(answer.doc.reason || "failed");
		failures = answer.status === 200 ? 0 : failures + 1;
		if (failures > TRIES)
			throw new Error(wordsOf(answer));
		await sleep(LOOK_AGAIN_MS);
	}
}

// One file's line on the page.
class Line {
	constructor(file) {
		const make = (name, attributes = {}, ...children) => {
			const e = document.createElement(name);
			for (const [key, value] of Object.entries(attributes))
				e.setAttribute(key, value);
			e.append(...children);
			return e;
		};
		this.make = make;
		this.state = make("span", {class: "tag busy"});
		this.bar = make("progress", {max: file.size || 1, "aria-label": `Progress of ${file.name}`});
		this.where = make("span");
		this.li = make("li", {}, make("p", {}, make("b", {}, file.name), " ", this.state, " ", this.where),
			       this.bar);
		listOfFiles().append(this.li);
	}

	at(n) {
		this.bar.value = n;
	}

	say(text, how = "busy") {
		this.state.textContent = text;
		this.state.className = `tag ${how}`;
	}

	module(id) {
		this.where.replaceChildren(this.make("a", {class: "id", href: `${base}/modules/${encodeURIComponent(id)}`}, id));
	}

	end(words, how) {
		this.say(how === "bad" ? "failed" : "done", how);
		this.bar.remove();
		this.li.append(this.make("p", {class: how === "bad" ? "reason" : "hint"}, words));
	}
}

async function sendFile(file, options) {
	const line = new Line(file);
	try {
		line.say("reading");
		const {ids, kind} = await identify(file);
		const sha256 = await hashOf(file, (n) => line.at(n));
		const announced = await ask("POST", "/v1/uploads",
					    {ids, kind, sha256, size: file.size, file: file.name, ...options});
		if (announced.status !== 201)
			throw new Error(wordsOf(announced));
		const {uid, chunk_size: chunk} = announced.doc;
		line.say("sending");
		line.at(0);
		await sendBytes(file, uid, chunk, (n) => line.at(n));
		line.say("being checked");
		let end = await finish(uid);
		line.module(end.id ?? ids[0]);
		if (end.status === "pending") {
			line.say("being extracted");
			end = await settle(uid);
		}
		line.end([end.status, end.reason].filter(Boolean).join(": "), "good");
	} catch (error) {
		line.end(error.message, "bad");
	}
}

// Shows the server's list as it is now, unless the focus is in it.
async function refresh() {
	const old = document.getElementById("running");
	try {
		const answer = await fetch(`${base}/uploads`, {headers: {Accept: "text/html"}});
		const page = new DOMParser().parseFromString(await answer.text(), "text/html");
		const fresh = page.getElementById("running");
		if (answer.ok && fresh && !old.contains(document.activeElement))
			old.replaceWith(document.adoptNode(fresh));
	} catch {
		// It is tried again soon.
	}
}

let sending = 0;

async function keepFresh() {
	for (;;) {
		await sleep(2 * LOOK_AGAIN_MS);
		if (!document.hidden && (sending > 0 || document.querySelector("#running .busy")))
			await refresh();
	}
}

// The list of this page's files; pages other than that of uploads get one when it is needed.
function listOfFiles() {
	const there = document.getElementById("sending");
	if (there)
		return there;
	const panel = document.createElement("section");
	panel.className = "dropped";
	panel.setAttribute("aria-label", "Files being sent");
	const list = document.createElement("ul");
	list.id = "sending";
	list.className = "uploads";
	list.setAttribute("aria-live", "polite");
	panel.append(list);
	document.getElementById("main").append(panel);
	return list;
}

async function sendAll(files, options) {
	sending++;
	for (const file of files) // one after the other is as fast
		await sendFile(file, options);
	sending--;
}

// The files of what was dropped, those in folders too.
async function filesOf(entry, files) {
	if (files.length === DROPPED_MAX)
		return;
	if (entry.isFile) {
		files.push(await new Promise((done, fail) => entry.file(done, fail)));
	} else if (entry.isDirectory) {
		const reader = entry.createReader();
		for (;;) { // each call returns some of them
			const some = await new Promise((done, fail) => reader.readEntries(done, fail));
			if (some.length === 0)
				return;
			for (const one of some)
				await filesOf(one, files);
		}
	}
}

async function dropped(transfer) {
	const files = [];
	// The entries must be taken before anything is awaited: the browser forgets them then.
	const entries = Array.from(transfer.items ?? []).map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
	const plain = Array.from(transfer.files);
	for (const entry of entries)
		await filesOf(entry, files).catch(() => {});
	return files.length > 0 ? files : plain;
}

function takeDrops() {
	const hint = document.createElement("p");
	const holdsFiles = (event) => Array.from(event.dataTransfer?.types ?? []).includes("Files");
	hint.className = "drop";
	hint.textContent = "Drop files to send them";
	hint.hidden = true;
	document.body.append(hint);
	let inside = 0; // elements that are entered and not left: each fires events of its own
	document.addEventListener("dragenter", (event) => {
		if (holdsFiles(event))
			hint.hidden = ++inside === 0;
	});
	document.addEventListener("dragleave", (event) => {
		if (holdsFiles(event))
			hint.hidden = --inside <= 0;
	});
	document.addEventListener("dragover", (event) => {
		if (holdsFiles(event))
			event.preventDefault();
	});
	document.addEventListener("drop", async (event) => {
		if (!holdsFiles(event))
			return;
		event.preventDefault();
		inside = 0;
		hint.hidden = true;
		await sendAll(await dropped(event.dataTransfer), {description: "", force: false});
		if (document.getElementById("running"))
			await refresh();
	});
	// Leaving the page would end what is being sent.
	addEventListener("beforeunload", (event) => {
		if (sending > 0)
			event.preventDefault();
	});
}

function start() {
	const form = document.getElementById("form");
	if (document.getElementById("running"))
		keepFresh();
	if (document.body.dataset.upload !== undefined)
		takeDrops();
	if (!form)
		return;
	form.hidden = false;
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		const button = form.querySelector("button");
		const options = {description: form.description.value, force: form.force.checked};
		const files = Array.from(form.files.files);
		button.disabled = true;
		await sendAll(files, options);
		button.disabled = false;
		form.files.value = "";
		await refresh();
	});
}

start();
