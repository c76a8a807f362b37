/**
 * What the simulated agents are told of each other's writes, and the rules of it once more, written slowly: each hears of
 * everything once, nothing is forgotten before it was told, and nothing comes twice over crashes.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import type { DeclaredFile } from "../../daemon/core/tables/declarations.ts";
import type { Command, Entry, Step } from "../../daemon/core/tables/entries.ts";
import { actorRow, isAlive, type Lineage, sameLineage } from "../../daemon/core/tables/naming.ts";
import type { Task } from "../../daemon/core/tables/tasks.ts";
import type { FileNote } from "../../hooks/seam/slices.ts";
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { Random } from "./random.ts";
import { StashLives } from "./stashes.ts";
import type { TasksBefore } from "./tasks.ts";

const files = ["a", "b", "src/d"] as const;
const levels: readonly string[] = ["", "yellow", "red", "critical"];
const prompts = ["p1", "p2", null] as const;

interface Pair {
  readonly sides: readonly { readonly actor: Actor; readonly prompt: string | null }[];
}

export class NoteLives {
  readonly #random: Random;
  readonly #stashes: StashLives;
  /** Notes in words by session and agent, oldest first, as the entries tell. */
  #pending = new Map<string, string[]>();
  #conflicts = new Map<string, Pair>();
  /** By session and agent: what was pending before an entry that may take notices back, and what it told. */
  #possible: Map<string, string[]> | null = null;

  /** `stashes`: chosen apart, so that all else happens as it would without them. */
  constructor(random: Random, stashes: Random) {
    this.#random = random;
    this.#stashes = new StashLives(stashes);
  }

  /** Whether the next write is about notes: chosen here, so that all else happens as it would without them. */
  isNext(): boolean {
    return this.#random.chance(0.4);
  }

  /** Two wrote one file, a git command took work or stash entries, or an answer with notes reached its client. */
  command(state: State, actor: Actor): Command {
    const command = this.#command(state, actor);
    return this.#stashes.isNext() ? this.#stashes.command(actor) : command;
  }

  #command(state: State, actor: Actor): Command {
    const random = this.#random;
    const roll = random.int(1, 100);
    const others = [...state.sessions.live.keys()];
    if (roll <= 35 && others.length > 0) {
      const other = { session: random.pick(others), agent: random.pick([null, "child"]), incarnation: 0 };
      const side = (of: Actor) => ({ actor: of, name: of.session, prompt: random.pick(prompts) });
      const file = random.pick(files);
      const sides = [side(other), side(actor)] as const;
      return { type: "conflict_noted", key: `local:/p/${file}`, path: `/p/${file}`, sides };
    }
    if (roll <= 60) {
      const how = random.pick(["committed", "discarded"] as const);
      const taken = [...state.writes.files.values()].map(({ key, writers }) => ({
        key,
        seq: random.chance(0.8) ? (writers.at(-1)?.seq ?? 0) : random.int(0, state.seq),
      }));
      // Chosen by the entry's place, so that all else happens as it would without it.
      if (how === "discarded" && state.seq % 2 === 0) return wiped(state, actor);
      const named = [...taken.filter(() => random.chance(0.6)), { key: "local:/p/unknown", seq: 1 }];
      const commit = how === "committed" ? "0123456789" : null;
      const git = { name: actor.session, ancestors: [], command: "git commit", commit } as const;
      return { type: "work_taken", actor, how, ...git, files: named };
    }
    const all = [...state.notes.pending.values()];
    const risks = [...state.risks.keys()].filter(() => random.chance(0.5));
    if (all.length === 0)
      return { type: "notes_told", session: actor.session, agent: null, notes: [1], risks };
    const { session, agent, notes } = random.pick(all);
    const told = notes.filter(() => random.chance(0.7)).map(({ n }) => n);
    return { type: "notes_told", session, agent, notes: [...told, 0], risks };
  }

  /** A life has ended: what was not synced may be gone with it. */
  restarted(state: State): void {
    this.#pending = new Map(
      [...state.notes.pending].map(([key, { notes }]) => [
        key,
        notes.map(({ note }) => JSON.stringify(note)),
      ]),
    );
    this.#conflicts = new Map(state.notes.conflicts);
    this.#stashes.restarted(state);
  }

  /** `before` is what was pending before the entry. */
  *observe(
    state: State,
    entry: Entry,
    step: Step,
    before: ReturnType<typeof notesBefore>,
    touched: ReadonlySet<TableName>,
    tasks: TasksBefore,
  ): Generator<string, void> {
    const { command } = entry;
    if (command.type === "notes_told") this.#told(command, before);
    yield* this.#conflict(state, command, step);
    this.#lived(state, command, step);
    this.#possible = touched.has("declarations") ? new Map(this.#pending) : null;
    if (touched.has("declarations")) yield* this.#takeBack(state);
    this.#teams(state, command, step, before);
    const taken = command.type === "stashes_noted" ? this.#stashes.told(state, command) : [];
    for (const [id, note] of taken) this.#tell(state, { id, agent: null }, note);
    yield* this.#stashes.observe(state, entry, step);
    for (const { event } of step.events) {
      if (event.event === "bypassed" || event.event === "lost_update") {
        const { event: what, path: file, writer, holder } = event;
        const other = holder === null ? null : what === "bypassed" ? answererOf(state, holder) : holder.name;
        this.#tell(state, writer, { what, file, mine: true, other });
        if (holder !== null) this.#tell(state, holder, { what, file, mine: false, other: writer.name });
      }
      if (event.event === "declarations_overlap") {
        const { sides, paths, wills } = event;
        const [a, b] = sides;
        this.#tell(state, a, { what: "overlap", file: paths[1], other: b.name, will: wills[1] });
        this.#tell(state, b, { what: "overlap", file: paths[0], other: a.name, will: wills[0] });
      }
      if (event.event === "role_changed") {
        const { agent, role, by } = event;
        if (state.rules >= 3) this.#unsay(agent, note => note.what === "role");
        this.#tell(state, agent, { what: "role", role, by });
      }
      if (event.event === "task_claimed") this.#risk(state, state.tasks.all.get(event.task), event.by);
      if (event.event === "task_updated") {
        const [was, now] = [tasks.get(event.task), state.tasks.all.get(event.task)];
        const { claimer = null } = now?.state.status === "active" ? now.state : {};
        const isRaised = levels.indexOf(now?.risk ?? "") > levels.indexOf(was?.risk ?? "");
        if (isRaised && now?.state.status === "active")
          this.#risk(state, now, claimer === null ? null : actorRow(state, claimer));
      }
      if (event.event === "work_taken") {
        const { how: what, paths, more = 0, by, owner, command: git, commit } = event;
        this.#tell(state, owner, { what, files: paths, more, other: by.name, command: git, commit });
      }
    }
    if (command.type === "work_wiped") this.#wiped(state, command);
    this.#leases(state, command, step);
    if (touched.has("notes")) yield* this.#compare(state);
  }

  /** Whoever lost work hears of it, and so does who did it: in the place of a notice that the file changed. */
  #wiped(state: State, command: Extract<Command, { type: "work_wiped" }>): void {
    const { wipe, doer, command: name, files: works, others } = command;
    const isOwn = (one: Lineage) => doer !== null && sameLineage(doer, one);
    const say = (whose: Actor, mine: boolean, other: string | null, own: typeof works) => {
      const paths = own.map(({ path }) => path);
      this.#unsay(
        whose,
        note =>
          note.what === "bypassed" &&
          note.mine === mine &&
          paths.includes(note.file) &&
          (mine || note.other === other),
      );
      this.#change(whose, note => {
        if (note.what !== "discarded" || mine || note.other !== other) return note;
        const left = note.files.filter(path => !paths.includes(path));
        return left.length === 0 ? null : { ...note, files: left };
      });
      const all = { files: paths, more: 0, lines: own.reduce((sum, { lines }) => sum + (lines ?? 0), 0) };
      const isAll = own.length === works.length + others;
      const { session: id, agent } = whose;
      this.#tell(state, { id, agent }, { what: "wiped", wipe, mine, other, command: name, ...all, isAll });
    };
    const writers = new Map(works.flatMap(({ writers: all }) => all.map(one => [nameOf(one.actor), one])));
    for (const [key, writer] of writers) {
      const own = works.filter(work => work.writers.some(one => nameOf(one.actor) === key));
      if (!isOwn(writer) && isAlive(state, writer.actor)) say(writer.actor, false, doer?.name ?? null, own);
    }
    const lost = works.filter(work => work.writers.some(one => !isOwn(one)) || doer?.isUnaware === true);
    const [other] = lost.flatMap(work => work.writers.filter(one => !isOwn(one)));
    if (doer === null || lost.length === 0 || !isAlive(state, doer.actor)) return;
    say(doer.actor, true, other === undefined ? null : actorRow(state, other.actor).name, lost);
  }

  /** Whose lease of a resource is over is told, unless it has the resource again. */
  #leases(state: State, command: Command, step: Step): void {
    const isLease = command.type === "elapse" && command.due.what === "resource_lease_over";
    for (const { event } of step.events) {
      if (!isLease || event.event !== "lock_released") continue;
      for (const file of event.paths) this.#tell(state, event.holder, { what: "lease_over", file });
    }
    // A lock that is passed on within a session is announced to nobody, so what counts is who has it now.
    for (const { lexical, actor, path } of state.locks.holds.values())
      if (lexical.startsWith("@"))
        this.#unsay(actor, note => note.what === "lease_over" && note.file === path);
  }

  /** Whoever leads in the project of a red or critical task is to be told that it begins. */
  #risk(state: State, task: Task | undefined, by: ActorRow | null): void {
    if (task === undefined || (task.risk !== "red" && task.risk !== "critical")) return;
    const { id, description: text, risk, project } = task;
    const given = [...state.roles].flatMap(([session, all]) =>
      [...all].map(([agent, { role }]) => ({ session, agent, role })),
    );
    for (const { role, session, agent } of given) {
      const lives = state.sessions.live.get(session);
      const leads = role === "lead" && lives?.project === project && lives.lostAt === null;
      if (leads && (by?.id !== session || by.agent !== agent))
        this.#tell(
          state,
          { id: session, agent },
          { what: "risk", task: id, text, risk, other: by?.name ?? null },
        );
    }
  }

  #told(
    { session, agent, notes }: Extract<Command, { type: "notes_told" }>,
    before: ReturnType<typeof notesBefore>,
  ): void {
    const key = keyOf({ id: session, agent });
    const numbers = before.numbers.get(key) ?? [];
    const left = (this.#pending.get(key) ?? []).filter((_, i) => !notes.includes(numbers[i] ?? -1));
    if (left.length === 0) this.#pending.delete(key);
    else this.#pending.set(key, left);
  }

  *#conflict(state: State, command: Command, step: Step): Generator<string, void> {
    const told = step.events.some(({ event }) => event.event === "file_conflict");
    if (command.type !== "conflict_noted") {
      if (told) yield `${command.type} tells of a conflict`;
      return;
    }
    const { key, path: file, sides } = command;
    const [first, second] = sides;
    const names = sides.map(({ actor }) => nameOf(actor));
    const isMutual = state.rules < 2;
    const id = `${(isMutual ? names.toSorted() : names.slice(0, 1)).join("\n")}\n${key}`;
    // Who writes the file has read it.
    if (!isMutual && this.#conflicts.delete(`${nameOf(second.actor)}\n${key}`))
      this.#unsay(second.actor, note => note.what === "conflict" && note.file === file);
    const lives = ({ actor }: { readonly actor: Actor }) => state.sessions.live.has(actor.session);
    const isTold = isMutual || (lives(first) && nameOf(first.actor) !== nameOf(second.actor));
    const isNew = lives(second) && isTold && !this.#conflicts.has(id);
    if (told !== isNew) yield `a conflict was ${told ? "told again" : "not told"}: ${id}`;
    if (!isNew) return;
    this.#conflicts.set(id, { sides });
    const note = { what: "conflict", file, mine: true };
    const reader = ({ actor: { session: id, agent } }: { readonly actor: Actor }) => ({ id, agent });
    if (isMutual) this.#tell(state, reader(second), { ...note, other: first.name });
    this.#tell(state, reader(first), { ...note, other: second.name });
  }

  /** Turns and sessions end, and processes go on under other ids. */
  #lived({ rules }: State, command: Command, step: Step): void {
    // Level 1 tells two once in the turns of both.
    // One that ended unheard may have been followed by another, to which what was told belongs.
    if (rules < 2 && command.type === "turn_end" && command.untilMs === undefined) {
      const { actor, keepPrompt } = command;
      const isOver = ({ sides }: Pair) =>
        sides.some(
          side => nameOf(side.actor) === nameOf(actor) && (keepPrompt === null || side.prompt !== keepPrompt),
        );
      for (const [id, pair] of this.#conflicts) if (isOver(pair)) this.#conflicts.delete(id);
    }
    for (const { event } of step.events) {
      if (event.event !== "session_ended") continue;
      const own = this.#pending.get(event.id);
      for (const key of [...this.#pending.keys()])
        if (key === event.id || key.startsWith(`${event.id}\n`)) this.#pending.delete(key);
      for (const [id, { sides }] of this.#conflicts)
        if (sides.some(({ actor }) => actor.session === event.id)) this.#conflicts.delete(id);
      const goesOn = event.cause === "continued" && command.type === "session_begin";
      if (goesOn && own !== undefined) this.#pending.set(command.session, own);
    }
  }

  /** Notices of overlaps may be taken back, and have to be when the overlap is over; see `isStill`. */
  *#takeBack(state: State): Generator<string, void> {
    for (const [key, all] of this.#pending) {
      const notes = state.notes.pending.get(key)?.notes.map(({ note }) => note) ?? [];
      const known = new Set(notes.map(note => JSON.stringify(note)));
      // Of a full list the oldest ones may have gone for newer ones instead; `compare` takes it as it is.
      const isFull = notes.length === limits.fileNotesMax;
      const left = all.filter(words => isFull || known.has(words) || !isOverlap(words));
      if (left.length === 0) this.#pending.delete(key);
      else this.#pending.set(key, left);
      for (const note of notes)
        if (!isStill(state, key, note))
          yield `${key.replace("\n", "/")} is to be told of an overlap that is over: ${JSON.stringify(note)}`;
    }
  }

  /** A lead is told of a member whose session ended by itself, and of its teammate that was stopped. */
  #teams(state: State, command: Command, step: Step, { members }: ReturnType<typeof notesBefore>): void {
    const gone = (id: string, name: string, team: string, how: string) =>
      this.#tell(state, { id, agent: null }, { what: "teammate_gone", other: name, team, how });
    for (const { event } of step.events) {
      if (event.event !== "session_ended") continue;
      const own = members.find(one => one.session === event.id && one.agent === null);
      const how = { anchor_gone: "died", ended: "ended" }[event.cause];
      if (own !== undefined && how !== undefined) gone(own.lead, own.name, own.team, how);
    }
    if (command.type !== "agent_end" || command.stopped !== true) return;
    const { session, agent } = command.actor;
    const own = members.find(one => one.session === session && one.agent === agent);
    if (own !== undefined) gone(session, own.name, own.team, "stopped");
  }

  /** Takes back what the actor was not told yet. */
  #unsay(actor: Actor | ActorRow, isOver: (note: FileNote) => boolean): void {
    this.#change(actor, note => (isOver(note) ? null : note));
  }

  #change(whose: Actor | ActorRow, corrected: (note: FileNote) => FileNote | null): void {
    const { agent } = whose;
    const id = "session" in whose ? whose.session : whose.id;
    const left = (this.#pending.get(keyOf({ id, agent })) ?? []).flatMap(words => {
      const note = corrected(JSON.parse(words));
      return note === null ? [] : [JSON.stringify(note)];
    });
    if (left.length === 0) this.#pending.delete(keyOf({ id, agent }));
    else this.#pending.set(keyOf({ id, agent }), [...new Set(left)]);
  }

  #tell(state: State, whose: { readonly id: string; readonly agent: string | null }, note: object): void {
    if (!state.sessions.live.has(whose.id)) return;
    const all = this.#pending.get(keyOf(whose)) ?? [];
    const words = JSON.stringify(note);
    this.#possible?.set(keyOf(whose), [...(this.#possible.get(keyOf(whose)) ?? []), words]);
    if (!all.includes(words)) this.#pending.set(keyOf(whose), [...all, words].slice(-limits.fileNotesMax));
  }

  *#compare(state: State): Generator<string, void> {
    const keys = new Set([...this.#pending.keys(), ...state.notes.pending.keys()]);
    for (const key of keys) {
      const known = (state.notes.pending.get(key)?.notes ?? []).map(({ note }) => JSON.stringify(note));
      const possible = this.#possible?.get(key) ?? [];
      if (isLatest(known, possible)) this.#pending.set(key, known);
      const should = this.#pending.get(key) ?? [];
      if (known.toSorted().join() !== should.toSorted().join())
        yield `${key.replace("\n", "/")} is to be told ${known}, not ${should}`;
      // An entry may tell several things at once; `#told` goes by their order in the core.
      else if (known.length > 0) this.#pending.set(key, known);
      // One that was taken back and told anew in one step is the latest now: answers name notices by their place.
      if (known.length > 0) this.#pending.set(key, known);
    }
    const told = [...state.notes.conflicts.keys()].sort().join();
    const should = [...this.#conflicts.keys()].sort().join();
    if (told !== should) yield `the conflicts told are ${told}, not ${should}`;
  }
}

/** Wipes all known work of the paths that have a name of their own. */
function wiped(state: State, actor: Actor): Command {
  const works = [...state.writes.files.values()].slice(0, 3).map(({ file, worktree, writers }, i) => ({
    file,
    path: `${worktree}/${file}`,
    lines: i + 1,
    writers,
  }));
  const doer =
    state.seq % 3 === 0
      ? null
      : { actor, ancestors: [], name: actor.session, isUnaware: state.seq % 5 === 0 };
  const what = { wipe: `r-${state.seq}`, project: "/p", command: "make", others: state.seq % 7 };
  return { type: "work_wiped", ...what, doer, files: works };
}

/** Who is named as the one to tell: the agent, or the main agent of one that has ended. */
function answererOf({ sessions }: State, { id, agent, name }: ActorRow): string {
  const session = sessions.live.get(id);
  const hasEnded = agent !== null && session?.endedAgents.has(agent) === true;
  return hasEnded ? session.name : name;
}

/** Whether a full list has the latest of what was possible, but for overlaps that were taken back before newer ones came. */
function isLatest(known: readonly string[], possible: readonly string[]): boolean {
  if (known.length < limits.fileNotesMax || !known.every(words => possible.includes(words))) return false;
  const first = Math.min(...known.map(words => possible.lastIndexOf(words)));
  return possible.slice(first).every(words => known.includes(words) || isOverlap(words));
}

function isOverlap(words: string): boolean {
  return (JSON.parse(words) as FileNote).what === "overlap";
}

/** An overlap is one while both declare, in one project or one session, a file or a folder with it. */
function isStill({ declarations }: State, key: string, note: FileNote): boolean {
  if (note.what !== "overlap") return true;
  const reader = declarations.live.get(key);
  const isIn = (folder: DeclaredFile, file: DeclaredFile) =>
    folder.key === file.key || (folder.dir && file.key.startsWith(`${folder.key}/`));
  return [...declarations.live.values()].some(
    other =>
      other.name === note.other &&
      reader !== undefined &&
      (other.session === reader.session || other.project === reader.project) &&
      other.files.some(
        theirs =>
          theirs.path === note.file && reader.files.some(own => isIn(own, theirs) || isIn(theirs, own)),
      ),
  );
}

/** The numbers of the notes that agents have, and who leads whom, before an entry. */
export function notesBefore({ notes, sessions, teammates, members: led }: State) {
  const numbers = new Map([...notes.pending].map(([key, { notes: all }]) => [key, all.map(({ n }) => n)]));
  const members = [...sessions.live.values()].flatMap(({ id: session }) =>
    [...(teammates.get(session) ?? [])].flatMap(([agent, { name, team, lead = session }]) => {
      const place = led.get(lead)?.get(name);
      const isMember = agent !== null || (place?.session === session && place.gone === undefined);
      return isMember ? [{ session, agent, name, team, lead }] : [];
    }),
  );
  return { numbers, members };
}

function keyOf({ id, agent }: { readonly id: string; readonly agent: string | null }): string {
  return agent === null ? id : `${id}\n${agent}`;
}

function nameOf({ session, agent, incarnation }: Actor): string {
  const part = incarnation === 0 ? session : `${session}\u0001${incarnation}`;
  return agent === null ? part : `${part}\u0000${agent}`;
}
