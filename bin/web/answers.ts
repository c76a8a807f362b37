/** What the page asks for besides its stream: `GET /api/NAME`. */

import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type Place, readForward, startBefore } from "../../daemon/trail/read.ts";
import { isResource } from "../../protocol/names.ts";
import type { Output, ProcessContext } from "../context/process-context.ts";
import type { Commands } from "../entry.ts";
import { run } from "../program.ts";
import { projectRoot } from "../view/places.ts";
import type { Site } from "./http.ts";
import { AgentLanes } from "./lanes.ts";
import type { TimelineReply } from "./timeline.ts";
import { bounds, type Deed, type DeedReply, type SharedValue, type Viewer } from "./wire.ts";

// What a person does from the page: each deed is a command of `kite`, with its requests, refusals and words.

const bodies: { readonly [D in Deed["deed"]]: (deed: Extract<Deed, { deed: D }>) => readonly string[] } = {
  unlock: ({ file, project }) => ["unlock", "--force", "--project", project, "--", file],
  thaw: ({ hold, project }) => ["thaw", "--project", project, "--", hold],
  answer: ({ message, text, project }) => [
    ...["message", "send", "--reply", message, "--project", project, "--", text],
  ],
  send: ({ to, text, project }) =>
    to === null
      ? ["message", "send", "--all", "--project", project, "--", text]
      : ["message", "send", "--project", project, "--", to, text],
  task_add: ({ description, needs, labels, risk, project }) => [
    ...["task", "add", "--project", project, "--risk", risk],
    ...wordsIn(needs, /[\s,]+/).flatMap(need => ["--needs", need]),
    ...wordsIn(labels, /,/).flatMap(label => ["--label", label]),
    ...["--", description],
  ],
  task_release: ({ task, project }) => ["task", "release", "--project", project, "--", task],
  task_approve: ({ task, project }) => ["task", "approve", "--project", project, "--", task],
  task_cancel: ({ task, project }) => ["task", "cancel", "--project", project, "--", task],
};

/** Returns the parts of a text that a person typed as several. A field that is missing stays so. */
function wordsIn(text: string, between: RegExp): readonly string[] {
  return typeof text !== "string" ? [text] : text.split(between).flatMap(word => word.trim() || []);
}

/** Returns the command line of a deed; null: this is no deed. */
export function wordsOf(value: unknown): readonly string[] | null {
  if (typeof value !== "object" || value === null) return null;
  const fields = Object.entries(value);
  if (!fields.every(([name, text]) => typeof text === "string" || (name === "to" && text === null)))
    return null;
  const { deed } = value as { readonly deed?: unknown };
  if (typeof deed !== "string" || !Object.hasOwn(bodies, deed)) return null;
  const words = bodies[deed as Deed["deed"]](value as never);
  // A field that is missing.
  return words.every(word => typeof word === "string" && !word.includes("\0")) ? words : null;
}

/** Does what a person asks for; null: that is no deed. */
export async function doDeed(
  world: ProcessContext,
  commands: Commands,
  deed: unknown,
): Promise<DeedReply | null> {
  const words = wordsOf(deed);
  return words === null ? null : runWords(inProject(world, projectOf(deed)), commands, words);
}

function projectOf(deed: unknown): string | null {
  const { project = null } = deed as { readonly project?: string };
  return project;
}

