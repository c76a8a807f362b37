/** Answers a hook's event: the adapter plans, named steps carry the plan out, and the adapter words the answer. */
import type { HookAdapter, HookPlan } from "../../hooks/seam/plan.ts";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import { quote } from "../../protocol/text.ts";
import { nothingOff, withoutWaits } from "../config/off-switch.ts";
import { MountView } from "../facts/mounts.ts";
import {
  type Answer,
  guessActor,
  HookEvent,
  type Mark,
  noteUntold,
  refused,
  type Step,
  type Words,
} from "../hooks/event.ts";
import { lookAtHead } from "../hooks/guard/heads.ts";
import { tellFirstDenial } from "../hooks/inbox.ts";
import type { HookParts, Needs } from "../hooks/parts.ts";
import { isOffFor, leaveOutTelling, noteRefused, planInView, silence } from "../hooks/plan-filters.ts";
import { runPlan } from "../hooks/run.ts";
import { noteClient, tellHome } from "../hooks/sessions.ts";
import type { Services } from "../options.ts";
import type { Call } from "../server/call.ts";
import { noteHook } from "../trail/decisions.ts";

/** Answers independently of order: hooks on one connection do not wait for each other. */
export function hook(
  services: Services & HookParts,
  request: RequestOf<"hook">,
  call: Call,
): Promise<void> | undefined {
  call.connection.markHook();
  call.alone(answer(services, request, call));
  return undefined;
}

/** What happens with an event, in this order. A step with a mark is for the events that have it. */
const steps: readonly (readonly [step: Step, mark?: Mark])[] = [
  [noteUntold, "untold"],
  [guessActor, "guessed"],
  [tellHome, "home"],
  [switchOff, "off"],
  [leaveOutTelling, "observed"],
  [countEvent, "counted"],
  [lookAtHead, "shared"],
  [runActions],
  [noteClient, "client"],
  [sendAgain, "refused"],
  [noteRefused, "warned"],
  [wordAnswer],
  [tellFirstDenial, "denied"],
  [silence, "observed"],
  [sendAnswer],
  [noteTime],
];

async function answer(services: Services & HookParts, request: RequestOf<"hook">, call: Call): Promise<void> {
  const beganMs = performance.now();
  const adapter = services.entry.adapters.get(request.client);
  if (adapter === undefined) {
    call.reply(unknownClient(request));
    return;
  }
  // Most events name no mounts, and need not wait for a turn.
  const mounts = request.mounts === undefined ? null : await services.facts.mountView(request.mounts);
  const view = mounts instanceof MountView ? mounts : call.connection.view;
  const unclear = mounts instanceof MountView ? null : mounts;
  // The status line is a person's.
  const settings = services.config.settings.values;
  const observes = request.statusLine !== true && settings.mode === "observe";
  const planned = planOf(services, adapter, request, view);
  const plan = planned instanceof Promise ? await planned : planned;
  const event = new HookEvent(services, services, call, plan, view, observes);
  event.settings = settings;
  const marks = marksOf(event, request, services);
  const made: Answer = { request, unclear, beganMs, marks, outcomes: [], words: { output: "" } };
  try {
    for (const [step, mark] of steps) {
      if (mark !== undefined && !marks.has(mark)) continue;
      const done = step(event, made, services);
      if ((done instanceof Promise ? await done : done) === "answered") return;
    }
  } catch (error) {
    event.delivery.settle(false);
    throw error;
  }
}

function unknownClient({ client }: RequestOf<"hook">): Refusal {
  const error =
    client === undefined
      ? "this daemon runs without an adapter for hooks; start it with kite up"
      : `this daemon does not know the client ${quote(client, limits.nameBytes)}; update Kite`;
  return refuse("not_available", error);
}

/** Asks the adapter for the event's plan, in this machine's paths. */
function planOf(
  { facts, entry: { socket, adapters }, config: { settings, ownFiles }, calls }: Services & HookParts,
  adapter: HookAdapter,
  request: RequestOf<"hook">,
  view: MountView | null,
): HookPlan | Promise<HookPlan> {
  const { event, env = {}, ppid = null, wake = false, statusLine = false } = request;
  const { lockWaitMs, clientLockWaitMs } = settings.values;
  const waitMs = Math.min(clientLockWaitMs[adapter.name] ?? lockWaitMs, adapter.limits.lockWaitMaxMs);
  const context = { env, ppid, socket, home: ownFiles.home, waitMs, wake, statusLine, calls: calls.ids };
  const plan =
    view === null ? adapter.plan(event, context) : planInView(facts, view, adapter, event, context);
  if (adapter === adapters.get(undefined)) return plan;
  const named = (one: HookPlan) => ({ ...one, client: adapter.name });
  return plan instanceof Promise ? plan.then(named) : named(plan);
}

