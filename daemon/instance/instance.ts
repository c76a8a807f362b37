/** Ensures that one daemon at most runs for a directory. */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { openHome, type Refused } from "./home.ts";
import { type LockMethod, lockMethods, type Taken } from "./lock.ts";
import { fileIdOf, socketPathError } from "./socket.ts";

export type Acquired =
  | { readonly is: "acquired"; readonly instance: Instance }
  /** Another daemon holds the lock. */
  | { readonly is: "held" }
  | Refused;

export interface AcquireOptions {
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
