/** What `kite doctor` says of a client whose hooks are in a file of settings. */
import { existsSync } from "node:fs";
import { linkTarget, readText } from "../../hooks/install/file.ts";
import { type ClientFile, previewHooksFile } from "../../hooks/install/hooks-file.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { limits } from "../../protocol/limits.ts";
import type { ClientHere } from "../clients/client.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { advise, fail, ok } from "./advice.ts";

/** `wanted`: the file as an install would leave it. Nothing where the client is neither here nor connected. */
export function checkClientFile(
  client: ClientHere,
  world: ProcessContext,
  wanted: () => ClientFile,
): readonly Check[] {
  const { name: check, title } = client;
  const installLine = `kite install --client ${check}`;
  if (!client.isConnected(world)) {
    const isHere = client.find(world) !== null;
    return isHere ? [ok(check, `${title} is here, and not connected; to connect it: ${installLine}`)] : [];
  }
  const again = advise("install again", installLine);
  const file = wanted();
  const { portable } = programPaths(world.paths.bin);
  if (!existsSync(portable))
    return [fail(check, `${portable} is gone, which ${title}'s hooks and Kite's tools need`, again)];
  const there = readText(linkTarget(file.settings), limits.settingsBytes);
  return there === previewHooksFile(file)
    ? [ok(check, `${title} has Kite's hooks in ${file.settings}`)]
    : [fail(check, `Kite's hooks in ${file.settings} are not those of this version`, again)];
}
