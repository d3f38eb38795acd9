// SPDX-License-Identifier: Apache-2.0
// The language of a source file, by the data of the runtimes.
"use strict";

const path = require("node:path");
const { BrigError } = require("./errors.js");

const listed = (value) => (Array.isArray(value) ? value : []);

function programOf(code) {
	const line = code.split("\n", 1)[0];
	if (!line.startsWith("#!")) {
		return "";
	}
	const words = line
		.slice(2)
		.trim()
		.split(/\s+/)
		.map((word) => path.basename(word));
	return (words.find((word) => word !== "env" && word !== "-S") ?? "").replace(
		/[0-9.]+$/,
		"",
	);
}

function languageOf(file, code, runtimes) {
	const ending = path.extname(file).slice(1);
	const program = programOf(code);
	const found =
		(ending && runtimes.find((one) => listed(one.extensions).includes(ending))) ||
		(program &&
			runtimes.find((one) =>
				[one.name, ...listed(one.aliases)].includes(program),
			));
	if (!found || typeof found.name !== "string") {
		throw new BrigError(`the language of ${file} is unknown`, "pass language");
	}
	return found.name;
}

module.exports = { languageOf };
