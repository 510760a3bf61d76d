// SPDX-License-Identifier: Apache-2.0
// node lint.js MODULES FILE: fails on anything that the recommended rules of Redocly's linter say about FILE.
const path = require('path');
const [modules, file] = process.argv.slice(2);
const {createConfig, lint} = require(path.resolve(modules, '@redocly/openapi-core'));

// A sign-in has a redirect for its success.
const rules = {'operation-2xx-response': 'off'};

async function main() {
	const config = await createConfig({extends: ['recommended'], rules});
	const problems = await lint({ref: file, config});
	for (const p of problems)
		console.log(`${file}: ${p.severity}: ${p.ruleId}: ${p.message} (${p.location.map((l) => l.pointer).join(' ')})`);
	return problems.length === 0 ? 0 : 1;
}

main().then((status) => process.exit(status), (error) => {
	console.error(error);
	process.exit(2);
});
