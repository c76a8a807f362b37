#!/usr/bin/env node
/**
 * The hook client: forwards one event from standard input to the daemon and prints the answer. It decides nothing. If
 * anything fails, it exits 0 and the agent continues; only an answer of the daemon makes it refuse anything.
 * `hook.cjs MS`: it spends at most MS milliseconds. `hook.cjs MS wake`: the hook beside a Stop. The agent's client does
 * not wait for it; exit code 2 wakes the session. `hook.cjs MS '' plugin|shared`: an entry that other machines have too;
 * it leaves the event to one of this machine. `hook.cjs MS '' '' CLIENT`: an entry of another agent client than Claude Code,
 * by its name. hook.pl does the same on machines that have perl.
 *
 * It runs at every edit, so it loads two modules and imports only types from the protocol. It has no SIGTERM handler:
 * the default ends it at once, and the closed connection tells the daemon that no client waits any more.
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
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import type { Socket } from "node:net";
import type { limits } from "../../protocol/limits.ts";
import { isElsewhere, mountsHere } from "./mounts.ts";
import { leaveEnd } from "./unheard-end.ts";

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
const pieceBytes: typeof limits.hookPieceBytes = 256 * 1024;
const replyBytes: typeof limits.lineBytes = 1024 * 1024;
const settingsBytes: typeof limits.settingsBytes = 4 * 1024 * 1024;
const retryMs: typeof limits.hookRetryMs = 50;

const forwarded = [
  "CLAUDE_PID",
  "CLAUDE_PROJECT_DIR",
  "CLAUDE_CODE_SESSION_ATTENDED",
  "CLAUDE_CODE_ENTRYPOINT",
  "HOME",
  "KITE_SPAWN",
];
const unreached = "Kite is not responding; edits in this session are not coordinated. Run `kite doctor`.";
const hostless =
  "Kite on the host of this container does not respond; edits in this session are not coordinated. Run `kite up` there.";
const lost =
  "Kite stays down: its journal is missing. Edits in this session are not coordinated. Run `kite doctor`.";

const wakes = process.argv[3] === "wake";
/** Not a hook but the status line; standard input is what the agent's client gives that. */
const isLine = process.argv[3] === "statusline";
const origin = process.argv[4] ?? "";
/** The agent client, if it is not Claude Code; no other form can be a name. */
const client = /^[a-z-]{1,40}$/.exec(process.argv[5] ?? "")?.[0] ?? "";
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
  if (env["KITE"] === "off") leaveOff();
  home = env["KITE_HOME"] || `${userFolder()}/.kite`;
  const path = `${home}/kite.sock`;
  const folder = mine(home);
  if (!home.startsWith("/") || !folder?.isDirectory() || folder.mode & 0o022) process.exit(0);
  if (isOff()) leaveOff();
  if (origin !== "" && isForwardedElsewhere()) process.exit(0);
  event = readInput();
  const budgetMs = Number(process.argv[2]);
  setTimeout(() => failOpen(isAsked), budgetMs > 0 ? budgetMs : defaultBudgetMs);
  const begin = () => {
    const socket = mine(path);
    if (!socket?.isSocket() || isPaused(socket)) failOpen();
    const request = requestLine(event);
    isAsked = true;
    forward(path, request);
  };
  if (mine(path)?.isSocket() || !startDaemon(begin)) begin();
}

/** Leaves the event alone; the status line says why it shows nothing else. */
function leaveOff(): never {
  if (isLine) writeSync(1, "kite: off\n");
  process.exit(0);
}

function userFolder(): string {
  return process.env["HOME"] || process.getBuiltinModule("node:os").homedir();
}

/** Returns whether `kite off` is in force: its file is empty, or valid until its own modification time. */
function isOff(): boolean {
  const stat = lookAt(`${home}/off`);
  return stat?.isFile() === true && (stat.size === 0 || stat.mtimeMs > Date.now());
}

/**
 * If a session or turn begins and no daemon listens, runs the launcher of `kite install` once; returns false otherwise.
 * The launcher ends when the daemon answers. If that exceeds the hook's time, the hook ends and the launcher continues.
 */
function startDaemon(then: () => void): boolean {
  const program = `${home}/bin/start`;
  if (isStarted || !isBeginning() || !existsSync(program)) return false;
  isStarted = true;
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(program, { detached: true, stdio: "ignore" });
  child.on("error", then);
  child.on("exit", then);
  return true;
}

/**
 * Returns whether another entry forwards the event: one in the person's settings that names this Kite's program. For an
 * entry of a plugin, the project's committed entry counts, too. So each event has one hook, however often Kite is
 * installed.
 */
