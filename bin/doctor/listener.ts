/** Who listens on Kite's socket, if it is not the daemon; and whether a process is stopped. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { processWords } from "../../daemon/facts/programs.ts";
import { clean, cut } from "../view/text.ts";

/** A process, for a person. */
export interface Listener {
  readonly pid: number;
  /** The beginning of its command line. */
  readonly command: string;
}

const commandColumns = 60;

/** Returns the process that listens on the socket; null if the system does not tell it, as outside of Linux. */
export function listenerOf(socket: string): Listener | null {
  const inodes = new Set(
    textOf("/proc/net/unix")
      .split("\n")
      .flatMap(line => {
        const [, , , flags, , , inode, path] = line.trim().split(/\s+/);
        // The kernel's flag for a socket that accepts connections.
        const listens = (Number.parseInt(flags ?? "0", 16) & 0x10000) !== 0;
        return path === socket && listens && inode !== undefined ? [inode] : [];
      }),
  );
  if (inodes.size === 0) return null;
  const pid = names("/proc")
    .filter(name => /^\d+$/.test(name))
    .find(name =>
      names(`/proc/${name}/fd`).some(fd =>
        inodes.has(/^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${name}/fd/${fd}`))?.[1] ?? ""),
      ),
    );
  if (pid === undefined) return null;
  const words = processWords(Number(pid))?.args ?? [];
  return { pid: Number(pid), command: cut(clean(words.join(" ")), commandColumns) };
}

/** Whether a signal stopped the process (Ctrl-Z, SIGSTOP): it lives and does nothing. */
export function isStopped(pid: number): boolean {
  const stat = textOf(`/proc/${pid}/stat`);
  return /^[Tt]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

/** Returns the text of a file of the system; "" if there is none. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // The process ended, or the system has no /proc: nothing is told.
  }
}

function names(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // As above; or another user's process.
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // Closed meanwhile.
  }
}
