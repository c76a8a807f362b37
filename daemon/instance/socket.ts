/** Opens and removes the daemon's socket. */
import { lstatSync, renameSync, rmSync } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { Refused } from "./home.ts";

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