/** Commands mean the project of their directory, where a name or a number could be of several. */
function inProject(world: ProcessContext, project: string | null): ProcessContext {
  if (project === null || !isAbsolute(project)) return world;
  const isThere = statSync(project, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? { ...world, cwd: project } : world;
}

/** Columns of what a command says: the page breaks its lines itself. */
const columns = 200;

/** Runs a command line of `kite` in this process, as its person; returns what it said. */
async function runWords(
  world: ProcessContext,
  commands: Commands,
  words: readonly string[],
): Promise<DeedReply> {
  let text = "";
  const output: Output = {
    isTTY: true,
    columns,
    rows: 1_000,
    write: (piece: string) => {
      text += piece;
    },
  };
  const call = {
    argv: [...world.argv.slice(0, 2), ...words],
    env: { ...world.env, COLUMNS: `${columns}`, FORCE_COLOR: "0" },
    stdout: output,
    stderr: output,
    cwd: () => world.cwd,
  };
  const code = await run(call, commands);
  return { ok: code === 0, text: text.trimEnd() };
}

// Answers `GET /api/timeline`: reads the trail once for a range, keeps what came of it, and reads on from there when it is
// asked again. The trail is read a chunk at a time, so the page's other questions are answered meanwhile.

/** What was read of a range; `untilMs` is infinite for one that reaches now. */
interface Kept {
  readonly id: number;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly lanes: AgentLanes;
  place: Place;
}

interface Question {
  readonly fromMs: number;
  /** Null: now. */
  readonly untilMs: number | null;
  readonly project: string | null;
  /** As an earlier answer gave it. */
  readonly version: string | null;
}

type Trailed = Pick<ProcessContext, "paths" | "now" | "env">;

export class TimelineSource {
  readonly #world: Trailed;
  readonly #viewer: Pick<Viewer, "project">;
  #kept: readonly Kept[] = [];
  /** The latest question's end. */
  #turn: Promise<unknown> = Promise.resolve();
  #ids = 0;

  constructor(world: Trailed, viewer: Pick<Viewer, "project">) {
    this.#world = world;
    this.#viewer = viewer;
  }

  /**
   * Returns null if the query is none about a range. Questions are answered one after the other. Several at once would
   * each have the memory of a range, and those about one range would read it again.
   */
  answer(query: URLSearchParams): Promise<TimelineReply | null> {
    const reply = this.#turn.then(() => this.#answer(query));
    // Who asked is told of a fault; the next question is another one.
    this.#turn = reply.catch(() => {});
    return reply;
  }

  async #answer(query: URLSearchParams): Promise<TimelineReply | null> {
    const question = this.#questionIn(query);
    if (question === null) return null;
    const { fromMs, project, version } = question;
    const kept = this.#keptFor(question) ?? (await this.#begin(question));
    try {
      await read(this.#world.paths.trail, kept);
    } catch (error) {
      this.#kept = this.#kept.filter(one => one !== kept);
      throw error;
    }
    const { lanes } = kept;
    const since = sinceIn(version, kept);
    const untilMs = question.untilMs ?? this.#world.now();
    const home = this.#world.env["HOME"] ?? "";
    const timeline = lanes.timeline({ fromMs, untilMs, project, since, home });
    return { version: `${kept.id}.${lanes.changes}`, isWhole: since === 0, timeline };
  }

  #questionIn(query: URLSearchParams): Question | null {
    const nowMs = this.#world.now();
    const fromMs = timeIn(query.get("from"));
    const until = query.get("until");
    const untilMs = until === null ? null : timeIn(until);
    if (fromMs === null || (until !== null && untilMs === null)) return null;
    const lengthMs = (untilMs ?? nowMs) - fromMs;
    if (lengthMs < bounds.rangeMsMin || lengthMs > bounds.rangeMs) return null;
    const project = this.#viewer.project ?? query.get("project");
    // A range that reaches into the future reaches now.
    const isPast = untilMs !== null && untilMs < nowMs;
    return { fromMs, untilMs: isPast ? untilMs : null, project, version: query.get("version") };
  }

  /** What was read and has all of the range. */
  #keptFor({ fromMs, untilMs }: Question): Kept | null {
    const until = untilMs ?? Number.POSITIVE_INFINITY;
    const found = this.#kept.find(one => one.fromMs <= fromMs && one.untilMs === until);
    if (found === undefined) return null;
    this.#kept = [found, ...this.#kept.filter(one => one !== found)];
    return found;
  }

  async #begin({ fromMs, untilMs }: Question): Promise<Kept> {
    const until = untilMs ?? Number.POSITIVE_INFINITY;
    const place = await startBefore(this.#world.paths.trail, fromMs);
    this.#ids += 1;
    const kept = {
      ...{ id: this.#ids, fromMs, untilMs: until },
      ...{ lanes: new AgentLanes(fromMs, until), place },
    };
    this.#kept = [kept, ...this.#kept].slice(0, bounds.rangesKeptMax);
    return kept;
  }
}

async function read(dir: string, kept: Kept): Promise<void> {
  for await (const { lines, end } of readForward(dir, kept.place)) {
    for (const line of lines) kept.lanes.add(line);
    kept.place = end;
  }
}

/** The changes that a version tells its page has; 0: it has none of this range. */
function sinceIn(version: string | null, { id, lanes }: Kept): number {
  const [, of, number] = /^(\d{1,15})\.(\d{1,15})$/.exec(version ?? "") ?? [];
  return Number(of) === id && Number(number) <= lanes.changes ? Number(number) : 0;
}

/** A wall time in milliseconds; null: none. */
function timeIn(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const kinds: ReadonlySet<string> = new Set(["file", "agent", "task"]);

export function answersOf(world: ProcessContext, viewer: Viewer, commands: Commands): Site["answers"] {
  /** What `kite explain` says of a file, an agent or a task; `project`: the one in which a task's number counts. */
  const explain = async (query: URLSearchParams) => {
    const [kind, name] = [query.get("kind") ?? "", query.get("name") ?? ""];
    if (!kinds.has(kind) || name === "" || name.includes("\0")) return null;
    const place = inProject(world, viewer.project ?? query.get("project"));
    const asks = (...more: readonly string[]) =>
      runWords(place, commands, ["explain", ...more, `--${kind}`, name]);
    if (viewer.project === null) return asks();
    // Kite tells of the whole machine; this page of one project.
    const { ok, text } = await asks("--json");
    const isOwn = !ok || isOfProject(JSON.parse(text), kind === "file" ? name : null, viewer.project);
    return isOwn ? asks() : { ok: false, text: "This page shows one project, and that is of another one." };
  };
  /** The shared value under a key. */
  const value = async (query: URLSearchParams): Promise<SharedValue | null> => {
    const [project, key] = [query.get("project") ?? "", query.get("key") ?? ""];
    const isForeign = viewer.project !== null && project !== viewer.project;
    if (isForeign || project === "" || key === "" || key.includes("\0")) return null;
    const words = ["context", "get", "--json", "--project", project, "--", key];
    const { ok, text } = await runWords(inProject(world, project), commands, words);
    const output = JSON.parse(text);
    return ok ? { ok, value: output.value } : { ok, error: output.error };
  };
  const timeline = new TimelineSource(world, viewer);
  return new Map<string, (query: URLSearchParams) => Promise<unknown>>([
    ["explain", explain],
    ["value", value],
    ["timeline", query => timeline.answer(query)],
  ]);
}

/** What `kite explain --json` says, as far as it tells of projects. */
interface Explanation {
  readonly explained: readonly { readonly project: string | null }[];
  readonly now: {
    readonly session?: { readonly project: string } | null;
    readonly task?: { readonly project: string } | null;
  };
}

/** Whether all that is explained is of the project; where nothing tells of one, `file` lies in it. */
function isOfProject({ explained, now }: Explanation, file: string | null, project: string): boolean {
  const candidates = [...explained.map(one => one.project), now.session?.project, now.task?.project];
  const projects = candidates.filter(one => one != null);
  const root = projectRoot(project);
  if (projects.length > 0) return projects.every(one => projectRoot(one) === root);
  return file === null || file.startsWith(`${root}/`) || isResource(file);
}
