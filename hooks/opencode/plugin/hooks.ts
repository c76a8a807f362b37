/**
 * What Kite's plugin for OpenCode does. It runs in the client's process, sends what the client does to the daemon, and
 * does what the answer says. It decides nothing.
 *
 * Invariants: it throws only to refuse a call. Each wait has an end of its own, because the client has no time-out. It imports
 * only modules of Node. It sends the names of files, patches and shell lines, and no other text of the agent. A read sends
 * nothing: the next write of the file says when it was.
 */

import { isAbsolute, join } from "node:path";
import type { limits } from "../../../protocol/limits.ts";
import { callParameter } from "../../../protocol/tool-call.ts";
import type { Words } from "../../clients/clients.ts";
import { Link, type Sent } from "./link.ts";

// What the plugin remembers of the client's sessions: whose subagent each is, its prompt, what it read, and what waits in it.

/** Sessions remembered; the one that was used least lately goes. */
const sessionsMax = 1_000;
/** Files remembered of a session; the one that was read least lately goes. */
const readsMax = 1_000;

/** One session of the client. A subagent is a session of its own. */
interface Known {
  readonly id: string;
  /** The session that began it; null for one that a person began. */
  parent: string | null;
  /** The kind of agent, as the client names it. */
  agentType: string | null;
  /** The daemon knows that it began. */
  hasBegun: boolean;
  /** Its model lost what the start told it. */
  isCompacted: boolean;
  /** The last prompt's id. */
  prompt: string | null;
  /** A turn runs. */
  isAtWork: boolean;
  /** The next prompt with this text is the plugin's own. */
  injected: string | null;
  /** The turn goes on because a gate wanted it to. */
  goesOn: boolean;
  /** Ends the calls that wait for a lock, when the turn ends. */
  calls: AbortController;
  /** Ends the wait for something that wakes it. */
  wake: AbortController | null;
  /** When each file was read last, as wall time in milliseconds, by its path. */
  readonly reads: Map<string, number>;
  /** The person was told that Kite does not answer. */
  isTold: boolean;
}

/** The session read the file at this time. */
function noteRead({ reads }: Known, file: string, atMs: number): void {
  reads.delete(file);
  reads.set(file, atMs);
  const [oldest] = reads.keys();
  if (reads.size > readsMax && oldest !== undefined) reads.delete(oldest);
}

class Sessions {
  readonly #known = new Map<string, Known>();

