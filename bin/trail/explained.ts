/** Lines of the trail as things that happened, for `kite explain`. */

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { BoundedMap } from "../../daemon/bounded-map.ts";
import { isBelow, joined, restBelow } from "../../daemon/facts/mounts.ts";
import { type TrailDecision, type TrailLine, trailDecisions } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { isElsewhere } from "../../hooks/client/mounts.ts";
import {
  isCommandsSession,
  isOfMachine,
  isResource,
  lockKey,
  personName,
  personOnWire,
} from "../../protocol/names.ts";
import { nearest, nearPath } from "../../protocol/text.ts";
import { actingSession } from "../context/actor.ts";
import { connected } from "../context/caller.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { namesOf, projectOf, resourceTyped } from "../context/project.ts";
import { rowsOf } from "../context/with-daemon.ts";
import { trailReason } from "../refusal-text.ts";
import { durationOf } from "../settings/off.ts";
import { projectRoot } from "../view/places.ts";
import { clean, listed } from "../view/text.ts";

// Which lines of the trail a command shows.

export interface TrailFilter {
  /** A session's or an agent's name, its id, or the beginning of its id. */
  readonly agent?: string | undefined;
  /** A file or directory by all its absolute names, or a resource by its key. */
  readonly paths?: readonly string[] | undefined;
  /** Without it all but `event`. */
  readonly decisions?: ReadonlySet<TrailDecision> | undefined;
  /** Wall time in milliseconds. */
  readonly since?: number | undefined;
}

/** Returns a test for the lines that every given filter lets through. */
export function wantedBy({ agent, paths, decisions, since }: TrailFilter): (line: TrailLine) => boolean {
  return line =>
    (decisions === undefined ? line.decision !== "event" : decisions.has(line.decision)) &&
    (since === undefined || line.at >= since) &&
    (agent === undefined || isOf(line, agent)) &&
    (paths === undefined || paths.some(path => isAbout(line, path)));
}

type Actor = Pick<TrailLine, "name" | "id" | "agent">;

/** The beginning of an id counts from this length on: shorter ones are names. */
const idCharsMin = 4;

/** Whether the line is about the agent: a session with all its agents, or one agent of a session. */
export function isOf({ name, id, agent: inner }: Actor, agent: string): boolean {
  if (name !== null && isNamed(name, agent)) return true;
  if (id === agent || inner === agent) return true;
  if (agent.length < idCharsMin) return false;
  return id?.startsWith(agent) === true || inner?.startsWith(agent) === true;
}

/** Whether a name is that of the session, one of its agents or terminals, or of this agent in any session. */
function isNamed(name: string, agent: string): boolean {
  if (name === agent || name.endsWith(`/${agent}`)) return true;
  return name.startsWith(agent) && (name[agent.length] === "/" || name[agent.length] === "#");
}

/** Whether the line is about the file, or a file below it; a resource is meant by its key. */
export function isAbout(line: TrailLine, path: string): boolean {
  const file = keyIn(line);
  return file !== null && isWithin(file, path);
}

/** Whether the path is the folder's or below it. A resource's key is below no other, however its project's folder lies. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || (!isResource(folder) && path.startsWith(folder === "/" ? folder : `${folder}/`));
}

/** What tells the line's file or resource from others. */
export function keyIn(line: TrailLine): string | null {
  const path = pathIn(line);
  return path === null ? null : lockKey({ path, project: line.project ?? "" });
}

/** The line's file as an absolute path, or its resource's name. Earlier versions recorded relative paths, too. */
export function pathIn({ file, project }: TrailLine): string | null {
  if (file === null || file.startsWith("/") || isResource(file)) return file;
  return resolve(projectRoot(project ?? "/"), file);
}

/** Returns the decisions that `text` names, separated by commas, or a sentence about the first that does not exist. */
export function decisionsIn(text: string): ReadonlySet<TrailDecision> | string {
  const found = new Set<TrailDecision>();
  for (const word of text.split(",").map(part => part.trim())) {
    const known = trailDecisions.find(decision => decision === word);
    if (known === undefined) {
      const near = nearest(word, trailDecisions);
      const meant = near === null ? "" : `; did you mean ${near}?`;
      return `--decision takes ${trailDecisions.join(", ")}, several separated by commas, not "${word}"${meant}`;
    }
    found.add(known);
  }
  return found;
}

// Which agent holds which file, as far as the trail tells.

/** Files whose holders are kept; of more, the longest untouched are forgotten. */
const filesMax = 10_000;

/** An agent that took a file, and when: wall time in milliseconds. */
export interface Taken {
  /** Absolute; of a resource its key. */
  readonly file: string;
  readonly who: string;
  readonly session: string | null;
  readonly project: string | null;
  readonly at: number;
}

