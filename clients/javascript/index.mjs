// SPDX-License-Identifier: Apache-2.0
// The same objects for `import`: the classes are the same for both ways to load them.
import brig from "./index.js";

export const {
	executeCode,
	executeFile,
	printable,
	newKey,
	legacy,
	Client,
	Server,
	Execution,
	ExecutionResult,
	SecureSandbox,
	Session,
	Stream,
	BrigError,
	Problem,
	CannotConnect,
	ConnectionLost,
	DeadlineExceeded,
	BadAnswer,
	NeedsService,
	UnsafePath,
} = brig;
export default brig;
