/** The output of `kite doctor`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument, shellWord } from "../../protocol/text.ts";
import type { AskPerson } from "../context/person.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { dist } from "../version.ts";
import { clean, pad, paint, type Screen, type Style, wrap } from "../view/text.ts";

/** One check of `kite doctor` and its result. */
export interface Check {
  /** The check's name, one or two words; the same in every version. */
  readonly check: string;
  readonly result: "ok" | "warn" | "fail";
  /** What the check found. */
  readonly detail: string;
  /** What the person can do about it. */
  readonly todo?: string;
  /** Does what `todo` says; absent if that takes a person. */
  readonly fix?: Fix;
}

/** A step that mends what a check found. */
export interface Fix {
  /** The step as the question names it: shell lines, or a sentence. */
  readonly does: string;
  /** An agent may do it: it gives up nothing that is stored, and changes nothing for other projects. */
  readonly byAgents?: boolean;
  /** It gives up what is stored: only a person's answer to the question does it, and no `--yes`. */
  readonly givesUp?: boolean;
  /**
   * Throws `LocalError` if the step failed. Returns what the step printed. `ask` asks the person; null: `--yes` answered.
   */
  readonly work: (world: ProcessContext, ask: AskPerson | null) => string | Promise<string>;
}

const styles: Readonly<Record<Check["result"], Style>> = { ok: "green", warn: "yellow", fail: "red" };
const checkColumns = 13;
const indent = 6 + checkColumns;

/** Returns a check as lines: result, name and detail, and below them what to do. */
export function checkLines({ check, result, detail, todo }: Check, screen: Screen): string[] {
  const head = `${pad(result, 4)}  ${pad(clean(check), checkColumns)}`;
  const [first = "", ...rest] = wrap(`${head}${clean(detail)}`, screen.width, indent);
  const lines = [paint(screen, styles[result], first.slice(0, 4)) + first.slice(4), ...rest];
  if (todo === undefined) return lines;
  const margin = " ".repeat(indent);
  const room = Math.max(10, screen.width - indent);
  return [...lines, ...wrap(`-> ${clean(todo)}`, room, 3).map(line => margin + line)];
}

/** The last line of `kite doctor`. */
export function verdict(checks: readonly Check[], screen: Screen): string {
  const failed = checks.filter(c => c.result === "fail").length;
  const warned = checks.filter(c => c.result === "warn").length;
  if (failed > 0)
    return paint(screen, "red", `${failed} failed${warned > 0 ? `, ${warned} to look at` : ""}`);
  return warned > 0 ? paint(screen, "yellow", `${warned} to look at`) : paint(screen, "green", "all is well");
}

// Advice of doctor's checks that is made of shell lines, so that following it and `--fix` do the same.

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
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code, signal] = await once(child, "close");
  const output = Buffer.concat(chunks).toString("utf8").trim();
  if (code === 0) return output;
  throw new FixFailed(output === "" ? `it ended with ${signal ?? code}` : output);
}

// Checks that need a daemon.

/** Returns what `look` finds over a connection of its own; nothing if no daemon answers, which another check reports. */
export async function withDaemon(
  world: ProcessContext,
  look: (client: Client) => Promise<Check[]>,
): Promise<Check[]> {
  let client: Client;
  try {
    client = await world.connect({ name: "kite doctor" });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return [];
  }
  try {
    return await look(client);
  } finally {
    client.close();
  }
}
