// SPDX-License-Identifier: Apache-2.0
// Buttons that copy what stands in a folded part of the page, above the first of these parts.
// Without scripts, or without a clipboard, the part itself is there to be selected.
"use strict";
addEventListener("DOMContentLoaded", () => {
	const parts = [...document.querySelectorAll("details[data-copy]")];
	if (!parts.length)
		return;
	const row = document.createElement("p"), said = document.createElement("span");
	row.className = "copies";
	said.setAttribute("role", "status");

	// Pages over http from another machine have no navigator.clipboard: then what is selected is copied.
	async function copy(part) {
		const pre = part.querySelector("pre");
		if (navigator.clipboard)
			return navigator.clipboard.writeText(pre.textContent);
		part.open = true;
		getSelection().selectAllChildren(pre);
		if (!document.execCommand("copy"))
			throw new Error("the browser refused");
	}

	for (const part of parts) {
		const button = document.createElement("button");
		button.type = "button";
		button.textContent = part.dataset.copy;
		button.addEventListener("click", () => copy(part).then(() => said.textContent = "Copied.", () => {
			part.open = true;
			said.textContent = "The browser did not permit it: select the text below.";
		}));
		row.append(button, " ");
	}
	row.append(said);
	parts[0].before(row);
});
