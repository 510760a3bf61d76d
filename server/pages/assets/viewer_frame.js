// SPDX-License-Identifier: Apache-2.0
// Runs in the frame of a viewer: takes one profile from the page around it, and starts the viewer
// with it as an object of its own origin.
"use strict";
(() => {
	const script = document.currentScript.dataset.script;
	// The origin has no storage, and speedscope keeps the choice of a look there.
	Object.defineProperty(window, "localStorage", {value: {}});
	function take(event) {
		if (event.source !== parent || !(event.data.profile instanceof ArrayBuffer))
			return;
		removeEventListener("message", take);
		const url = URL.createObjectURL(new Blob([event.data.profile], {type: "application/json"}));
		location.hash = `profileURL=${encodeURIComponent(url)}&title=${encodeURIComponent(event.data.title)}`;
		const viewer = document.createElement("script");
		viewer.src = script;
		document.body.append(viewer);
	}
	addEventListener("message", take);
	parent.postMessage("ready", "*");
})();
