/** The events around a tool that applies a patch: it writes many files at once, named in the text of the patch. */
import { limits } from "../../protocol/limits.ts";
import type { HookContext } from "../seam/plan.ts";
import type { HookAction } from "../seam/slices.ts";
import { type Patch, readPatch } from "../shell/apply-patch.ts";
import { withInbox } from "./answers/inbox.ts";
import { patchAnswer } from "./answers/lock.ts";
import { readerOf } from "./answers/reader.ts";
import { editEnd } from "./edit.ts";
import { type Actor, ancestorsOf, type Event } from "./event.ts";
import { atWork, begin, heartbeat, type Plan, writeTerms } from "./plan-parts.ts";
import { answerAround, asksBefore } from "./points.ts";
import { before } from "./slices.ts";

/**
 * Locks all files of the patch `text`, or none. A move is two of them. The client checks the patch against the files after this
 * event; then only a file that the patch adds or deletes as a whole can lose a change that the agent never saw. The others
 * may have changed: no denial is due to them.
 */
export function prePatch(event: Event, actor: Actor, { waitMs }: HookContext, text: string | null): Plan {
  const { toolUseId, cwd } = event;
  const { files, unread } = patchOf(text);
  const [first] = files;
  if (toolUseId === null || cwd === null) return { actions: [heartbeat(actor)] };
  const common = {
    ...actor,
    cwd,
    toolUseId,
    promptId: event.prompt,
    waitMs,
    ancestors: ancestorsOf(event),
    parentFile: null,
  };
  // The patch goes ahead as far as it could not be read, and the trail says so.
  const note: HookAction[] =
    unread === null
      ? []
      : [{ do: "guard", ...common, commands: [], aliases: [], unread, line: "apply_patch", typed: "" }];
  const start = [...begin(event, actor), atWork(event, actor)];
  if (first === undefined) return withInbox(event, actor, cwd, { actions: [...start, ...note] });
  const [file = "", ...moreFiles] = [...new Set(files.map(({ path }) => path))];
  const overwrites = files.flatMap(({ path, does }) => (does === "add" || does === "delete" ? [path] : []));
  const unchecked = event.client.limits.refusesStaleWrites ? {} : { unchecked: { whole: overwrites } };
  const terms = writeTerms(event);
  const lock: HookAction = { do: "lock", ...common, file, moreFiles, overwrites, ...unchecked, ...terms };
  const patch = { ...readerOf(event, cwd), tool: "patch", file, files: [file, ...moreFiles], waitMs };
  return withInbox(event, actor, cwd, {
    file,
    actions: [...start, ...asksBefore(before.patch, patch, actor), lock, ...note],
    answer: outcomes => answerAround(before.patch, patch, outcomes, () => patchAnswer(patch, outcomes)),
  });
}

/** The patch was applied; the client reports no other end. Each file counts as written. */
export function patchEnd(event: Event, actor: Actor, text: string | null): Plan {
  const wentOn = heartbeat(actor, { attention: null });
  const files = [...new Set(patchOf(text).files.map(({ path }) => path))];
  const [first = null] = files;
  // Without names, the files that were locked for the patch count.
  const ends = [first, ...files.slice(1)].flatMap(file => editEnd(event, actor, file, true));
  return { ...(first === null ? {} : { file: first }), actions: [...ends, wentOn] };
}

function patchOf(text: string | null): Patch {
  return text === null || text.length > limits.patchChars
    ? { files: [], unread: "the patch is too long, or no text" }
    : readPatch(text);
}
