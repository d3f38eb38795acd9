// SPDX-License-Identifier: Apache-2.0
// Writes a result's files below a directory, safe against hostile names and concurrent changes.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { randomBytes } = require("node:crypto");
const { UnsafePath } = require("./errors.js");

const DEPTH_MAX = 64;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_WRONLY, O_CREAT, O_EXCL } = fs.constants;

function partsOf(name) {
	const parts = name.split("/");
	if (
		name.includes("\0") ||
		parts.length > DEPTH_MAX ||
		parts.some((part) => part === "" || part === "." || part === "..")
	) {
		throw new UnsafePath(
			`the file name ${JSON.stringify(name)} is not a relative path below a directory`,
		);
	}
	return parts;
}

// Node has no openat(): a descriptor's name in /proc refers to the directory itself, even if it has
// been moved.
const below = (directory, name) => `/proc/self/fd/${directory}/${name}`;

function enter(parent, name, whole) {
	try {
		fs.mkdirSync(below(parent, name));
	} catch (error) {
		if (error.code !== "EEXIST") {
			throw error;
		}
	}
	try {
		return fs.openSync(below(parent, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	} catch (error) {
		throw new UnsafePath(
			`${JSON.stringify(whole)}: a part of it exists and is not a directory`,
		);
	}
}

function write(parent, name, content, mode) {
	const fd = fs.openSync(below(parent, name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	try {
		fs.writeFileSync(fd, content);
	} finally {
		fs.closeSync(fd);
	}
}

function replace(parent, name, content, mode) {
	const own = `.brig-${randomBytes(8).toString("hex")}`;
	try {
		write(parent, own, content, mode);
		fs.renameSync(below(parent, own), below(parent, name));
	} catch (error) {
		fs.rmSync(below(parent, own), { force: true });
		throw error;
	}
}

function saveOne(root, file, overwrite, executable) {
	const parts = partsOf(file.path);
	const name = parts.pop();
	const mode = executable && file.executable ? 0o777 : 0o666;
	const opened = [];
	try {
		let at = root;
		for (const part of parts) {
			at = enter(at, part, file.path);
			opened.push(at);
		}
		(overwrite ? replace : write)(at, name, file.content, mode);
	} catch (error) {
		if (error.code === "EEXIST") {
			throw new UnsafePath(
				`${JSON.stringify(file.path)} exists already`,
				"pass overwrite: true",
			);
		}
		throw error;
	} finally {
		opened.forEach((fd) => fs.closeSync(fd));
	}
}

function saveAll(directory, files, { overwrite = false, executable = false } = {}) {
	files.forEach((file) => partsOf(file.path));
	fs.mkdirSync(directory, { recursive: true });
	const root = fs.openSync(directory, O_RDONLY | O_DIRECTORY);
	try {
		files.forEach((file) => saveOne(root, file, overwrite, executable));
	} finally {
		fs.closeSync(root);
	}
	return files.map((file) => path.join(directory, file.path));
}

module.exports = { saveAll };
