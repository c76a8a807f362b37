/** Advice of doctor's checks that is made of shell lines, so that following it and `--fix` do the same. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument, shellWord } from "../../protocol/text.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import type { Check, Fix } from "../view/doctor.ts";

/** A step of `kite doctor --fix` failed. */
export class FixFailed extends LocalError {
  override readonly name = "FixFailed";
}

/** What a person can do about a finding, and how `--fix` does it, unless that takes a person. */
export interface Advice {
  readonly todo: string;
  readonly fix?: Fix;
}

/** What to do about a finding: `say`, then the shell lines, which `--fix` runs as they stand. */
export function advise(say: string, ...lines: readonly [string, ...string[]]): Required<Advice> {
  const does = lines.join(" && ");
  const byAgents = lines.every(line => /^kite (?:up$|install --project )/.test(line));
  const givesUp = lines.some(line => /^kite up --empty\b/.test(line));
  return {
    todo: `${say}: ${does}`,
    fix: { does, byAgents, givesUp, work: world => runLines(world, lines) },
  };
}

/** Ends the daemon and starts it anew; sessions keep what they hold. */
export function restart(say: string): Advice {
  return advise(say, "kite down --yes", "kite up");
}

export function ok(check: string, detail: string): Check {
  return { check, result: "ok", detail };
}

/** Nothing is broken, but a person should look at it. */
export function warn(check: string, detail: string, advice?: Advice | string): Check {
  return { check, result: "warn", detail, ...(typeof advice === "string" ? { todo: advice } : advice) };
}

/** Kite does not work as it should. */
export function fail(check: string, detail: string, advice?: Advice | string): Check {
  return { ...warn(check, detail, advice), result: "fail" };
}

/** Returns the line that puts a file aside, under a name that says so and that no file has. */
export function aside(path: string): string {
  let free = `${path}.aside`;
  for (let n = 2; existsSync(free); n += 1) free = `${path}.aside-${n}`;
  return `mv ${shellArgument(path)} ${shellArgument(free)}`;
}

/** Runs the lines in a shell in which `kite` is this program, even if PATH has none or another one. */
export async function runLines({ env, cwd }: ProcessContext, lines: readonly string[]): Promise<string> {
  // A function sees KITE_HOME of `KITE_HOME=DIR kite ...` as its own variable, which it hands on.
  const kite = `kite() {
  if [ -n "\${KITE_HOME-}" ]; then KITE_HOME=$KITE_HOME ${shellWord(process.execPath)} ${shellWord(join(dist, "kite.cjs"))} "$@"
  else ${shellWord(process.execPath)} ${shellWord(join(dist, "kite.cjs"))} "$@"; fi
}`;
  const child = spawn("/bin/sh", ["-ec", [kite, ...lines].join("\n")], {
    cwd,
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limits.fixMs,
    killSignal: "SIGKILL",
  });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => said.push(chunk));
  const [code, signal] = await once(child, "close");
  const output = Buffer.concat(said).toString("utf8").trim();
  if (code === 0) return output;
  throw new FixFailed(output === "" ? `it ended with ${signal ?? code}` : output);
}