/** The name in a line that names no agent. */
export const nobody = "somebody";

/** Returns the agent's name. Lines of earlier versions may lack the agent's part. */
export function actorIn({ name, id, agent }: TrailLine): string {
  const who = isPersons({ name, id }) ? personName() : (name ?? id?.slice(0, 8) ?? nobody);
  return agent === null || who.includes("/") ? who : `${who}/${agent.slice(0, 8)}`;
}

/** Whether it is the person's line: of no session, or of a command at a terminal that had ended. */
export function isPersons({ name, id }: Pick<TrailLine, "name" | "id">): boolean {
  return name === personOnWire || id === "" || (id !== null && isCommandsSession(id));
}

/** Follows the trail's lines. A file has one holder; a session's end releases all that it held. */
export class LockHistory {
  readonly #taken = new BoundedMap<string, Taken>({ entriesMax: filesMax });

  /** The holders of files that `isMeant` selects, the longest first. */
  holders(isMeant: (taken: Taken) => boolean): readonly Taken[] {
    return [...this.#taken.values()].filter(isMeant).sort((a, b) => a.at - b.at);
  }

  /** The file's holder, if that is not `who`. */
  otherHolder(file: string, who: string): Taken | null {
    const taken = this.#taken.get(file);
    return taken === undefined || taken.who === who ? null : taken;
  }

  add(line: TrailLine): void {
    if (line.event === "SessionEnd" || line.event === "session_ended") {
      for (const { file } of this.holders(taken => taken.session === line.id)) this.#taken.delete(file);
      return;
    }
    const file = keyIn(line);
    if (file === null) return;
    const who = actorIn(line);
    const isRelease = line.event === "lock_released" || line.event === "file_unlock";
    const before = this.#taken.get(file);
    if (isRelease && line.decision !== "deny") {
      if (before?.who === who) this.#taken.delete(file);
    } else if (isTaking(line)) {
      // A lock that its holder asks for again is as old as it was.
      const at = before?.who === who ? before.at : line.at;
      this.#taken.set(file, { file, who, session: line.id, project: line.project, at });
    }
  }
}

/** Whether the line gives its actor a file. */
export function isTaking({ event, decision, rule, type }: TrailLine): boolean {
  if (event === "lock_granted") return true;
  if (decision !== "allow" || event === "file_unlock" || type?.startsWith("git ") === true) return false;
  // Lines of earlier versions have no rule.
  return rule === "lock" || (rule === undefined && (event === "file_lock" || event === "PreToolUse"));
}

/** One thing that happened. Times are wall time in milliseconds. */
export interface Explained {
  readonly at: number;
  readonly who: string;
  /** `waits`: a wait began, of which the trail has no end. `task`: something happened to a task. */
  readonly what:
    | "took"
    | "waits"
    | "waited"
    | "denied"
    | "released"
    | "not_released"
    | "began"
    | "ended"
    | "task"
    | "noted";
  /** The event of the line, and what it says further: a tool, a git command, a status, or the cause of an end. */
  readonly event: string;
  readonly type: string | null;
  /** Absolute, if the project's directory is known. */
  readonly file: string | null;
  readonly project: string | null;
  /** The git command of a shell line that the guard checked. */
  readonly command: string | null;
  readonly task: string | null;
  /** Whether the request was granted. */
  readonly isRefused: boolean;
  /** How long it took, in milliseconds; of a release, how long the lock was held. */
  readonly waitedMs: number;
  readonly heldMs: number | null;
  /** Number of equal decisions that followed directly, and the time of the last one. */
  readonly again: number;
  readonly until: number;
  /** The other agent that had the file, and since when. */
  readonly before: { readonly who: string; readonly at: number } | null;
  readonly code: string | null;
  readonly why: string | null;
  /** Of a refusal: who had the file, if the line says so. */
  readonly holder: string | null;
}

/** In lines of earlier versions, shorter waits than this, in milliseconds, are only the time of an answer. */
const noticedMs = 100;

/**
 * The latest things that happened to a file, an agent or a task.
 *
 * Equal decisions of one agent in a row (an agent edits one file many times) become one. The start of a wait is left out
 * when its end follows.
 */
export class Story {
  readonly #wanted: (line: TrailLine) => boolean;
  readonly #max: number;
  #found: Explained[] = [];

  /** Keeps the latest `max` things of the `wanted` lines. */
  constructor(wanted: (line: TrailLine) => boolean, max: number) {
    this.#wanted = wanted;
    this.#max = max;
  }

  /** Oldest first. */
  get found(): readonly Explained[] {
    return this.#found.slice(-this.#max);
  }

