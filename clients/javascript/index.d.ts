// SPDX-License-Identifier: Apache-2.0
// Types of brig's client, described in docs/clients.md and docs/result.md.

export type Content = string | Uint8Array;

export interface InputFile {
	path: string;
	content: Content;
	executable?: boolean;
}

/** Each replaces the policy's limit. */
export interface Limits {
	// generated: typescript_limits
	/** wall-clock time */
	wallMs?: number;
	/** CPU time of all processes together */
	cpuMs?: number;
	/** share of the CPUs, in thousandths of a core */
	cpuMillicores?: number;
	/** memory of all processes, including files in memory */
	memoryBytes?: number;
	/** processes and threads together */
	processes?: number;
	/** bytes in all writable directories together */
	diskBytes?: number;
	/** files in all writable directories together */
	diskInodes?: number;
	/** open files of one process */
	openFiles?: number;
	/** the largest single file */
	fileBytes?: number;
	/** standard output to keep */
	stdoutBytes?: number;
	/** standard error to keep */
	stderrBytes?: number;
	/** bytes to and from the network */
	netBytes?: number;
	/** time between SIGTERM and SIGKILL after a timeout */
	graceMs?: number;
	/** instructions of WebAssembly (provider wasm) */
	instructions?: number;
	// generated: end
}

/** How Python code is checked before it runs; each is stricter than the one before. */
export type Guard = "off" | "imports" | "strict";

export interface Input {
	args?: string[];
	stdin?: Content;
	env?: Record<string, string>;
	files?: Record<string, Content> | InputFile[];
}

export interface RunOptions extends Input {
	/** "python" by default. */
	language?: string;
	/** Globs of files to return; files in out/ always are. */
	out?: string[];
	timeoutMs?: number;
	limits?: Limits;
	/** Limits that the policy refuses become the nearest it allows. */
	clamp?: boolean;
	/** A person agrees to this run, where the policy wants that. */
	consent?: boolean;
	/** Directories that the policy lists, by name. */
	mounts?: (string | { name: string; as?: string; writable?: boolean })[];
	policy?: string;
	/** One that the policy names, such as "oci". */
	provider?: string;
	/** A virtualenv that the policy lists; without a service, also its path. */
	venv?: string;
	/** At least as strict as in the policy. */
	guard?: Guard;
	/** Hosts to connect to, such as "*.example.org:443", of those that the policy allows. */
	network?: string[];
	wantValue?: boolean;
	changes?: boolean;
	start?: "auto" | "cold" | "warm";
	idempotencyKey?: string;
	/** Fields of the API that this version does not support by name. */
	more?: Record<string, unknown>;
	/** Ends the run. */
	signal?: AbortSignal;
}

export interface Program extends Omit<RunOptions, "signal" | "idempotencyKey"> {
	code: string;
}

export interface SessionOptions {
	language?: string;
	policy?: string;
	provider?: string;
	venv?: string;
	guard?: Guard;
	network?: string[];
	limits?: Limits;
	/** Limits that the policy refuses become the nearest it allows. */
	clamp?: boolean;
	/** A person agrees to this run, where the policy wants that. */
	consent?: boolean;
	/** Directories that the policy lists, by name. */
	mounts?: (string | { name: string; as?: string; writable?: boolean })[];
	timeoutMs?: number;
	env?: Record<string, string>;
	files?: Record<string, Content> | InputFile[];
	idleTimeoutMs?: number;
	lifetimeMs?: number;
	more?: Record<string, unknown>;
}

export interface ResultFile {
	path: string;
	size: number;
	sha256: string;
	executable: boolean;
	content: Buffer;
}

export interface Change {
	path: string;
	kind: string;
	size: number;
	sha256: string | null;
}

export interface Denial {
	call: string;
	meaning: string;
	reason: string;
	count: number;
}

/** A refusal of the guard, with its place in the code. */
export interface Refusal {
	rule: string;
	reason: string;
	line: number | null;
	column: number | null;
}

/** The guard's risk score of the code: 0 to 100. */
export interface Risk {
	score: number;
	reasons: string[];
}

/** A connection that the program made or tried; `verdict` is allowed, or why it failed. */
export interface Connection {
	host: string;
	port: number;
	address: string | null;
	verdict: string;
	bytesUp: number;
	bytesDown: number;
	ms: number;
}

/** A denied or watched action of a run; `kind` is "call.denied" or similar. */
export interface RunEvent {
	kind: string;
	subject: string;
	reason: string;
	count: number;
	firstMs: number;
}

export interface Verdict {
	cause: string;
	limitName: string | null;
	limit: number | null;
	peak: number | null;
	denial: Denial | null;
	refusal: Refusal | null;
	remedy: string | null;
	operatorRemedy: string | null;
}

