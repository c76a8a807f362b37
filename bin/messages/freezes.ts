/** Commands for holds on edits: hold, resume. */
import { limits } from "../../protocol/limits.ts";
import { absolute } from "../actor.ts";
import { durationOf } from "../commands/off.ts";
import { type ProcessContext, print, printFramed, printJson, screenOf } from "../process-context.ts";
import { holdsView } from "../view/talk.ts";
import { clean, counted } from "../view/text.ts";
import { exitCodes, fail, Refused, rowsOf, withDaemon } from "../with-daemon.ts";
import { who } from "./who.ts";

export interface HoldFlags {
  readonly for: string;
  readonly message?: string;
  readonly project?: string;
  readonly json?: boolean;
}

/** Asks everybody else to leave the files alone; without files it shows what is held. Returns the exit code. */
export async function holdEdits(
  world: ProcessContext,
  files: readonly string[],
  flags: HoldFlags,
): Promise<number> {
  const json = flags.json === true;
  const ttlMs = durationOf(flags.for);
  if (ttlMs === null || ttlMs > limits.holdMaxMs) {
    fail(world, json, "usage", `--for takes a time like 90s or 5m, up to 10m, not ${flags.for}`);
    return exitCodes.failed;
  }
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    if (files.length === 0) {
      const rows = await rowsOf(client, "holds", { project: from.project });
      if (json) printJson(world, { ok: true, rows });
      else printFramed(world, holdsView(rows, screenOf(world)));
      return exitCodes.done;
    }
    // The others read it as a message, where nothing else says which files and for how long.
    const please = `please leave ${files.join(", ")} alone for ${flags.for}`;
    const message = flags.message === undefined ? please : `${flags.message}; ${please}`;
    const hold = { files: files.map(file => absolute(world.cwd, file)), ttlMs };
    const answer = await client.request("broadcast", { ...from, message, hold });
    if (!answer.ok) throw new Refused(answer);
    if (json) printJson(world, answer);
    else {
      const id = clean(answer.hold?.hold ?? "");
      const told = counted(answer.message.to.length, "session");
      print(world, [
        `${id} holds edits of ${files.map(clean).join(", ")} for ${flags.for}; ${told} told. To end it: kite resume ${id}`,
      ]);
    }
    return exitCodes.done;
  });
}

/** Ends the acting session's holds; at a terminal those of everybody in the project. With an id that one. */
export async function resume(
  world: ProcessContext,
  hold: string | undefined,
  flags: { readonly project?: string; readonly json?: boolean },
): Promise<number> {
  const json = flags.json === true;
  const from = await who(world, flags.project);
  return withDaemon(world, json, async client => {
    const answer = await client.request("resume", { ...from, ...(hold === undefined ? {} : { hold }) });
    if (!answer.ok) throw new Refused(answer);
    const { resumed } = answer;
    if (json) printJson(world, answer);
    else
      print(world, [
        resumed.length === 0 ? "Nothing was on hold." : `${resumed.map(clean).join(", ")} ended`,
      ]);
    return exitCodes.done;
  });
}
