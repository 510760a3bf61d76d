// SPDX-License-Identifier: Apache-2.0
// A flame graph of a tree of calls, which is in the page as JSON. Nothing is loaded, and no text of a
// profile becomes markup: texts are set as text, or drawn on a canvas.
"use strict";
(() => {
	const ROW = 20; // height of a frame in CSS pixels
	const LEAST = 0.5; // width of the narrowest frame that is drawn
	const SMALLER = "(smaller)"; // stands for frames that the file leaves out
	const FINEST = 20000; // frames with less than 1/FINEST of all are not divided further when inverted
	const STEPS_MAX = 5e6; // of making the inverted tree
	const ROWS = 40; // of the table, at first and with each "more"

	const $ = id => document.getElementById(id);
	const data = JSON.parse($("profile").textContent);
	const names = data.functions.name.map(s => visible(data.strings[s]));
	const text = numbers => numbers.map(s => visible(data.strings[s]));
	const modules = text(data.functions.module);
	const files = text(data.functions.file);
	const whys = text(data.functions.why);
	const compared = data.other !== undefined;
	const types = data.types.length;
	const look = matchMedia("(prefers-color-scheme: dark)");

	// Control characters and those that change the direction of text are shown as U+FFFD.
	function visible(s) {
		return s.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
			"\ufffd");
	}

	// --- trees: arrays with a node for each number, a node before its subtree ----------------------

	// Completes a tree: fn, depth, calls and self are given.
	function finish(tree) {
		const n = tree.fn.length;
		tree.caller = new Int32Array(n);
		tree.end = new Int32Array(n).fill(n);
		tree.index = new Int32Array(n); // among its siblings, from 1
		tree.children = new Int32Array(n); // their number
		tree.most = 0; // depth
		const path = [];
		for (let i = 0; i < n; i++) {
			const d = tree.depth[i];
			for (let k = d; k < path.length; k++)
				tree.end[path[k]] = i;
			path.length = d;
			tree.caller[i] = d ? path[d - 1] : 0;
			tree.index[i] = d ? ++tree.children[path[d - 1]] : 1;
			path.push(i);
			tree.most = Math.max(tree.most, d);
		}
		tree.total = tree.self.map(self => Float64Array.from(self));
		tree.width = tree.self.map(self => Float64Array.from(self, Math.abs));
		for (let i = n - 1; i > 0; i--)
			for (let c = 0; c < tree.self.length; c++) {
				tree.total[c][tree.caller[i]] += tree.total[c][i];
				tree.width[c][tree.caller[i]] += tree.width[c][i];
			}
		return tree;
	}

	const plain = finish({
		fn: Int32Array.from(data.nodes.function),
		depth: Int32Array.from(data.nodes.depth),
		calls: data.nodes.calls,
		place: data.places ? data.places.of_node : null,
		self: data.self.map(column => Float64Array.from(column)),
	});

	// The tree from the innermost functions to their callers, by the values of one column and of the
	// one that it is compared with. Groups are of nodes whose callers are not told apart yet.
	function inverse(column) {
		const self = plain.self, all = plain.width[column][0];
		const made = {fn: [], depth: [], calls: "", place: plain.place && [], self: self.map(() => [])};
		const calls = [];
		const leaves = [];
		let steps = 0;
		for (let i = 1; i < plain.fn.length; i++)
			if (self.some(values => values[i] !== 0))
				leaves.push(i);
		// The place of the node from which most comes.
		const heaviest = (group, column) => {
			let best = 0;
			group.at.forEach((node, k) => {
				if (!plain.place[group.at[best]] ||
					Math.abs(self[column][group.from[k]]) > Math.abs(self[column][group.from[best]]) &&
					plain.place[node])
					best = k;
			});
			return plain.place[group.at[best]];
		};
		const weight = sources => {
			let sum = 0;
			for (const s of sources)
				sum += Math.abs(self[column][s]);
			return sum;
		};
		// The root, whose members are at leaves and not above them.
		const todo = [{fn: plain.fn[0], depth: 0, at: leaves, from: leaves, weight: Infinity}];
		while (todo.length) {
			const group = todo.pop();
			const under = new Map();
			const own = self.map(values => group.depth ? 0 : values[0]);
			let how = 0;
			const divided = group.weight >= all / FINEST && steps < STEPS_MAX;
			group.at.forEach((node, k) => {
				if (group.depth)
					how |= Number(plain.calls[node]);
				const up = group.depth ? plain.caller[node] : node;
				if (up === 0 || !divided) {
					self.forEach((values, c) => own[c] += values[group.from[k]]);
					return;
				}
				steps++;
				const fn = plain.fn[up];
				let next = under.get(fn);
				if (!next)
					under.set(fn, next = {fn, depth: group.depth + 1, at: [], from: []});
				next.at.push(up);
				next.from.push(group.from[k]);
			});
			made.fn.push(group.fn);
			made.depth.push(group.depth);
			calls.push(how || 1);
			if (plain.place)
				made.place.push(group.depth ? heaviest(group, column) : 0);
			own.forEach((v, c) => made.self[c].push(v));
			const list = [...under.values()];
			list.forEach(g => g.weight = weight(g.from));
			list.sort((a, b) => a.weight - b.weight || (names[a.fn] < names[b.fn] ? 1 : -1));
			list.forEach(g => todo.push(g));
		}
		made.calls = calls.join("");
		return finish(made);
	}

	// Self and total of each function; a recursive one counts once.
	const known = new Map();
	function sums(column) {
		if (!known.has(column))
			known.set(column, sum(column));
		return known.get(column);
	}

	function sum(column) {
		const self = new Float64Array(names.length), total = new Float64Array(names.length);
		const inside = new Int32Array(names.length);
		const path = [];
		for (let i = 0; i < plain.fn.length; i++) {
			while (path.length > plain.depth[i])
				inside[path.pop()]--;
			const fn = plain.fn[i];
			if (inside[fn]++ === 0)
				total[fn] += plain.total[column][i];
			path.push(fn);
			self[fn] += plain.self[column][i];
		}
		return {self, total};
	}

	// --- state ------------------------------------------------------------------------------------

	let tree = plain;
	let zoom = 0; // node that has the whole width
	let current = 0; // node of the keyboard and of the description
	let start = new Float64Array(0); // of each node, in the unit of its value
	let matches = null; // for each function, whether the search finds it; null: there is no search
	let rows = ROWS;
	let change = 1; // largest change of a share, which has the strongest colour

	const type = () => Number($("type").value);
	const other = () => types + type();
	const column = () => compared && $("side").value === "other" ? other() : type();
	const share = (c, value) => plain.total[c][0] ? value / plain.total[c][0] : 0;

	function lay() {
		const width = tree.width[column()];
		const used = new Float64Array(tree.fn.length);
		start = new Float64Array(tree.fn.length);
		for (let i = 1; i < tree.fn.length; i++) {
			const up = tree.caller[i];
			start[i] = start[up] + used[up];
			used[up] += width[i];
		}
		change = 1e-9;
		if (compared)
			for (let i = 1; i < tree.fn.length; i++)
				change = Math.max(change, Math.abs(difference(i)));
	}

	const difference = i => share(type(), tree.total[type()][i]) - share(other(), tree.total[other()][i]);

	// --- numbers ----------------------------------------------------------------------------------

	function scaled(value, step, units) {
		let i = 0;
		for (; Math.abs(value) >= step && i + 1 < units.length; i++)
			value /= step;
		return (i || value % 1 ? value.toPrecision(Math.abs(value) < 100 ? 3 : 4) : value) + " " + units[i];
	}

	function amount(value) {
		const unit = data.types[type()].unit;
		if (unit === "nanoseconds")
			return scaled(value, 1000, ["ns", "\u00b5s", "ms", "s"]);
		if (unit === "microseconds")
			return scaled(value, 1000, ["\u00b5s", "ms", "s"]);
		if (unit === "milliseconds")
			return scaled(value, 1000, ["ms", "s"]);
		if (unit === "bytes")
			return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
		return value.toLocaleString("en") + (unit && unit !== "count" ? " " + unit : "");
	}

	const percent = v => (v * 100).toFixed(Math.abs(v) < 0.001 && v ? 3 : 1) + "\u202f%";
	const signed = v => (v > 0 ? "+" : v < 0 ? "\u2212" : "\u00b1") + percent(Math.abs(v));

	// --- colours: dark text on light frames in both looks ------------------------------------------

	function hash(s) {
		let h = 2166136261;
		for (let i = 0; i < s.length; i++)
			h = Math.imul(h ^ s.charCodeAt(i), 16777619);
		return (h ^ h >>> 15) >>> 0;
	}

	const hues = new Map();
	function hue(s) {
		if (!hues.has(s))
			hues.set(s, hash(s));
		return hues.get(s);
	}

	function color(i) {
		const fn = tree.fn[i], by = $("color").value;
		if (compared && by === "change") {
			const d = difference(i) / change, l = 94 - 30 * Math.sqrt(Math.abs(d));
			return Math.abs(d) < 1e-6 ? "hsl(60 8% 92%)" : d > 0 ? `hsl(18 95% ${l}%)` : `hsl(212 90% ${l}%)`;
		}
		if (names[fn] === SMALLER || fn === tree.fn[0])
			return "hsl(60 5% 85%)";
		const key = by === "module" ? modules[fn] : by === "source" ? files[fn] : names[fn];
		if (!key)
			return "hsl(60 5% 85%)";
		const h = hue(key);
		return by === "function" ? `hsl(${18 + h % 40} ${70 + (h >>> 8) % 20}% ${66 + (h >>> 16) % 12}%)`
			: `hsl(${h % 360} ${45 + (h >>> 9) % 30}% ${68 + (h >>> 16) % 12}%)`;
	}

	// --- drawing ----------------------------------------------------------------------------------

	const graph = $("graph"), canvas = $("canvas"), space = $("space");
	const pen = canvas.getContext("2d");
	let letter = 7; // width of one, since the font has one width

	const inPath = i => i <= zoom && zoom < tree.end[i];

	// Left edge and width of a node in CSS pixels.
	function place(i) {
		if (inPath(i))
			return [0, canvas.clientWidth];
		const scale = canvas.clientWidth / (tree.width[column()][zoom] || 1);
		return [(start[i] - start[zoom]) * scale, tree.width[column()][i] * scale];
	}

	function fitted(s, width) {
		const most = Math.floor((width - 8) / letter);
		if (most < 3)
			return "";
		return s.length <= most ? s : s.slice(0, most - 1) + "\u2026";
	}

	function paint(i, x, width, y) {
		const fn = tree.fn[i];
		const faded = i < zoom && inPath(i) || matches && !matches[fn];
		const w = Math.max(width - (width > 3 ? 1 : 0), LEAST);
		pen.globalAlpha = faded ? 0.45 : 1;
		pen.fillStyle = color(i);
		pen.fillRect(x, y, w, ROW - 1);
		if (data.functions.unnamed[fn] && w > 6) { // hatched, so that it is not the colour alone
			pen.strokeStyle = "rgba(0,0,0,.25)";
			pen.lineWidth = 1;
			pen.save();
			pen.beginPath();
			pen.rect(x, y, w, ROW - 1);
			pen.clip();
			pen.beginPath();
			for (let k = Math.max(x, 0) - ROW; k < Math.min(x + w, canvas.clientWidth); k += 8) {
				pen.moveTo(k, y + ROW);
				pen.lineTo(k + ROW, y);
			}
			pen.stroke();
			pen.restore();
		}
		if (matches && matches[fn]) {
			pen.strokeStyle = look.matches ? "#fff" : "#000";
			pen.lineWidth = 2;
			if (w > 4)
				pen.strokeRect(x + 1, y + 1, w - 2, ROW - 3);
			else
				pen.fillStyle = pen.strokeStyle, pen.fillRect(x, y + ROW - 4, w, 3);
		}
		let label = names[fn];
		if (compared && i)
			label = signed(difference(i)) + " " + label;
		label = fitted(label, w);
		if (label) {
			pen.globalAlpha = 1;
			pen.fillStyle = faded && look.matches ? "#fff" : "#000";
			pen.font = (tree.calls[i] === "2" ? "italic " : "") + font;
			pen.fillText(label, x + 4, y + ROW - 6);
		}
	}

	let font = "12px monospace";
	function draw() {
		const ratio = devicePixelRatio || 1;
		space.style.height = (tree.most + 1) * ROW + "px";
		const height = Math.min(graph.clientHeight, (tree.most + 1) * ROW);
		const width = graph.clientWidth;
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		pen.scale(ratio, ratio);
		pen.font = font;
		letter = pen.measureText("m").width;
		const first = Math.floor(graph.scrollTop / ROW), last = first + Math.ceil(height / ROW);
		for (let i = 0; i < tree.end[0];) {
			const d = tree.depth[i];
			if (d > last || !(inPath(i) || i >= zoom && i < tree.end[zoom])) {
				i = tree.end[i];
				continue;
			}
			const [x, w] = place(i);
			if (w < LEAST) {
				i = tree.end[i];
				continue;
			}
			if (d >= first)
				paint(i, x, w, d * ROW - graph.scrollTop);
			i++;
		}
		if (document.activeElement === graph && visibleNode(current)) {
			const [x, w] = place(current);
			pen.globalAlpha = 1;
			pen.lineWidth = 3;
			pen.strokeStyle = look.matches ? "#fff" : "#000";
			pen.strokeRect(x + 1.5, tree.depth[current] * ROW - graph.scrollTop + 1.5, Math.max(w - 3, 1),
				ROW - 4);
		}
	}

	const visibleNode = i => inPath(i) || i >= zoom && i < tree.end[zoom];

	let planned = false;
	function plan() {
		if (!planned) {
			planned = true;
			requestAnimationFrame(() => {
				planned = false;
				draw();
			});
		}
	}

	// --- the description of one frame ---------------------------------------------------------------

	function values(i) {
		const c = type();
		const own = tree === plain ? `, self ${amount(tree.self[c][i])}` : "";
		let s = `${amount(tree.total[c][i])}, ${percent(share(c, tree.total[c][i]))}${own}`;
		if (compared)
			s += `; before ${amount(tree.total[other()][i])}, ` +
				`${percent(share(other(), tree.total[other()][i]))}: ${signed(difference(i))}`;
		return s;
	}

	const HOW = {2: "inlined", 3: "inlined in some places"};

	function about(i) {
		const fn = tree.fn[i];
		const list = [values(i)];
		if (HOW[tree.calls[i]] && tree === plain)
			list.push(HOW[tree.calls[i]]);
		if (modules[fn])
			list.push(modules[fn]);
		if (files[fn])
			list.push(files[fn] + (data.functions.line[fn] ? ":" + data.functions.line[fn] : ""));
		return list;
	}

	const why = fn => !data.functions.unnamed[fn] ? ""
		: "Why no name? " + (whys[fn] || "The profile was not symbolized, or nothing is known about this code.");

	function describe(i) {
		$("name").textContent = names[tree.fn[i]];
		$("facts").textContent = about(i).join(" \u00b7 ");
		$("why").textContent = names[tree.fn[i]] === SMALLER
			? "Frames that are too small to be in this file." : why(tree.fn[i]);
		$("link").hidden = !link(i);
		$("source").href = link(i);
	}

	// The page about the place of a node; "": there is none.
	function link(i) {
		const place = tree.place ? tree.place[i] : 0;
		if (!place)
			return "";
		const id = data.strings[data.places.id[place - 1]];
		return `${data.frame_url}?id=${encodeURIComponent(id)}&addr=0x${data.places.pc[place - 1]}`;
	}

	// Makes a node the current one, for the keyboard and for a screen reader.
	function select(i) {
		current = i;
		const item = $("current");
		item.textContent = [names[tree.fn[i]], ...about(i), why(tree.fn[i])].filter(s => s).join(", ");
		item.setAttribute("aria-level", tree.depth[i] + 1);
		item.setAttribute("aria-posinset", tree.index[i]);
		item.setAttribute("aria-setsize", i ? tree.children[tree.caller[i]] : 1);
		item.setAttribute("aria-expanded", tree.children[i] > 0);
		describe(i);
		const y = tree.depth[i] * ROW;
		if (y < graph.scrollTop)
			graph.scrollTop = y;
		else if (y + ROW > graph.scrollTop + graph.clientHeight)
			graph.scrollTop = y + ROW - graph.clientHeight;
		plan();
	}

	function enlarge(i) {
		zoom = i;
		$("reset").disabled = zoom === 0;
		select(i);
	}

	// The node at a point of the canvas; -1: there is none.
	function at(x, y) {
		const row = Math.floor((y + graph.scrollTop) / ROW);
		for (let i = 0; i < tree.end[0];) {
			if (!visibleNode(i)) {
				i = tree.end[i];
				continue;
			}
			const [left, w] = place(i);
			if (x < left || x >= left + w || w < LEAST)
				i = tree.end[i];
			else if (tree.depth[i] === row)
				return i;
			else
				i++;
		}
		return -1;
	}

	function sibling(i, step) {
		const up = tree.caller[i];
		let before = -1;
		for (let k = up + 1; i && k < tree.end[up]; k = tree.end[k]) {
			if (step < 0 && k === i)
				return before < 0 ? i : before;
			if (step > 0 && before === i)
				return k;
			before = k;
		}
		return i;
	}

	const KEYS = {
		ArrowDown: i => tree.children[i] ? i + 1 : i,
		ArrowUp: i => tree.caller[i],
		ArrowLeft: i => sibling(i, -1),
		ArrowRight: i => sibling(i, 1),
		Home: () => 0,
	};

	graph.addEventListener("keydown", event => {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (KEYS[event.key]) {
			const next = KEYS[event.key](current);
			if (visibleNode(next))
				select(next);
			else
				enlarge(next);
		} else if (event.key === "Enter" || event.key === " ") {
			enlarge(current);
		} else if (event.key === "Escape") {
			enlarge(0);
		} else if (event.key === "o" && link(current)) {
			location.assign(link(current));
		} else {
			return;
		}
		event.preventDefault();
	});
	graph.addEventListener("focus", () => select(current));
	graph.addEventListener("blur", plan);
	graph.addEventListener("scroll", plan);
	canvas.addEventListener("click", event => {
		const i = at(event.offsetX, event.offsetY);
		if (i >= 0)
			enlarge(i);
	});
	canvas.addEventListener("mousemove", event => {
		const i = at(event.offsetX, event.offsetY);
		canvas.style.cursor = i >= 0 ? "pointer" : "";
		describe(i >= 0 ? i : current);
	});
	canvas.addEventListener("mouseleave", () => describe(current));

	// --- search -------------------------------------------------------------------------------------

	// The test of a search: text in any case, or /a regular expression/. Throws for a malformed one.
	function tester(query) {
		const pattern = /^\/(.*)\/$/.exec(query);
		if (pattern) {
			const expression = new RegExp(pattern[1]);
			return s => expression.test(s);
		}
		const low = query.toLowerCase();
		return s => s.toLowerCase().includes(low);
	}

	function search() {
		const query = $("query").value.trim();
		let said = "";
		matches = null;
		if (query) {
			try {
				const test = tester(query);
				matches = names.map((name, fn) => fn !== plain.fn[0] && (test(name) || test(modules[fn])));
			} catch (error) {
				said = "This is not a regular expression.";
			}
		}
		if (matches) {
			const c = type();
			let sum = 0, before = 0;
			for (let i = 0; i < plain.fn.length;) {
				const hit = matches[plain.fn[i]];
				sum += hit ? plain.total[c][i] : 0;
				before += hit && compared ? plain.total[other()][i] : 0;
				i = hit ? plain.end[i] : i + 1;
			}
			const n = matches.filter(m => m).length;
			said = `${percent(share(c, sum))} in ${n.toLocaleString("en")} ` +
				`function${n === 1 ? "" : "s"} that match${n === 1 ? "es" : ""} and what they call`;
			if (compared)
				said += `; before ${percent(share(other(), before))}`;
		}
		$("found").textContent = said;
		rows = ROWS;
		table();
		plan();
	}

	// --- the table of functions -----------------------------------------------------------------------

	function cell(row, value) {
		row.insertCell().textContent = value;
	}

	function table() {
		const c = type(), now = sums(c), before = compared ? sums(other()) : null;
		const by = $("order").value;
		const moved = fn => share(c, now.self[fn]) - share(other(), before.self[fn]);
		const key = by === "change" ? fn => Math.abs(moved(fn)) : fn => now[by][fn];
		const list = [];
		for (let fn = 0; fn < names.length; fn++)
			if (fn !== plain.fn[0] && names[fn] !== SMALLER && (!matches || matches[fn]))
				list.push(fn);
		list.sort((a, b) => key(b) - key(a) || a - b);
		const body = $("functions");
		body.textContent = "";
		for (const fn of list.slice(0, rows)) {
			const row = body.insertRow();
			cell(row, percent(share(c, now.self[fn])));
			cell(row, percent(share(c, now.total[fn])));
			if (compared)
				cell(row, signed(moved(fn)));
			const button = document.createElement("button");
			button.type = "button";
			button.textContent = names[fn];
			button.title = [names[fn], modules[fn], files[fn], why(fn)].filter(s => s).join(" \u00b7 ");
			button.addEventListener("click", () => {
				$("query").value = names[fn];
				search();
			});
			row.insertCell().append(button);
			cell(row, modules[fn]);
		}
		$("more").hidden = list.length <= rows;
	}

	// --- the controls -----------------------------------------------------------------------------------

	function option(select, value, label) {
		const o = document.createElement("option");
		o.value = value;
		o.textContent = label;
		$(select).append(o);
	}

	function rebuild() {
		tree = $("view").value === "inverted" ? inverse(column()) : plain;
		lay();
		current = 0;
		enlarge(0);
		search();
	}

	function recolor() {
		const by = $("color").value, sum = new Map();
		const list = by === "module" ? modules : by === "source" ? files : null;
		const legend = $("legend");
		legend.textContent = by === "change"
			? "Orange frames have a larger share than before, blue ones a smaller share; the number is the change." : "";
		if (list) {
			for (let i = 1; i < plain.fn.length; i++) {
				const key = list[plain.fn[i]];
				sum.set(key, (sum.get(key) || 0) + plain.self[type()][i]);
			}
			for (const [key, value] of [...sum].sort((a, b) => b[1] - a[1]).slice(0, 8)) {
				const item = document.createElement("span");
				const box = document.createElement("i");
				box.style.background = key ? `hsl(${hue(key) % 360} ${45 + (hue(key) >>> 9) % 30}% ` +
					`${68 + (hue(key) >>> 16) % 12}%)` : "hsl(60 5% 85%)";
				item.append(box, `${key || "unknown"} ${percent(share(type(), value))}`);
				legend.append(item);
			}
		}
		plan();
	}

	data.types.forEach((t, i) => option("type", i, t.unit && t.unit !== "count" ? `${t.name}, ${t.unit}` : t.name));
	if (types === 0) {
		$("empty").hidden = false;
		return;
	}
	$("type").value = data.type;
	for (const e of document.querySelectorAll("[data-compared]"))
		e.hidden = !compared;
	if (compared) {
		option("color", "change", "change");
		option("order", "change", "change of self");
		$("color").value = "change";
		$("order").value = "change";
	}
	$("open").hidden = !data.frame_url;
	if (types < 2)
		$("type").parentNode.hidden = true;
	for (const id of ["view", "type", "side"])
		$(id).addEventListener("change", () => {
			rebuild();
			recolor();
		});
	$("color").addEventListener("change", recolor);
	$("order").addEventListener("change", table);
	$("query").addEventListener("input", search);
	$("reset").addEventListener("click", () => enlarge(0));
	$("more").addEventListener("click", () => {
		rows += 5 * ROWS;
		table();
	});
	look.addEventListener("change", plan);
	new ResizeObserver(plan).observe(graph);
	if (plain.width.every(w => w[0] === 0)) {
		$("empty").hidden = false;
		$("empty").textContent = "No sample of this profile has a value.";
	}
	font = `12px ${getComputedStyle($("name")).fontFamily}`;
	rebuild();
	recolor();
	document.documentElement.dataset.ready = "yes";
})();
