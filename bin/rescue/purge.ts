/** `kite rescue purge`: removes kept versions for good. */
import { resolve } from "node:path";
import { nearPath } from "../../protocol/text.ts";
import { absolute } from "../actor.ts";
import { fileTyped } from "../lockable.ts";
import { refuseAgent } from "../person.ts";
import { type ProcessContext, printJson } from "../process-context.ts";
import { sinceForms, sinceTime } from "../trail/since.ts";
import { bytes, clean, counted } from "../view/text.ts";
import { fileWord } from "../view/versions.ts";
import { ask, asPerson, exitCodes, fail, printDone } from "../with-daemon.ts";

export interface PurgeFlags {
  readonly before?: string;
  readonly json?: boolean;
}

/** Returns the exit code. */
export async function purge(
  world: ProcessContext,
  file: string | undefined,
  { before, json = false }: PurgeFlags,
): Promise<number> {
  const refused = await refuseAgent(world, json, "purge");
  if (refused !== null) return refused;
  const at = before === undefined ? null : sinceTime(before, world.now());
  if (before !== undefined && at === null)
    return fail(world, json, "usage", `--before takes ${sinceForms}, not ${before}`);
  if (file === undefined && at === null)
    return fail(world, json, "usage", "say what to remove: a file, or --before a time, or both");
  const path = file === undefined ? {} : { file: resolve(absolute(world.cwd, fileTyped(file))) };
  const time = at === null ? {} : { before: at };
  return asPerson(
    world,
    json,
    async client => {
      const reply = await ask(client, "rescue_purge", { ...path, ...time });
      if (json) {
        printJson(world, reply);
        return exitCodes.done;
      }
      const { versions, contents, bytes: size, alsoIn } = reply;
      const what =
        versions === 0
          ? "Kite keeps no such version: nothing was removed."
          : `Removed for good: ${counted(versions, "version")}, ${counted(contents, "content")}, ${bytes(size)}.`;
      const also = alsoIn.map(
        other =>
          `! The same content is kept of ${clean(nearPath(other, world.cwd))}: kite rescue purge ${fileWord(nearPath(other, world.cwd))}`,
      );
      return printDone(world, false, reply, () => [what, ...also]);
    },
    { person: "always" },
  );
}
