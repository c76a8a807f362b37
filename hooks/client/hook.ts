#!/usr/bin/env node
/**
 * The hook client: forwards one event from standard input to the daemon and prints the answer. It decides
 * nothing. Whatever goes wrong, it exits 0 and the work goes on; only an answer of the daemon makes it refuse
 * anything. `hook.cjs MS`: it spends at most MS milliseconds. `hook.cjs MS wake`: the one beside a Stop, for which
 * nobody waits and whose exit code 2 wakes the session. hook.pl is the same for machines that have perl.
 *
 * It runs at every edit, so it loads two modules and takes types alone from the protocol. No SIGTERM handler:
 * the default ends it at once, the connection closes, and the daemon knows that nobody waits any more.
 */
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import type { Socket } from "node:net";
import type { limits } from "../../protocol/limits.ts";

// Literal types of the protocol's own bounds: a different number here does not compile.
const firstByteMs: typeof limits.firstByteMs = 1_000;
const briefMs: typeof limits.hookBriefMs = 100;
const reconnectMs: typeof limits.reconnectMs = 5_000;
const defaultBudgetMs: typeof limits.hookTurnBudgetMs = 1_000;
const failuresMax: typeof limits.hookFailuresMax = 3;
const windowMs: typeof limits.hookFailuresWindowMs = 60_000;
const pauseMs: typeof limits.hookPauseMs = 30_000;
const toldMax: typeof limits.toldSessionsMax = 100;
const pathBytes: typeof limits.pathBytes = 4096;
const lineBytes: typeof limits.hookLineBytes = 32 * 1024 * 1024;
const replyBytes: typeof limits.lineBytes = 1024 * 1024;
const retryMs = 50;

const forwarded = [
  "CLAUDE_PID",
  "CLAUDE_PROJECT_DIR",
  "CLAUDE_CODE_SESSION_ATTENDED",
  "CLAUDE_CODE_ENTRYPOINT",
  "HOME",
];
const unreached = `${JSON.stringify({
  systemMessage:
    "kite gives no answer: edits of this session are not coordinated with others (kite doctor says why)",
})}\n`;

const wakes = process.argv[3] === "wake";
let home = "";
let event = "";
let isStarted = false;
let isAsked = false;
let patienceMs: number = firstByteMs;
let othersFailed = false;

process.on("uncaughtException", () => process.exit(0));
main();

function main(): void {
  const { env } = process;
  if (env["KITE"] === "off") process.exit(0);
  home = env["KITE_HOME"] || `${env["HOME"] || process.getBuiltinModule("node:os").homedir()}/.kite`;
  const path = `${home}/kite.sock`;
  const folder = mine(home);
  if (!home.startsWith("/") || !folder?.isDirectory() || folder.mode & 0o022) process.exit(0);
  if (isOff()) process.exit(0);
  event = readInput();
  const asked = Number(process.argv[2]);
  setTimeout(() => letGo(isAsked), asked > 0 ? asked : defaultBudgetMs);
  const begin = () => {
    const socket = mine(path);
    if (!socket?.isSocket() || isPaused(socket)) letGo();
    const request = requestLine(event);
    isAsked = true;
    forward(path, request);
  };
  if (mine(path)?.isSocket() || !startDaemon(begin)) begin();
}

/** What `kite off` writes: an empty file, or one until the time it carries. */
function isOff(): boolean {
  const stat = lookAt(`${home}/off`);
  return stat?.isFile() === true && (stat.size === 0 || stat.mtimeMs > Date.now());
}

/**
 * Where a session or a turn begins and nobody listens, the launcher that `kite install` wrote starts the daemon and
 * ends when it answers; if that takes longer than this hook may, it goes on without it. Once: false otherwise.
 */
function startDaemon(then: () => void): boolean {
  const program = `${home}/bin/start`;
  const isBeginning = /"hook_event_name"\s*:\s*"(?:SessionStart|UserPromptSubmit)"/.test(event);
  if (isStarted || !isBeginning || !existsSync(program)) return false;
  isStarted = true;
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(program, { detached: true, stdio: "ignore" });
  child.on("error", then);
  child.on("exit", then);
  return true;
}