/** Two looks at files tell whether Kite is off for anybody. */
function marksOf(
  { plan, view, observes, engine, presence }: HookEvent,
  { wake = false, statusLine = false }: RequestOf<"hook">,
  { entry: { untoldAgents }, config: { offSwitches } }: Needs<"entry" | "config">,
): Set<Mark> {
  const marks = new Set<Mark>();
  const { session, home, transcript } = plan;
  if (observes) marks.add("observed");
  if (plan.namesNoAgent === true) marks.add("untold");
  if (session !== null && (marks.has("untold") || untoldAgents.has(session))) marks.add("guessed");
  if (session !== null && home !== null) marks.add("home");
  if (session !== null && (transcript !== null || view !== null)) marks.add("client");
  // To guess who acts takes a look at a transcript, and Kite may be switched off meanwhile.
  if (marks.has("guessed") || offSwitches.read() !== nothingOff) marks.add("off");
  // The event's other hook counts it; the status line is no event.
  if (!wake && !statusLine) marks.add("counted");
  if (plan.refuses !== undefined && !observes) marks.add("warned");
  if (session === null) return marks;
  // No call: an edit of an actor that is alone asks nothing else.
  const { heads, sessions } = engine.state;
  const own = sessions.live.get(session);
  if (own === undefined ? heads.rows.size > 0 : heads.rows.has(own.worktree)) marks.add("shared");
  else if (own !== undefined) {
    const agents = own.agents.size + (presence.rows.get(session)?.agents.size ?? 0);
    if (agents > 0 || (sessions.worktrees.get(own.worktree)?.size ?? 0) > 1) marks.add("shared");
  }
  return marks;
}

/** What the status line shows where Kite is off, as the hook clients print it where it is off everywhere. */
const offLine = "kite: off\n";

/** Where Kite is off for the event's session or its directories, leaves out all that waits and tells. The status line says so. */
function switchOff(event: HookEvent, made: Answer, parts: Needs<"config">): "answered" | undefined {
  if (!isOffFor(event, made.request, parts)) return undefined;
  event.plan = withoutWaits(event.plan);
  if (made.request.statusLine !== true) return undefined;
  made.words = { output: offLine };
  sendAnswer(event, made);
  return "answered";
}

function countEvent({ plan }: HookEvent, _: Answer, { entry }: Needs<"entry">): undefined {
  count(entry.counts, plan.event);
}

/** Counts an event. Its name comes from the client, so the number of counted names is limited. */
export function count(hooks: Map<string, number>, event: string): void {
  const name = hooks.has(event) || hooks.size < limits.hookKindsMax ? event : "others";
  hooks.set(name, (hooks.get(name) ?? 0) + 1);
}

/** Runs the event's actions. If the mounts of its container are not clear, its client tells the person why, as of any refusal. */
async function runActions(event: HookEvent, made: Answer, parts: HookParts): Promise<undefined> {
  const { unclear, marks } = made;
  const unbroken = breakSilence(event);
  try {
    made.outcomes =
      unclear === null
        ? await runPlan(event, parts)
        : event.plan.actions.slice(0, 1).map(action => refused(action.do, unclear));
  } finally {
    clearTimeout(unbroken);
  }
  for (const outcome of made.outcomes) {
    if (!outcome.ok) marks.add("refused");
    if ("verdict" in outcome && outcome.verdict === "deny" && !event.observes) marks.add("denied");
  }
}

/**
 * Writes a blank line, since a client that gets no output lets its tool run. If the plan may run git, the line leaves
 * at once, else only when the answer is slow, as on a busy machine.
 */
function breakSilence({ plan, call: { connection } }: HookEvent): NodeJS.Timeout | undefined {
  for (const action of plan.actions) {
    if (action.do !== "guard") continue;
    connection.push("\n");
    return undefined;
  }
  return setTimeout(() => connection.push("\n"), limits.hookSilenceMs);
}

/** Has the client send the event again if the daemon restarts: it has decided and reported nothing yet. */
function sendAgain({ call, delivery }: HookEvent, { outcomes }: Answer): "answered" | undefined {
  for (const outcome of outcomes) {
    if (outcome.ok || outcome.refusal.code !== "restarting") continue;
    delivery.settle(false);
    call.reply(outcome.refusal);
    return "answered";
  }
  return undefined;
}

function wordAnswer({ plan }: HookEvent, made: Answer): undefined {
  made.words = plan.answer(made.outcomes);
}

function sendAnswer({ call, delivery }: HookEvent, { request, words }: Answer): undefined {
  if (request.reply === "raw") call.replyRaw(rawReply(words), delivery.settle);
  else call.reply({ ok: true, ...words }, delivery.settle);
}

/** Says in the trail how long the hook took. The line of its decision says how long it waited for others. */
function noteTime(event: HookEvent, { request, words, beganMs }: Answer): undefined {
  if (request.statusLine === true) return;
  const ms = request.wake === true || event.call.wasParked ? null : performance.now() - beganMs;
  const chars = words.output.length + (words.stderr?.length ?? 0);
  if (ms !== null || chars > 0) noteHook(event, event.plan, ms, chars);
}

/** Returns the reply for clients without a JSON parser: a line with exit code and byte counts, then the bytes. */
function rawReply(words: Words): string {
  const { output, exitCode = 0, stderr = "", env = [] } = words;
  const lines = env.length === 0 ? "" : `${env.join("\n")}\n`;
  const { byteLength } = Buffer;
  const sizes = `${byteLength(output)} ${byteLength(stderr)} ${byteLength(lines)}`;
  return `${exitCode} ${sizes}\n${output}${stderr}${lines}`;
}
