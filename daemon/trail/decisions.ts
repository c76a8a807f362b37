/** Writes trail lines for decisions. */

import { limits } from "../../protocol/limits.ts";
import { isCommandsSession, personOnWire } from "../../protocol/names.ts";
import type { ChangedFileRow, OffRow } from "../../protocol/schemas/overview.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { Reply } from "../core/tables/entries.ts";
import { actorRow, pathOf, projectOf, type Spelled } from "../core/tables/naming.ts";
import type { Log } from "../engine/engine.ts";
import type { Services } from "../options.ts";
import type { TrailLine } from "./line.ts";

/** The fields of a line that say when and for which actor a decision was made; null: for a person. */
export function decidedBy(
  { engine, clock }: Pick<Services, "clock"> & { readonly engine: Pick<Log, "state"> },
  actor: Actor | null,
) {
  const at = clock.wall();
  if (actor === null) return { at, id: null, agent: null, name: personOnWire, project: null };
  const { state } = engine;
  const { id, agent, name } = actorRow(state, actor);
  return { at, id, agent, name, project: projectOf(state, actor) ?? null };
}

/** A request for locks, or for their release, as its line shows it. */
export interface LockAsked {
  readonly event: string;
  /** The tool, else the event. */
  readonly type: string;
  readonly actor: Actor;
  /** The first file as the request names it. */
  readonly file: string;
  readonly files: readonly Spelled[];
  /** Of a refused one: what Kite would have done if it did not only observe. */
  readonly would?: "wait";
  /**
   * Whether the request's tool runs, if that does not follow from the reply. A tool that is stopped although it has its lock
   * has a line of its own for that. A tool that Kite could not coordinate runs without a lock.
   */
  readonly runs?: boolean;
}

/**
 * Writes a line for a lock; a refused lock also joins the latest refusals, but for what a person typed wrong. Each request for a lock comes through here: one
 * literal for the line, since copies of it cost a tenth of the request. `hasWaited`: the request was in the queue.
 */
export function noteLock(
  services: Services,
  request: LockAsked,
  reply: Reply,
  ms: number,
  hasWaited: boolean,
): void {
  const { event, type, actor, files } = request;
  const { at, id, agent, name, project } = decidedBy(services, actor);
  const [first] = files;
  const file = first === undefined ? null : pathOf(first);
  const waitedMs = hasWaited ? ms : undefined;
  const rule = "lock";
  if (reply.ok) {
    if (request.runs === false) {
      const why = "had the lock, but its tool did not run";
      const what = { event: "lock_granted", type: null, decision: "note" } as const;
      services.recorder.note({ at, id, agent, name, project, ...what, file, rule, ms, waitedMs, why });
      if (files.length > 1) noteOthers(services, request);
      return;
    }
    const decision = "allow";
    services.recorder.note({ at, event, id, agent, name, project, type, file, decision, rule, ms, waitedMs });
    if (files.length > 1) noteOthers(services, request);
    return;
  }
  const { code, error, path, locked_by_name: by } = reply;
  const holder = typeof by === "string" ? { holder: by } : {};
  const isTyped = isCommandsSession(actor.session) && !("holder" in holder) && code !== "edits_held";
  services.recorder.refused(
    isTyped ? null : { at, type: event, id: actor.session, name, file: request.file, code, error, ...holder },
    {
      at,
      event,
      id,
      agent,
      name,
      project,
      type,
      // If there are several files, this is the one that another actor has.
      file: typeof path === "string" ? path : file,
      decision: request.runs === true ? "note" : "deny",
      rule: code === "edits_held" ? "freeze" : rule,
      ms,
      waitedMs,
      code,
      why: error,
      ...holder,
      ...(request.would === undefined ? {} : { would: request.would }),
    },
  );
}

