/** What follows from an agent's health: who is told, what the trail keeps, and what is given back. */
import type { HealthNote } from "../../../hooks/lead/seam.ts";
import type { KiteEvent } from "../../../protocol/events.ts";
import { limits } from "../../../protocol/limits.ts";
import { duration, shellArgument } from "../../../protocol/text.ts";
import type { Health } from "../../core/lead/health.ts";
import { leadsOf } from "../../core/lead/health.ts";
import { spawnAt } from "../../core/lead/tables/spawns.ts";
import { rowsOfSession } from "../../core/tables/locks.ts";
import { noteKey, type Whose } from "../../core/tables/messages.ts";
import { actorRow } from "../../core/tables/naming.ts";
import { numberOf } from "../../core/tables/tasks.ts";
import type { EventHub } from "../../events/hub.ts";
import type { Services } from "../../services.ts";
import { decidedBy } from "../../trail/decisions.ts";
import { claimsBy } from "../../views/sessions-and-locks.ts";
import type { HealthNotes } from "./notes.ts";
import { isSharing, lostOf, releaseShared } from "./release.ts";
import type { HealthSetting } from "./setting.ts";
import type { HealthListener } from "./watch.ts";

export type HealthEvents = Pick<EventHub, "tell">;

export interface HealthOptions {
  readonly notes: HealthNotes;
  readonly events: HealthEvents;
  readonly setting: () => Pick<HealthSetting, "stalled">;
  /** Wakes an agent that is to be told of an alarm, if it can be woken. */
  readonly wake: (lead: Whose) => void;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Returns what the watch of agents' health reports to. */
export function healthListener(services: Services, options: HealthOptions): HealthListener {
  const { engine } = services;
  const { notes, events, setting, wake, onTrouble } = options;
  /** Who was to be told of each agent, by its key. */
  const told = new Map<string, readonly Whose[]>();
  const over = (whose: Whose, by: "back" | "ended") => {
    notes.over(told.get(noteKey(whose)) ?? [], whose, by);
    told.delete(noteKey(whose));
  };
  return {
    quiet: whose => notes.tell(whose, { ...noteOf(services, whose, "asked"), state: "quiet" }),
    alarm: (whose, health) => {
      const forMs = engine.now - health.since;
      const note = { ...noteOf(services, whose, "stalled"), state: health.state, forMs };
      const readers = leadsOf(engine.state, whose);
      told.set(noteKey(whose), readers);
      notes.alarm(readers, whose, note);
      for (const lead of readers) wake(lead);
      tellEvent(events, stalledEvent(services, whose, health, note), whose);
      record(services, whose, `${note.name}: ${health.state} for ${duration(forMs)}`);
      // A process that a signal stopped can go on any moment: it loses nothing.
      if (setting().stalled !== "release" || health.state !== "stalled") return;
      const had = { ...noteOf(services, whose, "released"), name: "Kite" };
      const cause = health.why === "" ? "stalled" : `stalled: ${health.why}`;
      giveBack(services, whose, cause);
      const tell = (lost: HealthNote | null) => lost !== null && notes.tell(whose, lost);
      if (!isSharing(services, whose.session)) tell(had);
      else
        releaseShared(services, whose, { by: null, cause }).then(
          ({ kept, stayed }) => {
            tell(lostOf(had, kept));
            if (stayed.length > 0)
              record(services, whose, `${had.name}: still claimed: ${stayed.join("; ")}`);
          },
          error => onTrouble("the shared tasks of a stalled agent could not be given back", error),
        );
    },
    back: whose => {
      over(whose, "back");
      const who = rowOf(services, whose);
      const project = projectOf(services, whose);
      tellEvent(events, { event: "agent_recovered", agent: who, project }, whose);
      record(services, whose, `${who.name}: a sign of life`);
    },
    gone: whose => {
      over(whose, "ended");
      notes.drop(whose, "asked");
    },
    trouble: error => onTrouble("an agent's signs of life could not be read", error),
  };
}

/** Returns a note about the agent, with what it has. */
export function noteOf(services: Services, whose: Whose, what: HealthNote["what"]): HealthNote {
  const { engine, presence } = services;
  const { session, agent } = whose;
  const tasks = claimsBy(engine, session, agent).slice(0, limits.releasedNamedMax);
  const rows = rowsOfSession(engine.state.locks.actors, session, null);
  const own = rows.filter(({ actor }) => actor.agent === agent);
  const signAt = presence.pulse(session, agent)?.signAt ?? engine.now;
  return {
    what,
    name: rowOf(services, whose).name,
    state: "working",
    forMs: Math.max(0, engine.now - signAt),
    tasks: tasks.map(({ id }) => id),
    taskNumbers: tasks.map(numberOf),
    locks: own.reduce((sum, { holds }) => sum + holds.size, 0),
    ...(agent === null && spawnAt(engine.state.spawns, session) !== undefined ? { spawned: true } : {}),
  };
}

type HealthEvent = Extract<KiteEvent, { event: "agent_stalled" | "agent_recovered" }>;

function stalledEvent(services: Services, whose: Whose, health: Health, note: HealthNote): HealthEvent {
  const { name, state, forMs, tasks, locks, spawned } = note;
  const named = shellArgument(name);
  return {
    event: "agent_stalled",
    agent: rowOf(services, whose),
    project: projectOf(services, whose),
    state: state === "stopped" ? "stopped" : "stalled",
    forMs,
    why: health.why,
    tasks,
    locks,
    todo: [
      `kite explain ${named}`,
      `kite release ${named}`,
      ...(spawned && state === "stalled" ? [`kite agents replace ${named}`] : []),
    ],
  };
}

function tellEvent(events: HealthEvents, event: HealthEvent, whose: Whose): void {
  events.tell(event, [whose.session], event.project);
}

function record(services: Services, whose: Whose, why: string): void {
  const line = { ...decidedBy(services, actorOf(whose)), event: "health", type: null, file: null } as const;
  services.recorder.note({ ...line, decision: "note", rule: "health", why });
}

/** The setting asks for it: nobody has to say so. */
function giveBack({ engine, clock }: Services, { session, agent }: Whose, cause: string): void {
  const begun = engine.state.sessions.live.get(session)?.begun;
  if (begun === undefined) return;
  const release = { session, agent, begun, by: null, cause, wallMs: clock.wall() };
  engine.submitWithRetry({ type: "agent_release", ...release });
}

function actorOf({ session, agent }: Whose) {
  return { session, agent, incarnation: 0 };
}

function rowOf({ engine }: Services, whose: Whose) {
  return actorRow(engine.state, actorOf(whose));
}

function projectOf({ engine }: Services, { session }: Whose): string {
  return engine.state.sessions.live.get(session)?.project ?? "";
}
