// SPDX-License-Identifier: Apache-2.0
// Fetches a profile with the session of this page and hands it to the frame with the viewer, which
// has none: its origin is its own, so it can be named by "*" alone, and is known by its window. Runs
// before the frame is there, since that says when it is ready.
"use strict";
(() => {
	const $ = id => document.getElementById(id);

	async function hand(frame) {
		try {
			const answer = await fetch($("viewer-profile").href);
			if (!answer.ok)
				throw new Error(`the server answered ${answer.status}`);
			const profile = await answer.arrayBuffer();
			frame.contentWindow.postMessage({profile, title: frame.title}, "*", [profile]);
			$("viewer-state").textContent = "";
		} catch (error) {
			$("viewer-state").textContent = `The profile was not loaded: ${error.message}. Load the page ` +
				"again, or open the file in speedscope.";
		}
	}

	addEventListener("message", event => {
		const frame = $("viewer");
		if (frame && event.source === frame.contentWindow && event.data === "ready")
			hand(frame);
	});
})();
