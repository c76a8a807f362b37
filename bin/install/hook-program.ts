/** Chooses which hook program entries run on this machine. */

import { join } from "node:path";
import { Option } from "commander";
import { InstallFailed } from "../../hooks/install/file.ts";
import type { HookProgram } from "../../hooks/install/hooks-text.ts";
import { tryPerl } from "../../hooks/install/program.ts";

export const hookPrograms: readonly HookProgram[] = ["perl", "node"];

export function hookProgramOption(): Option {
  const says = "which program forwards the events; by default perl if it works";
  return new Option("--hook-program <name>", says).choices(hookPrograms);
}

export interface ChosenProgram {
  readonly hookProgram: HookProgram;
  /** Why Node runs though nobody asked for it. */
  readonly whyNotPerl?: string;
}

/**
 * Returns perl if a trial run of it succeeds, unless the person chose a program. Throws InstallFailed if the person chose
 * perl and it does not work.
 */
export async function chooseHookProgram(
  choice: HookProgram | undefined,
  dist: string,
): Promise<ChosenProgram> {
  if (choice === "node") return { hookProgram: "node" };
  const whyNotPerl = await tryPerl(join(dist, "hook.pl"));
  if (whyNotPerl === null) return { hookProgram: "perl" };
  if (choice === undefined) return { hookProgram: "node", whyNotPerl };
  throw new InstallFailed(`perl does not work here: ${whyNotPerl}; run kite install without --hook-program`);
}
