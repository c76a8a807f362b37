import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { openHome, type Refused } from "./home.ts";
import { type LockMethod, lockMethods, type Taken } from "./lock.ts";
import { fileIdOf, socketPathError } from "./socket.ts";

export type Acquired =
  | { readonly is: "acquired"; readonly instance: Instance }
  /** Another daemon has the lock. */
  | { readonly is: "held" }
  | Refused;

export interface AcquireOptions {
  /** Ways to lock, best first; tests force one. */
  readonly methods?: readonly LockMethod[];
  /** How long to try while another has the lock; 0 tries once. At most `limits.startWaitMs` makes sense. */
  readonly waitMs?: number;
  /** Asked between tries: a daemon that answers is no dying one, so the wait is over. */
  readonly answering?: () => Promise<boolean>;
}

/** That this process is the one daemon of its directory. Ends with `release` or with the process. */
export class Instance {
  /** The way the lock was taken, for the log. */
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

  /** From now on `stillOurs` looks at the socket too; `fileId` is that of `listenPrivately`, null ends it. */
  watchSocket(fileId: string | null): void {
    this.#socketId = fileId;
  }

  /**
   * Whether lock file and socket are still those of this daemon. If not, another may run: acknowledge nothing
   * more.
   */
  stillOurs(): boolean {
    if (this.#released) return false;
    try {
      if (fileIdOf(this.#paths.lockFile) !== this.#lockId) return false;
      return this.#socketId === null || fileIdOf(this.#paths.socket) === this.#socketId;
    } catch {
      // A directory that cannot be looked into any more is not ours in any way that counts.
      return false;
    }
  }

  /**
   * Lets the next daemon begin. Close the socket before. The lock file stays: unlinking it would let two in.
   */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    closeSync(this.#fd);
    await this.#taken.release();
  }
}

/**
 * Becomes the one daemon of `paths.home`: the directory is made or checked, the kernel's lock on the lock
 * file taken, and the lock proved by a second try that must fail. A daemon that was just killed can hold it
 * for a moment more: `waitMs` waits for that.
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
    // No event tells that another process let go of a lock; the tries are bounded by `until`.
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
    // The file may be locked in a way that excludes nobody; the next way begins with a file of its own.
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

/** The second try, as another daemon would make it. */
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