export declare class ExecutionResult {
	readonly id: string;
	readonly status: string;
	readonly exitCode: number | null;
	readonly signal: number | null;
	readonly stdout: string;
	readonly stderr: string;
	readonly stdoutBytes: Buffer;
	readonly stderrBytes: Buffer;
	readonly stdoutTruncated: boolean;
	readonly stderrTruncated: boolean;
	readonly encoding: "utf-8" | "base64";
	readonly value: unknown;
	/** How the language shows a value that is not JSON. */
	readonly valueRepr: string | null;
	readonly files: ResultFile[];
	readonly filesNote: string | null;
	readonly changes: Change[] | null;
	readonly verdict: Verdict;
	readonly durationMs: number;
	readonly usage: Record<string, number>;
	readonly limits: Record<string, number>;
	readonly means: Record<string, string>;
	readonly language: string | null;
	readonly runtime: string | null;
	readonly policy: string;
	readonly provider: string;
	readonly start: string;
	readonly layers: string[];
	readonly buildCached: boolean;
	readonly expiresAt: string | null;
	/** Of a run that had one. */
	readonly network: Connection[];
	/** Connections beyond those. */
	readonly networkUntold: number;
	readonly risk: Risk | null;
	readonly events: RunEvent[];
	/** Those that did not fit into the list. */
	readonly eventsDropped: number;
	/** All of them, by kind. */
	readonly eventCounts: Record<string, number>;
	readonly raw: Record<string, unknown>;
	/** The status is "ok". */
	readonly ok: boolean;
	/** How it ended, what was refused and the remedy, in one line. */
	readonly why: string;
	/** All output, and why it ended unless it succeeded. */
	readonly text: string;
	file(path: string): ResultFile | null;
	/** Writes all files beneath a directory, and nowhere else; returns their paths. */
	saveFiles(
		directory: string,
		options?: { overwrite?: boolean; executable?: boolean },
	): string[];
	constructor(raw: unknown);
}

export interface OutputEvent {
	type: "output";
	stream: "stdout" | "stderr";
	data: Buffer;
	text: string;
	id: string | null;
}

export interface ResultEvent {
	type: "result";
	result: ExecutionResult;
	id: string | null;
}

export type StreamEvent = OutputEvent | ResultEvent;

