/** Checks the configuration, and the settings files into which `kite install` wrote. */
import { existsSync } from "node:fs";
import { loadConfig } from "../../daemon/config/config.ts";
import { readInstalls } from "../../hooks/claude-code/settings/installs.ts";
import { InstallFailed } from "../../hooks/install/failed.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { counted } from "../view/text.ts";

export async function checkConfig(world: ProcessContext): Promise<Check[]> {
  const { env, paths } = world;
  const { problems } = await loadConfig({ env, paths });
  if (problems.length === 0) return [{ check: "config", result: "ok", detail: "every value is valid" }];
  const todo = "correct the value, then check: kite config";
  return problems.map(detail => ({ check: "config", result: "warn", detail, todo }));
}

export function checkInstalls({ paths }: ProcessContext): Check[] {
  const check = "hooks";
  try {
    const installs = readInstalls(paths.installs);
    if (installs.length === 0) {
      const todo = "in all projects: kite install; or in one: kite install --project";
      return [{ check, result: "warn", detail: "not installed; sessions do not register", todo }];
    }
    const gone = installs.filter(i => !existsSync(i.file));
    const there = installs.length - gone.length;
    const found: Check[] = gone.map(({ file }) => {
      const todo = "install again there, or drop its record: kite uninstall --all";
      return { check, result: "warn", detail: `${file} was removed`, todo };
    });
    if (there === 0) return found;
    return [{ check, result: "ok", detail: `in ${counted(there, "settings file")}` }, ...found];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return [{ check, result: "fail", detail: error.message }];
  }
}
