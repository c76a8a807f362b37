/** The agents' clients that Kite can connect. Another one gets a row here. */
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { foldersOf } from "../doctor/path.ts";
import type { ProcessContext } from "../process-context.ts";
import { installLines } from "../view/install.ts";
import { clean } from "../view/text.ts";
import { filesOf, type Plan, putHooks } from "./hooks.ts";
import type { Step } from "./step.ts";

interface Client {
  readonly name: string;
  /** Where it can be seen that the person has it; null: not here. */
  foundIn(world: ProcessContext): string | null;
  step(world: ProcessContext, plan: Plan): Step;
}

export const clients: readonly Client[] = [
  {
    name: "Claude Code",
    foundIn: ({ env }) => {
      const programs = foldersOf(env["PATH"]).map(folder => join(folder, "claude"));
      const folder = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
      return programs.find(isProgram) ?? (existsSync(folder) ? folder : null);
    },
    step: (world, plan) => {
      const what = "hooks for Claude Code";
      const files = filesOf(plan);
      const { bin } = plan.options.paths;
      const others = files.filter(({ path }) => !path.startsWith(`${bin}/`));
      const changes = others.filter(({ does }) => does === "create" || does === "change");
      return {
        what,
        is: "open",
        writes: [
          ...others.map(({ path, does, of }) => `${path} (${does === "keep" ? `${of}, already there` : of})`),
          `${bin}/ (the programs that hooks start)`,
        ].map(clean),
        ...(changes.length === 0 ? { isThere: true } : {}),
        work: async () => installLines(await putHooks(world, plan), plan.scope, false).filter(isOfNow),
      };
    },
  },
];

/** What to do next is said when all steps are done. */
function isOfNow(line: string): boolean {
  return !line.startsWith("try next:");
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Missing, or not for this user.
  }
}
