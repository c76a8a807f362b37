#!/usr/bin/env node
/**
 * The hook client: forwards one event from standard input to the daemon and prints the answer. It decides
 * nothing. Whatever goes wrong, it exits 0 without a word and the work goes on; only an answer of the daemon
 * makes it say or refuse anything. `hook.cjs MS`: it spends at most MS milliseconds.
 *
 * It runs at every edit, so it loads two modules and takes types alone from the protocol. No SIGTERM handler:
 * the default ends it at once, the connection closes, and the daemon knows that nobody waits any more.
 */
import { appendFileSync, lstatSync, readSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { HookReply } from "../../protocol/hook.ts";
import type { limits } from "../../protocol/limits.ts";

// Literal types of the protocol's own bounds: a different number here does not compile.
const firstByteMs: typeof limits.firstByteMs = 1_000;
const reconnectMs: typeof limits.reconnectMs = 5_000;
const defaultBudgetMs: typeof limits.hookTurnBudgetMs = 1_000;
const pathBytes: typeof limits.pathBytes = 4096;
const lineBytes: typeof limits.hookLineBytes = 32 * 1024 * 1024;
const replyBytes: typeof limits.lineBytes = 1024 * 1024;
const retryMs = 50;

const forwarded = [
  "CLAUDE_PID",
  "CLAUDE_PROJECT_DIR",
  "CLAUDE_CODE_SESSION_ATTENDED",
  "CLAUDE_CODE_ENTRYPOINT",
];

function leave(code = 0): never {
  process.exit(code);
}

process.on("uncaughtException", () => leave());
main();

function main(): void {
  const { env } = process;
  if (env["KITE"] === "off") leave();
  const home = env["KITE_HOME"] || `${env["HOME"] || process.getBuiltinModule("node:os").homedir()}/.kite`;
  const path = `${home}/kite.sock`;
  if (!home.startsWith("/") || !ours(home, path)) leave();
  const request = requestLine(readInput());
  const asked = Number(process.argv[2]);
  setTimeout(leave, asked > 0 ? asked : defaultBudgetMs);
  forward(path, request);
}

/** Directory and socket belong to this user and nobody else can put another socket there. */
function ours(home: string, path: string): boolean {
  const uid = process.getuid?.();
  const dir = lstatSync(home, { throwIfNoEntry: false });
  const socket = lstatSync(path, { throwIfNoEntry: false });
  if (dir === undefined || socket === undefined) return false;
  return (
    dir.isDirectory() &&
    dir.uid === uid &&
    (dir.mode & 0o022) === 0 &&
    socket.isSocket() &&
    socket.uid === uid
  );
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
  const event: unknown = JSON.parse(payload);
  if (typeof event !== "object" || event === null || Array.isArray(event))
    throw new TypeError("not an event");
  const env: Record<string, string> = {};
  for (const name of forwarded) {
    const value = process.env[name];
    if (value !== undefined && value.length <= pathBytes) env[name] = value;
  }
  const oneLine = payload.replace(/[\r\n]+/g, " ");
  const line = Buffer.from(
    `{"type":"hook","event":${oneLine},"env":${JSON.stringify(env)},"ppid":${process.ppid}}\n`,
  );
  if (line.length > lineBytes) throw new RangeError("the event is too long");
  return line;
}

/**
 * One connection after the other until there is an answer. The daemon writes a blank line at once when it parks
 * the request; from then on a lost connection is worth coming back for, with the same bytes.
 */
function forward(path: string, request: Buffer): void {
  const { connect } = process.getBuiltinModule("node:net");
  let parked = false;
  let lostAt = 0;
  attempt();

  function attempt(): void {
    const socket: Socket = connect(path);
    const silence = setTimeout(lost, firstByteMs);
    let heard = false;
    let text = "";
    let over = false;
    socket.setEncoding("utf8");
    socket.on("error", lost);
    socket.on("close", lost);
    socket.on("data", (chunk: string) => {
      clearTimeout(silence);
      heard = true;
      text += chunk;
      for (let end = text.indexOf("\n"); end !== -1 && !over; end = text.indexOf("\n")) {
        take(text.slice(0, end));
        text = text.slice(end + 1);
      }
      if (text.length > replyBytes) leave();
    });
    // A long event takes its time to be read; the daemon's begins when it has all of it.
    socket.write(request, () => heard || silence.refresh());

    function take(line: string): void {
      if (line.trim() === "") {
        parked = true;
        lostAt = 0;
        return;
      }
      const message: unknown = JSON.parse(line);
      if (isEvent(message)) return;
      if (isReply(message)) finish(message);
      if (!isRestarting(message)) leave();
      lost();
    }

    function lost(): void {
      if (over) return;
      over = true;
      clearTimeout(silence);
      socket.destroy();
      const now = performance.now();
      if (lostAt === 0) lostAt = now;
      if (!parked || now - lostAt >= reconnectMs) leave();
      setTimeout(attempt, retryMs);
    }
  }
}

/** Does what the daemon said, and ends. */
function finish(reply: HookReply): never {
  const envFile = process.env["CLAUDE_ENV_FILE"];
  if (envFile && reply.env?.length) {
    const lines = `${reply.env.join("\n")}\n`;
    quietly(() => appendFileSync(envFile, lines));
  }
  quietly(() => writeFileSync(1, reply.output));
  quietly(() => writeFileSync(2, reply.stderr ?? ""));
  leave(reply.exitCode ?? 0);
}

function quietly(write: () => void): void {
  try {
    write();
  } catch {
    // The client has gone, or its file: nobody is there who could be told.
  }
}

function isReply(message: unknown): message is HookReply {
  const reply = fields(message);
  return (
    reply["ok"] === true &&
    typeof reply["output"] === "string" &&
    (reply["stderr"] === undefined || typeof reply["stderr"] === "string") &&
    (reply["exitCode"] === undefined || isExitCode(reply["exitCode"])) &&
    (reply["env"] === undefined ||
      (Array.isArray(reply["env"]) && reply["env"].every(l => typeof l === "string")))
  );
}

function isExitCode(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}

function isRestarting(message: unknown): boolean {
  const { ok, code } = fields(message);
  return ok === false && code === "restarting";
}

/** Pushed to this connection, not an answer. */
function isEvent(message: unknown): boolean {
  return fields(message)["type"] === "event";
}

function fields(message: unknown): Record<string, unknown> {
  return typeof message === "object" && message !== null ? { ...message } : {};
}
