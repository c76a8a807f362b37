/** What the rescue of work does at events of hooks. Where the person's setting is off, none of it is called. */
import { limits } from "../../protocol/limits.ts";
import { actorRow, pathOf } from "../core/tables/naming.ts";
import type { ActionHandler } from "../hooks/action.ts";
import type { HookPart, SparedWork } from "../hooks/points.ts";
import { decidedBy } from "../trail/decisions.ts";
import { keepReplaced, keepWork } from "./before-wipe.ts";
import { compareAtEvent } from "./compare.ts";
import { lineEnds } from "./ended-line.ts";
import { type Rescue, type RescueServices, withinMs } from "./services.ts";

export const rescueActions: { readonly keep_work: ActionHandler<"keep_work"> } = { keep_work: keepWork };

export const rescuePart: HookPart<RescueServices> = {
  writesBegin: (services, files) =>
    services.rescue === null ? undefined : keepReplaced(services, services.rescue, files),
  written: (services, { actor, file, tool, text, wallMs }) => {
    const { rescue, engine } = services;
    const { id: session, agent, name } = actorRow(engine.state, actor);
    const what = { path: pathOf(file), key: file.key, by: { session, agent, name }, tool, text };
    rescue?.queue.add({ ...what, kind: "write", isEdit: true, session, atMs: wallMs });
    if (rescue !== null) compareAtEvent(services, rescue, session, false);
  },
  lineEnded: (services, line) => {
    const { rescue } = services;
    if (rescue === null) return;
    lineEnds(services, rescue, line);
    // What it changed and the daemon did not see: git may have reported the file clean before.
    compareAtEvent(services, rescue, line.actor.session, true);
  },
  spared: (services, work) => {
    const { rescue } = services;
    if (rescue !== null) void rescue.later(() => noteSpared(services, rescue, work));
  },
  eventWaits: (services, { session }) => {
    if (services.rescue !== null) compareAtEvent(services, services.rescue, session, false);
  },
  // Of a file that changed, the notice with the line that restores it comes instead.
  beforeNotes: ({ rescue, engine }, { session }) => {
    if (rescue === null || rescue.waiting === 0) return undefined;
    const { bySession, pending } = engine.state.notes;
    const all = [...(bySession.get(session) ?? [])].flatMap(key => pending.get(key)?.notes ?? []);
    const mayChange = all.some(({ note: { what } }) => what === "bypassed" || what === "discarded");
    return mayChange ? withinMs(rescue.settled(), limits.rescueSettleMs) : undefined;
  },
  prompted: (services, session) => {
    if (services.rescue !== null) compareAtEvent(services, services.rescue, session, true);
  },
};

/**
 * Writes a line with the number of files, and of the lines in them that no commit has. If one of the files is no text, too long or
 * not reachable, or there are more than are looked at, the line has no number of lines: a part would pass for the whole.
 */
async function noteSpared(
  services: RescueServices,
  { losses }: Pick<Rescue, "losses">,
  { actor, command: type, count, files }: SparedWork,
): Promise<void> {
  const { recorder } = services;
  const looked = files.slice(0, limits.guardFilesMax);
  let counted: number | null = looked.length === count ? 0 : null;
  for (const one of looked) {
    if (counted === null) break;
    const ahead = await losses.linesAhead(one);
    counted = ahead === null ? null : counted + ahead;
  }
  const known = counted === null ? {} : { lines: counted };
  const what = counted === null ? "" : `${counted} lines of `;
  const why = `uncommitted work of others was spared: ${what}${count} ${count === 1 ? "file" : "files"}`;
  const line = { ...decidedBy(services, actor), event: "work_spared", type, file: null, rule: "guard" };
  recorder.note({ ...line, decision: "event", why, files: count, ...known });
}