/** What is there itself, no link followed. Only a regular file is opened: a pipe would hold up the hook. */
function lookAt(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** The same, if it is this user's. */
function mine(path: string): Stats | undefined {
  const stat = lookAt(path);
  return stat?.uid === process.getuid?.() ? stat : undefined;
}

/** All of standard input. Throws where it is longer than a request may be, or not UTF-8. */
function readInput(): string {
  let bytes = Buffer.allocUnsafe(65_536);
  let size = 0;
  for (let count = -1; count !== 0; size += count) {
    if (size === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(size)]);
    if (size > lineBytes) throw new RangeError("the event is too long");
    count = readSync(0, bytes, size, bytes.length - size, null);
  }
  const text = bytes.toString("utf8", 0, size);
  if (!Buffer.from(text).equals(bytes.subarray(0, size))) throw new TypeError("not UTF-8");
  return text;
}

/**
 * The request around the payload as received. The payload is parsed first, so it is one whole object and cannot
 * close the request early; in valid JSON a line break stands only between tokens, where a space means the same.
 */
function requestLine(payload: string): Buffer {
  const parsed: unknown = JSON.parse(payload);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new TypeError("not an event");
  const env: Record<string, string> = {};
  for (const name of forwarded) {
    const value = process.env[name];
    if (value !== undefined && Buffer.byteLength(value) <= pathBytes) env[name] = value;
  }
  const oneLine = payload.replace(/[\r\n]/g, " ");
  const around = `"env":${JSON.stringify(env)},"ppid":${process.ppid},"reply":"raw"${wakes ? ',"wake":true' : ""}`;
  const line = Buffer.from(`{"type":"hook","event":${oneLine},${around}}\n`);
  if (line.length > lineBytes) throw new RangeError("the event is too long");
  return line;
}

/**
 * One connection after the other until there is an answer. The daemon writes a blank line at once when it parks
 * the request; from then on a lost connection is worth coming back for, with the same bytes. So is, before a tool,
 * one that was taken and closed without a word: that daemon lives and has no descriptor left for it.
 */
function forward(path: string, request: Buffer): void {
  const { connect } = process.getBuiltinModule("node:net");
  let parked = false;
  let lostAt = 0;
  attempt();

  function attempt(): void {
    const socket: Socket = connect(path);
    const silence = setTimeout(lost, patienceMs, true);
    let heard = false;
    let reply = "";
    let over = false;
    // One character a byte: the answer's parts are counted in bytes.
    socket.setEncoding("latin1");
    socket.on("error", (error: NodeJS.ErrnoException) => {
      const isAbsent = error.syscall === "connect" && !over;
      if (!isAbsent || !startDaemon(attempt)) return lost(false, isAbsent);
      over = true;
      clearTimeout(silence);
    });
    socket.on("close", () => lost(false));
    socket.on("data", (chunk: string) => {
      if (over) return;
      clearTimeout(silence);
      heard = true;
      if (othersFailed) endPause();
      reply += chunk;
      for (let end = reply.indexOf("\n"); end !== -1 && !over; end = reply.indexOf("\n")) {
        if (!take(reply.slice(0, end), reply.slice(end + 1))) break;
        reply = reply.slice(end + 1);
      }
      if (reply.length > 2 * replyBytes) letGo(true);
    });
    // A long event takes its time to be read; the daemon's begins when it has all of it.
    socket.write(request, () => heard || silence.refresh());

    /** Returns false where an answer has begun that is not whole yet. */
    function take(head: string, rest: string): boolean {
      const numbers = /^(\d{1,3}) (\d{1,7}) (\d{1,7}) (\d{1,7})$/.exec(head)?.slice(1).map(Number);
      if (numbers !== undefined) {
        const [code = 0, output = 0, error = 0, env = 0] = numbers;
        const [errorAt, envAt, end] = [output, output + error, output + error + env];
        if (code > 255 || end > replyBytes) letGo(true);
        if (rest.length < end) return false;
        finish(code, rest.slice(0, errorAt), rest.slice(errorAt, envAt), rest.slice(envAt, end));
      }
      if (head.trim() === "") {
        parked = true;
        lostAt = 0;
      } else if (head.startsWith('{"ok":false,')) {
        if (!head.includes('"code":"restarting"')) letGo();
        lost(false);
      } else if (!head.startsWith('{"type":"event",')) letGo(true);
      return true;
    }

    function lost(silent: boolean, isAbsent = false): void {
      if (over) return;
      over = true;
      clearTimeout(silence);
      socket.destroy();
      const now = performance.now();
      if (lostAt === 0) lostAt = now;
      const isFull = !parked && !silent && !isAbsent && !heard && isBeforeTool();
      const isLong = now - lostAt >= (isFull && patienceMs === briefMs ? briefMs : reconnectMs);
      if (isLong || !(parked || isFull)) letGo(silent || isFull);
      setTimeout(attempt, retryMs);
    }
  }
}

