/** The commands `kite freeze` and `kite thaw`; on the wire `broadcast` with `hold`, and `resume`. */

import { limits } from "../../protocol/limits.ts";
import { isResource } from "../../protocol/names.ts";
import { shellArgument } from "../../protocol/text.ts";
import { absolute } from "../actor.ts";
import { type AskPerson, isYes } from "../ask-person.ts";
import { durationOf } from "../commands/off.ts";
import { fileTyped } from "../lockable.ts";
import { refuseAgent } from "../person.ts";
import { type Client, type ProcessContext, print, printJson } from "../process-context.ts";
import { findRepository } from "../project.ts";
import { tilde } from "../view/places.ts";
import { freezesView } from "../view/talk.ts";
import { clean, counted } from "../view/text.ts";
import {
  ask,
  asPerson,
  exitCodes,
  fail,
  printDone,
  printShown,
  Refused,
  rowsOf,
  withDaemon,
} from "../with-daemon.ts";
import { who } from "./who.ts";

export interface FreezeFlags {
  readonly for: string;
  readonly message?: string;
  readonly project?: string;
  readonly json?: boolean;
}

/** Freezes the files for all other sessions; without files it lists the freezes. Returns the exit code. */
export async function freeze(
  world: ProcessContext,
  files: readonly string[],
  flags: FreezeFlags,
  question: AskPerson | null = null,
): Promise<number> {
  const json = flags.json === true;
  const ttlMs = durationOf(flags.for);
  if (ttlMs === null || ttlMs > limits.freezeMaxMs)
    return fail(world, json, "usage", `--for takes a time like 90s or 5m, up to 10m, not ${flags.for}`);
  const resource = files.find(isResource);
  if (resource !== undefined) {
    const lock = `to keep others from ${resource}, run what you do under its lock: kite lock ${shellArgument(resource)} -- COMMAND`;
    return fail(
      world,
      json,
      "usage",
      `a freeze keeps files from edits, and ${resource} is a resource; ${lock}`,
    );
  }
  const asks = files.length > 0;
  const refused = asks ? await refuseAgent(world, json, "freeze") : null;
  if (refused !== null) return refused;
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    if (files.length === 0) {
      const rows = await rowsOf(client, "holds", { project: from.project });
      return printShown(world, json, { ok: true, rows }, screen => freezesView(rows, screen));
    }
    if (
      from.id === undefined &&
      flags.project === undefined &&
      (await isNoProject(world, client, from.project))
    ) {
      const where = `${clean(tilde(world.cwd, world.env["HOME"] ?? ""))} is in no repository, and no session works there`;
      if (question === null || json) {
        const error = `${where}, so a freeze would stop nobody; go into the project, or name it: --project DIRECTORY`;
        return fail(world, json, "no_project", error);
      }
      print(world, [`${where}: the freeze would stop nobody.`]);
      if (!isYes(await question("Freeze all the same? [y/N] "))) return exitCodes.failed;
    }
    // Other sessions read the message alone, so it must name the files and the duration.
    const please = `please do not edit ${files.join(", ")} for ${flags.for}`;
    const message = flags.message === undefined ? please : `${flags.message}; ${please}`;
    const hold = { files: files.map(file => absolute(world.cwd, file)), ttlMs };
    const answer = await ask(client, "broadcast", { ...from, message, hold });
    if (json) printJson(world, answer);
    else {
      const id = clean(answer.hold?.hold ?? "");
      const told = counted(answer.message.to.length, "session");
      print(world, [
        `${id} freezes ${files.map(clean).join(", ")} for ${flags.for}; ${told} told. To end it: kite thaw ${id}`,
      ]);
    }
    return exitCodes.done;
  });
}

/** Ends the acting session's freezes, or at a terminal every freeze of the project; only those over files, or one by its id. */
export async function thaw(
  world: ProcessContext,
  names: readonly string[],
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "thaw");
  if (refused !== null) return refused;
  const from = await who(world, flags.project);
  return asPerson(world, json, async client => {
    const answer = await ask(client, "resume", { ...from, ...freezesNamed(world, names) }).catch(error =>
      throwReadable(error, from.id === undefined, world.cwd),
    );
    const { resumed } = answer;
    return printDone(world, json, answer, () => [
      resumed.length === 0 ? "No freeze was in force." : `${resumed.map(clean).join(", ")} ended`,
    ]);
  });
}

/** A person ends anybody's freezes, so none is there at all. */
function throwReadable(error: unknown, isPersons: boolean, cwd: string): never {
  if (!(error instanceof Refused) || !isPersons || error.refusal.code !== "unknown_hold") throw error;
  const none = error.message
    .replace(/ of yours | of yours$/, " ")
    .replace(/; .*$/, "")
    .replace(cwd === "/" ? "" : `${cwd}/`, "");
  throw new Refused(error.refusal, `${none}; kite freeze lists those in force`);
}

/** Whether the directory is in no repository, and no live session has it for a project. */
async function isNoProject({ cwd }: ProcessContext, client: Client, project: string): Promise<boolean> {
  const found = await findRepository(cwd);
  if ("unreachable" in found || found.gitDir !== null) return false;
  return (await rowsOf(client, "sessions", { project })).length === 0;
}

function freezesNamed(
  { cwd }: ProcessContext,
  names: readonly string[],
): { readonly hold?: string; readonly files?: string[] } {
  const [first] = names;
  if (first === undefined) return {};
  if (names.length === 1 && /^h-[0-9a-z]+$/.test(first)) return { hold: first };
  return { files: names.map(name => absolute(cwd, fileTyped(name))) };
}