  /** Takes the next line; `history` knows the lines before it. */
  add(line: TrailLine, history: LockHistory): void {
    if (!this.#wanted(line)) return;
    const one = explained(line, history);
    const isOver = one.what === "took" || one.what === "waited" || one.what === "denied";
    if (isOver || isTaking(line)) this.#endWait(one);
    const last = this.#found.at(-1);
    if (last !== undefined && isSame(last, one)) {
      this.#found[this.#found.length - 1] = { ...last, again: last.again + 1, until: one.at };
    } else this.#found.push(one);
    if (this.#found.length > this.#max * 2) this.#found = this.#found.slice(-this.#max);
  }

  #endWait({ who, file }: Explained): void {
    const index = this.#found.findLastIndex(
      one => one.what === "waits" && one.who === who && one.file === file,
    );
    if (index !== -1) this.#found.splice(index, 1);
  }
}

/** Returns what happened by the line; `history` knows the lines before it. */
export function explained(line: TrailLine, history: LockHistory): Explained {
  const { at, event, type, project } = line;
  const who = actorIn(line);
  const [file, key] = [pathIn(line), keyIn(line)];
  const what = whatOf(line);
  const command = isGit(type) ? type : null;
  const isAboutLock = (what === "waited" || what === "denied") && command === null;
  return {
    ...{ at, who, what, event, type, file, project, command },
    task: line.task ?? null,
    isRefused: line.decision === "deny",
    waitedMs: line.waitedMs ?? line.ms ?? 0,
    heldMs: line.heldMs ?? null,
    again: 0,
    until: at,
    before: isAboutLock && key !== null ? history.otherHolder(key, who) : null,
    ...(line.would === undefined
      ? { code: line.code ?? null, why: line.why ?? null, holder: line.holder ?? null }
      : { code: null, why: trailReason(line), holder: null }),
  };
}

function isGit(type: string | null): type is string {
  return type?.startsWith("git ") === true;
}

function whatOf(line: TrailLine): Explained["what"] {
  const { event, type, decision, file, rule, ms = 0, waitedMs } = line;
  if (event === "SessionEnd" || event === "session_ended") return "ended";
  if (event === "session_started") return "began";
  if (event.startsWith("task_")) return "task";
  if (event === "lock_released") return "released";
  if (isGit(type)) return decision === "deny" ? "denied" : "noted";
  if (decision === "wait") return file === null ? "noted" : "waits";
  if (file === null || decision === "note") return "noted";
  if (event === "file_unlock") {
    if (decision === "deny") return "not_released";
    // With a rule, it is the line of an unlock by force.
    return rule === undefined ? "released" : "noted";
  }
  if (decision === "deny") return "denied";
  if (rule === "ignore") return "noted";
  const isNoticed = rule === undefined && ms >= noticedMs;
  return waitedMs !== undefined || isNoticed ? "waited" : "took";
}

function isSame(last: Explained, one: Explained): boolean {
  const alike = last.who === one.who && last.what === one.what && last.file === one.file;
  const same = alike && last.command === one.command && last.task === one.task && last.event === one.event;
  return same && one.what !== "waited" && last.why === one.why;
}

// What the log calls a file: it has the paths of the machine where the daemon runs.

/** Returns the absolute paths of a file, in a container with the host's before them; without a daemon the container's alone. */
export async function withHostNames(
  world: ProcessContext,
  names: readonly string[],
): Promise<readonly string[]> {
  if (!isElsewhere(world.paths.home)) return names;
  const client = await connected(world);
  if (client === null) return names;
  const mounted = [...(client.daemon.mounted ?? [])].sort((a, b) => b.inside.length - a.inside.length);
  client.close();
  const hosts = names.map(name => {
    const pair = mounted.find(({ inside }) => isBelow(inside, name));
    return pair === undefined ? name : joined(pair.outside, restBelow(pair.inside, name));
  });
  return [...new Set([...hosts, ...names])];
}

// The times that `--since` takes.

/** What `--since` takes, for people. */
export const sinceForms = "a time like 90s, 10m, 2h, 1h30m, 3d, 14:30, 2026-11-22 or 2026-11-22T10:00";

/**
 * Returns the wall time in milliseconds that `text` names: so long before `now`, or a local time (`14:30` is the latest
 * 14:30). Null if it names none.
 */
export function sinceTime(text: string, now: number): number | null {
  const ms = durationOf(text);
  if (ms !== null) return now - ms;
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (clock !== null) return latest(clock.slice(1), now);
  // A bare date would count as one in UTC.
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text;
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(date)) return null;
  const at = Date.parse(date);
  return Number.isNaN(at) ? null : at;
}

