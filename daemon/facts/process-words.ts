/** Reads the arguments and the environment with which a process of this user began. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { ProcessWords } from "../../hooks/seam/teams.ts";
import { limits } from "../../protocol/limits.ts";

/**
 * Returns null if the system does not tell. On Linux this is one read of each of two files in `/proc`. Other systems
 * tell no environment, and `ps` shows arguments with blanks between them: a flag's value without a blank is read right.
 */
export function processWords(pid: number): ProcessWords | null {
  if (process.platform !== "linux") {
    const ran = spawnSync("ps", ["-ww", "-o", "args=", "-p", String(pid)], psOptions);
    return ran.status === 0 ? { args: ran.stdout.trim().split(/\s+/), env: null } : null;
  }
  const args = fileOf(`/proc/${pid}/cmdline`);
  const words = fileOf(`/proc/${pid}/environ`);
  if (args === null) return null;
  return { args: args.split("\0"), env: words === null ? null : name => variableIn(words, name) };
}

const psOptions = {
  encoding: "utf8" as const,
  timeout: limits.anchorPollMs,
  maxBuffer: limits.processWordsBytes,
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" },
};

function variableIn(words: string, name: string): string | null {
  const all = `\0${words}`;
  const at = all.indexOf(`\0${name}=`);
  if (at === -1) return null;
  const from = at + name.length + 2;
  const end = all.indexOf("\0", from);
  return all.slice(from, end === -1 ? undefined : end);
}

/** The text of a file that the kernel makes; null if the process is gone, another user's, or says too much. */
function fileOf(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8");
    return text.length > limits.processWordsBytes ? null : text;
  } catch {
    // Gone or hidden: its words are unknown, and nothing depends on why.
    return null;
  }
}