  get(id: string): Known | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    this.#known.delete(id);
    this.#known.set(id, known);
    return known;
  }

  add(id: string, parent: string | null, agentType: string | null): Known {
    const known: Known = {
      ...{ id, parent, agentType, hasBegun: false, isCompacted: false, prompt: null, isAtWork: false },
      ...{ injected: null, goesOn: false, calls: new AbortController(), wake: null, isTold: false },
      reads: new Map(),
    };
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > sessionsMax && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  remove(id: string): void {
    this.#known.delete(id);
  }

  /** The session that a person began, above this one. */
  rootOf({ id, parent }: Known): string {
    let root = id;
    for (let up = parent, depth = 0; up !== null && depth < sessionsMax; depth++) {
      root = up;
      up = this.#known.get(up)?.parent ?? null;
    }
    return root;
  }

  all(): readonly Known[] {
    return [...this.#known.values()];
  }
}

const startMs: typeof limits.hookStartBudgetMs = 3_000;
const turnMs: typeof limits.hookTurnBudgetMs = 1_000;
const writeMs: typeof limits.hookWriteBudgetMs = 52_000;
const wakeMs: typeof limits.hookWakeBudgetMs = 14_405_000;

const unreached = "Kite is not responding; edits in this session are not coordinated. Run `kite doctor`.";

/** The tools about which the daemon is asked, and what of their arguments it needs. Own tools are `kite_...`. */
const sentArguments: Readonly<Record<string, readonly string[]>> = {
  edit: ["filePath"],
  write: ["filePath"],
  apply_patch: ["patchText"],
  bash: ["command", "workdir"],
};

/** Calls that are remembered until they end. */
const callsMax = 1_000;
/** As much of a failed call's error as is sent, in UTF-16 units. */
const errorChars = 1_000;

interface Part {
  readonly id: string;
  readonly type: string;
  readonly text?: string;
}

/** As much of the client's plugin interface as is used. */
export interface Input {
  readonly client: {
    readonly session: {
      get(of: { path: { id: string } }): Promise<{ data?: { parentID?: string } }>;
      promptAsync(of: { path: { id: string }; body: { parts: object[] } }): Promise<unknown>;
    };
    readonly tui: { showToast(of: { body: { message: string; variant: string } }): Promise<unknown> };
  };
  readonly directory: string;
}

interface BusEvent {
  readonly type: string;
  readonly properties?: {
    readonly sessionID?: string;
    readonly part?: {
      readonly type: string;
      readonly tool?: string;
      readonly callID?: string;
      readonly state?: { readonly status: string; readonly input?: Arguments; readonly error?: string };
    };
    readonly info?: { readonly id?: string; readonly parentID?: string; readonly agent?: string };
  };
}

interface ToolCall {
  readonly tool: string;
  readonly sessionID: string;
  readonly callID: string;
}

type Arguments = Record<string, unknown>;

/** The client's process. */
interface Process {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** It runs one prompt for a script, and ends. */
  readonly isScripted: boolean;
}

/** Returns the plugin's hooks for one project that the client opened. */
export async function hooksFor(input: Input, { env, isScripted }: Process) {
  if (env["KITE"] === "off") return {};
  const project = new Project(input, new Link(env), isScripted);
  return {
    event: harmless(({ event }: { event: BusEvent }) => busEvent(project, event)),
    "chat.message": harmless((to: { sessionID: string }, prompt: Prompt) =>
      beforePrompt(project, to, prompt),
    ),
    "tool.execute.before": harmless((call: ToolCall, output: { args: Arguments }) =>
      beforeTool(project, call, output),
    ),
    "tool.execute.after": harmless((call: ToolCall & { args?: Arguments }, output: { output?: unknown }) =>
      afterTool(project, call, output),
    ),
    "shell.env": harmless(
      async ({ sessionID }: { sessionID?: string }, output: { env: Record<string, string> }) => {
        const known = project.sessions.get(sessionID ?? "");
        if (known === undefined) return;
        const root = project.sessions.rootOf(known);
        output.env["KITE_SESSION"] = root;
        if (root !== known.id) output.env["KITE_AGENT"] = known.id;
      },
    ),
    dispose: harmless(async () => {
      const mains = project.sessions.all().filter(({ parent }) => parent === null);
      await Promise.all(mains.map(known => project.ends(known)));
    }),
  };
}

/** The sessions of one project, and what the daemon is told of their lives. */
class Project {
  readonly sessions = new Sessions();
  /** The calls that may run, with what their model is to read behind the result. */
  readonly running = new Map<string, string>();
  /** When each call began that reads a file, as wall time in milliseconds. */
  readonly reading = new Map<string, number>();
  readonly #client: Input["client"];
  readonly #directory: string;
  readonly #link: Link;
  readonly #isScripted: boolean;

  constructor({ client, directory }: Input, link: Link, isScripted: boolean) {
    this.#client = client;
    this.#directory = directory;
    this.#link = link;
    this.#isScripted = isScripted;
  }

  async ask(known: Known, event: object, how: Omit<Sent, "event">): Promise<Words | null> {
    const root = this.sessions.rootOf(known);
    const who = {
      session_id: root,
      ...(root === known.id ? {} : { agent_id: known.id, agent_type: known.agentType ?? "agent" }),
      ...(known.prompt === null ? {} : { turn_id: known.prompt }),
    };
    const reply = await this.#link.send({ event: { cwd: this.#directory, ...who, ...event }, ...how });
    if (reply.is === "aborted") return null;
    if (reply.is === "answer") {
      if (reply.words.person !== undefined) this.#tellPerson(reply.words.person);
      return reply.words;
    }
    const isCall = Reflect.get(event, "hook_event_name") === "PreToolUse";
    if (reply.is === "unreached" && isCall && !known.isTold) {
      known.isTold = true;
      this.#tellPerson(unreached);
    }
    return {};
  }

  #tellPerson(message: string): void {
    // Without a screen nobody reads it.
    void quietly(() => this.#client.tui.showToast({ body: { message, variant: "warning" } }));
  }

  /** Returns what is known of a session; asks the client about one that began before this process. */
  async knownOf(id: string): Promise<Known> {
    const known = this.sessions.get(id);
    if (known !== undefined) return known;
    const found = await Promise.race([
      quietly(() => this.#client.session.get({ path: { id } })),
      after(turnMs),
    ]);
    return this.sessions.get(id) ?? this.sessions.add(id, found?.data?.parentID ?? null, null);
  }

  /** Tells the daemon once that the agent begins; returns what its model is to read. */
  async begin(known: Known): Promise<string | undefined> {
    if (known.hasBegun && !known.isCompacted) return undefined;
    const isMain = known.parent === null;
    const source = known.isCompacted ? "compact" : "startup";
    known.hasBegun = true;
    known.isCompacted = false;
    const name = isMain ? { hook_event_name: "SessionStart", source } : { hook_event_name: "SubagentStart" };
    const words = await this.ask(known, name, { budgetMs: startMs });
    return words?.context;
  }

  /** Gives the session a further prompt. */
  async #goOn(known: Known, text: string): Promise<void> {
    known.injected = text;
    const part = { type: "text", text, synthetic: true };
    await quietly(() =>
      this.#client.session.promptAsync({ path: { id: known.id }, body: { parts: [part] } }),
    );
  }

  async turnEnds(known: Known): Promise<void> {
    known.calls.abort();
    known.calls = new AbortController();
    if (!known.isAtWork) return;
    known.isAtWork = false;
    const isMain = known.parent === null;
    const stop = {
      hook_event_name: isMain ? "Stop" : "SubagentStop",
      ...(known.goesOn ? { stop_hook_active: true } : {}),
    };
    known.goesOn = false;
    const words = await this.ask(known, stop, { budgetMs: turnMs });
    if (words?.goOn !== undefined) {
      known.goesOn = true;
      return await this.#goOn(known, words.goOn);
    }
    if (isMain && !this.#isScripted) void this.#awaitWake(known);
  }

  async #awaitWake(known: Known): Promise<void> {
    known.wake?.abort();
    const wake = new AbortController();
    known.wake = wake;
    const words = await this.ask(
      known,
      { hook_event_name: "Stop" },
      { budgetMs: wakeMs, wake: true, signal: wake.signal },
    );
    if (words?.goOn !== undefined && !wake.signal.aborted && !known.isAtWork)
      await this.#goOn(known, words.goOn);
  }

  async ends(known: Known): Promise<void> {
    known.calls.abort();
    known.wake?.abort();
    this.sessions.remove(known.id);
    if (!known.hasBegun) return;
    const isMain = known.parent === null;
    const event = isMain
      ? { hook_event_name: "SessionEnd", reason: "other" }
      : { hook_event_name: "SubagentStop" };
    await this.ask(known, event, { budgetMs: turnMs });
  }

  /** The event of a call; null if the daemon is not asked about this tool. */
  callEvent(name: string, { tool, callID }: ToolCall, args: Arguments): object | null {
    const wanted = sentArguments[tool] ?? (tool.startsWith("kite_") ? [] : null);
    if (wanted === null) return null;
    const input = Object.fromEntries(
      wanted.flatMap(key => (args[key] === undefined ? [] : [[key, args[key]]])),
    );
    const { workdir } = args;
    const cwd = tool !== "bash" || typeof workdir !== "string" ? {} : { cwd: this.#absolute(workdir) };
    return { hook_event_name: name, tool_name: tool, tool_use_id: callID, tool_input: input, ...cwd };
  }

  /** Returns the absolute path of the file that a call names; empty: it names none. */
  pathOf({ filePath }: Arguments): string {
    return typeof filePath === "string" ? this.#absolute(filePath) : "";
  }

  #absolute(path: string): string {
    return isAbsolute(path) ? path : join(this.#directory, path);
  }
}

// The hooks: what the client says happens, or is about to.

async function busEvent(project: Project, { type, properties }: BusEvent): Promise<void> {
  const { sessions } = project;
  const info = properties?.info;
  if (type === "session.created" && info?.id !== undefined) {
    if (sessions.get(info.id) === undefined) sessions.add(info.id, info.parentID ?? null, info.agent ?? null);
    return;
  }
  const known = sessions.get(properties?.sessionID ?? info?.id ?? "");
  if (known === undefined) return;
  if (type === "message.part.updated") await partChanged(project, known, properties?.part);
  else await onBusEvent[type]?.(project, known);
}

const onBusEvent: Readonly<Record<string, (project: Project, known: Known) => Promise<void> | void>> = {
  "session.idle": (project, known) => project.turnEnds(known),
  "session.error": (_, known) => known.calls.abort(),
  "session.deleted": (project, known) => project.ends(known),
  "session.compacted": (_, known) => {
    known.isCompacted = true;
  },
};

/** A call that failed has no event of its own: only its place in the message tells. */
async function partChanged(
  project: Project,
  known: Known,
  part: NonNullable<BusEvent["properties"]>["part"],
): Promise<void> {
  const { tool, callID, state } = part ?? {};
  if (state?.status !== "error" || tool === undefined || callID === undefined) return;
  if (!project.running.delete(callID)) return;
  const call = { tool, callID, sessionID: known.id };
  const event = project.callEvent("PostToolUseFailure", call, state.input ?? {});
  const error = (state.error ?? "").slice(0, errorChars);
  if (event !== null) await project.ask(known, { ...event, error }, { budgetMs: turnMs });
}

interface Prompt {
  message: { id: string };
  parts: Part[];
}

async function beforePrompt(
  project: Project,
  { sessionID }: { sessionID: string },
  { message, parts }: Prompt,
): Promise<void> {
  const known = await project.knownOf(sessionID);
  known.wake?.abort();
  const startText = await project.begin(known);
  known.prompt = message.id;
  known.isAtWork = true;
  const isOwn = known.injected !== null && parts.some(({ text }) => text === known.injected);
  known.injected = null;
  if (!isOwn) known.goesOn = false;
  const prompted = { hook_event_name: "UserPromptSubmit", ...(isOwn ? { by_client: true } : {}) };
  const words = known.parent === null ? await project.ask(known, prompted, { budgetMs: turnMs }) : null;
  const text = [startText, words?.context].filter(one => one !== undefined).join("\n");
  const last = parts.at(-1);
  // A part's id orders it: this one comes behind the last.
  if (text !== "" && last !== undefined)
    parts.push({
      ...{ id: `${last.id}z`, sessionID, messageID: message.id, synthetic: true },
      type: "text",
      text,
    });
}

async function beforeTool(project: Project, call: ToolCall, output: { args: Arguments }): Promise<void> {
  const event = project.callEvent("PreToolUse", call, output.args);
  const path = project.pathOf(output.args);
  if (event === null) {
    if (call.tool === "read" && path !== "") remember(project.reading, call.callID, Date.now());
    return;
  }
  const known = await project.knownOf(call.sessionID);
  const startText = await project.begin(known);
  known.isAtWork = true;
  const readAtMs = known.reads.get(path);
  const read = readAtMs === undefined ? {} : { read_at_ms: readAtMs };
  const words = await project.ask(
    known,
    { ...event, ...read },
    { budgetMs: writeMs, signal: known.calls.signal },
  );
  if (words === null) throw new Refusal("Kite: the turn ended while this call waited. It did not run.");
  const text = [startText, words.context].filter(one => one !== undefined).join("\n");
  if (words.deny !== undefined) throw new Refusal(text === "" ? words.deny : `${words.deny}\n${text}`);
  if (call.tool.startsWith("kite_")) output.args[callParameter] = call.callID;
  remember(project.running, call.callID, text);
}

async function afterTool(
  project: Project,
  call: ToolCall & { args?: Arguments },
  output: { output?: unknown },
): Promise<void> {
  const { running, reading } = project;
  const event = project.callEvent("PostToolUse", call, call.args ?? {});
  if (event === null) {
    const beganMs = reading.get(call.callID);
    reading.delete(call.callID);
    if (beganMs !== undefined)
      noteRead(await project.knownOf(call.sessionID), project.pathOf(call.args ?? {}), beganMs);
    return;
  }
  const known = await project.knownOf(call.sessionID);
  const words = call.tool.startsWith("kite_") ? null : await project.ask(known, event, { budgetMs: turnMs });
  const text = [running.get(call.callID), words?.context].filter(Boolean).join("\n");
  running.delete(call.callID);
  if (text !== "" && typeof output.output === "string") output.output += `\n\n${text}`;
}

/** Remembers something of a call, and forgets the oldest ones. */
function remember<T>(calls: Map<string, T>, callID: string, what: T): void {
  const [oldest] = calls.keys();
  if (calls.size >= callsMax && oldest !== undefined) calls.delete(oldest);
  calls.set(callID, what);
}

/** The call is not to run; its model reads the message. */
class Refusal extends Error {}

/** Returns the hook without what it would throw besides a refusal: the client takes each error before a call for one. */
function harmless<A extends unknown[]>(hook: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await hook(...args);
    } catch (error) {
      if (error instanceof Refusal) throw error;
    }
  };
}

/** Resolves with undefined where the client fails: what it cannot do for Kite does not stop an agent. */
async function quietly<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

function after(ms: number): Promise<undefined> {
  return new Promise(resolve => setTimeout(() => resolve(undefined), ms).unref());
}