function isForwardedElsewhere(): boolean {
  const { env } = process;
  const project = env["CLAUDE_PROJECT_DIR"] ?? ".";
  // The client applies a repository's private settings in its worktrees too.
  const main = /^gitdir: (.+)\/\.git\/worktrees\/[^/]+\s*$/.exec(startOf(`${project}/.git`))?.[1];
  const user = env["CLAUDE_CONFIG_DIR"] || `${userFolder()}/.claude`;
  const committed = startOf(`${project}/.claude/settings.json`);
  const folders = main === undefined ? [project] : [project, main];
  const own = folders.map(folder => startOf(`${folder}/.claude/settings.local.json`));
  const texts = [startOf(`${user}/settings.json`), ...own, committed];
  if (texts.some(text => text.includes(`${home}/bin/hook.`))) return true;
  return origin === "plugin" && committed.includes("/.kite}/bin/hook");
}

/** Returns a regular file's text, up to a bound; "" if it cannot be read. */
function startOf(path: string): string {
  let text = "";
  succeeds(() => {
    if (statSync(path).isFile()) text = readFileSync(path, "utf8").slice(0, settingsBytes);
  });
  return text;
}

/** Returns the file's stat without following links. Callers open only regular files: a pipe would block the hook. */
function lookAt(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Returns the same if this user owns the file. */
function mine(path: string): Stats | undefined {
  const stat = lookAt(path);
  return stat?.uid === process.getuid?.() ? stat : undefined;
}

/** Returns all of standard input. Throws if it exceeds a request's bound, or is not UTF-8. */
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
 * Returns the request with the payload as received. Parses the payload first, so it is one whole object and cannot
 * close the request early. In valid JSON line breaks occur only between tokens, where a space is equivalent.
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
  const from = client === "" ? "" : `,"client":"${client}"`;
  const kind = wakes ? ',"wake":true' : isLine ? ',"statusLine":true' : from;
  const mounts = mountsHere(home, process.env["KITE_MOUNTS"]);
  const where = mounts === null ? "" : `,"mounts":${JSON.stringify(mounts)}`;
  const around = `"env":${JSON.stringify(env)},"ppid":${process.ppid},"reply":"raw"${kind}${where}`;
  const line = Buffer.from(`{"type":"hook","event":${oneLine},${around}}\n`);
  if (line.length > lineBytes) throw new RangeError("the event is too long");
  return line;
}

/**
 * Connects again until there is an answer. The daemon writes a blank line at once when it parks the request. From then
 * on the hook reconnects after a lost connection and sends the same bytes. Before a tool it also reconnects if the
 * daemon accepted and closed the connection silently: that daemon lives, but has no free descriptor.
 */
function forward(path: string, request: Buffer): void {
  const { connect } = process.getBuiltinModule("node:net");
  let parked = false;
  let lostAt = 0;
  attempt();

  function attempt(): void {
    const socket: Socket = connect(path);
    const silence = setTimeout(lost, patienceMs, true);
    let hasData = false;
    let reply = "";
    let over = false;
    // One character per byte, because the answer's head counts bytes.
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
      hasData = true;
      if (othersFailed) endPause();
      reply += chunk;
      for (let end = reply.indexOf("\n"); end !== -1 && !over; end = reply.indexOf("\n")) {
        if (!take(reply.slice(0, end), reply.slice(end + 1))) break;
        reply = reply.slice(end + 1);
      }
      if (reply.length > 2 * replyBytes) failOpen(true);
    });
    send(0);

    /** Sends the rest of the request. The daemon's time begins anew with each piece of a long event that it took. */
    function send(at: number): void {
      const end = at + pieceBytes;
      socket.write(request.subarray(at, end), error => {
        if (error != null) return;
        if (!hasData) silence.refresh();
        if (end < request.length) send(end);
      });
    }

    /** Returns false if an answer has begun that is not complete yet. */
    function take(head: string, rest: string): boolean {
      const numbers = /^(\d{1,3}) (\d{1,7}) (\d{1,7}) (\d{1,7})$/.exec(head)?.slice(1).map(Number);
      if (numbers !== undefined) {
        const [code = 0, output = 0, error = 0, env = 0] = numbers;
        const [errorAt, envAt, end] = [output, output + error, output + error + env];
        if (code > 255 || end > replyBytes) failOpen(true);
        if (rest.length < end) return false;
        finish(code, rest.slice(0, errorAt), rest.slice(errorAt, envAt), rest.slice(envAt, end));
      }
      if (head.trim() === "") {
        parked = true;
        lostAt = 0;
      } else if (head.startsWith('{"ok":false,')) {
        if (!head.includes('"code":"restarting"')) failOpen();
        lost(false);
      } else if (!head.startsWith('{"type":"event",')) failOpen(true);
      return true;
    }

    function lost(silent: boolean, isAbsent = false): void {
      if (over) return;
      over = true;
      clearTimeout(silence);
      socket.destroy();
      const now = performance.now();
      if (lostAt === 0) lostAt = now;
      const isFull = !parked && !silent && !isAbsent && !hasData && isBeforeTool();
      const isLong = now - lostAt >= (isFull && patienceMs === briefMs ? briefMs : reconnectMs);
      if (isLong || !(parked || isFull)) failOpen(silent || isFull);
      setTimeout(attempt, retryMs);
    }
  }
}