/** Does what the daemon said, and ends. The parts have one character a byte. */
function finish(code: number, output: string, error: string, env: string): never {
  const envFile = process.env["CLAUDE_ENV_FILE"];
  // Who does not read any more cannot be told, and an answer stands without its environment file.
  if (envFile && env !== "") succeeds(() => appendFileSync(envFile, env, "latin1"));
  succeeds(() => writeFileSync(1, output, "latin1"));
  succeeds(() => writeFileSync(2, error, "latin1"));
  process.exit(code);
}

/**
 * Three failures within a minute: for half a minute nobody asks, unless the socket is newer than they are. What waits
 * before a tool asks all the same, or it would run past others' locks: only briefly when three of its kind failed.
 */
function isPaused(socket: Stats): boolean {
  const path = failuresFile();
  const stat = lookAt(path);
  let lines = "";
  othersFailed = stat !== undefined;
  if (!stat?.isFile() || !succeeds(() => (lines = readFileSync(path, "latin1").slice(-1100)))) return false;
  if (!isRecent(socket, lines.matchAll(/^(\d{10})(?: tool)?$/gm))) return false;
  if (!isBeforeTool()) return true;
  if (isRecent(socket, lines.matchAll(/^(\d{10}) tool$/gm))) patienceMs = briefMs;
  return false;
}

/** Whether the last of these failures call for a pause. */
function isRecent(socket: Stats, failures: Iterable<RegExpMatchArray>): boolean {
  const last = Array.from(failures, ([, seconds]) => 1000 * Number(seconds)).slice(-failuresMax);
  const [first = 0, newest = 0] = [last[0], last.at(-1)];
  const age = secondOf(Date.now()) - newest;
  const isWithin = last.length === failuresMax && newest - first <= windowMs;
  return isWithin && secondOf(socket.mtimeMs) <= newest && age >= 0 && age < pauseMs;
}

function secondOf(ms: number): number {
  return ms - (ms % 1000);
}

/** The daemon answers: what failed before keeps nobody from asking any more. */
function endPause(): void {
  othersFailed = false;
  patienceMs = firstByteMs;
  succeeds(() => rmSync(failuresFile()));
}

/**
 * Ends without an answer. When it `failed`, that counts towards a pause, unless the hook beside it counts it or it
 * waited only briefly. Once in a session, when an edit goes ahead though nobody looked, the person is told, unless
 * nobody is meant to look.
 */
function letGo(failed = false): never {
  if (failed && !wakes && patienceMs !== briefMs) {
    const path = failuresFile();
    const at = `${Math.floor(Date.now() / 1000)}${isBeforeTool() ? " tool" : ""}\n`;
    const stat = lookAt(path);
    const flag = (stat?.size ?? 0) < 1024 ? "a" : "w";
    if (stat?.isFile() ?? true) succeeds(() => writeFileSync(path, at, { flag }));
  }
  const session = /"session_id"\s*:\s*"([\w-]{1,100})"/.exec(event)?.[1];
  if (session !== undefined && isEdit() && !existsSync(`${home}/down`) && isUntold(session)) {
    succeeds(() => writeFileSync(1, unreached));
  }
  process.exit(0);
}

function failuresFile(): string {
  return `${home}/hook-failures`;
}

function isBeforeTool(): boolean {
  return /"hook_event_name"\s*:\s*"PreToolUse"/.test(event);
}

function isEdit(): boolean {
  return isBeforeTool() && /"tool_name"\s*:\s*"(?:Edit|Write|NotebookEdit)"/.test(event);
}

/** Whether the session was not told yet; from now on it was. Where that cannot be kept, it counts as told. */
function isUntold(session: string): boolean {
  const told = `${home}/unreached`;
  succeeds(() => mkdirSync(told, { mode: 0o700 }));
  if (!succeeds(() => mkdirSync(`${told}/${session}`, { mode: 0o700 }))) return false;
  const others = readdirSync(told).filter(name => name !== session);
  if (others.length >= toldMax) for (const name of others) succeeds(() => rmdirSync(`${told}/${name}`));
  return true;
}

/** For what may fail without changing the outcome. */
function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
