/**
 * Agents that the simulated clients spawn, and the rules of their records once more: what a record was before an entry is
 * compared with what it is after, by the table below and without the core's own.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Spawn } from "../../daemon/core/lead/tables/spawns.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CommandOf, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import type { SpawnState } from "../../protocol/lead/spawn.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";

// As many as a simulation can fill.
Object.assign(limits, { spawnsMax: 9 });

const liveMax = 3;
const depthMax = 2;
const projects = ["/p", "/q"] as const;
const names = [null, null, "alice", "zoe", "yan"] as const;
const final: ReadonlySet<SpawnState> = new Set<SpawnState>(["done", "failed", "stopped"]);
const anchors = [null, null, { pid: 1, startTime: "1" }] as const;

/** Which changes of a state are allowed, in words; `begin` and `end`: of its session. */
const allowed: readonly RegExp[] = [
  /^starting -> running by begin$/,
  /^starting -> (?:failed by spawn_update|(?:failed|stopped) by elapse)$/,
  /^(?:starting|running|waits_on_person|idle|failed) -> stopped by spawn_update$/,
  /^(?:running|waits_on_person|idle) -> (?:running|waits_on_person|idle) by spawn_moved$/,
  /^(?:running|waits_on_person|idle) -> (?:done|failed|stopped) by end$/,
  /^(?:done|failed|stopped) -> idle by begin$/,
  /^failed -> running by begin$/,
];

