/** What `kite doctor` says of Codex: its version, Kite's entries, and whether the client trusts them. */
import { existsSync } from "node:fs";
import versions from "../../hooks/codex/client-versions.json" with { type: "json" };
import { clientName, codexHome, hasHooks, hooksFile, hooksOf } from "../../hooks/install/codex.ts";
import { InstallFailed, linkTarget, readText } from "../../hooks/install/file.ts";
import { previewHooksFile } from "../../hooks/install/hooks-file.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { limits } from "../../protocol/limits.ts";
import { programOnPath } from "../clients/client.ts";
import type { ProcessContext } from "../process-context.ts";
import { isOlder } from "../version.ts";
import type { Check } from "../view/doctor.ts";
import { advise, fail, ok, warn } from "./advice.ts";
import { installedVersion } from "./clients.ts";

const check = clientName;
const installLine = `kite install --client ${clientName}`;

/** `missingTrust` asks the client how many of Kite's hooks it does not trust. Throws InstallFailed if it does not say. */
export async function checkCodex(
  world: ProcessContext,
  missingTrust: (world: ProcessContext) => Promise<number>,
): Promise<readonly Check[]> {
  const { paths, env } = world;
  const program = programOnPath(world, clientName);
  if (!hasHooks(paths, env)) {
    const isHere = program !== null || existsSync(codexHome(env));
    return isHere ? [ok(check, `Codex is here, and not connected; to connect it: ${installLine}`)] : [];
  }
  const written = entriesCheck(world);
  if (written !== null) return [written];
  const version = program === null ? null : await installedVersion(program, world);
  if (version !== null && isOlder(version, versions.oldest)) {
    const detail = `Codex ${version} is older than ${versions.oldest}, the oldest that Kite supports; Kite is tested with ${versions.tested}`;
    return [warn(check, detail, "update it, in the way you installed it")];
  }
  const name = version === null ? "Codex" : `Codex ${version}`;
  try {
    const missing = await missingTrust(world);
    if (missing === 0) return [ok(check, `${name} has all entries in ${hooksFile(env)}, and trusts them`)];
    const detail = `${name} skips ${missing} of Kite's hooks, which it does not trust; codex exec says nothing of it`;
    return [
      warn(check, detail, `let it trust them: ${installLine} --trust; or start codex and look at its review`),
    ];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return [warn(check, error.message, "start codex and type /hooks, which shows the hooks that it trusts")];
  }
}

/** Returns true if an install would change Kite's entries. Throws InstallFailed if the file is unusable. */
function hasOtherEntries({ paths, env }: ProcessContext): boolean {
  const there = readText(linkTarget(hooksFile(env)), limits.settingsBytes);
  return there !== previewHooksFile(hooksOf(paths, env));
}

/** Returns what is wrong with the entries; null: all are there, and their program. */
function entriesCheck(world: ProcessContext): Check | null {
  const { paths, env } = world;
  const again = advise("install again", installLine);
  const { portable } = programPaths(paths.bin);
  if (!existsSync(portable))
    return fail(
      check,
      `${hooksFile(env)} runs ${portable}, which is gone: Codex's sessions do not register`,
      again,
    );
  if (!hasOtherEntries(world)) return null;
  return fail(check, `Kite's entries in ${hooksFile(env)} are not those of this version`, again);
}