export declare class Stream implements AsyncIterable<StreamEvent> {
	private constructor();
	readonly id: string | null;
	readonly lastEventId: string | null;
	readonly result: ExecutionResult | null;
	[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, void>;
	wait(): Promise<ExecutionResult>;
	cancel(): Promise<ExecutionState>;
	close(): void;
}

export interface ExecutionState {
	id: string;
	status: string;
	ended: boolean;
	createdAt: string | null;
	startedAt: string | null;
	endedAt: string | null;
	language: string | null;
	policy: string | null;
	session: string | null;
	expiresAt: string | null;
	result: ExecutionResult | null;
	error: Problem | null;
}

export interface SessionState {
	id: string;
	state: string;
	language: string | null;
	policy: string | null;
	createdAt: string | null;
	expiresAt: string | null;
	runs: number;
	reason: string | null;
	raw: Record<string, unknown>;
}

export interface Page<T> {
	items: T[];
	next: string | null;
}

export interface BatchItem {
	program: number;
	input: number;
	result: ExecutionResult | null;
	error: Problem | null;
}

export declare class Execution {
	private constructor();
	readonly id: string;
	poll(): Promise<ExecutionState>;
	wait(options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<ExecutionResult>;
	events(after?: string): Promise<Stream>;
	cancel(): Promise<ExecutionState>;
}

export declare class Session {
	private constructor();
	readonly id: string;
	readonly language: string | null;
	readonly opened: SessionState;
	run(code: string, options?: Omit<RunOptions, "language">): Promise<ExecutionResult>;
	stream(code: string, options?: Omit<RunOptions, "language">): Promise<Stream>;
	interrupt(): Promise<SessionState>;
	fork(): Promise<Session>;
	state(): Promise<SessionState>;
	files(): Promise<{ path: string; size: number }[]>;
	get(path: string): Promise<Buffer>;
	put(path: string, content: Content): Promise<void>;
	delete(path: string): Promise<void>;
	close(): Promise<void>;
}

export interface ClientOptions {
	/** unix:PATH, http://HOST:PORT, https://HOST:PORT or spawn: */
	url?: string;
	/** For TCP; else $BRIG_TOKEN. */
	token?: string;
	/** A file with certificates to trust; else $BRIG_CA. */
	ca?: string;
	/** The time limit for a response (600000). */
	deadlineMs?: number;
	/** The size limit of a response (256 MiB). */
	maxBytes?: number;
	/** How often a request that was refused with 429 is retried (4)... */
	retries?: number;
	/** ...and for how long in all (30000). */
	retryMs?: number;
	/** Allow sending a token in clear to another host. */
	allowClear?: boolean;
}

export declare class Client {
	constructor(options?: string | ClientOptions);
	execute(code: string, options?: RunOptions): Promise<ExecutionResult>;
	executeFile(path: string, options?: RunOptions): Promise<ExecutionResult>;
	stream(code: string, options?: RunOptions): Promise<Stream>;
	submit(code: string, options?: RunOptions): Promise<Execution>;
	execution(id: string): Promise<ExecutionState>;
	executions(page?: { before?: string; limit?: number }): Promise<Page<ExecutionState>>;
	events(
		id: string,
		after?: string | null,
		options?: { signal?: AbortSignal },
	): Promise<Stream>;
	cancel(id: string): Promise<ExecutionState>;
	batch(
		programs: Program[],
		inputs?: Input[],
		options?: { signal?: AbortSignal },
	): AsyncGenerator<BatchItem, void, void>;
	session(options?: SessionOptions): Promise<Session>;
	attach(id: string): Promise<Session>;
	sessions(page?: {
		gone?: boolean;
		before?: string;
		limit?: number;
	}): Promise<Page<SessionState>>;
	runtimes(): Promise<Record<string, unknown>[]>;
	policies(): Promise<Record<string, unknown>[]>;
	check(options?: RunOptions & { code?: string }): Promise<Record<string, unknown>>;
	health(): Promise<string>;
	metrics(): Promise<string>;
}

export declare class Server {
	constructor(
		options?: ClientOptions & {
			program?: string;
			options?: string[];
			startMs?: number;
		},
	);
	readonly url: string;
	start(): Promise<Client>;
	stop(): Promise<void>;
}

export declare class BrigError extends Error {
	readonly remedy: string | null;
}

export declare class Problem extends BrigError {
	readonly code: string;
	readonly title: string;
	readonly detail: string;
	readonly status: number;
	readonly retryAfter: number | null;
}

export declare class CannotConnect extends BrigError {}
export declare class ConnectionLost extends BrigError {}
export declare class DeadlineExceeded extends ConnectionLost {}
export declare class BadAnswer extends BrigError {}
export declare class NeedsService extends BrigError {}
export declare class UnsafePath extends BrigError {}

/** Runs code with the default Client, and waits for its result. */
export declare function executeCode(code: string, options?: RunOptions): Promise<ExecutionResult>;
export declare function executeFile(path: string, options?: RunOptions): Promise<ExecutionResult>;
/** Returns a unique idempotency key. */
export declare function newKey(): string;
/** Returns a program's output without control sequences for a terminal. */
export declare function printable(text: string): string;

/** The result of a run by SecureSandbox. */
export interface SandboxResult {
	status: "success" | "timeout" | "error";
	output: string;
	error: string | null;
	result: ExecutionResult | null;
}

/** The smallest way to run a piece of Python. */
export declare class SecureSandbox {
	/** Options are those of Client.execute(). */
	constructor(client?: Client | null, options?: RunOptions);
	/** Never rejects because of the code, nor because it could not be run. In seconds. */
	execute(code: string, timeout?: number): Promise<SandboxResult>;
	/** The same with the usual client. */
	static execute(code: string, timeout?: number): Promise<SandboxResult>;
}

/** The result of the older execute_code(). */
export interface LegacyResult {
	stdout: string;
	stderr: string;
	/** -1: an error of brig, or a timeout. */
	exit_code: number;
	/** In seconds. */
	execution_time: number;
	status: "success" | "timeout" | "execution_error" | "setup_error";
	error_message: string | null;
	error_code:
		| "UNSUPPORTED_LANGUAGE"
		| "SANDBOX_SETUP_FAILED"
		| "EXECUTION_TIMEOUT"
		| "RUNTIME_ERROR"
		| null;
	/** null: it did not run. */
	resource_usage: { execution_time: number; cpu_time: number; memory_mb: number } | null;
	limits_applied: {
		timeout_seconds: number;
		memory_mb: number;
		cpu_cores: number;
		max_output_chars: number;
	} | null;
}

/** The form for older programs. */
export declare namespace legacy {
	/** Timeout in seconds; calls with the same session_id share their state. */
	function execute_code(
		language: string,
		code: string,
		stdin?: string | null,
		timeout?: number,
		session_id?: string | null,
		options?: { client?: Client; limits?: ExecutionLimits },
	): Promise<LegacyResult>;
	/** The limits of a run; the operator's ceilings apply in any case. */
	class ExecutionLimits {
		constructor(given?: {
			timeout_seconds?: number;
			memory_mb?: number;
			cpu_cores?: number;
			max_output_chars?: number;
		});
		readonly timeout_seconds: number;
		readonly memory_mb: number;
		readonly cpu_cores: number;
		readonly max_output_chars: number;
	}
	/** The output of the code in the sandbox, or "Error: ...". */
	function execute_python_sandbox(code: string): Promise<string>;
	/** Ends the sessions of that name; there need be none. */
	function close_session(session_id: string): Promise<void>;
}
