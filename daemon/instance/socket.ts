/** Opens and removes the daemon's socket. */

import { randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname, join, resolve } from "node:path";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { shellArgument } from "../../protocol/text.ts";

// Checks or creates Kite's directory.

/** Why the daemon cannot start, with what to do. */
export interface Refused {
  readonly is: "refused";
  readonly code: "home_unsafe" | "socket_path_long" | "lock_unavailable" | "not_a_socket";
  readonly error: string;
}

/**
 * Ensures that Kite's directory exists, belongs to this user and is closed to others; creates it if missing. Never
 * changes an existing one: the person who opened it should know, and it may not be Kite's at all.
 */
export function openHome(path: string): Refused | null {
  // Without a slash at the end, which would follow a link.
  const home = resolve(path);
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const stat = lstatSync(home);
    const uid = process.getuid?.();
    if (stat.isSymbolicLink()) {
      return unsafe(`${home} is a symbolic link; set KITE_HOME to the directory itself`);
    }
    if (!stat.isDirectory()) return unsafe(`${home} is not a directory; move it away or set KITE_HOME`);
    if (uid !== undefined && stat.uid !== uid) {
      return unsafe(
        `${home} belongs to user ${stat.uid}, not to you (${uid}); set KITE_HOME to a directory of your own`,
      );
    }
    if ((stat.mode & 0o077) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
      return unsafe(
        `${home} is open to other users (mode ${mode}); if it is Kite's, run: chmod 700 ${shellArgument(home)}`,
      );
    }
    return null;
  } catch (error) {
    return unsafe(
      `${home} cannot be made or read (${errorText(error)}); set KITE_HOME to a directory you can write to`,
    );
  }
}

function unsafe(error: string): Refused {
  return { is: "refused", code: "home_unsafe", error };
}

/** A server that listens on Kite's socket. */
export interface Listening {
  /** Identity of the socket's file. */
  readonly fileId: string;
  /**
   * Removes the socket if it is still this daemon's, and closes the server; resolves when all its connections ended.
   */
  close(): Promise<void>;
}

/** Returns `device:inode` of the file at `path` itself, or null if it does not exist. */
export function fileIdOf(path: string): string | null {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`;
}

/** Returns a sentence if the path is too long for a socket: Node 20 and 22 would silently shorten it. */
export function socketPathError(path: string): string | null {
  const bytes = Buffer.byteLength(path);
  if (bytes <= limits.socketPathBytes) return null;
  return `the socket's path has ${bytes} bytes, at most ${limits.socketPathBytes} are possible: ${path}; set KITE_HOME to a shorter path`;
}

/** Removes a socket that an earlier daemon left, and nothing but a socket. Only for the holder of the lock. */
export function unlinkStaleSocket(paths: KitePaths): Refused | null {
  const stat = lstatSync(paths.socket, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (!stat.isSocket()) {
    return { is: "refused", code: "not_a_socket", error: `${paths.socket} is not a socket; move it away` };
  }
  rmSync(paths.socket, { force: true });
  return null;
}

/**
 * Lets `server` listen on Kite's socket, open to this user only from the first moment. Only for the holder of the lock.
 *
 * When a server closes, Node unlinks the path it listened on, even if a newer daemon uses that path. So the server
 * listens under a temporary name beside the socket, no longer than the socket's, which is then renamed. Node's unlink
 * finds nothing, and the daemon removes its own socket.
 */
export async function listenPrivately(server: Server, paths: KitePaths): Promise<Listening> {
  const path = join(dirname(paths.socket), `.${process.pid.toString(36)}`);
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const umask = process.umask(0o177);
    try {
      // The socket is bound before `listen` returns, so no other code runs under this umask.
      server.listen({ path, backlog: limits.backlog }, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      process.umask(umask);
    }
  });
  const fileId = fileIdOf(path);
  if (fileId === null) throw new Error(`${path} vanished while the daemon began to listen on it`);
  renameSync(path, paths.socket);
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => {
    // Before the server closes: while it listens, the kernel does not reuse its inode.
    if (fileIdOf(paths.socket) === fileId) rmSync(paths.socket, { force: true });
    return new Promise((resolve, reject) => {
      server.close(error => (error === undefined ? resolve() : reject(error)));
    });
  };
  return {
    fileId,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** Whether a daemon accepts connections at `socket`; if so, waiting is useless. */
export function answers(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(socket, () => done(true));
    const done = (answer: boolean) => {
      probe.destroy();
      resolve(answer);
    };
    probe.once("error", () => done(false));
  });
}

// Reads and writes `daemon.json`.

/** `daemon.json`: the process that serves the socket. `pid` and `startTime` identify it for good. */
interface DaemonFile {
  readonly pid: number;
  readonly startTime: string;
  readonly version: string;
  readonly protocol: number;
  readonly storeId: string;
  readonly epoch: number;
  readonly socket: string;
}

/** Replaces the file as a whole, so a reader sees the old or the new one. Only for the holder of the lock. */
export function writeDaemonFile(paths: KitePaths, file: DaemonFile): void {
  const temporary = `${paths.daemonFile}.new`;
  writeFileSync(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, paths.daemonFile);
}

/** Returns the last daemon's file, or null if it is missing or unreadable. That daemon may be dead. */
export function readDaemonFile(paths: KitePaths): DaemonFile | null {
  try {
    const stat = statSync(paths.daemonFile);
    if (!stat.isFile() || stat.size > limits.smallFileBytes) return null;
    const value: unknown = JSON.parse(readFileSync(paths.daemonFile, "utf8"));
    return isDaemonFile(value) ? value : null;
  } catch {
    // Missing and damaged are the same: the socket then tells whether a daemon runs.
    return null;
  }
}

function isDaemonFile(value: unknown): value is DaemonFile {
  if (typeof value !== "object" || value === null) return false;
  const file = new Map<string, unknown>(Object.entries(value));
  const strings = ["startTime", "version", "storeId", "socket"];
  const numbers = ["pid", "protocol", "epoch"];
  return (
    strings.every(name => typeof file.get(name) === "string") &&
    numbers.every(name => Number.isSafeInteger(file.get(name)))
  );
}

// The token by which a connection counts as a person's. `kite` reads it unless an agent runs it.

const form = /^[0-9a-f]{64}$/;

/**
 * Returns the token in the file; makes the file if there is none that Kite wrote. If it cannot be written, the token is
 * in memory alone, nobody is a person, and `onTrouble` says why.
 */
export function openPersonToken(path: string, onTrouble: (message: string, error: unknown) => void): string {
  const known = readPersonToken(path);
  if (known !== null) return known;
  const token = randomBytes(32).toString("hex");
  try {
    writeFileSync(`${path}.new`, `${token}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    onTrouble(`${path} cannot be written, so no command counts as a person's`, error);
  }
  return token;
}

/** Returns the token in the file; null: there is none that Kite wrote. */
export function readPersonToken(path: string): string | null {
  try {
    if (!lstatSync(path).isFile()) return null;
    const text = readFileSync(path, "utf8").trim();
    return form.test(text) ? text : null;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // Missing, or not for this user.
  }
}

/** Whether a client's text is the token. */
export function isToken(token: string, text: string): boolean {
  return form.test(text) && timingSafeEqual(Buffer.from(token), Buffer.from(text));
}
