/** The methods that lock a file with the kernel's help. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { constants as osConstants } from "node:os";
import { limits } from "../../protocol/limits.ts";
import { findProgram, type Program } from "../facts/programs.ts";

/**
 * A method to take the kernel's lock on the file open at `fd`. "taken": held until the file closes or `release`;
 * "held": by another process; "unusable": the method does not work here.
 */
export interface LockMethod {
  readonly name: string;
  take(fd: number, fileId: string): Promise<Taken | "held" | "unusable">;
}

export interface Taken {
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
        let said = false;
        child.stderr?.on("data", () => {
          said = true;
        });
        child.once("error", () => resolve("unusable"));
        child.once("close", code => {
          if (code === 0) resolve({ release: () => Promise.resolve() });
          else resolve(code === 1 && !said ? "held" : "unusable");
        });
      }),
  };
}

/**
 * A socket in Linux's abstract namespace, named by the lock file's identity: the kernel gives it to one process and
 * frees it when that process ends. The last method: it excludes processes of one network namespace only.
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
