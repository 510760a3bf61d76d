// SPDX-License-Identifier: Apache-2.0
// Counts the words of files again and again: something to profile for `./dev run`.
"use strict";
const fs = require("node:fs");

function count(text, found) {
	for (const word of text.match(/[A-Za-z]+/g) || []) {
		const lower = word.toLowerCase();
		found.set(lower, (found.get(lower) || 0) + 1);
	}
}

function mostFrequent(found) {
	return [...found].sort((a, b) => b[1] - a[1]);
}

for (let round = 0; round < 100000; round++) {
	const found = new Map();
	for (const path of process.argv.slice(2))
		count(fs.readFileSync(path, "utf8"), found);
	let lines = "";
	for (const [word, n] of mostFrequent(found))
		lines += `${String(n).padStart(7)} ${word}\n`;
	fs.writeSync(1, lines);
}