/** Executes the daemon's answer, and exits. The parts have one character per byte. */
function finish(code: number, output: string, error: string, env: string): never {
  const envFile = process.env["CLAUDE_ENV_FILE"];
  // Each write may fail: the reader may be gone, and the answer is valid without its environment file.
  if (envFile && env !== "") succeeds(() => appendFileSync(envFile, env, "latin1"));
  succeeds(() => writeFileSync(1, output, "latin1"));
  succeeds(() => writeFileSync(2, error, "latin1"));
  process.exit(code);
}

/**
 * Three failures within a minute pause hooks for half a minute, unless the socket is newer than the failures. A hook
 * before a tool still asks, or the tool would ignore other sessions' locks; after three such failures it waits briefly.
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

/** Returns whether the latest failures require a pause. */
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

/** Ends the pause of all hooks, because the daemon answers. */
function endPause(): void {
  othersFailed = false;
  patienceMs = firstByteMs;
  succeeds(() => rmSync(failuresFile()));
}

/**
 * Exits without an answer. If it `failed`, that counts towards a pause, unless the hook beside it counts it, it
 * waited only briefly, or it is the status line. Tells the person once per session that an edit runs without coordination,
 * or at once that the journal is missing, but not after `kite down`. Leaves the ids of an end for the next daemon.
 */
function failOpen(failed = false): never {
  if (failed && !wakes && !isLine && patienceMs !== briefMs) {
    const path = failuresFile();
    const at = `${Math.floor(Date.now() / 1000)}${isBeforeTool() ? " tool" : ""}\n`;
    const stat = lookAt(path);
    const flag = (stat?.size ?? 0) < 1024 ? "a" : "w";
    if (stat?.isFile() ?? true) succeeds(() => writeFileSync(path, at, { flag }));
  }
  if (!wakes && !isLine) succeeds(() => leaveEnd(home, event, client, process.ppid));
  const session = /"session_id"\s*:\s*"([\w-]{1,100})"/.exec(event)?.[1];
  // The daemon refuses to begin anew without its journal; see daemon/journal/store-mark.ts.
  const isLost =
    !existsSync(`${home}/journal`) && ["store", "daemon"].some(of => existsSync(`${home}/${of}.json`));
  const tells = isEdit() || (isLost && isBeginning());
  if (session !== undefined && tells && !existsSync(`${home}/down`) && isUntold(session)) {
    const systemMessage = isElsewhere(home) ? hostless : isLost ? lost : unreached;
    succeeds(() => writeFileSync(1, `${JSON.stringify({ systemMessage })}\n`));
  }
  process.exit(0);
}

function failuresFile(): string {
  return `${home}/hook-failures`;
}

function isBeginning(): boolean {
  return /"hook_event_name"\s*:\s*"(?:SessionStart|UserPromptSubmit|BeforeAgent)"/.test(event);
}

function isBeforeTool(): boolean {
  return /"hook_event_name"\s*:\s*"(?:PreToolUse|BeforeTool)"/.test(event);
}

function isEdit(): boolean {
  const writes = /"tool_name"\s*:\s*"(?:Edit|Write|NotebookEdit|apply_patch|write_file|replace)"/;
  return isBeforeTool() && writes.test(event);
}

/** Returns whether the person in this session was not told yet, and records it. A failed record counts as told. */
function isUntold(session: string): boolean {
  const records = `${home}/unreached`;
  succeeds(() => mkdirSync(records, { mode: 0o700 }));
  if (!succeeds(() => mkdirSync(`${records}/${session}`, { mode: 0o700 }))) return false;
  const others = readdirSync(records).filter(name => name !== session);
  if (others.length >= toldMax) for (const name of others) succeeds(() => rmdirSync(`${records}/${name}`));
  return true;
}

/** Runs an action that may fail without changing the outcome; returns whether it succeeded. */
function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
