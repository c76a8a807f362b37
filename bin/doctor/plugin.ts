/** Checks Kite's plugin, if settings switch it on: whether the client has a copy of it, and this machine its programs. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { fail } from "./advice.ts";
import { installAgain } from "./installed.ts";

const check = "hooks";

/** Returns what keeps the plugin `id`, which `file` switches on, from working: no check if nothing does. */
export function brokenPlugin(world: ProcessContext, file: string, id: string): Check[] {
  const { bin } = world.paths;
  if (!existsSync(bin)) {
    const detail = `${file} switches on the plugin ${id}, and its programs in ${bin} are gone`;
    return [fail(check, detail, installAgain(world, "write them again"))];
  }
  if (hasCopy(world, id)) return [];
  const detail = `${file} switches on the plugin ${id}, and Claude Code has no copy of it`;
  return [fail(check, detail, `claude plugin install ${id}`)];
}

/** The client keeps a folder for each version that it installed. */
function hasCopy({ env }: ProcessContext, id: string): boolean {
  const [name = "", marketplace = ""] = id.split("@");
  const copies = join(dirname(userSettings(env)), "plugins", "cache", marketplace, name);
  return existsSync(copies) && readdirSync(copies).length > 0;
}