export class SpawnLives {
  readonly #random: Random;
  /** Records that a client heard of, and those that it heard were forgotten. */
  readonly #heard = new Set<string>();
  readonly #forgotten = new Set<string>();
  readonly #retried: Command[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** The next command and who sends it, or null if nobody spawns anything now. */
  next(
    state: State,
    sessions: readonly string[],
  ): { readonly actor: Actor; readonly command: Command } | null {
    const random = this.#random;
    if (!random.chance(0.1)) return null;
    const actor = { session: random.pick(sessions), agent: null, incarnation: 0 };
    if (this.#retried.length > 0 && random.chance(0.1))
      return { actor, command: random.pick(this.#retried.slice(-4)) };
    return { actor, command: this.#command(state, actor) };
  }

  /** A client hears an answer; what happened to the record since is seen by the entries that did it. */
  heard({ spawns }: State, command: Command, reply: Reply & { readonly ok: true }): void {
    if (command.type === "spawn_create" && spawns.all.has(rowIn(reply).id)) this.#heard.add(rowIn(reply).id);
    if (command.type === "spawn_remove") for (const id of command.spawns) this.#forgotten.add(id);
  }

  /** Everything that is wrong after an entry; `before` is the records as they were. */
  *observe(state: State, entry: Entry, step: Step, before: SpawnsBefore): Generator<string, void> {
    const { spawns } = state;
    const { command } = entry;
    for (const [id, was] of before.spawns) {
      const now = spawns.all.get(id);
      if (now === undefined) yield* wrongLoss(was, command, [...spawns.all.values()]);
      else if (now !== was) yield* wrongChange(state, was, now, command, step);
    }
    for (const now of spawns.all.values())
      if (!before.spawns.has(now.id)) yield* wrongNew(now, command, before);
    for (const one of spawns.all.values()) {
      const isStarted = one.state !== "starting" && !final.has(one.state);
      if (isStarted && !state.sessions.live.has(one.session ?? ""))
        yield `${one.name} is ${one.state} without a session`;
    }
    yield* twice(state);
    for (const id of this.#heard) if (before.spawns.has(id) && !spawns.all.has(id)) this.#heard.delete(id);
  }

  /** A life has ended: what nobody was promised may be gone with it. */
  restarted(entries: readonly Entry[], { spawns }: State): void {
    // What it opened in the end, and nobody saw, may have made others go.
    if (entries.some(({ command }) => command.type === "spawn_create" || command.type === "spawn_remove"))
      for (const id of [...this.#heard]) if (!spawns.all.has(id)) this.#heard.delete(id);
  }

  /** What clients may rely on and is not there, and the other way round. */
  *lost({ spawns }: State): Generator<string, void> {
    for (const id of this.#heard) if (!spawns.all.has(id)) yield `${id} was acknowledged and is lost`;
    for (const id of this.#forgotten) if (spawns.all.has(id)) yield `${id} was acknowledged as forgotten`;
  }

  /** Records that should have failed by now. */
  *overdue({ spawns, t }: State): Generator<string, void> {
    for (const { name, state, registerUntil } of spawns.all.values())
      if (state === "starting" && (registerUntil ?? 0) + limits.spawnRegisterMs < t)
        yield `${name} starts for ever`;
  }

  #command(state: State, actor: Actor): Command {
    const random = this.#random;
    const all = [...state.spawns.all.values()];
    const roll = random.int(1, 100);
    if (roll <= 30 || all.length === 0) return this.#maybeAgain(this.#create(state, actor));
    const spawn = random.pick(all);
    if (roll <= 60) return this.#begin(actor.session, spawn);
    if (roll <= 75) {
      const to = random.pick(["running", "waits_on_person", "idle"] as const);
      // Mostly one that has a session, or had one.
      const registered = all.filter(({ session }) => session !== null);
      const { id } = registered.length > 0 && random.chance(0.9) ? random.pick(registered) : spawn;
      const prompted = roll > 70 ? ({ prompted: true } as const) : {};
      return { type: "spawn_moved", spawn: id, state: to, ...prompted, wallMs: 0 };
    }
    if (roll <= 80) return this.#maybeAgain(this.#replace(spawn, actor));
    if (roll <= 93) return this.#maybeAgain(this.#update(spawn));
    const ids = random.chance(0.7) ? [spawn.id] : [spawn.id, random.pick(all).id];
    return this.#maybeAgain({ type: "spawn_remove", by: null, spawns: ids });
  }

  #create({ tasks, spawns }: State, actor: Actor): CommandOf<"spawn_create"> {
    const random = this.#random;
    // Mostly a new task, now and then one that another agent is for.
    const taken = [...spawns.byTask.keys()];
    const ids = taken.length > 0 && random.chance(0.3) ? taken : [...tasks.all.keys()];
    const replaced = [...spawns.all.values()].findLast(({ replaceUntil }) => replaceUntil !== null);
    return {
      type: "spawn_create",
      by: random.chance(0.5) ? actor : null,
      project: random.pick(projects),
      name: random.pick(names),
      role: random.pick([null, "tester"]),
      task: ids.length > 0 && random.chance(0.6) ? random.pick(ids.slice(-6)) : null,
      backend: "background",
      client: "claude-code",
      base: null,
      reportsEnd: random.chance(0.8),
      prompt: random.pick([null, "mend it"]),
      model: null,
      replaces: replaced === undefined || random.chance(0.3) ? null : replaced.id,
      liveMax,
      depthMax,
      wallMs: 0,
    };
  }

  #begin(session: string, spawn: Spawn): Command {
    const random = this.#random;
    const known = spawn.session !== null && random.chance(0.6) ? spawn.session : session;
    return {
      type: "session_begin",
      session: known,
      anchor: random.pick(anchors),
      cwd: "/p",
      project: spawn.project,
      worktree: random.pick(["/p", "/p-two"]),
      branch: null,
      name: null,
      revive: true,
      ...(random.chance(0.8) ? { spawn: spawn.id } : {}),
      wallMs: 0,
    };
  }

  #replace(spawn: Spawn, actor: Actor): CommandOf<"spawn_replace"> {
    const random = this.#random;
    return {
      type: "spawn_replace",
      by: random.chance(0.5) ? actor : null,
      spawn: spawn.id,
      resumable: random.chance(0.7),
      isFailed: random.chance(0.3),
      wallMs: 0,
    };
  }

  #update(spawn: Spawn): CommandOf<"spawn_update"> {
    const random = this.#random;
    const id = random.chance(0.97) ? spawn.id : "a-none";
    const state = random.pick([null, null, null, "failed", "stopped"] as const);
    const stopping = random.pick([null, null, true, false]);
    const handle = random.pick([null, "ab12"]);
    return {
      type: "spawn_update",
      by: null,
      ...{ spawn: id, state, stopping, handle },
      ...(stopping === true && handle === null ? { replacing: false } : {}),
      worktree: random.pick([null, "/p-two"]),
      branch: null,
      output: null,
      reason: null,
      wallMs: 0,
    };
  }

  #maybeAgain(
    command: CommandOf<"spawn_create" | "spawn_replace" | "spawn_update" | "spawn_remove">,
  ): Command {
    if (this.#random.chance(0.8)) return command;
    const retry = { by: "", requestId: `s${this.#random.bits()}`, digest: "body" };
    const retried = { ...command, retry };
    this.#retried.push(retried);
    return retried;
  }
}

/** Records, and what new ones may depend on, as they were before an entry. */
export interface SpawnsBefore {
  readonly spawns: ReadonlyMap<string, Spawn>;
  readonly names: ReadonlySet<string>;
  readonly open: ReadonlySet<string>;
}

export function spawnsBefore({ spawns, sessions, tasks }: State, { command }: Entry): SpawnsBefore {
  const isNew = command.type === "spawn_create";
  const pending = isNew ? [...tasks.all.values()].filter(({ state }) => state.status === "pending") : [];
  return {
    spawns: new Map(spawns.all),
    names: new Set(isNew ? Array.from(sessions.live.values(), one => `${one.project} ${one.name}`) : []),
    open: new Set(pending.map(({ id }) => id)),
  };
}

/** Only what has ended goes: if it is forgotten, or the oldest of them makes room. */
function* wrongLoss(was: Spawn, command: Command, left: readonly Spawn[]): Generator<string, void> {
  if (!final.has(was.state)) yield `${was.name} was ${was.state}, and its record is gone`;
  if (command.type === "spawn_remove" && command.spawns.includes(was.id)) return;
  const older = left.find(one => final.has(one.state) && one.n < was.n);
  if (command.type !== "spawn_create") yield `${command.type} made the record of ${was.name} go`;
  else if (older !== undefined) yield `${was.id} made room before ${older.id}`;
}

function* wrongNew(now: Spawn, command: Command, before: SpawnsBefore): Generator<string, void> {
  if (command.type !== "spawn_create") yield `${command.type} made a record`;
  const others = [...before.spawns.values()].filter(
    one => one.project === now.project && !final.has(one.state),
  );
  if (others.length >= liveMax) yield `${now.name} is one more than may be: ${others.length + 1}`;
  if (before.names.has(`${now.project} ${now.name}`)) yield `${now.name} has the name of a session`;
  const place = now.replaces === null ? undefined : before.spawns.get(now.replaces);
  if (now.replaces !== null && (place === undefined || !final.has(place.state) || place.replacedBy !== null))
    yield `${now.name} takes the place of ${now.replaces}, which is not free`;
  if (now.replacements !== (place === undefined ? 0 : place.replacements + 1))
    yield `${now.name} counts ${now.replacements} agents before it`;
  if (now.depth > depthMax) yield `${now.name} is ${now.depth} deep`;
  if (now.state !== "starting" || now.session !== null) yield `${now.name} is new and ${now.state}`;
  if (now.task !== null && !before.open.has(now.task))
    yield `${now.name} is for ${now.task}, which is not pending`;
}

function* wrongChange(
  state: State,
  was: Spawn,
  now: Spawn,
  command: Command,
  { events }: Step,
): Generator<string, void> {
  const hasBegun = command.type === "session_begin" && command.session === now.session;
  const ends = events.flatMap(({ event }) => (event.event === "session_ended" ? [event] : []));
  const ended = ends.find(({ id }) => id === was.session);
  // A process that goes on under another id begins with it, also an agent that had been stopped.
  const goesOn = ended?.cause === "continued" && hasBegun;
  if (was.state !== now.state) {
    const by = hasBegun && (ended === undefined || goesOn) ? "begin" : ended ? "end" : command.type;
    const change = `${was.state} -> ${now.state} by ${by}`;
    if (!allowed.some(pattern => pattern.test(change))) yield `${was.name}: ${change}`;
    if (!events.some(({ event }) => event.event === "spawn_changed" && event.spawn === now.id))
      yield `${was.name}: ${change}, and nobody is told`;
  }
  // Only a process that goes on under another id takes the record along, which ends the session before.
  if (was.session !== null && now.session !== was.session && now.session !== null && !goesOn)
    yield `${was.name} was session ${was.session} and is ${now.session}`;
  if (now.resumes < was.resumes || now.resumes > limits.spawnResumesMax)
    yield `${was.name} was resumed ${was.resumes} times, then ${now.resumes}`;
  if (was.replacedBy !== null && now.replacedBy !== was.replacedBy) yield `${was.name} was replaced twice`;
  const task = now.task === null ? undefined : state.tasks.all.get(now.task);
  if (now.state === "done" && was.state !== "done" && task !== undefined && task.state.status !== "done")
    yield `${now.name} is done, and ${task.id} is ${task.state.status}`;
  if (now.attempts === was.attempts || task === undefined || now.reason !== null) return;
  const claimer = task.state.status === "active" ? task.state.claimer?.session : now.session;
  if (task.state.status === "pending" || (claimer !== now.session && task.state.status === "active"))
    yield `${now.name} registered without ${task.id}, which is ${task.state.status}, and does not say why`;
}

/** A name, a task and a session belong to one agent that has not ended. */
function* twice({ spawns }: State): Generator<string, void> {
  const seen = new Set<string>();
  for (const { name, project, task, session, state } of spawns.all.values()) {
    const owned = session === null ? [] : [`session ${session}`];
    const live = final.has(state)
      ? []
      : [`name ${name} of ${project}`, ...(task === null ? [] : [`task ${task}`])];
    for (const one of [...owned, ...live]) {
      if (seen.has(one)) yield `two spawned agents have the ${one}`;
      seen.add(one);
    }
  }
}

function rowIn(reply: Reply & { readonly ok: true }): { readonly id: string } {
  return reply["spawn"] as { readonly id: string };
}
