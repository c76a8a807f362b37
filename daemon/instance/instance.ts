/** Ensures that one daemon at most runs for a directory. */

import { spawn } from "node:child_process";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { constants as osConstants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { findProgram, type Program } from "../facts/programs.ts";
import { fileIdOf, openHome, type Refused, socketPathError } from "./socket.ts";

// The methods that lock a file with the kernel's help.

/**
 * A method to take the kernel's lock on the file open at `fd`. "taken": held until the file closes or `release`;
 * "held": by another process; "unusable": the method does not work here.
 */
export interface LockMethod {
  readonly name: string;
  take(fd: number, fileId: string): Promise<Taken | "held" | "unusable">;
}

interface Taken {
  /** Releases everything but the descriptor. */
  release(): Promise<void>;
}

/**
 * Returns the locking methods, best first. A program that inherits the daemon's descriptor locks the open file, so the
 * daemon keeps the lock when the program ends. (On a network filesystem it may not: the second try finds out.)
 */
export function lockMethods(env: Readonly<Record<string, string | undefined>> = process.env): LockMethod[] {
  const methods: LockMethod[] = [];
  // PATH depends on who started the daemon, and two daemons with different methods would not exclude each other.
  const search = { env, systemFirst: true };
  const flock = findProgram("flock", search);
  if (flock !== null) methods.push(programMethod("flock", flock, ["-xn", "3"]));
  const perl = findProgram("perl", search);
  if (perl !== null) {
    const held = String(osConstants.errno.EWOULDBLOCK);
    methods.push(programMethod("perl", perl, ["-e", perlLock, held]));
  }
  if (process.platform === "linux") methods.push(abstractMethod);
  return methods;
}

const perlLock = 'open(my $f, "+<&=", 3) or exit 3; exit 0 if flock($f, 6); exit($! + 0 == $ARGV[0] ? 1 : 4)';

/** Exit code 0 is success; 1 with empty standard error means that another process holds the lock. */
export function programMethod(name: string, { path, real }: Program, args: readonly string[]): LockMethod {
  return {
    name,
    take: fd =>
      new Promise(resolve => {
        const child = spawn(real, args, {
          argv0: path,
          stdio: ["ignore", "ignore", "pipe", fd],
          env: { LC_ALL: "C" },
          cwd: "/",
          timeout: limits.lockProgramMs,
          killSignal: "SIGKILL",
        });
        let hasErrorOutput = false;
        child.stderr?.on("data", () => {
          hasErrorOutput = true;
        });
        child.once("error", () => resolve("unusable"));
        child.once("close", code => {
          if (code === 0) resolve({ release: () => Promise.resolve() });
          else resolve(code === 1 && !hasErrorOutput ? "held" : "unusable");
        });
      }),
  };
}

/**
 * A socket in Linux's abstract namespace, named by the lock file's identity. The kernel gives it to one process and frees it
 * when that process ends. The last method: it excludes processes of one network namespace only.
 */
export const abstractMethod: LockMethod = {
  name: "abstract socket",
  take: (_fd, fileId) =>
    new Promise(resolve => {
      const server = createServer(socket => socket.destroy());
      server.once("error", error => {
        resolve("code" in error && error.code === "EADDRINUSE" ? "held" : "unusable");
      });
      server.listen({ path: `\0kite-${fileId}`, exclusive: true }, () => {
        server.unref();
        resolve({ release: () => new Promise(done => server.close(() => done())) });
      });
    }),
};

export type Acquired =
  | { readonly is: "acquired"; readonly instance: Instance }
  /** Another daemon holds the lock. */
  | { readonly is: "held" }
  | Refused;

interface AcquireOptions {
  /** Locking methods, best first; tests force one. */
  readonly methods?: readonly LockMethod[];
  /** How long to try while another daemon holds the lock, in ms; 0 tries once. At most `limits.startWaitMs`. */
  readonly waitMs?: number;
  /** Called between tries: if a daemon answers, it is not dying, and the wait ends. */
  readonly answering?: () => Promise<boolean>;
}

/** Proof that this process is the only daemon of its directory, until `release` or the end of the process. */
export class Instance {
  /** Name of the locking method, for the log. */
  readonly method: string;
  readonly #paths: KitePaths;
  readonly #fd: number;
  readonly #lockId: string;
  readonly #taken: Taken;
  #socketId: string | null = null;
  #released = false;

  constructor(paths: KitePaths, method: string, fd: number, lockId: string, taken: Taken) {
    this.method = method;
    this.#paths = paths;
    this.#fd = fd;
    this.#lockId = lockId;
    this.#taken = taken;
  }

  /** Lets `stillOurs` check the socket too; `fileId` is that of `listenPrivately`, null ends it. */
  watchSocket(fileId: string | null): void {
    this.#socketId = fileId;
  }

  /**
   * Whether lock file and socket are still those of this daemon. If not, another daemon may run: acknowledge nothing
   * more.
   */
  stillOurs(): boolean {
    if (this.#released) return false;
    try {
      if (fileIdOf(this.#paths.lockFile) !== this.#lockId) return false;
      return this.#socketId === null || fileIdOf(this.#paths.socket) === this.#socketId;
    } catch {
      // If the daemon can no longer read the directory, it no longer owns it in any useful sense.
      return false;
    }
  }

  /** Lets the next daemon start. Close the socket first. The lock file stays: without it two daemons could start. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    closeSync(this.#fd);
    await this.#taken.release();
  }
}

/**
 * Makes this process the only daemon of `paths.home`. It makes or checks the directory, takes the kernel's lock on the
 * lock file, and proves the lock by a second try that must fail. A daemon that was just killed may hold the lock a
 * moment longer: `waitMs` waits for it.
 */
export async function acquireInstance(paths: KitePaths, options: AcquireOptions = {}): Promise<Acquired> {
  const tooLong = socketPathError(paths.socket);
  if (tooLong !== null) return { is: "refused", code: "socket_path_long", error: tooLong };
  const unsafe = openHome(paths.home);
  if (unsafe !== null) return unsafe;
  const methods = options.methods ?? lockMethods();
  const until = performance.now() + (options.waitMs ?? 0);
  for (;;) {
    const acquired = await tryOnce(paths, methods);
    if (acquired.is !== "held" || performance.now() >= until) return acquired;
    if (await options.answering?.()) return acquired;
    // A poll: no event tells that another process released a lock; `until` bounds the tries.
    await sleep(limits.startRetryMs);
  }
}

async function tryOnce(paths: KitePaths, methods: readonly LockMethod[]): Promise<Acquired> {
  let fd = openLockFile(paths.lockFile);
  for (const method of methods) {
    const stat = fstatSync(fd, { bigint: true });
    const lockId = `${stat.dev}:${stat.ino}`;
    const taken = await method.take(fd, lockId);
    if (taken === "held") {
      closeSync(fd);
      return { is: "held" };
    }
    if (taken === "unusable") continue;
    if (await excludesOthers(paths, method, lockId)) {
      return { is: "acquired", instance: new Instance(paths, method.name, fd, lockId, taken) };
    }
    await taken.release();
    // The file may have a lock that excludes no other process; the next method opens the file anew.
    closeSync(fd);
    fd = openLockFile(paths.lockFile);
  }
  closeSync(fd);
  const tried = methods.map(m => m.name).join(", ") || "none found";
  return {
    is: "refused",
    code: "lock_unavailable",
    error: `no way to lock ${paths.lockFile} keeps a second daemon out (tried: ${tried}); install flock (util-linux) or perl, or set KITE_HOME to a local filesystem`,
  };
}

/** Makes the second try, as another daemon would. */
async function excludesOthers(paths: KitePaths, method: LockMethod, lockId: string): Promise<boolean> {
  const fd = openLockFile(paths.lockFile);
  try {
    const second = await method.take(fd, lockId);
    if (typeof second === "object") await second.release();
    return second === "held" && fileIdOf(paths.lockFile) === lockId;
  } finally {
    closeSync(fd);
  }
}

function openLockFile(path: string): number {
  return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
}
