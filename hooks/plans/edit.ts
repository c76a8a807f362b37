/** The events around a tool that writes one file. */
import type { UncheckedWrite } from "../seam/actions.ts";
import type { HookContext } from "../seam/plan.ts";
import type { HookAction } from "../seam/slices.ts";
import { withInbox } from "./answers/inbox.ts";
import { lockAnswer } from "./answers/lock.ts";
import { readerOf } from "./answers/reader.ts";
import { type Actor, ancestorsOf, type Event } from "./event.ts";
import { atWork, begin, idle, type Plan, writeTerms } from "./plan-parts.ts";
import { answerAround, asksBefore } from "./points.ts";
import { before } from "./slices.ts";

/** What a call is about to do to a file. */
export interface Edit {
  readonly file: string;
  /** The tool replaces the whole file: a change that its agent has not seen would be lost. */
  readonly overwrites: boolean;
  /** The client drops what its agent is to read before the call: only a denial says in time that the file changed. */
  readonly hearsDenialsAlone?: true;
  /** When its agent read the file last, as wall time in milliseconds; absent: the client does not tell. */
  readonly readAtMs?: number | undefined;
  /** The file is the client's own: nobody's code. */
  readonly isOwn: boolean;
}

/** Locks the file of the call; nothing if the event names no call or no directory. */
export function preEdit(
  event: Event,
  actor: Actor,
  { waitMs }: HookContext,
  { file, overwrites, hearsDenialsAlone, readAtMs, isOwn }: Edit,
): Plan {
  const { toolUseId, cwd } = event;
  if (toolUseId === null || cwd === null) return idle;
  const { untoldWriteMs, asksAllFirst, refusesStaleWrites } = event.client.limits;
  // Of most clients there is nothing to say, and an edit is to make few calls.
  const isPlain = untoldWriteMs === null && !asksAllFirst;
  const lock: HookAction = {
    do: "lock",
    ...actor,
    file,
    cwd,
    promptId: event.prompt,
    toolUseId,
    waitMs,
    ancestors: ancestorsOf(event),
    parentFile: event.worker.parentFile,
    overwrites: overwrites || hearsDenialsAlone === true ? [file] : [],
    ...(refusesStaleWrites ? {} : { unchecked: uncheckedOf(overwrites ? [file] : [], readAtMs) }),
    ...(isPlain ? {} : writeTerms(event)),
  };
  const edit = { ...readerOf(event, cwd), tool: event.tool ?? "", file, waitMs, isOwn };
  return withInbox(event, actor, cwd, {
    file,
    actions: [...begin(event, actor), atWork(event, actor), ...asksBefore(before.write, edit, actor), lock],
    answer: outcomes => answerAround(before.write, edit, outcomes, () => lockAnswer(edit, outcomes)),
  });
}

function uncheckedOf(whole: readonly string[], readAtMs: number | undefined): UncheckedWrite {
  return readAtMs === undefined ? { whole } : { whole, readAtMs };
}

/** Ends the write of the call. If it `wrote`, the file counts as written; null: the file that was locked for the call. */
export function editEnd(
  event: Event,
  actor: Actor,
  file: string | null,
  wrote: boolean,
): readonly HookAction[] {
  const { toolUseId, cwd } = event;
  if (toolUseId === null || cwd === null) return [];
  const of = { file, cwd, lines: null, ancestors: ancestorsOf(event) };
  return [{ do: "flight_end", ...actor, toolUseId, wrote, ...of }];
}