/** Notes the other files of a granted request. Only the first file's line counts as the decision. */
function noteOthers(services: Services, { actor, file, files }: LockAsked): void {
  const line = { ...decidedBy(services, actor), event: "lock_granted", type: null, rule: "lock" };
  const why = `locked together with ${file}`;
  for (const one of files.slice(1, limits.eventFilesMax))
    services.recorder.note({ ...line, file: pathOf(one), decision: "note", why });
}

/** Writes a line for the reply to a request of `type`, with the fields in `more`; a refusal gives its own reason. */
export function noteReply(
  services: Services,
  type: string,
  actor: Actor | null,
  reply: Reply,
  more: Partial<TrailLine>,
): void {
  const { recorder } = services;
  const line = { ...decidedBy(services, actor), event: type, type, file: null, ...more };
  if (reply.ok) recorder.note({ ...line, decision: "allow" });
  else recorder.note({ ...line, decision: "deny", code: reply.code, why: reply.error });
}

/** Writes a line for an edit that needs no lock. */
export function noteIgnored(
  services: Services,
  event: string,
  type: string,
  actor: Actor,
  file: string,
): void {
  const why = "ignored: it needs no lock";
  const line = {
    ...decidedBy(services, actor),
    event,
    type,
    file,
    decision: "allow",
    rule: "ignore",
  } as const;
  services.recorder.note({ ...line, why });
}

/** Writes a line for a file of Kite's directory that no command of Kite changed: nobody saw who did. */
export function noteChangedFile(
  { clock, recorder }: Pick<Services, "clock" | "recorder">,
  { file }: ChangedFileRow,
): void {
  const who = { id: null, agent: null, name: null, project: null };
  const why = "changed by no command of Kite";
  recorder.note({
    at: clock.wall(),
    event: "file_changed",
    ...who,
    type: null,
    file,
    decision: "note",
    rule: "own_files",
    why,
  });
}

/** Writes a line for a switch of `kite off`, when the daemon sees it. */
export function noteOff(
  { clock, recorder }: Pick<Services, "clock" | "recorder">,
  { scope, of, name, until }: OffRow,
): void {
  const at = clock.wall();
  const [id, file] = [scope === "session" ? of : null, scope === "project" ? of : null];
  const end = until === null ? "until kite on" : `for ${Math.max(0, Math.round((until - at) / 1000))} s`;
  const why = scope === "all" ? `everywhere, ${end}` : end;
  const who = { id, agent: null, name, project: null };
  const what = { event: "switched_off", type: scope, file, decision: "note", rule: "off" } as const;
  recorder.note({ at, ...who, ...what, why });
}

/** Writes a line for a write that a hook reported. */
export function noteWrite(services: Services, event: string, type: string, actor: Actor, file: string): void {
  const line = {
    ...decidedBy(services, actor),
    event,
    type,
    file,
    decision: "event",
    rule: "write",
  } as const;
  services.recorder.note(line);
}

/** The fields of a hook's event that its line shows. */
export interface HookAnswered {
  readonly event: string;
  readonly tool: string | null;
  readonly session: string | null;
  readonly agent: string | null;
}

/**
 * Writes a line for a hook's answer of so many UTF-16 units that was sent after `ms` milliseconds. `ms` null: the hook
 * waited for others, or for a reason to wake its session. A session that has ended has no name.
 */
export function noteHook(services: Services, hook: HookAnswered, ms: number | null, chars: number): void {
  const { event, tool: type, session: id, agent } = hook;
  const { state } = services.engine;
  const live = id === null ? undefined : state.sessions.live.get(id);
  const name = live === undefined ? null : actorRow(state, { session: live.id, agent, incarnation: 0 }).name;
  const who = { id, agent, name, project: live?.project ?? null };
  const line = { at: services.clock.wall(), event, ...who, type, file: null, decision: "event" } as const;
  services.recorder.note({
    ...line,
    ...(ms === null ? {} : { ms: Math.round(ms * 10) / 10 }),
    ...(chars === 0 ? {} : { chars }),
  });
}