function latest([hours, minutes, seconds = "0"]: readonly string[], now: number): number | null {
  const time = [hours, minutes, seconds].map(Number);
  const [h = 0, m = 0, s = 0] = time;
  if (h > 23 || m > 59 || s > 59) return null;
  const day = new Date(now);
  const today = day.setHours(h, m, s, 0);
  if (today <= now) return today;
  day.setDate(day.getDate() - 1);
  return day.setHours(h, m, s, 0);
}

// Lets the daemon write the trail's newest lines, which it collects for a moment, before a command reads them.

/** How long a command waits for the daemon to connect, and again to answer, in milliseconds. */
const waitMs = 1_000;

/**
 * Resolves when the trail has all that the daemon decided before this call. If no daemon runs or answers, it resolves
 * as soon as that is known, and the command reads the files as they are. `client`: null: no daemon runs; absent: this
 * function connects to it.
 */
export async function trailFlushed(world: ProcessContext, client?: Client | null): Promise<void> {
  try {
    if (client !== undefined) {
      await client?.request("trail_flush", {}, { timeoutMs: waitMs });
      return;
    }
    const own = await world.connect({ name: "kite", reconnect: false, onlooker: true, timeoutMs: waitMs });
    try {
      await own.request("trail_flush", {});
    } finally {
      own.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
  }
}

// The agents that the trail knows, for a name that it does not know.

/** Names that one sentence lists. */
const listedMax = 10;
/** Names that are kept. */
const knownAgentsMax = 1_000;

/**
 * Returns a sentence that lists the latest agents of the trail if it knows none called `agent`, else null. An empty trail
 * knows nobody, and there is nothing to say.
 */
export async function unknownAgent(dir: string, agent: string): Promise<string | null> {
  const names = new Set<string>();
  const [line] = await readTrail(dir, {
    limit: 1,
    filter: one => {
      if (one.name !== null && one.name !== "" && names.size < knownAgentsMax) names.add(one.name);
      return isOf(one, agent);
    },
  });
  if (line !== undefined || names.size === 0) return null;
  const shown = [...names].slice(0, listedMax).map(clean);
  return `the log knows no agent ${clean(agent)}; it knows ${listed(shown, names.size - shown.length)}`;
}

// The files that the trail knows, for a name that it does not know.

/** Names that are kept. */
const knownFilesMax = 1_000;

interface NamedFile {
  /** All absolute names of the file; the last one is its real path. */
  readonly paths: readonly string[];
  readonly cwd: string;
}

/**
 * Returns null if the file is there, the trail knows it or it is a resource. Else returns what to say: which name was
 * perhaps meant, or null.
 */
export async function missingFile(
  dir: string,
  { paths, cwd }: NamedFile,
): Promise<{ readonly meant: string | null } | null> {
  const path = paths.at(-1) ?? "/";
  if (isResource(path) || existsSync(path)) return null;
  const files = new Set<string>();
  const [line] = await readTrail(dir, {
    limit: 1,
    filter: one => {
      const file = pathIn(one);
      if (file !== null && files.size < knownFilesMax) files.add(file);
      return paths.some(of => isAbout(one, of));
    },
  });
  if (line !== undefined) return null;
  return { meant: nearestFile(path, [...files, ...besides(path)], cwd) };
}

/** The one that is typed nearly so, or else the one of this name in another folder. */
function nearestFile(path: string, files: readonly string[], cwd: string): string | null {
  const near = files.map(file => nearPath(file, cwd));
  const typed = nearest(nearPath(path, cwd), near);
  if (typed !== null) return typed;
  return near[files.findIndex(file => basename(file) === basename(path))] ?? null;
}

/** The files of the folder that it would be in. */
function besides(path: string): string[] {
  const folder = dirname(path);
  try {
    return readdirSync(folder)
      .slice(0, knownFilesMax)
      .map(name => join(folder, name));
  } catch {
    // There is no such folder, or it is not to be read: the trail's files are left.
    return [];
  }
}

// How the trail names what a command's argument means.

/** Returns all absolute names of a file that was typed; of a resource its key. Throws `WrongName`, and `Refused` of a query. */
export async function trailNames(world: ProcessContext, typed: string): Promise<readonly string[]> {
  if (!isResource(typed)) return withHostNames(world, await namesOf(world.cwd, typed));
  const path = resourceTyped(typed);
  return [lockKey({ path, project: isOfMachine(path) ? "" : await resourceProject(world) })];
}

/** An agent's resources are those of its session's project, wherever its shell is; without a daemon, the directory's. */
async function resourceProject(world: ProcessContext): Promise<string> {
  const acting = actingSession(world.env);
  const client = acting === null ? null : await connected(world);
  try {
    const sessions = client === null ? [] : await rowsOf(client, "sessions", { id: acting?.id ?? "" });
    return sessions[0]?.project ?? (await projectOf(world.cwd));
  } finally {
    client?.close();
  }
}
