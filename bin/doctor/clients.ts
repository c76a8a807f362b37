/** Says which versions of the client Kite is tested with, and how the installed one relates to them. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findProgram } from "../../daemon/facts/programs.ts";
import versions from "../../hooks/claude-code/client-versions.json" with { type: "json" };
import { clientProgram } from "../../hooks/claude-code/spawn.ts";
import { limits } from "../../protocol/limits.ts";
import type { ProcessContext } from "../process-context.ts";
import { isOlder } from "../version.ts";
import type { Check } from "../view/doctor.ts";
import { ok, warn } from "./advice.ts";

const check = "client";
const run = promisify(execFile);

/** Which versions of the client Kite supports: from `oldest` on; all tests run with `tested`. */
export interface ClientVersions {
  readonly tested: string;
  readonly oldest: string;
}

export async function checkClients(world: ProcessContext): Promise<Check> {
  const program = findProgram(clientProgram, { env: world.env });
  if (program === null) {
    return ok(
      check,
      `no ${clientProgram} on the PATH; Kite is tested with Claude Code ${versions.tested}, from ${versions.oldest} on`,
    );
  }
  const installed = await installedVersion(program.path, world);
  if (installed !== null) return relation(installed, versions);
  const detail = `${program.path} does not say its version; Kite is tested with Claude Code ${versions.tested}`;
  return warn(check, detail, `see what it prints: ${program.path} --version`);
}

/** Returns the version that the program says it has; null if it says none in time. */
export async function installedVersion(program: string, { env }: ProcessContext): Promise<string | null> {
  try {
    const { stdout } = await run(program, ["--version"], {
      env: { ...env },
      timeout: limits.clientVersionMs,
      killSignal: "SIGKILL",
    });
    return /^(?:\S+ )?(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1] ?? null;
  } catch {
    // The program ended with an error, or not in time: it says no version.
    return null;
  }
}

/** Says how an installed version relates to the tested one and to the oldest that Kite supports. */
export function relation(installed: string, { tested, oldest }: ClientVersions): Check {
  const name = `Claude Code ${installed}`;
  if (installed === tested) return ok(check, `${name}, the version that Kite is tested with`);
  if (isOlder(installed, oldest)) {
    const detail = `${name} is older than ${oldest}, the oldest that Kite supports; Kite is tested with ${tested}`;
    return warn(check, detail, `update it: ${clientProgram} update`);
  }
  return isOlder(tested, installed)
    ? ok(check, `${name}, newer than ${tested}, the version that Kite is tested with`)
    : ok(check, `${name}, which Kite supports; it is tested with ${tested}`);
}
