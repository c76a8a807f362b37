import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { constants as osConstants } from "node:os";
import { limits } from "../../protocol/limits.ts";
import { findProgram, type Program } from "../facts/programs.ts";

/**
 * One way to take the kernel's lock on a file that is open at `fd`. "taken": held from now on, as long as the
 * file stays open or until `release`; "held": by somebody else; "unusable": this way does not work here.
 */
export interface LockMethod {
  readonly name: string;
  take(fd: number, fileId: string): Promise<Taken | "held" | "unusable">;
}

export interface Taken {
  /** What has to be let go beside the descriptor. */
  release(): Promise<void>;
}

/**
 * The ways, best first. A program that is handed our descriptor locks the open file itself, which we share
 * with it, so the lock stays ours when the program ends. (On a network filesystem it may not: the second try
 * finds out.)
 */
export function lockMethods(env: Readonly<Record<string, string | undefined>> = process.env): LockMethod[] {
  const methods: LockMethod[] = [];
  // PATH comes from whoever started the daemon, and two daemons that take different ways would not see each other.
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

/** Exit code 0 is success, 1 without a word on standard error is a lock that another holds. */
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
 * A socket in Linux's abstract namespace, named by the lock file's identity: the kernel lets one process have
 * it and takes it back when that one ends. The last resort: it is seen only within one network namespace.
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
